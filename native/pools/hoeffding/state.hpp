// The state of a pool of trees: the concatenated arrays of all trees, and where each tree begins.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "pools/hoeffding/tree.hpp"
#include "core/pool.hpp"
#include "core/state.hpp"

namespace heros {

struct TreeArrays {
  std::vector<double> node_value, node_counts, leaf_reals, block_reals;
  std::vector<std::int32_t> node_test, node_link, node_length, leaf_ints, leaf_free, block_ints, block_free;
};

inline TreeArrays HoeffdingTree::arrays() const {
  TreeArrays a{{}, counts_, leaves_.all_reals(), blocks_.all_reals(), {}, {}, lengths_,
               leaves_.all_ints(), leaves_.all_free(), blocks_.all_ints(), blocks_.all_free()};
  for (const Node& node : nodes_) {
    a.node_value.push_back(node.value);
    a.node_test.push_back(node.test);
    a.node_link.push_back(node.link);
  }
  return a;
}

// Imports the tree from arrays; throws std::invalid_argument if they do not fit together.
inline void HoeffdingTree::adopt(TreeArrays a, const TreeSettings& settings, const TreeLayout& layout) {
  settings_ = settings, max_bytes_ = settings.max_bytes;
  const std::size_t n = a.node_value.size();
  require(n > 0 && a.node_test.size() == n && a.node_link.size() == n && a.node_length.size() == n &&
              a.node_counts.size() == n * layout.classes,
          "the arrays of the nodes have the wrong length");
  nodes_.assign(n, {});
  for (std::size_t i = 0; i < n; ++i) nodes_[i] = {a.node_value[i], a.node_test[i], a.node_link[i]};
  counts_ = std::move(a.node_counts), lengths_ = std::move(a.node_length);
  leaves_ = Slab(layout.leaf_reals(), layout.leaf_ints(), std::move(a.leaf_reals), std::move(a.leaf_ints),
                 std::move(a.leaf_free));
  blocks_ = Slab(layout.block_reals(), layout.block_ints(), std::move(a.block_reals), std::move(a.block_ints),
                 std::move(a.block_free));
  check_nodes(layout);
  check_records(layout);
  check_statistics(layout);
  account(layout);
  require(bytes_ <= max_bytes_, "a tree exceeds its byte limit");
}

inline void HoeffdingTree::check_nodes(const TreeLayout& layout) const {
  std::vector<std::uint8_t> reached(nodes_.size());
  reached[0] = 1;
  require(nodes_[0].test != Node::kAbsent, "the tree has no root");
  for (std::size_t i = 0; i < nodes_.size(); ++i) {  // children come after their parent
    require(reached[i], "a node cannot be reached from the root");
    require(lengths_[i] >= 0 && lengths_[i] <= layout.classes, "a node counts an unknown class");
    const Node& node = nodes_[i];
    require(std::isfinite(node.value) && node.test >= Node::kAbsent && node.link >= Node::kInactive, "nodes");
    if (!node.splits()) continue;
    require(node.feature() < layout.features() && (node.test & 3) < 3, "a test uses an unknown feature");
    require((layout.values[node.feature()] == 0) == (node.kind() == Test::at_most),
            "a test does not fit the type of its feature");
    const int branches = node.branches(layout);
    require(node.link > static_cast<int>(i) && std::size_t(node.link) + branches <= nodes_.size(), "children");
    for (int b = 0; b < branches; ++b) require(!reached[node.link + b]++, "a node has several parents");
  }
  for (const double count : counts_) require(std::isfinite(count) && count >= 0, "invalid class counts");
}

inline void HoeffdingTree::check_records(const TreeLayout& layout) const {
  std::vector<std::uint8_t> records = leaves_.in_use(), blocks = blocks_.in_use();
  for (int i = 0; i < leaves_.size(); ++i)
    require(records[i] || leaves_.ints(i)[kOwner] == kNobody, "a free record has an owner");
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    if (!nodes_[i].observes()) continue;
    const int link = nodes_[i].link;
    require(link < leaves_.size() && records[link]-- == 1, "every active leaf must have its own record");
    require(leaves_.ints(link)[kOwner] == static_cast<int>(i), "a record belongs to another leaf");
    for (int c = 0; c < layout.classes; ++c) {
      const int b = blocks_of(static_cast<int>(i))[c];
      require(b >= -1 && b < blocks_.size() && (b < 0 || blocks[b]-- == 1), "invalid block of a class");
    }
  }
  const auto taken = [](const std::vector<std::uint8_t>& left) {
    return std::all_of(left.begin(), left.end(), [](std::uint8_t n) { return n == 0; });
  };
  require(taken(records) && taken(blocks), "some statistics belong to no leaf");
  for (const std::int32_t count : blocks_.all_ints()) require(count >= 0 && count <= kFull, "counts");
}

// Checks the statistics of the leaves. Derived values are computed again instead of being imported.
inline void HoeffdingTree::check_statistics(const TreeLayout& layout) {
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    if (!nodes_[i].observes()) continue;
    const double* hits = leaves_.reals(nodes_[i].link);
    require(amount(hits[kMajorityHits]) && amount(hits[kBayesHits]), "hits");
    require(layout.watch == 0 || LeafChange::sound(hits + kBases + 2 * layout.classes),
            "invalid statistics of the change detector");
    for (int c = 0; c < layout.classes; ++c) {
      const int b = blocks_of(static_cast<int>(i))[c];
      if (b < 0) continue;
      require(is_sound(layout, ConstClassBlock(layout, blocks_.reals(b), blocks_.ints(b))), "statistics");
      require(counts(layout, static_cast<int>(i))[c] > 0, "a class without instances has statistics");
      refresh_base(layout, static_cast<int>(i), c);
    }
  }
}

template <class Archive, class Tree>
void tree_fields(Archive& a, std::vector<Tree>& trees) {
  joined(a, "node_value", trees, &TreeArrays::node_value), joined(a, "node_test", trees, &TreeArrays::node_test);
  joined(a, "node_link", trees, &TreeArrays::node_link), joined(a, "node_length", trees, &TreeArrays::node_length);
  joined(a, "node_counts", trees, &TreeArrays::node_counts);
  joined(a, "leaf_reals", trees, &TreeArrays::leaf_reals), joined(a, "leaf_ints", trees, &TreeArrays::leaf_ints);
  joined(a, "leaf_free", trees, &TreeArrays::leaf_free), joined(a, "block_free", trees, &TreeArrays::block_free);
  joined(a, "block_reals", trees, &TreeArrays::block_reals), joined(a, "block_ints", trees, &TreeArrays::block_ints);
}

// The state of a pool, for export and import. The pool itself keeps no second copy of its trees.
struct PoolState {
  std::vector<std::int32_t> values;
  std::int32_t classes = 0;
  std::vector<TreeArrays> trees;

  template <class Archive>
  void fields(Archive& a) {
    a("values", values), a("classes", classes);
    tree_fields(a, trees);
  }
  void check() const {
    require(classes >= 0 && all_of(values, [](int v) { return v >= 0; }), "invalid schema");
    expect_countable(values, classes);
  }
};

}  // namespace heros
