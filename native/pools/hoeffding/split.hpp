// Searches the best split of a leaf. A numeric feature offers ten thresholds between its extremes, rated with the
// Gaussians of the classes. A nominal feature offers a branch per value, or one value against the rest.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numbers>
#include <numeric>
#include <vector>

#include "core/draws.hpp"
#include "pools/hoeffding/observers.hpp"
#include "pools/hoeffding/quick.hpp"

namespace heros {

enum class Criterion : int { information_gain, gini };
enum class Test : int { at_most, each_value, equals };  // branch 0: x <= value | x is the branch | x == value

// Options of the search beyond MOA's. quick: single precision (quick.hpp). features: a random subset of this size, the
// same in every search of a leaf; 0 means all. random_cuts: one random threshold instead of evenly spaced thresholds.
// Random numbers follow from the tree's key, the leaf and its counts, so there is no state to store.
struct Search {
  std::uint64_t key = 0;
  std::int32_t features = 0;
  bool random_cuts = false;
  bool quick = false;

  std::uint64_t of_leaf(int node) const { return Draws::mixed(key + static_cast<std::uint64_t>(node)); }
  std::uint64_t of_search(int node, double seen) const {
    return Draws::mixed(of_leaf(node) ^ std::bit_cast<std::uint64_t>(seen));
  }
};

struct Split {
  int feature = -1;  // -1: no test
  Test test = Test::at_most;
  double value = 0;
  double merit = -std::numeric_limits<double>::infinity();
  int branches = 2;
};

// The statistics of every class at a leaf. A class has no block if the leaf has seen none of its instances.
struct LeafStatistics {
  const TreeLayout& layout;
  const double* counts;                // per class, including counts inherited from the parent
  std::vector<ConstClassBlock> blocks;  // the blocks of the classes seen
  std::vector<int> classes;             // the classes of these blocks
};

class SplitSearch {
 public:
  SplitSearch(Criterion criterion, bool binary, const Search& how = {}, int node = 0, double seen = 0)
      : criterion_(criterion), binary_(binary), how_(how), features_(how.of_leaf(node)),
        cuts_(how.of_search(node, seen)) {}

  struct Result {
    Split best;
    double second = -std::numeric_limits<double>::infinity();
    bool any = false;  // whether any feature offered a test
  };

  // If merits are equal, the test on the later feature wins, as in MOA (which takes the last test of a stable sort).
  Result operator()(const LeafStatistics& leaf) {
    classes_ = leaf.layout.classes;
    Result result;
    before_ = impurity(leaf.counts);
    result.best.merit = criterion_ == Criterion::gini ? 1 - before_ : -std::numeric_limits<double>::infinity();
    int wanted = how_.features > 0 ? how_.features : leaf.layout.features();
    for (int f = 0; f < leaf.layout.features(); ++f) {
      if (!offered(leaf.layout.features() - f, wanted)) continue;
      --wanted;
      const Split split = leaf.layout.values[f] > 0 ? best_nominal(leaf, f) : best_numeric(leaf, f);
      if (split.feature < 0) continue;
      result.any = true;
      if (split.merit >= result.best.merit) {
        result.second = result.best.merit;
        result.best = split;
      } else {
        result.second = std::max(result.second, split.merit);
      }
    }
    return result;
  }

  // The initial class counts of every branch of a split, (branches, classes). lengths: per branch, one more than the
  // highest class counted.
  void distribute(const LeafStatistics& leaf, const Split& split, std::vector<double>& counts,
                  std::vector<std::int32_t>& lengths) {
    classes_ = leaf.layout.classes;
    after_.assign(std::size_t(split.branches) * classes_, 0.0);
    lengths_.assign(split.branches, 0);
    if (split.test == Test::at_most) cut(leaf, leaf.layout.position[split.feature], split.value);
    if (split.test == Test::each_value) deal(leaf, leaf.layout.position[split.feature], split.branches);
    if (split.test == Test::equals) single_out(leaf, leaf.layout.position[split.feature], int(split.value));
    counts = after_, lengths = lengths_;
  }

  double range(std::int32_t classes_counted) const {
    return criterion_ == Criterion::gini ? 1.0 : log2(std::max(classes_counted, 2));
  }

