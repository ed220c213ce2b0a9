// A Hoeffding tree for regression (after FIMT, Ikonomovska et al. 2011). A leaf chooses the split that reduces the
// variance of its targets most, and splits once the best feature is better than the second with the required
// confidence. Numeric features are counted in bins of equal width. A leaf predicts the mean of its targets or uses a
// linear model, whichever had smaller recent errors. The linear model (NLMS over standardised numbers) is inherited
// from the parent.
//
// The byte limit counts nodes and observers. If memory is short, the leaves with the smallest squared error lose their
// observers and do not split any more.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "core/state.hpp"
#include "core/target.hpp"
#include "pools/binned_tree.hpp"
#include "pools/bins.hpp"
#include "pools/regression/layout.hpp"

namespace heros {

class RegressionTree : public BinnedTree {
 public:
  struct Sums {
    double n = 0, sum = 0, squares = 0;
    double error() const { return n > 0 ? std::max(squares - sum * sum / n, 0.0) : 0.0; }  // around their mean
    void add(const double* s) { n += s[0], sum += s[1], squares += s[2]; }
  };
  std::vector<double> reals;        // per node: see below
  std::vector<double> weights;      // per node: of its linear model

  static constexpr int kReals = 8;
  // The threshold; the count, mean and squared deviations of the targets; the count at the last split attempt; the
  // first target; recent errors of the mean and of the linear model.
  enum Real { kCut, kCount, kMean, kSquares, kTried, kOrigin, kMeanError, kModelError };

  double& r(int node, Real what) { return reals[std::size_t(node) * kReals + what]; }
  double r(int node, Real what) const { return reals[std::size_t(node) * kReals + what]; }

  std::int64_t bytes(const RegressionLayout& layout) const {
    return nodes() * node_bytes(layout) + static_cast<std::int64_t>(observers.size() * sizeof(double));
  }
  static std::int64_t node_bytes(const RegressionLayout& layout) {
    return kInts * 4 + static_cast<std::int64_t>((kReals + layout.weights()) * sizeof(double));
  }

  void begin(const RegressionLayout& layout, std::int64_t max_bytes) {
    add_node(layout, 0);
    if (fits(layout, max_bytes, static_cast<std::int64_t>(layout.observer * sizeof(double)))) observe(0, layout.observer);
  }

  // Returns the leaf of x. A missing value follows the branch with more instances.
  int leaf_of(const double* x, const RegressionLayout& layout) const {
    int node = 0;
    while (i(node, kFeature) >= 0) node = i(node, kChild) + branch(node, x[i(node, kFeature)], layout);
    return node;
  }

  double predict(const double* x, const double* z, const RegressionLayout& layout,
                 const RegressionTreeSettings& settings) const {
    const int leaf = leaf_of(x, layout);
    return uses_model(leaf, settings) ? model(leaf, z, layout) : r(leaf, kMean);
  }

  // z: the standardised numeric features.
  void learn(const double* x, const double* z, double y, double weight, const RegressionLayout& layout,
             const RegressionTreeSettings& settings) {
    if (!(weight > 0)) return;
    const int leaf = leaf_of(x, layout);
    if (r(leaf, kCount) == 0 && r(leaf, kSquares) == 0) r(leaf, kOrigin) = y;
    learn_model(leaf, z, y, weight, layout);
    const double n = r(leaf, kCount) += weight, off = y - r(leaf, kMean);
    r(leaf, kMean) += weight * off / n;
    r(leaf, kSquares) += weight * off * (y - r(leaf, kMean));
    if (i(leaf, kObserver) < 0) return;
    note(leaf, x, y - r(leaf, kOrigin), weight, layout);
    if (n - r(leaf, kTried) < static_cast<double>(settings.grace_period)) return;
    r(leaf, kTried) = n;
    if (settings.max_depth < 0 || i(leaf, kDepth) < settings.max_depth) try_split(leaf, layout, settings);
  }

