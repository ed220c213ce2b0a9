// Boosted trees for prediction. One array holds all nodes, and another array all leaves. An instance is converted to
// bytes once for all trees, by the bin edges of the training.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/state.hpp"
#include "pools/retrained/window.hpp"

namespace heros {

// The set of bytes for which an instance goes to the child below.
struct ByteSet {
  std::uint64_t words[4] = {};
  bool has(int byte) const { return (words[byte >> 6] >> (byte & 63) & 1) != 0; }
  void add(int byte) { words[byte >> 6] |= std::uint64_t{1} << (byte & 63); }
};

// A test of one byte. For a number: whether the byte is at most `cut`; missing values go below or above. For a nominal
// value: whether the byte is in the set.
struct ByteTest {
  std::int32_t feature = -1;
  std::int32_t cut = 0;  // the threshold of a number
  bool missing_below = false, by_set = false;
  ByteSet set;

  bool below(int byte) const {
    if (by_set) return set.has(byte);
    return byte == kMissing ? missing_below : byte <= cut;
  }
};

class BoostedSlab {
 public:
  struct Summary {
    std::int64_t trees = 0, leaves = 0, depth = 0;
  };

  std::vector<double> base;   // per output: the value before the first tree
  std::vector<double> gains;  // per feature: total loss reduction by its splits

  bool trained() const { return !base.empty(); }

  // Adds a node. `above` and `below` are nodes, or leaves if negative (~leaf).
  int add_node(const ByteTest& test) {
    std::int32_t packed = test.cut << 1 | (test.missing_below ? 1 : 0);
    if (test.by_set) {
      packed = ~static_cast<std::int32_t>(sets_.size() / 4);
      sets_.insert(sets_.end(), test.set.words, test.set.words + 4);
    }
    nodes_.insert(nodes_.end(), {test.feature, packed, 0, 0});
    return static_cast<int>(nodes_.size() / kInts) - 1;
  }
  void set_child(int node, bool below, std::int32_t child) { nodes_[node * kInts + (below ? kBelow : kAbove)] = child; }
  std::int32_t add_leaf(double step) {
    steps_.push_back(step);
    return ~static_cast<std::int32_t>(steps_.size() - 1);
  }
  void add_tree(std::int32_t root, int output) { roots_.push_back(root), outputs_.push_back(output); }

  // Stores the edges of the features that the trees test.
  void finish(const BinnedWindow& window) {
    tested_.clear();
    for (std::size_t at = 0; at < nodes_.size(); at += kInts) tested_.push_back(nodes_[at + kFeature]);
    std::sort(tested_.begin(), tested_.end());
    tested_.erase(std::unique(tested_.begin(), tested_.end()), tested_.end());
    features_.clear();
    for (const std::int32_t f : tested_) features_.push_back({window.edges(f)});
  }

  // Sums the outputs of the trees for x. bytes: scratch memory, one byte per feature.
  void say(const double* x, const std::vector<std::int32_t>& values, std::uint8_t* bytes, double* said) const {
    for (std::size_t i = 0; i < tested_.size(); ++i) {
      const std::int32_t f = tested_[i];
      bytes[f] = static_cast<std::uint8_t>(BinnedWindow::byte_of(x[f], values[f] > 0, features_[i].edges));
    }
    std::copy(base.begin(), base.end(), said);
    for (std::size_t t = 0; t < roots_.size(); t += kAbreast) {
      std::int32_t at[kAbreast];
      const std::size_t n = std::min(kAbreast, roots_.size() - t);
      std::copy_n(roots_.data() + t, n, at);
      std::fill(at + n, at + kAbreast, roots_[t]);
      walk(at, bytes);
      for (std::size_t i = 0; i < n; ++i) said[outputs_[t + i]] += steps_[~at[i]];
    }
  }

  // The single output of two classes becomes the output of the second class. A class without instances starts with a
  // low value.
  void grow(std::size_t features, std::size_t outputs, double unseen) {
    if (!trained()) return;
    gains.resize(features);
    if (base.size() == 1 && outputs > 1) {
      base.insert(base.begin(), 0.0);
      std::fill(outputs_.begin(), outputs_.end(), 1);
    }
    base.resize(outputs, unseen);
  }

  Summary summary() const {
    Summary s;
    s.trees = static_cast<std::int64_t>(roots_.size()), s.leaves = static_cast<std::int64_t>(steps_.size());
    std::vector<std::int64_t> depth(nodes_.size() / kInts + 1);  // children follow their parents
    for (std::size_t node = 0; node < nodes_.size() / kInts; ++node)
      for (const int side : {kBelow, kAbove}) {
        const std::int32_t child = nodes_[node * kInts + side];
        if (child >= 0) depth[child] = depth[node] + 1;
        s.depth = std::max(s.depth, depth[node] + 1);
      }
    return s;
  }

