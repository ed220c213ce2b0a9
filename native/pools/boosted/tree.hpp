// A stochastic gradient tree (Gouk, Pfahringer and Frank 2019). A leaf sums the first and second derivatives of the
// loss, one pair (G, H) per output. Its prediction is the step that lowers the loss most, -G / (H + λ). A leaf splits
// once the best feature is better than the second with the required confidence, as in regression trees
// (pools/regression).
//
// The byte limit counts nodes and observers. If memory is short, the leaves with the fewest instances lose their
// observers and do not split any more.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "core/state.hpp"
#include "pools/binned_tree.hpp"
#include "pools/bins.hpp"
#include "pools/boosted/settings.hpp"

namespace heros {

// The memory layout of a leaf's observer. Each bin or value has the total weight, then G and H per output.
struct GradientLayout {
  std::vector<std::int32_t> values;  // per feature of the tree: number of values, 0 if numeric
  std::vector<std::size_t> place;    // per feature: start of its part of an observer
  int outputs = 0, sums = 1;
  std::size_t observer = 0;          // doubles

  GradientLayout() = default;
  GradientLayout(std::vector<std::int32_t> per_feature, int n_outputs)
      : values(std::move(per_feature)), outputs(n_outputs), sums(1 + 2 * n_outputs) {
    for (const std::int32_t n : values) {
      place.push_back(observer);
      observer += n == 0 ? Bins::size(sums) : std::size_t(sums) * n;
    }
  }
  int features() const { return static_cast<int>(values.size()); }
  std::size_t part(int f) const { return (f + 1 < features() ? place[f + 1] : observer) - place[f]; }
  std::int64_t observer_bytes() const { return static_cast<std::int64_t>(observer * sizeof(double)); }
};

class GradientTree : public BinnedTree {
 public:
  std::vector<std::int32_t> columns;  // the features of the tree
  std::vector<double> reals;          // per node: the threshold, the weight at the last split attempt, its sums
  std::vector<double> gains;          // per feature: total loss reduction by its splits

  static constexpr int kCut = 0, kTried = 1, kSums = 2;

  std::int64_t bytes() const {
    return nodes() * node_bytes(layout_.outputs) + static_cast<std::int64_t>(observers.size() * sizeof(double));
  }
  static std::int64_t node_bytes(int outputs) { return kInts * 4 + 8 * (kSums + 1 + 2 * std::int64_t{outputs}); }

  void begin(std::vector<std::int32_t> known, const std::vector<std::int32_t>& all_values, int outputs,
             std::int64_t max_bytes) {
    columns = std::move(known);
    layout_ = GradientLayout(values_of(all_values), outputs);
    gains.assign(columns.size(), 0);
    add_node(0);
    if (bytes() + layout_.observer_bytes() <= max_bytes) observe(0, layout_.observer);
  }

  // Returns the leaf of x, a whole instance. A missing value follows the branch with more instances.
  int leaf_of(const double* x) const {
    int node = 0;
    while (i(node, kFeature) >= 0) {
      const double v = x[columns[i(node, kFeature)]];
      const int child = i(node, kChild);
      bool below = v <= r(node)[kCut];
      if (layout_.values[i(node, kFeature)] > 0) below = v == r(node)[kCut];
      if (std::isnan(v)) below = r(child)[kSums] >= r(child + 1)[kSums];
      node = child + (below ? 0 : 1);
    }
    return node;
  }

  double step(int leaf, int output, double shrinkage) const {
    const double* gh = r(leaf) + kSums + 1 + 2 * output;
    return -gh[0] / (gh[1] + shrinkage);
  }

  // gh: the weighted first and second derivative of the loss of x, per output.
  void learn(int leaf, const double* x, const double* gh, double weight, const BoostedSettings& settings) {
    double* sums = r(leaf) + kSums;
    if (settings.horizon > 0) fade(sums, settings.horizon);
    add(sums, gh, weight);
    if (i(leaf, kObserver) < 0) return;
    note(leaf, x, gh, weight);
    r(leaf)[kTried] += weight;
    if (r(leaf)[kTried] < static_cast<double>(settings.grace_period)) return;
    r(leaf)[kTried] = 0;
    if (settings.max_depth < 0 || i(leaf, kDepth) < settings.max_depth) try_split(leaf, settings);
  }

