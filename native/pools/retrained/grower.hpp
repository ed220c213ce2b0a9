// Grows one tree on binned instances, best first: each step makes the split that lowers the loss most.
//
// Derivatives are integers. The first and second derivative of an instance are rounded to 1/2^30 of the sum over all
// instances. Both are packed into one 64-bit number, the first above the second. A histogram then needs one addition
// per instance and feature, and sums do not depend on the order of instances. The histogram of the larger of two
// sibling leaves is exactly the histogram of the parent minus the histogram of the smaller leaf.
//
// Listing the instances and filling a histogram are each split into kParts parts, so that the caller can do other work
// in between.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include "pools/retrained/trees.hpp"
#include "pools/retrained/window.hpp"

namespace heros {

using PackedSum = std::int64_t;  // G·2^32 + H, with 0 <= H < 2^32

inline constexpr double kWhole = 1 << 30;  // the sum of all second derivatives, and of all |first derivatives|

inline double second_of(PackedSum sum) { return static_cast<double>(static_cast<std::uint32_t>(sum)); }
inline double first_of(PackedSum sum) {
  return static_cast<double>((sum - static_cast<PackedSum>(static_cast<std::uint32_t>(sum))) >> 32);
}
inline PackedSum packed(double first, double second) {
  return static_cast<PackedSum>(std::nearbyint(first)) * (PackedSum{1} << 32) +
         static_cast<PackedSum>(std::nearbyint(second));
}

class TreeGrower {
 public:
  static constexpr int kParts = 8;
  struct Split {
    double gain = 0;
    ByteTest test;
    PackedSum below = 0;  // sum of the instances of the child below
  };
  struct Leaf {
    std::int32_t first = 0, end = 0;  // its instances in `order`
    PackedSum sum = 0;
    std::int32_t histogram = -1;  // its index, or -1
    std::int32_t parent = -1;     // index of the split above
    bool below = false;
    Split best;
    std::int32_t size() const { return end - first; }
  };
  struct Node {
    ByteTest test;
    std::int32_t parent;
    bool below;
    double gain;
  };

  std::vector<PackedSum> derivatives;  // derivatives of the loss of every instance, by slot of the window

  // Takes the instances [first, first + n) of a window, and its first `features` features.
  void start(const BinnedWindow& window, std::int64_t first, std::int64_t n, int features,
             const RetrainedSettings& settings) {
    most_leaves_ = settings.leaves, min_leaf_ = settings.min_leaf, shrinkage_ = settings.shrinkage;
    features_ = features;
    begins_.assign(1, 0);
    for (int f = 0; f < features; ++f) begins_.push_back(begins_.back() + window.bytes_of(f));
    instances_.resize(static_cast<std::size_t>(n));
    for (std::int64_t t = 0; t < n; ++t)
      instances_[static_cast<std::size_t>(t)] = static_cast<std::int32_t>(window.slot(first + t));
    order_.resize(instances_.size()), aside_.resize(instances_.size());
    part_ = (n + kParts - 1) / kParts, smaller_ = -1;
    derivatives.assign(static_cast<std::size_t>(window.kept()), 0);
    histograms_.resize(static_cast<std::size_t>(most_leaves_));
    find_usual(window);
  }

  // The maximum number of calls of `fill` and `split` for one tree. The smaller children of all splits together have at
  // most n·log2(leaves)/2 instances.
  static std::int64_t most_calls(int leaves) {
    return kParts + leaves - 1 + static_cast<std::int64_t>(std::ceil(kParts * std::log2(leaves) / 2));
  }

