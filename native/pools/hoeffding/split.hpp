// Which test splits a leaf best. Numeric features offer ten cuts between their extremes, judged by the
// class Gaussians; nominal ones a branch per value, or one value against the rest.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numbers>
#include <numeric>
#include <vector>

#include "pools/hoeffding/observers.hpp"

namespace heros {

enum class Criterion : int { information_gain, gini };
enum class Test : int { at_most, each_value, equals };  // branch 0: x <= value | x is the branch | x == value

struct Split {
  int feature = -1;  // -1: no test
  Test test = Test::at_most;
  double value = 0;
  double merit = -std::numeric_limits<double>::infinity();
  int branches = 2;
};

// The statistics of every class at a leaf; `blocks` may be missing (a class not seen since the leaf began).
struct LeafStatistics {
  const TreeLayout& layout;
  const double* counts;                // per class, the share inherited at the leaf's birth included
  std::vector<ConstClassBlock> blocks;  // of the classes seen
  std::vector<int> classes;             // which classes those are
};

class SplitSearch {
 public:
  SplitSearch(Criterion criterion, bool binary) : criterion_(criterion), binary_(binary) {}

  struct Result {
    Split best;
    double second = -std::numeric_limits<double>::infinity();
    bool any = false;  // whether any feature offered a test
  };

  // Of tests with equal merit the one on the later feature wins, as in MOA (a stable sort, the last taken).
  Result operator()(const LeafStatistics& leaf) {
    classes_ = leaf.layout.classes;
    Result result;
    before_ = impurity(leaf.counts);
    result.best.merit = criterion_ == Criterion::gini ? 1 - before_ : -std::numeric_limits<double>::infinity();
    for (int f = 0; f < leaf.layout.features(); ++f) {
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

  // The class counts every branch of a split begins with, (branches, classes); `lengths`: per branch, one
  // more than the highest class that was weighed for it.
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
  static constexpr std::int64_t kMostCells = 1 << 24;  // branches times classes: more are never told apart

  static double log2(double x) { return std::log(x) / std::numbers::ln2; }

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
      if (counts[c] > 0) entropy -= counts[c] * log2(counts[c]), total += counts[c];
    return total > 0 ? (entropy + total * log2(total)) / total : 0;
  }

  // The merit of the split in after_. A split needs two branches with more than 1 % of the weight each.
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
    for (int k = 0; k < kCuts && low < high; ++k) {
      const double value = (high - low) / (kCuts + 1.0) * (k + 1) + low;
      if (!(value > low && value < high)) continue;
      reset(2);
      cut(leaf, j, value);
      const double m = merit(2);
      if (best.feature < 0 || m > best.merit) best = {feature, Test::at_most, value, m, 2};
    }
    return best;
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
      } else {  // inside the range of a feature that varies
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
    if (seen == 1 && criterion_ == Criterion::information_gain) {  // nothing to tell apart
      best.feature = feature, best.test = binary_ ? Test::equals : Test::each_value;
      return best;
    }
    if (!binary_ && seen > 0 && std::int64_t{seen} * classes_ <= kMostCells) {
      reset(seen);
      deal(leaf, j, seen);
      best = {feature, Test::each_value, 0, merit(seen), leaf.layout.values[feature]};
      // One value against the rest cannot tell more than all values apart; it may be allowed where that is
      // not, because the rest together are large enough.
      if (std::isfinite(best.merit)) return best;
    }
    reset(2);
    std::vector<double> totals;  // of each class; counts are whole numbers, so a difference of sums is exact
    for (const ConstClassBlock& block : leaf.blocks) {
      const std::int32_t* count = block.count + leaf.layout.slot[j];
      totals.push_back(std::accumulate(count, count + seen, 0.0));
    }
    for (int v = 0; v < seen; ++v) {
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
  int classes_ = 0;
  double before_ = 0;
  std::vector<double> after_, weights_;  // (branches, classes); per branch
  std::vector<std::int32_t> lengths_;
};

}  // namespace heros