  // Adapts the tree to a layout with more features or values. New parts are empty; observers that no longer fit are
  // removed.
  void grow(const RegressionLayout& before, const RegressionLayout& after, std::int64_t max_bytes) {
    std::vector<double> wider(std::size_t(nodes()) * after.weights()), observed;
    for (int node = 0; node < nodes(); ++node)
      std::copy_n(&weights[node * before.weights()], before.weights(), &wider[node * after.weights()]);
    const std::size_t slots = before.observer > 0 ? observers.size() / before.observer : 0;
    observed.assign(slots * after.observer, 0);
    for (std::size_t slot = 0; slot < slots; ++slot)
      for (int f = 0; f < before.features(); ++f) {
        const std::size_t size = (f + 1 < before.features() ? before.place[f + 1] : before.observer) - before.place[f];
        std::copy_n(&observers[slot * before.observer + before.place[f]], size,
                    &observed[slot * after.observer + after.place[f]]);
      }
    weights = std::move(wider), observers = std::move(observed);
    while (bytes(after) > max_bytes && give_up_least(after, -1)) {
    }
  }

  Summary summary(const RegressionLayout& layout) const { return summary_of(bytes(layout)); }

  void check(const RegressionLayout& layout) const {
    check_nodes(layout.features(), layout.observer);
    require(reals.size() == std::size_t(nodes()) * kReals && weights.size() == std::size_t(nodes()) * layout.weights(),
            "the arrays of the nodes have the wrong length");
    for (const auto* numbers : {&reals, &weights, &observers})
      require(all_of(*numbers, [](double x) { return std::isfinite(x); }), "all numbers must be finite");
    for (int node = 0; node < nodes(); ++node)
      require(r(node, kCount) >= 0 && r(node, kSquares) >= 0, "counts and sums of squares must be 0 or more");
  }

 private:
  static constexpr double kRate = 0.1, kFading = 0.995, kEnd = 1e-12;
  static constexpr int kFewest = 5;  // instances on either side of a split

  struct Split {
    int feature = -1;
    double cut = 0, merit = 0;
    Sums below, above;
  };

  int branch(int node, double x, const RegressionLayout& layout) const {
    const int child = i(node, kChild);
    if (std::isnan(x)) return r(child, kCount) >= r(child + 1, kCount) ? 0 : 1;
    if (layout.values[i(node, kFeature)] > 0) return x == r(node, kCut) ? 0 : 1;
    return x <= r(node, kCut) ? 0 : 1;
  }

  bool uses_model(int leaf, const RegressionTreeSettings& s) const {
    using P = RegressionTreeSettings::Prediction;
    return s.prediction == P::linear || (s.prediction == P::adaptive && r(leaf, kModelError) < r(leaf, kMeanError));
  }
  double model(int leaf, const double* z, const RegressionLayout& layout) const {
    const double* w = &weights[leaf * layout.weights()];
    double said = w[layout.numbers];
    for (int j = 0; j < layout.numbers; ++j) said += w[j] * z[j];
    return said;
  }
  // NLMS: the step is divided by the squared length of z and does not depend on the unit of the target. A weight of 2
  // means two steps.
  void learn_model(int leaf, const double* z, double y, double weight, const RegressionLayout& layout) {
    double* w = &weights[leaf * layout.weights()];
    if (leaf == 0 && r(0, kCount) == 0) w[layout.numbers] = y;
    const double error = y - model(leaf, z, layout);
    double squares = 1;
    for (int j = 0; j < layout.numbers; ++j) squares += z[j] * z[j];
    r(leaf, kMeanError) = kFading * r(leaf, kMeanError) + weight * std::fabs(y - r(leaf, kMean));
    r(leaf, kModelError) = kFading * r(leaf, kModelError) + weight * std::fabs(error);
    const double rate = weight == 1 ? kRate : 1 - std::pow(1 - kRate, weight);
    for (int j = 0; j < layout.numbers; ++j) w[j] += rate * error * z[j] / squares;
    w[layout.numbers] += rate * error / squares;
  }

  int add_node(const RegressionLayout& layout, int depth) {
    reals.resize(reals.size() + kReals);
    weights.resize(weights.size() + layout.weights());
    return append_node(depth);
  }
  bool give_up_least(const RegressionLayout& layout, int but) {  // the leaf with the smallest squared error
    return BinnedTree::give_up_least(but, layout.observer, [this](int node) { return r(node, kSquares); });
  }
  bool fits(const RegressionLayout& layout, std::int64_t max_bytes, std::int64_t more) const {
    return bytes(layout) + more <= max_bytes;
  }