  // For a feature with a usual byte, only the other instances are listed and summed. The rest of a leaf's sum belongs
  // to the usual byte. Call the function for the parts 0, 1, ... kParts - 1 of the slots, in this order.
  void list(const BinnedWindow& window, std::int64_t part) {
    if (all_dense()) return;
    const auto slots = static_cast<std::int64_t>(derivatives.size());
    for (std::int64_t at = slots * part / kParts; at < slots * (part + 1) / kParts; ++at) {
      const auto slot = static_cast<std::size_t>(at);
      const std::uint8_t* row = window.row(slot);
      for (int f = 0; f < features_; ++f)
        if (usual_[f] < 0) dense_rows_.push_back(row[f]);
        else if (row[f] != usual_[f] && row[f] < begins_[f + 1] - begins_[f]) rare_.push_back(begins_[f] + row[f]);
      rare_ends_[slot + 1] = static_cast<std::int32_t>(rare_.size());
    }
  }

  const std::vector<std::int32_t>& instances() const { return instances_; }
  const std::vector<std::int32_t>& order() const { return order_; }
  const std::vector<Leaf>& leaves() const { return leaves_; }
  const std::vector<Node>& nodes() const { return nodes_; }
  double first_derivative(const Leaf& leaf) const { return first_of(leaf.sum) * first_unit_; }
  double second_derivative(const Leaf& leaf) const { return second_of(leaf.sum) * second_unit_; }

  // Starts a tree with one leaf from `derivatives`. first_unit, second_unit: the values of an integer 1.
  void begin(double first_unit, double second_unit) {
    first_unit_ = first_unit, second_unit_ = second_unit;
    order_ = instances_;
    nodes_.clear(), leaves_.assign(1, {});
    leaves_[0].end = static_cast<std::int32_t>(order_.size());
    for (const std::int32_t slot : order_) leaves_[0].sum += derivatives[slot];
    larger_ = -1;
    if (divisible(leaves_[0])) start_filling(0, 0);
  }

  // Whether a histogram is incomplete. If so, the next call must be `fill`.
  bool filling() const { return smaller_ >= 0; }
  void fill(const BinnedWindow& window) {
    Leaf& leaf = leaves_[static_cast<std::size_t>(smaller_)];
    const std::int32_t end = static_cast<std::int32_t>(std::min<std::int64_t>(leaf.end, filled_ + part_));
    add(window, histogram(leaf), filled_, end);
    filled_ = end;
    if (filled_ < leaf.end) return;
    add_usual(leaf);
    if (larger_ >= 0) {
      Leaf& larger = leaves_[static_cast<std::size_t>(larger_)];
      const PackedSum* less = histogram(leaf);
      PackedSum* from = histogram(larger);
      for (std::int32_t b = 0; b < begins_.back(); ++b) from[b] -= less[b];
      if (divisible(larger)) find(window, larger);
    }
    if (divisible(leaf)) find(window, leaf);
    smaller_ = -1;
  }

  // Whether a leaf can be split, and the limit of leaves allows it.
  bool can_split() const {
    return static_cast<std::int32_t>(leaves_.size()) < most_leaves_ && leaves_[best()].best.gain > 0;
  }
  // Splits the best leaf. The child below takes the index of the leaf; the child above is appended.
  void split(const BinnedWindow& window) {
    const std::size_t at = best();
    const Split by = leaves_[at].best;
    nodes_.push_back({by.test, leaves_[at].parent, leaves_[at].below, by.gain});
    Leaf below = leaves_[at], above = below;
    below.end = above.first = part(window, leaves_[at], by.test);
    below.sum = by.below, above.sum -= by.below;
    for (Leaf* child : {&below, &above}) child->parent = static_cast<std::int32_t>(nodes_.size()) - 1, child->best = {};
    below.below = true, above.below = false;
    leaves_[at] = below;
    leaves_.push_back(above);
    if (static_cast<std::int32_t>(leaves_.size()) == most_leaves_ || !(divisible(below) || divisible(above))) return;
    const auto one = static_cast<std::int32_t>(at), other = static_cast<std::int32_t>(leaves_.size()) - 1;
    const bool below_smaller = below.size() <= above.size();
    larger_ = below_smaller ? other : one;
    start_filling(below_smaller ? one : other, other);
    fill(window);
  }