 private:
  static constexpr int kCuts = 10;
  static constexpr double kSmallestBranch = 0.01;
  static constexpr std::int64_t kMostCells = 1 << 24;  // limit of branches times classes

  // Whether to use the next feature, if `wanted` of the `left` remaining features are to be used. All subsets are
  // equally likely.
  bool offered(int left, int wanted) {
    return wanted >= left || features_.below(static_cast<std::uint32_t>(left)) < static_cast<std::uint32_t>(wanted);
  }

  static double log2(double x) { return std::log(x) / std::numbers::ln2; }
  double log2_of(double x) const { return how_.quick ? quick_log2(static_cast<float>(x)) : log2(x); }

  double* branch(int b) { return &after_[std::size_t(b) * classes_]; }
  void add(int b, int c, double weight) {
    branch(b)[c] += weight;
    lengths_[b] = std::max(lengths_[b], c + 1);
  }

  double impurity(const double* counts) const {
    double total = 0;
    if (criterion_ == Criterion::gini) {
      for (int c = 0; c < classes_; ++c) total += counts[c];
      double gini = 1;
      for (int c = 0; total > 0 && c < classes_; ++c) gini -= (counts[c] / total) * (counts[c] / total);
      return gini;
    }
    double entropy = 0;
    for (int c = 0; c < classes_; ++c)
      if (counts[c] > 0) entropy -= counts[c] * log2_of(counts[c]), total += counts[c];
    return total > 0 ? (entropy + total * log2_of(total)) / total : 0;
  }

  // The merit of the split in after_. At least two branches need more than 1 % of the weight each.
  double merit(int branches) {
    double total = 0;
    weights_.assign(branches, 0.0);
    for (int b = 0; b < branches; ++b) {
      for (int c = 0; c < classes_; ++c) weights_[b] += branch(b)[c];
      total += weights_[b];
    }
    if (criterion_ == Criterion::gini) {
      double gini = 0;
      for (int b = 0; b < branches; ++b)
        if (weights_[b] > 0) gini += weights_[b] / total * impurity(branch(b));
      return 1 - gini;
    }
    int large = 0;
    for (const double weight : weights_) large += weight / total > kSmallestBranch;
    if (large < 2) return -std::numeric_limits<double>::infinity();
    double entropy = 0;
    for (int b = 0; b < branches; ++b)
      if (weights_[b] > 0) entropy += weights_[b] * impurity(branch(b));
    return before_ - entropy / total;
  }

  void reset(int branches) {
    after_.assign(std::size_t(branches) * classes_, 0.0);
    lengths_.assign(branches, 0);
  }

  Split best_numeric(const LeafStatistics& leaf, int feature) {
    const int j = leaf.layout.position[feature];
    double low = std::numeric_limits<double>::infinity(), high = -low;
    for (const ConstClassBlock& block : leaf.blocks)
      if (block.seen[j] > 0) low = std::min(low, block.low[j]), high = std::max(high, block.high[j]);
    Split best;
    if (how_.quick && !how_.random_cuts) return low < high ? quick_numeric(leaf, feature, low, high) : best;
    for (int k = 0; k < (how_.random_cuts ? 1 : kCuts) && low < high; ++k) {
      const double value =
          how_.random_cuts ? (high - low) * cuts_.uniform() + low : (high - low) / (kCuts + 1.0) * (k + 1) + low;
      if (!(value > low && value < high)) continue;
      reset(2);
      cut(leaf, j, value);
      const double m = merit(2);
      if (best.feature < 0 || m > best.merit) best = {feature, Test::at_most, value, m, 2};
    }
    return best;
  }

  Split quick_numeric(const LeafStatistics& leaf, int feature, double low, double high) const {
    const int j = leaf.layout.position[feature];
    QuickCuts cuts(low, high);
    for (const ConstClassBlock& block : leaf.blocks) {
      if (block.seen[j] == 0) continue;
      const Gaussian gaussian(block.seen[j], block.mean[j], block.spread[j]);
      cuts.add(block.seen[j], gaussian.mean, gaussian.sd, block.low[j], block.high[j]);
    }
    const QuickCuts::Best best = cuts.best(kSmallestBranch);
    return {feature, Test::at_most, cuts.value(best.cut), before_ - best.entropy, 2};
  }

