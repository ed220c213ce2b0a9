// A ring of the latest instances as bytes (pools/retrained/edges.hpp), with their targets and weights.
//
// The edges of a feature do not change while they fit, that is, while no divisible bin holds more than kCrowded times
// its share of the instances. Otherwise the edges are computed again. The latest kSample instances keep their exact
// values. Each older instance counts as the middle of its bin, and moves to the new bin of that value. The bins thus
// follow a drifting feature. Older instances may be about one bin off until they leave the window. A stable feature is
// never rebinned.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "core/state.hpp"
#include "pools/retrained/edges.hpp"
#include "pools/retrained/settings.hpp"

namespace heros {

class BinnedWindow {
 public:
  static constexpr std::int64_t kSample = 1000;
  static constexpr int kCrowded = 3;

  explicit BinnedWindow(const RetrainedSettings& settings)
      : bins_(settings.bins), sample_(std::min(kSample, settings.window)) {}

  int features() const { return static_cast<int>(values_.size()); }
  std::int64_t learnt() const { return learnt_; }  // number of instances so far
  std::int64_t capacity() const { return capacity_; }
  std::int64_t kept() const { return std::min(learnt_, capacity_); }

  std::size_t slot(std::int64_t t) const { return in_ring(t, capacity_); }  // the slot of instance t
  const std::uint8_t* row(std::size_t slot) const { return bytes_.data() + slot * values_.size(); }
  double target(std::size_t slot) const { return targets_[slot]; }
  double weight(std::size_t slot) const { return weights_[slot]; }

  bool nominal(int f) const { return values_[f] > 0; }
  const std::vector<double>& edges(int f) const { return features_[f].edges; }
  // The number of possible bytes, including the missing value.
  int bytes_of(int f) const {
    return 1 + (nominal(f) ? std::min(values_[f], kMostBins) : static_cast<int>(edges(f).size()) + 1);
  }
  static int byte_of(double x, bool nominal, const std::vector<double>& edges) {
    if (std::isnan(x)) return kMissing;
    return nominal ? byte_of_code(x) : bin_of(edges, x);
  }

  // Adapts the window to more features and values, and to a new capacity. New features are missing in old instances.
  void grow(const std::vector<std::int32_t>& values, std::int64_t capacity) {
    const std::size_t before = values_.size(), now = values.size(), numbers_before = numbers_;
    values_ = values;
    features_.resize(now);
    count_numbers();
    if (now == before && capacity == capacity_) return;
    const std::int64_t last = learnt_, first = last - std::min(kept(), capacity);
    std::vector<std::uint8_t> bytes(static_cast<std::size_t>(std::min(last, capacity)) * now);
    std::vector<double> targets(static_cast<std::size_t>(std::min(last, capacity))), weights(targets.size());
    for (std::int64_t t = first; t < last; ++t) {
      const std::size_t from = slot(t), to = static_cast<std::size_t>(t % capacity);
      std::copy_n(bytes_.data() + from * before, before, bytes.data() + to * now);
      targets[to] = targets_[from], weights[to] = weights_[from];
    }
    std::vector<double> raw(sampled() * numbers_, std::numeric_limits<double>::quiet_NaN());
    for (std::size_t s = 0; s < sampled(); ++s)
      std::copy_n(raw_.data() + s * numbers_before, numbers_before, raw.data() + s * numbers_);
    bytes_ = std::move(bytes), targets_ = std::move(targets), weights_ = std::move(weights), raw_ = std::move(raw);
    capacity_ = capacity;
  }

  void learn(const double* x, double target, double weight) {
    const std::size_t at = slot(learnt_), s = static_cast<std::size_t>(learnt_ % sample_);
    if (at == targets_.size())
      bytes_.resize(bytes_.size() + values_.size()), targets_.push_back(0), weights_.push_back(0);
    if (s == sampled()) raw_.resize(raw_.size() + numbers_);
    std::uint8_t* bytes = bytes_.data() + at * values_.size();
    double* raw = raw_.data() + s * numbers_;
    for (int f = 0; f < features(); ++f) {
      bytes[f] = static_cast<std::uint8_t>(byte_of(x[f], nominal(f), edges(f)));
      if (!nominal(f)) *raw++ = x[f];
    }
    targets_[at] = target, weights_[at] = weight;
    ++learnt_;
  }

  // Computes new edges for a feature if the old edges no longer fit.
  void fit(int f) {
    std::int64_t counts[kMostBins + 1] = {};  // number of older instances per bin
    if (nominal(f) || fits(f, counts)) return;
    const std::vector<double> before = std::move(features_[f].edges);
    std::vector<ValueCount> values;
    for (std::int64_t t = oldest_sampled(); t < learnt_; ++t)
      if (!std::isnan(raw(t, f))) values.push_back({raw(t, f), 1});
    for (std::size_t b = 1; b <= before.size() + 1; ++b)
      if (counts[b] > 0) values.push_back({middle(before, b, values[0].value), counts[b]});
    features_[f].edges = edges_of(counted(values), bins_, before);
    std::uint8_t moved[kMostBins + 1] = {};
    for (std::size_t b = 1; b <= before.size() + 1; ++b)
      moved[b] = static_cast<std::uint8_t>(bin_of(edges(f), middle(before, b, values[0].value)));
    for (std::int64_t t = learnt_ - kept(); t < learnt_; ++t) {
      std::uint8_t& byte = bytes_[slot(t) * values_.size() + static_cast<std::size_t>(f)];
      byte = t < oldest_sampled() ? moved[byte] : static_cast<std::uint8_t>(byte_of(raw(t, f), false, edges(f)));
    }
  }