  // Bytes of this number of trees and leaves, with a set for every node.
  static std::int64_t bytes_of(std::int64_t trees, std::int64_t leaves) { return trees * (8 + leaves * (16 + 32 + 8)); }
  std::int64_t bytes() const {
    std::size_t sum = 4 * (nodes_.size() + roots_.size() + outputs_.size() + tested_.size());
    sum += 8 * (sets_.size() + steps_.size() + base.size() + gains.size());
    for (const Feature& one : features_) sum += 8 * one.edges.size();
    return static_cast<std::int64_t>(sum);
  }

  template <class Archive>
  void fields(Archive& a) {
    a("base", base), a("gains", gains), a("nodes", nodes_), a("sets", sets_), a("steps", steps_), a("roots", roots_);
    a("outputs", outputs_), a("tested", tested_);
    joined(a, "tested_edges", features_, &Feature::edges);
  }
  void check(const std::vector<std::int32_t>& values, std::size_t outputs, std::int64_t trees, std::int64_t leaves) const {
    const auto finite = [](double v) { return std::isfinite(v); };
    require(all_of(base, finite) && all_of(steps_, finite) && all_of(gains, amount), "all numbers must be finite");
    require(trained() ? base.size() == outputs && gains.size() == values.size() : gains.empty() && roots_.empty(),
            "there must be one number per output and per feature");
    require(nodes_.size() % kInts == 0 && sets_.size() % 4 == 0 && outputs_.size() == roots_.size() &&
                static_cast<std::int64_t>(roots_.size()) <= trees &&
                static_cast<std::int64_t>(steps_.size()) <= trees * leaves,
            "trees");
    const auto nodes = static_cast<std::int64_t>(nodes_.size() / kInts), ends = static_cast<std::int64_t>(steps_.size());
    const auto sets = static_cast<std::int64_t>(sets_.size() / 4);
    const auto reachable = [&](std::int32_t child, std::int64_t after) {
      return child < 0 ? ~std::int64_t{child} < ends : child > after && child < nodes;
    };
    for (std::size_t i = 0; i < tested_.size(); ++i) {
      require(tested_[i] >= 0 && std::size_t(tested_[i]) < values.size() && (i == 0 || tested_[i - 1] < tested_[i]),
              "the tested features must be known and in ascending order");
    }
    require(features_.size() == tested_.size(), "there must be edges for each tested feature");
    for (const Feature& one : features_)
      require(one.edges.size() < std::size_t(kMostBins) && all_of(one.edges, finite), "edges");
    for (std::int64_t node = 0; node < nodes; ++node) {
      const std::int32_t* at = nodes_.data() + node * kInts;
      require(std::binary_search(tested_.begin(), tested_.end(), at[kFeature]), "a split uses an unknown feature");
      require(at[kTest] >= 0 ? at[kTest] >> 1 <= kMostBins : ~std::int64_t{at[kTest]} < sets,
              "invalid test of a split");
      require(reachable(at[kBelow], node) && reachable(at[kAbove], node), "children must follow their parents");
    }
    for (std::size_t t = 0; t < roots_.size(); ++t)
      require(reachable(roots_[t], -1) && outputs_[t] >= 0 && std::size_t(outputs_[t]) < outputs, "roots");
  }

 private:
  static constexpr int kInts = 4;
  enum Int { kFeature, kTest, kBelow, kAbove };
  struct Feature {
    std::vector<double> edges;
  };

  // Walks down several trees at once. A single walk would wait for memory at every node, and its length is
  // unpredictable. A walk that has reached its leaf stays there.
  static constexpr std::size_t kAbreast = 8;
  void walk(std::int32_t* at, const std::uint8_t* bytes) const {
    const std::int32_t* nodes = nodes_.data();
    for (bool on = true; on;) {
      std::int32_t all = -1;
      for (std::size_t i = 0; i < kAbreast; ++i) {
        const std::int32_t *node = nodes + std::size_t(std::max(at[i], 0)) * kInts, test = node[kTest];
        const int byte = bytes[node[kFeature]];
        int below;
        if (test >= 0) {  // a missing value (0) that goes above counts as the largest byte
          const int missing_above = ~test & 1;
          below = static_cast<std::uint8_t>(byte - missing_above) <= (test >> 1) - missing_above;
        } else {
          below = static_cast<int>(sets_[std::size_t(~test) * 4 + (byte >> 6)] >> (byte & 63) & 1);
        }
        const std::int32_t next = node[kAbove - below];
        at[i] = at[i] >= 0 ? next : at[i];
        all &= at[i];
      }
      on = all >= 0;
    }
  }

  std::vector<std::int32_t> nodes_;    // per node: feature, test, child below, child above
  std::vector<std::uint64_t> sets_;    // four words each
  std::vector<double> steps_;          // the steps of the leaves
  std::vector<std::int32_t> roots_, outputs_;  // the root and the output of each tree
  std::vector<std::int32_t> tested_;   // the features that any tree tests, ascending
  std::vector<Feature> features_;      // the edges of those features
};

}  // namespace heros