  // Bytes per instance, and of the histograms.
  static std::int64_t row_bytes(std::size_t features) { return 24 + 2 * static_cast<std::int64_t>(features); }
  static std::int64_t fixed_bytes(std::int64_t bytes_of_features, std::int64_t leaves) {
    return 8 * leaves * bytes_of_features;
  }
  std::int64_t bytes() const {
    std::size_t sums = derivatives.size();
    for (const std::vector<PackedSum>& one : histograms_) sums += one.size();
    return static_cast<std::int64_t>(4 * (instances_.size() + order_.size() + aside_.size() + rare_.size() + rare_ends_.size()) +
                                     8 * sums + dense_rows_.size());
  }

 private:
  static constexpr double kLeastSecond = 1e-3;  // least sum of second derivatives in a leaf
  static constexpr double kRounding = 1e-10;    // a gain below this share of the compared sums is a rounding error
  // Sets of values: a value needs kFewest instances to be in a set, and both sides need kGroup. Values are sorted by
  // their steps; kSmooth is added to λ, which shrinks the steps. With up to kSingle values, only sets of a single value
  // are tried.
  static constexpr double kFewest = 10, kGroup = 50, kSmooth = 10;
  static constexpr int kSingle = 4;
  static constexpr double kUsual = 0.8;  // share of the instances from which on a byte is the usual one of a feature

  static constexpr std::size_t kSampled = 1000;  // maximum number of instances used to find the usual byte

  // The memory of a histogram is allocated when a leaf first needs it: allocating all histograms at once would be a
  // long step.
  PackedSum* histogram(const Leaf& leaf) {
    std::vector<PackedSum>& sums = histograms_[static_cast<std::size_t>(leaf.histogram)];
    sums.resize(static_cast<std::size_t>(begins_.back()));
    return sums.data();
  }
  bool divisible(const Leaf& leaf) const { return leaf.size() >= 2 * min_leaf_ && leaf.size() >= 2; }
  std::size_t best() const {  // ties: the first
    std::size_t found = 0;
    for (std::size_t l = 1; l < leaves_.size(); ++l)
      if (leaves_[l].best.gain > leaves_[found].best.gain) found = l;
    return found;
  }

  void start_filling(std::int32_t leaf, std::int32_t at) {
    smaller_ = leaf, filled_ = leaves_[static_cast<std::size_t>(leaf)].first;
    leaves_[static_cast<std::size_t>(leaf)].histogram = at;
    std::fill_n(histogram(leaves_[static_cast<std::size_t>(leaf)]), begins_.back(), 0);
  }

  // Finds features with a usual byte, in a sample of the instances.
  void find_usual(const BinnedWindow& window) {
    dense_.clear(), usual_.assign(static_cast<std::size_t>(features_), -1);
    std::vector<std::int32_t> counts(static_cast<std::size_t>(begins_.back()));
    const std::size_t stride = instances_.size() / kSampled + 1;
    for (std::size_t i = 0; i < instances_.size(); i += stride) {
      const std::uint8_t* row = window.row(static_cast<std::size_t>(instances_[i]));
      for (int f = 0; f < features_; ++f) ++counts[begins_[f] + row[f]];
    }
    const double sampled = std::ceil(static_cast<double>(instances_.size()) / static_cast<double>(stride));
    for (int f = 0; f < features_; ++f) {
      const auto first = counts.begin() + begins_[f], most = std::max_element(first, counts.begin() + begins_[f + 1]);
      if (*most > kUsual * sampled) usual_[f] = static_cast<std::int32_t>(most - first);
      else dense_.push_back(f);
    }
    dense_begins_.clear(), dense_rows_.clear(), rare_.clear();
    for (const int f : dense_) dense_begins_.push_back(begins_[f]);
    rare_ends_.assign(derivatives.size() + 1, 0);
  }
  bool all_dense() const { return static_cast<int>(dense_.size()) == features_; }