  // Adds a target, as its deviation from the leaf's origin, to every feature's sums.
  void note(int leaf, const double* x, double off, double weight, const RegressionLayout& layout) {
    double* first = observer(leaf, layout.observer);
    for (int f = 0; f < layout.features(); ++f) {
      if (std::isnan(x[f])) continue;
      double* at = first + layout.place[f];
      at = layout.values[f] == 0 ? Bins::of(at, x[f], RegressionLayout::kSums)
                                 : at + RegressionLayout::kSums * static_cast<int>(x[f]);
      at[0] += weight, at[1] += weight * off, at[2] += weight * off * off;
    }
  }

  void try_split(int leaf, const RegressionLayout& layout, const RegressionTreeSettings& settings) {
    Split best, second;
    for (int f = 0; f < layout.features(); ++f) {
      const Split found = best_of(leaf, f, layout);
      if (found.merit > best.merit) second = best, best = found;
      else if (found.merit > second.merit) second = found;
    }
    if (best.feature < 0 || !(best.merit > kEnd * r(leaf, kSquares))) return;
    const double epsilon = std::sqrt(std::log(1 / settings.split_confidence) / (2 * (best.below.n + best.above.n)));
    if (second.merit / best.merit >= 1 - epsilon && epsilon >= settings.tie_threshold) return;
    const auto observer = static_cast<std::int64_t>(layout.observer * sizeof(double));
    const std::int64_t more = 2 * node_bytes(layout) + observer;  // one child reuses the leaf's observer
    while (!fits(layout, settings.max_bytes, more))
      if (!give_up_least(layout, leaf)) return;
    split(leaf, best, layout);
  }

  // Returns the split on feature f that reduces the squared deviations most.
  Split best_of(int leaf, int f, const RegressionLayout& layout) const {
    const double* at = observer(leaf, layout.observer) + layout.place[f];
    const bool number = layout.values[f] == 0;
    const int parts = number ? Bins::kBins : layout.values[f];
    const double* sums = number ? at + 2 : at;
    Sums all, below;
    for (int p = 0; p < parts; ++p) all.add(sums + p * RegressionLayout::kSums);
    Split best;
    for (int p = 0; p < parts - (number ? 1 : 0); ++p) {
      if (!number) below = {};
      below.add(sums + p * RegressionLayout::kSums);
      const Sums above{all.n - below.n, all.sum - below.sum, all.squares - below.squares};
      if (below.n < kFewest || above.n < kFewest) continue;
      const double merit = all.error() - below.error() - above.error();
      if (!(merit > best.merit)) continue;
      const double cut = number ? Bins::cut(at, p) : p;
      best = {f, cut, merit, below, above};
    }
    return best;
  }

  void split(int leaf, const Split& by, const RegressionLayout& layout) {
    const double origin = r(leaf, kOrigin);
    give_up(leaf, layout.observer);
    const int first = add_node(layout, i(leaf, kDepth) + 1);
    add_node(layout, i(leaf, kDepth) + 1);
    i(leaf, kFeature) = by.feature, i(leaf, kChild) = first, r(leaf, kCut) = by.cut;
    for (int side = 0; side < 2; ++side) {
      const int child = first + side;
      const Sums& sums = side == 0 ? by.below : by.above;
      std::copy_n(weights.begin() + static_cast<std::ptrdiff_t>(leaf * layout.weights()), layout.weights(),
                  weights.begin() + static_cast<std::ptrdiff_t>(child * layout.weights()));
      r(child, kCount) = r(child, kTried) = sums.n;
      r(child, kMean) = origin + sums.sum / sums.n, r(child, kOrigin) = r(child, kMean), r(child, kSquares) = sums.error();
      r(child, kMeanError) = r(leaf, kMeanError), r(child, kModelError) = r(leaf, kModelError);
      observe(child, layout.observer);
    }
  }
};

}  // namespace heros