  // Adapts the tree to more features, values and outputs. The single output of two classes belongs to the second class.
  void grow(std::vector<std::int32_t> known, const std::vector<std::int32_t>& all_values, int outputs,
            std::int64_t max_bytes) {
    const GradientLayout before = layout_;
    columns = std::move(known);
    layout_ = GradientLayout(values_of(all_values), outputs);
    gains.resize(columns.size());
    const int shift = before.outputs == 1 && outputs > 1 ? 1 : 0;
    std::vector<double> wider(std::size_t(nodes()) * node_reals());
    for (int node = 0; node < nodes(); ++node) {
      const double* from = reals.data() + std::size_t(node) * (kSums + before.sums);
      double* to = wider.data() + std::size_t(node) * node_reals();
      to[kCut] = from[kCut], to[kTried] = from[kTried];
      move(from + kSums, before.sums, to + kSums, shift);
    }
    const std::size_t slots = before.observer > 0 ? observers.size() / before.observer : 0;
    std::vector<double> observed(slots * layout_.observer);
    for (std::size_t slot = 0; slot < slots; ++slot)
      for (int f = 0; f < before.features(); ++f)
        move_part(before, f, &observers[slot * before.observer + before.place[f]],
                  &observed[slot * layout_.observer + layout_.place[f]], shift);
    reals = std::move(wider), observers = std::move(observed);
    while (bytes() > max_bytes && give_up_least(-1)) {
    }
  }

  Summary summary() const { return summary_of(bytes()); }

  // Checks imported arrays against these features and outputs.
  void check(const std::vector<std::int32_t>& all_values, int outputs) {
    std::vector<std::uint8_t> seen(all_values.size());
    for (const std::int32_t f : columns)
      require(f >= 0 && std::size_t(f) < seen.size() && !seen[f]++,
              "a tree uses an unknown feature, or a feature twice");
    layout_ = GradientLayout(values_of(all_values), outputs);
    check_nodes(layout_.features(), layout_.observer);
    require(reals.size() == std::size_t(nodes()) * node_reals() && gains.size() == columns.size() && all_of(gains, amount),
            "the arrays of the nodes have the wrong length");
    for (const auto* numbers : {&reals, &observers})
      require(all_of(*numbers, [](double v) { return std::isfinite(v); }), "all numbers must be finite");
    for (int node = 0; node < nodes(); ++node) check_sums(r(node) + kSums);
  }

 private:
  static constexpr double kFewest = 5;  // instances on either side of a split
  static constexpr double kEnd = 1e-12;  // a gain below this share of the total is a rounding error

  struct Split {
    int feature = -1;
    double cut = 0, merit = 0;
    std::vector<double> below, above;
  };

  std::size_t node_reals() const { return kSums + std::size_t(layout_.sums); }
  double* r(int node) { return reals.data() + std::size_t(node) * node_reals(); }
  const double* r(int node) const { return reals.data() + std::size_t(node) * node_reals(); }

  std::vector<std::int32_t> values_of(const std::vector<std::int32_t>& all) const {
    std::vector<std::int32_t> values;
    for (const std::int32_t f : columns) values.push_back(all[f]);
    return values;
  }

  void add(double* sums, const double* gh, double weight) const {
    sums[0] += weight;
    for (int k = 0; k < 2 * layout_.outputs; ++k) sums[1 + k] += gh[k];
  }
  void fade(double* sums, double horizon) const {
    if (sums[0] < horizon) return;
    const double keep = 1 - 1 / horizon;
    for (int k = 0; k < layout_.sums; ++k) sums[k] *= keep;
  }
  void note(int leaf, const double* x, const double* gh, double weight) {
    double* first = observer(leaf, layout_.observer);
    for (int f = 0; f < layout_.features(); ++f) {
      const double v = x[columns[f]];
      if (std::isnan(v)) continue;
      double* at = first + layout_.place[f];
      add(layout_.values[f] == 0 ? Bins::of(at, v, layout_.sums) : at + layout_.sums * static_cast<int>(v), gh, weight);
    }
  }