  // Adds the instances order_[first, end) to a histogram.
  void add(const BinnedWindow& window, PackedSum* out, std::int32_t first, std::int32_t end) const {
    const bool all = all_dense();
    const std::uint8_t* rows = all ? window.row(0) : dense_rows_.data();
    const std::int32_t *begins = dense_begins_.data(), *rare = rare_.data(), *ends = rare_ends_.data();
    const std::size_t n = dense_.size(), width = all ? static_cast<std::size_t>(window.features()) : n;
    for (std::int32_t i = first; i < end; ++i) {
      const auto slot = static_cast<std::size_t>(order_[i]);
      const std::uint8_t* row = rows + slot * width;
      const PackedSum own = derivatives[slot];
      for (std::size_t d = 0; d < n; ++d) out[begins[d] + row[d]] += own;
      if (!all)
        for (std::int32_t r = ends[slot]; r < ends[slot + 1]; ++r) out[rare[r]] += own;
    }
  }
  // Adds the rest of a leaf's sum to the usual bytes.
  void add_usual(const Leaf& leaf) {
    PackedSum* out = histogram(leaf);
    for (int f = 0; f < features_; ++f) {
      if (usual_[f] < 0) continue;
      PackedSum others = 0;
      for (std::int32_t b = begins_[f]; b < begins_[f + 1]; ++b) others += out[b];
      out[begins_[f] + usual_[f]] = leaf.sum - others;
    }
  }

  // Partitions the instances of a leaf, keeping their order: instances of the child below come first. Returns the
  // position of the first instance of the child above.
  std::int32_t part(const BinnedWindow& window, const Leaf& leaf, const ByteTest& test) {
    std::uint8_t goes[256];
    for (int byte = 0; byte < 256; ++byte) goes[byte] = test.below(byte) ? 1 : 0;
    std::int32_t below = leaf.first, above = 0;
    for (std::int32_t i = leaf.first; i < leaf.end; ++i) {
      const std::int32_t slot = order_[i];
      const std::int32_t is_below = goes[window.row(static_cast<std::size_t>(slot))[test.feature]];
      order_[below] = slot, aside_[above] = slot;
      below += is_below, above += 1 - is_below;
    }
    std::copy_n(aside_.begin(), above, order_.begin() + below);
    return below;
  }

  double worth(double first, double second, double shrinkage) const {
    const double g = first * first_unit_;
    return g * g / (second * second_unit_ + shrinkage);
  }

  void find(const BinnedWindow& window, Leaf& leaf) {
    const double second = second_of(leaf.sum), per_instance = second / leaf.size();
    const double least = std::max(min_leaf_ * per_instance, kLeastSecond / second_unit_);
    const double whole = worth(first_of(leaf.sum), second, shrinkage_);
    double most = whole + kRounding * whole;
    for (int f = 0; f < features_; ++f) {
      const PackedSum* own = histogram(leaf) + begins_[f];
      const int bytes = begins_[f + 1] - begins_[f];
      if (window.nominal(f)) find_set(own, bytes, f, leaf, least, per_instance, most);
      else find_cut(own, bytes, f, leaf, least, most);
    }
    if (leaf.best.test.feature >= 0) leaf.best.gain = most - whole;
  }

