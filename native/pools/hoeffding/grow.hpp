// Rebuilds a tree for an extended schema: more features, values or classes.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "pools/hoeffding/tree.hpp"

namespace heros {

// Copies the statistics of a class to a block with room for more features and values.
inline void widen(const TreeLayout& before, const ConstClassBlock& old, const TreeLayout& after,
                  const ClassBlock& block) {
  const int n = before.numbers();
  std::copy_n(old.mean, n, block.mean), std::copy_n(old.precision, n, block.precision);
  std::copy_n(old.spread, n, block.spread), std::copy_n(old.low, n, block.low), std::copy_n(old.high, n, block.high);
  std::copy_n(old.seen, n, block.seen), std::copy_n(old.divisor, before.codes(), block.divisor);
  for (int j = 0; j < before.codes(); ++j)
    std::copy_n(old.count + before.slot[j], before.values[before.nominal[j]], block.count + after.slot[j]);
}

inline void HoeffdingTree::grow(const TreeLayout& before, const TreeLayout& after) {
  HoeffdingTree old = std::move(*this);
  old.prune(before, after);
  *this = HoeffdingTree(old.settings_, after);
  std::vector<std::pair<int, int>> moves{{0, 0}};  // from old node to new node, parents first
  for (std::size_t i = 0; i < moves.size(); ++i) {
    const auto [from, to] = moves[i];
    std::copy_n(old.counts(before, from), before.classes, counts(after, to));
    lengths_[to] = old.lengths_[from];
    nodes_[to] = old.nodes_[from];
    if (nodes_[to].splits()) {
      const int first = add_nodes(after, nodes_[to].branches(after));
      nodes_[to].link = first;
      for (int b = 0; b < old.nodes_[from].branches(before); ++b)
        moves.emplace_back(old.nodes_[from].link + b, first + b);
    } else if (nodes_[to].observes()) {
      move_observers(before, old, from, after, to);
    }
  }
  account(after);
  make_room(after, 0, -1);
}

inline void HoeffdingTree::move_observers(const TreeLayout& before, const HoeffdingTree& old, int from,
                                          const TreeLayout& after, int to) {
  const int link = nodes_[to].link = leaves_.take();
  leaves_.ints(link)[kOwner] = to;
  const double* record = old.leaves_.reals(old.nodes_[from].link);
  std::copy_n(record, kBases, leaves_.reals(link));
  std::copy_n(record + kBases + 2 * before.classes, before.watch, leaves_.reals(link) + kBases + 2 * after.classes);
  std::fill_n(blocks_of(to), after.classes, -1);
  for (int c = 0; c < before.classes; ++c) {
    const int b = old.blocks_of(from)[c];
    if (b < 0) continue;
    const int wider = blocks_of(to)[c] = blocks_.take();
    const ClassBlock block(after, blocks_.reals(wider), blocks_.ints(wider));
    clear(after, block);
    widen(before, ConstClassBlock(before, old.blocks_.reals(b), old.blocks_.ints(b)), after, block);
    refresh_base(after, to, c);
  }
}

// Nodes are larger with a larger schema. While the nodes alone exceed the limit, the split with the lowest weight
// becomes a leaf again.
inline void HoeffdingTree::prune(const TreeLayout& before, const TreeLayout& after) {
  const auto crosses = [&] {
    std::int64_t n = 1;
    std::vector<int> stack{0};
    while (!stack.empty()) {
      const Node& node = nodes_[stack.back()];
      stack.pop_back();
      if (!node.splits()) continue;
      n += node.branches(after);
      for (int b = 0; b < node.branches(before); ++b) stack.push_back(node.link + b);
    }
    return n * after.node_bytes() > max_bytes_;
  };
  while (crosses()) collapse(before, least_seen_split(before));
}

// Considers only splits whose children are all leaves.
inline int HoeffdingTree::least_seen_split(const TreeLayout& layout) const {
  int least = -1;
  double least_weight = std::numeric_limits<double>::infinity();
  std::vector<int> stack{0};
  while (!stack.empty()) {
    const int i = stack.back();
    stack.pop_back();
    bool lowest = true;
    double seen = 0;
    for (int b = 0; b < nodes_[i].branches(layout); ++b) {
      const int child = nodes_[i].link + b;
      seen += weight(layout, child);
      if (nodes_[child].splits()) lowest = false, stack.push_back(child);
    }
    if (lowest && seen < least_weight) least = i, least_weight = seen;
  }
  return least;
}

inline void HoeffdingTree::collapse(const TreeLayout& layout, int node) {
  std::fill_n(counts(layout, node), layout.classes, 0.0);
  for (int b = 0; b < nodes_[node].branches(layout); ++b) {
    const int child = nodes_[node].link + b;
    close_observers(layout, child);
    for (int c = 0; c < layout.classes; ++c) counts(layout, node)[c] += counts(layout, child)[c];
    lengths_[node] = std::max(lengths_[node], lengths_[child]);
  }
  nodes_[node] = {weight(layout, node), Node::kLeaf, Node::kFresh};
}

}  // namespace heros