  int add_node(int depth) {
    reals.resize(reals.size() + node_reals());
    return append_node(depth);
  }
  bool give_up_least(int but) {  // the leaf with the fewest instances
    return BinnedTree::give_up_least(but, layout_.observer, [this](int node) { return r(node)[kSums]; });
  }

  // Twice the loss reduction by the best steps.
  double worth(const double* sums, double shrinkage) const {
    double sum = 0;
    for (int k = 0; k < layout_.outputs; ++k) sum += sums[1 + 2 * k] * sums[1 + 2 * k] / (sums[2 + 2 * k] + shrinkage);
    return sum;
  }

  void try_split(int leaf, const BoostedSettings& settings) {
    Split best;
    double second = 0;
    for (int f = 0; f < layout_.features(); ++f) {
      Split found = best_of(leaf, f, settings.shrinkage);
      if (found.merit > best.merit) second = best.merit, best = std::move(found);
      else second = std::max(second, found.merit);
    }
    if (best.feature < 0) return;
    const double n = best.below[0] + best.above[0];
    const double epsilon = std::sqrt(std::log(1 / settings.split_confidence) / (2 * n));
    if (second / best.merit >= 1 - epsilon && epsilon >= settings.tie_threshold) return;
    const std::int64_t more = 2 * node_bytes(layout_.outputs) + layout_.observer_bytes();  // includes a second observer
    while (bytes() + more > settings.tree_bytes())
      if (!give_up_least(leaf)) return;
    split(leaf, best);
  }

  Split best_of(int leaf, int f, double shrinkage) const {
    const double* at = observer(leaf, layout_.observer) + layout_.place[f];
    const bool number = layout_.values[f] == 0;
    const int parts = number ? Bins::kBins : layout_.values[f], n = layout_.sums;
    const double* first = number ? at + 2 : at;
    std::vector<double> all(n), below(n), above(n);
    for (int p = 0; p < parts; ++p)
      for (int s = 0; s < n; ++s) all[s] += first[p * n + s];
    const double whole = worth(all.data(), shrinkage);
    Split best;
    for (int p = 0; p < parts - (number ? 1 : 0); ++p) {
      for (int s = 0; s < n; ++s) below[s] = (number ? below[s] : 0) + first[p * n + s], above[s] = all[s] - below[s];
      if (below[0] < kFewest || above[0] < kFewest) continue;
      const double parted = worth(below.data(), shrinkage) + worth(above.data(), shrinkage), merit = parted - whole;
      if (merit > best.merit && merit > kEnd * parted) best = {f, number ? Bins::cut(at, p) : p, merit, below, above};
    }
    return best;
  }

  void split(int leaf, const Split& by) {
    give_up(leaf, layout_.observer);
    gains[by.feature] += by.merit;
    const int first = add_node(i(leaf, kDepth) + 1);
    add_node(i(leaf, kDepth) + 1);
    i(leaf, kFeature) = by.feature, i(leaf, kChild) = first, r(leaf)[kCut] = by.cut;
    for (int side = 0; side < 2; ++side) {
      const std::vector<double>& sums = side == 0 ? by.below : by.above;
      std::copy(sums.begin(), sums.end(), r(first + side) + kSums);
      for (int k = 0; k < layout_.outputs; ++k) {  // rounding may make a difference negative
        double& h = r(first + side)[kSums + 2 + 2 * k];
        h = std::max(h, 0.0);
      }
      observe(first + side, layout_.observer);
    }
  }

  static void move(const double* from, int sums, double* to, int shift) {
    to[0] = from[0];
    std::copy_n(from + 1, sums - 1, to + 1 + 2 * shift);
  }
  void move_part(const GradientLayout& before, int f, const double* from, double* to, int shift) const {
    const bool number = before.values[f] == 0;
    if (number) std::copy_n(from, 2, to), from += 2, to += 2;
    const int parts = number ? Bins::kBins : before.values[f];
    for (int p = 0; p < parts; ++p) move(from + p * before.sums, before.sums, to + p * layout_.sums, shift);
  }

  void check_sums(const double* sums) const {
    require(sums[0] >= 0, "weights must be 0 or more");
    for (int k = 0; k < layout_.outputs; ++k) require(sums[2 + 2 * k] >= 0, "second derivatives must be 0 or more");
  }

  GradientLayout layout_;
};

}  // namespace heros