  // Finds the best threshold of a number, with missing values below and above. Without missing values, later missing
  // values follow the larger side.
  void find_cut(const PackedSum* own, int bytes, int f, Leaf& leaf, double least, double& most) const {
    for (const bool missing_below : {true, false}) {
      if (!missing_below && own[kMissing] == 0) break;
      PackedSum below = missing_below ? own[kMissing] : 0;
      const double all = second_of(leaf.sum);
      int found = -1;
      PackedSum part = 0;
      for (int b = missing_below ? 0 : 1; b < bytes - 1; ++b) {
        if (b > 0) below += own[b];
        if (own[b] == 0) continue;  // the split is the same as after the previous bin
        const double h = second_of(below);
        if (h < least) continue;
        if (all - h < least) break;
        const double parted = worth(first_of(below), h, shrinkage_) + worth(first_of(leaf.sum - below), all - h, shrinkage_);
        if (parted > most) most = parted, found = b, part = below;
      }
      if (found < 0) continue;
      leaf.best.test = {};
      leaf.best.test.feature = f, leaf.best.test.cut = found, leaf.best.below = part;
      leaf.best.test.missing_below = own[kMissing] != 0 ? missing_below : second_of(part) * 2 >= all;
    }
  }

  // Finds the best set of values. Values are sorted by their steps; a set takes values from one end. All other values
  // go above.
  void find_set(const PackedSum* own, int bytes, int f, Leaf& leaf, double least, double per_instance, double& most) {
    int present = 0;
    for (int b = 0; b < bytes; ++b) present += own[b] != 0;
    if (present < 2) return;
    const double all = second_of(leaf.sum);
    const bool single = present <= kSingle;
    asking_.clear();
    for (int b = 0; b < bytes; ++b) {
      const double h = second_of(own[b]);
      if (own[b] != 0 && (single || h >= kFewest * per_instance))
        asking_.push_back({single ? 0 : first_of(own[b]) / (h * second_unit_ + kSmooth), b});
    }
    std::sort(asking_.begin(), asking_.end());
    const double group = single ? least : std::max(least, kGroup * per_instance);
    const double shrinkage = single ? shrinkage_ : shrinkage_ + kSmooth;
    for (const bool rising : {true, false}) {
      if (single && !rising) break;
      PackedSum below = 0;
      int found = -1;
      for (std::size_t j = 0; j < asking_.size(); ++j) {
        const int b = asking_[rising ? j : asking_.size() - 1 - j].second;
        below = single ? own[b] : below + own[b];
        const double h = second_of(below);
        if (h < group || all - h < group) continue;
        const double parted = worth(first_of(below), h, shrinkage) + worth(first_of(leaf.sum - below), all - h, shrinkage);
        if (parted > most) most = parted, found = static_cast<int>(j), leaf.best.below = below;
      }
      if (found < 0) continue;
      leaf.best.test = {};
      leaf.best.test.feature = f, leaf.best.test.by_set = true;
      for (int j = single ? found : 0; j <= found; ++j)
        leaf.best.test.set.add(asking_[rising ? std::size_t(j) : asking_.size() - 1 - std::size_t(j)].second);
    }
  }

  int most_leaves_ = 2, min_leaf_ = 1, features_ = 0;
  double shrinkage_ = 0, first_unit_ = 1, second_unit_ = 1;
  std::vector<std::int32_t> begins_;             // start of each feature's part of a histogram, and the end
  std::vector<std::int32_t> instances_, order_;  // slots, by time and by leaf
  std::vector<std::int32_t> aside_;              // scratch of the partition
  std::vector<std::vector<PackedSum>> histograms_;  // (leaves, bytes of all features)
  std::vector<std::int32_t> dense_, usual_;      // features without a usual byte; the usual byte of each feature, or -1
  std::vector<std::int32_t> dense_begins_;
  std::vector<std::uint8_t> dense_rows_;         // (slots, dense features), unless all features are dense
  std::vector<std::int32_t> rare_, rare_ends_;   // histogram indices, slot by slot, and the end of each slot's
  std::int64_t part_ = 1;                        // instances per call of `fill`
  std::int32_t smaller_ = -1, larger_ = -1;      // the leaf that is filled, and its sibling; or -1
  std::int32_t filled_ = 0;                      // end of the filled part of order_
  std::vector<Leaf> leaves_;
  std::vector<Node> nodes_;                      // splits so far, parents first
  std::vector<std::pair<double, int>> asking_;   // values of a nominal feature, by their steps
};

}  // namespace heros
