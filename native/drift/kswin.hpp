// KSWIN (Raab, Heusinger and Schleif 2020): compares the latest numbers of a sliding window with as many numbers drawn
// from the rest of the window, by the two-sample Kolmogorov-Smirnov test.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/state.hpp"
#include "drift/mersenne.hpp"

namespace heros {

// The exact p-value for two samples of n numbers each: the probability of a maximum distance of h/n or more between
// their empirical distributions, if both samples have the same distribution (reflection principle).
inline double ks_chance(std::int64_t n, std::int64_t h) {
  if (h <= 0) return 1;
  double outside = 0;
  for (std::int64_t k = n / h; k >= 0; --k) {
    double paths = 1;
    for (std::int64_t j = 0; j < h; ++j)
      paths = static_cast<double>(n - k * h - j) * paths / static_cast<double>(n + k * h + j + 1);
    outside = paths * (1 - outside);
  }
  return std::clamp(2 * outside, 0.0, 1.0);
}

class Kswin {
 public:
  static constexpr double kLeastDistance = 0.1;  // smaller distances are not reported, however low the p-value is

  // words: the state of the generator, which is restored after every change.
  Kswin(double alpha, int window, int latest, const std::vector<std::uint32_t>& words)
      : window_(window), latest_(latest), first_random_(words), random_(words), limit_(limit(alpha, latest)) {}

  bool update(double x) {
    if (changed_) forget();
    values_.push_back(x);
    if (static_cast<int>(values_.size()) < window_) return false;
    if (static_cast<int>(values_.size()) > window_) values_.erase(values_.begin());
    distance_ = distance();
    changed_ = distance_ >= limit_;
    detections_ += changed_;
    return changed_;
  }

  bool changed() const { return changed_; }
  std::int64_t detections() const { return detections_; }
  std::int64_t width() const { return static_cast<std::int64_t>(values_.size()); }
  double chance() const { return distance_ < 0 ? 0 : ks_chance(latest_, distance_); }

  template <class Archive>
  void fields(Archive& a) {
    a("values", values_), a("distance", distance_), a("changed", changed_), a("detections", detections_);
    Prefixed<Archive> first{a, "first_"};
    first_random_.fields(first);
    random_.fields(a);
  }
  void check() const {
    require(static_cast<int>(values_.size()) <= window_ && all_of(values_, [](double x) { return std::isfinite(x); }),
            "invalid window of KSWIN");
    require(changed_ <= 1 && countable(detections_) && distance_ >= -1 && distance_ <= latest_,
            "invalid counts of KSWIN");
    first_random_.check();
    random_.check();
  }

 private:
  // The smallest distance that counts as a change, in units of 1/n.
  static std::int64_t limit(double alpha, std::int64_t n) {
    auto h = static_cast<std::int64_t>(std::floor(kLeastDistance * static_cast<double>(n))) + 1;
    while (h <= n && ks_chance(n, h) > alpha) ++h;
    return h;
  }

  void forget() {
    values_.clear();
    changed_ = 0;
    distance_ = -1;
    random_ = first_random_;
  }

  // The maximum distance between the two distributions, in units of 1/latest_.
  std::int64_t distance() {
    random_.sample(window_ - latest_, latest_, drawn_);
    older_.resize(latest_);
    for (int i = 0; i < latest_; ++i) older_[i] = values_[drawn_[i]];
    newer_.assign(values_.end() - latest_, values_.end());
    std::sort(older_.begin(), older_.end());
    std::sort(newer_.begin(), newer_.end());
    std::int64_t i = 0, j = 0, most = 0;
    while (i < latest_ && j < latest_) {
      const double at = std::min(older_[i], newer_[j]);
      while (i < latest_ && older_[i] <= at) ++i;
      while (j < latest_ && newer_[j] <= at) ++j;
      most = std::max(most, std::abs(i - j));
    }
    return most;
  }

  int window_, latest_;
  Mersenne first_random_, random_;
  std::int64_t limit_, distance_ = -1, detections_ = 0;
  std::uint8_t changed_ = 0;
  std::vector<double> values_, older_, newer_;
  std::vector<std::int32_t> drawn_;
};

}  // namespace heros