  // Bytes of memory per instance, and of the rest.
  static std::int64_t row_bytes(std::size_t features) { return static_cast<std::int64_t>(features) + 16; }
  std::int64_t fixed_bytes(const std::vector<std::int32_t>& values) const {
    const auto numbers = static_cast<std::int64_t>(std::count(values.begin(), values.end(), 0));
    return numbers * 8 * (sample_ + bins_);
  }
  std::int64_t bytes() const {
    std::size_t sum = bytes_.size() + 8 * (targets_.size() + weights_.size() + raw_.size());
    for (const Feature& one : features_) sum += 8 * one.edges.size();
    return static_cast<std::int64_t>(sum);
  }

  template <class Archive>
  void fields(Archive& a) {
    a("learnt", learnt_), a("capacity", capacity_), a("bytes", bytes_), a("targets", targets_), a("weights", weights_);
    a("raw", raw_);
    joined(a, "edges", features_, &Feature::edges);
  }
  void check(const std::vector<std::int32_t>& values, int classes, bool numeric, std::int64_t capacity) {
    values_ = values;
    require(countable(learnt_) && capacity_ == capacity, "invalid number of instances or capacity");
    require(features_.size() == values.size(), "there must be edges for each feature");
    count_numbers();
    require(targets_.size() == std::size_t(kept()) && weights_.size() == targets_.size() &&
                bytes_.size() == targets_.size() * values.size() && raw_.size() == sampled() * numbers_,
            "instances");
    const auto target = [&](double y) {
      return numeric ? std::fabs(y) <= kLargest : y >= 0 && y < classes && y == std::floor(y);
    };
    require(all_of(targets_, target) && all_of(weights_, amount), "invalid targets or weights");
    require(all_of(raw_, [](double x) { return !std::isinf(x); }), "values");
    for (int f = 0; f < features(); ++f) {
      const std::vector<double>& cuts = edges(f);
      require(cuts.size() < std::size_t(bins_) && (!nominal(f) || cuts.empty()), "there are too many bins");
      for (std::size_t e = 0; e < cuts.size(); ++e)
        require(std::isfinite(cuts[e]) && (e == 0 || cuts[e - 1] < cuts[e]), "edges must be finite and ascending");
      const int most = bytes_of(f);
      for (std::size_t at = 0; at < targets_.size(); ++at) require(row(at)[f] < most,
                                                                   "a byte of an instance is out of range");
    }
  }

 private:
  static constexpr double kLargest = 1e100;
  struct Feature {
    std::vector<double> edges;
  };

  // The remainder, without a slow division while the ring is not full.
  static std::size_t in_ring(std::int64_t t, std::int64_t size) { return static_cast<std::size_t>(t < size ? t : t % size); }
  void count_numbers() {
    number_.clear(), numbers_ = 0;
    for (const std::int32_t n : values_) number_.push_back(numbers_), numbers_ += n == 0;
  }
  std::size_t sampled() const { return static_cast<std::size_t>(std::min(learnt_, sample_)); }
  std::int64_t oldest_sampled() const { return learnt_ - std::min({learnt_, sample_, capacity_}); }
  double raw(std::int64_t t, int f) const { return raw_[in_ring(t, sample_) * numbers_ + number_[f]]; }

  // The middle of bin b, or a substitute if the bin is open.
  static double middle(const std::vector<double>& edges, std::size_t b, double otherwise) {
    if (edges.empty()) return otherwise;
    if (b == 1) return edges[0];
    if (b > edges.size()) return std::nextafter(edges.back(), std::numeric_limits<double>::max());
    return between(edges[b - 2], edges[b - 1]);
  }
  // Merges equal values.
  static std::vector<ValueCount> counted(std::vector<ValueCount> values) {
    std::sort(values.begin(), values.end(), [](const ValueCount& a, const ValueCount& b) { return a.value < b.value; });
    std::size_t last = 0;
    for (std::size_t v = 1; v < values.size(); ++v)
      if (values[v].value > values[last].value) values[++last] = values[v];
      else values[last].count += values[v].count;
    values.resize(last + 1);
    return values;
  }

  // Whether the edges of a feature fit. If not, `older` gets the number of unsampled instances in each bin.
  bool fits(int f, std::int64_t* older) const {
    std::int64_t count[kMostBins + 1] = {}, known = 0;
    double low[kMostBins + 1], high[kMostBins + 1];
    for (std::int64_t t = oldest_sampled(); t < learnt_; ++t) {
      const double x = raw(t, f);
      if (std::isnan(x)) continue;
      const int b = row(slot(t))[f];
      if (count[b]++ == 0) low[b] = high[b] = x;
      low[b] = std::min(low[b], x), high[b] = std::max(high[b], x);
    }
    for (std::int64_t t = learnt_ - kept(); t < oldest_sampled(); ++t) ++older[row(slot(t))[f]];
    for (int b = 1; b <= bins_; ++b) known += count[b] + older[b];
    for (int b = 1; b <= bins_; ++b)
      if ((count[b] + older[b]) * bins_ > kCrowded * known && count[b] > 0 && low[b] < high[b]) return false;
    return true;
  }

  int bins_;
  std::int64_t sample_;  // number of latest exact values
  std::vector<std::int32_t> values_;
  std::vector<std::size_t> number_;  // per feature: number of numeric features before it
  std::size_t numbers_ = 0;

  std::int64_t learnt_ = 0, capacity_ = 0;
  std::vector<Feature> features_;
  std::vector<std::uint8_t> bytes_;        // (instances, features)
  std::vector<double> targets_, weights_;  // (instances,)
  std::vector<double> raw_;                // (instances sampled, numeric features)
};

}  // namespace heros