  void cut(const LeafStatistics& leaf, int j, double value) {
    for (std::size_t i = 0; i < leaf.blocks.size(); ++i) {
      const ConstClassBlock& block = leaf.blocks[i];
      const int c = leaf.classes[i];
      const double n = block.seen[j];
      if (n == 0) continue;
      if (value < block.low[j]) {
        add(1, c, n);
      } else if (value >= block.high[j]) {
        add(0, c, n);
      } else {  // within the range of a varying feature
        const Gaussian gaussian(n, block.mean[j], block.spread[j]);
        const double equal = gaussian.density(value) * n;
        const double less = gaussian.at_most(value) * n - equal;
        add(0, c, less + equal);
        add(1, c, std::max(n - equal - less, 0.0));
      }
    }
  }

  Split best_nominal(const LeafStatistics& leaf, int feature) {
    const int j = leaf.layout.position[feature], seen = values_seen(leaf, j);
    Split best;
    if (seen == 1 && criterion_ == Criterion::information_gain) {  // a constant cannot split
      best.feature = feature, best.test = binary_ ? Test::equals : Test::each_value;
      return best;
    }
    if (!binary_ && seen > 0 && std::int64_t{seen} * classes_ <= kMostCells) {
      reset(seen);
      deal(leaf, j, seen);
      best = {feature, Test::each_value, 0, merit(seen), leaf.layout.values[feature]};
      // A test of one value against the rest cannot be better than a branch per value. It may still be valid if a
      // branch per value is not, as the rest together has more weight.
      if (std::isfinite(best.merit)) return best;
    }
    reset(2);
    std::vector<double> totals;  // per class; counts are integers, so differences of sums are exact
    for (const ConstClassBlock& block : leaf.blocks) {
      const std::int32_t* count = block.count + leaf.layout.slot[j];
      totals.push_back(std::accumulate(count, count + seen, 0.0));
    }
    const int tests = how_.quick && seen == 2 ? 1 : seen;  // for two values, one test is sufficient
    for (int v = 0; v < tests; ++v) {
      for (std::size_t i = 0; i < leaf.blocks.size(); ++i) {
        branch(0)[leaf.classes[i]] = leaf.blocks[i].count[leaf.layout.slot[j] + v];
        branch(1)[leaf.classes[i]] = totals[i] - branch(0)[leaf.classes[i]];
      }
      const double m = merit(2);
      if (best.feature < 0 || m > best.merit) best = {feature, Test::equals, double(v), m, 2};
    }
    return best;
  }

  static int values_seen(const LeafStatistics& leaf, int j) {
    const int first = leaf.layout.slot[j];
    int seen = leaf.layout.values[leaf.layout.nominal[j]];
    const auto unseen = [&](int v) {
      return std::all_of(leaf.blocks.begin(), leaf.blocks.end(),
                         [&](const ConstClassBlock& block) { return block.count[first + v] == 0; });
    };
    while (seen > 0 && unseen(seen - 1)) --seen;
    return seen;
  }

  void deal(const LeafStatistics& leaf, int j, int branches) {
    for (std::size_t i = 0; i < leaf.blocks.size(); ++i) {
      const std::int32_t* count = leaf.blocks[i].count + leaf.layout.slot[j];
      int own = branches;
      while (own > 0 && count[own - 1] == 0) --own;
      for (int v = 0; v < own; ++v) add(v, leaf.classes[i], count[v]);
    }
  }

  void single_out(const LeafStatistics& leaf, int j, int value) {
    for (std::size_t i = 0; i < leaf.blocks.size(); ++i) {
      const std::int32_t* count = leaf.blocks[i].count + leaf.layout.slot[j];
      int own = leaf.layout.values[leaf.layout.nominal[j]];
      while (own > 0 && count[own - 1] == 0) --own;
      for (int v = 0; v < own; ++v) add(v == value ? 0 : 1, leaf.classes[i], count[v]);
    }
  }

  Criterion criterion_;
  bool binary_;
  Search how_;
  Draws features_, cuts_;
  int classes_ = 0;
  double before_ = 0;
  std::vector<double> after_, weights_;  // (branches, classes); per branch
  std::vector<std::int32_t> lengths_;
};

}  // namespace heros
