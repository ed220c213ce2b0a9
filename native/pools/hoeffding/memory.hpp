// The memory of one Hoeffding tree, and its byte limit.
//
// Nodes are in one array, the children of a node side by side. A leaf that learns (an active leaf) has a record with
// its hits and cached sums, and a block of statistics per class. An inactive leaf only counts classes and predicts the
// majority. If memory is short, the least promising active leaves lose their statistics (VFDT, section 4).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "pools/hoeffding/layout.hpp"
#include "pools/hoeffding/observers.hpp"
#include "pools/hoeffding/slab.hpp"
#include "pools/hoeffding/split.hpp"

namespace heros {

// A node, for routing. A split has the feature and kind of its test, its value, and the first child. A leaf has its
// record, and in `value` its weight at the last split attempt.
struct Node {
  static constexpr std::int32_t kLeaf = -1;      // `test` of a leaf
  static constexpr std::int32_t kAbsent = -2;    // `test` of a branch without instances
  static constexpr std::int32_t kFresh = -1;     // `link` of a leaf that may learn but has no statistics yet
  static constexpr std::int32_t kInactive = -2;  // `link` of a leaf that may not learn

  double value = 0;
  std::int32_t test = kAbsent;  // 4 * feature + kind of a split
  std::int32_t link = kFresh;   // first child of a split, record of a leaf

  bool splits() const { return test >= 0; }
  bool observes() const { return test == kLeaf && link >= 0; }
  int feature() const { return test >> 2; }
  Test kind() const { return static_cast<Test>(test & 3); }
  int branch(double x) const {
    if (kind() == Test::at_most) return x <= value ? 0 : 1;
    return kind() == Test::each_value ? static_cast<int>(x) : x != value;
  }
  int branches(const TreeLayout& layout) const { return kind() == Test::each_value ? layout.values[feature()] : 2; }
};

struct TreeSummary {
  std::int64_t nodes = 0, leaves = 0, active = 0, depth = 0, bytes = 0;
};

class TreeMemory {
 public:
  TreeMemory() = default;
  TreeMemory(std::int64_t max_bytes, const TreeLayout& layout)
      : max_bytes_(max_bytes), leaves_(layout.leaf_reals(), layout.leaf_ints()),
        blocks_(layout.block_reals(), layout.block_ints()) {
    add_nodes(layout, 1);
    nodes_[0].test = Node::kLeaf;
    account(layout);
  }

  std::int64_t bytes() const { return bytes_; }
  const std::vector<Node>& nodes() const { return nodes_; }
  const double* counts(const TreeLayout& layout, int node) const { return &counts_[std::size_t(node) * layout.classes]; }

  TreeSummary summary(const TreeLayout& layout) const {
    TreeSummary s;
    s.bytes = bytes_;
    std::vector<std::pair<int, int>> stack{{0, 0}};  // node, depth
    while (!stack.empty()) {
      const auto [i, depth] = stack.back();
      stack.pop_back();
      if (nodes_[i].test == Node::kAbsent) continue;
      ++s.nodes;
      s.depth = std::max<std::int64_t>(s.depth, depth);
      s.leaves += !nodes_[i].splits();
      s.active += !nodes_[i].splits() && nodes_[i].link != Node::kInactive;
      for (int b = 0; nodes_[i].splits() && b < nodes_[i].branches(layout); ++b)
        stack.emplace_back(nodes_[i].link + b, depth + 1);
    }
    return s;
  }

 protected:
  static constexpr int kMajorityHits = 0, kBayesHits = 1, kBases = 2;  // positions in a record's doubles
  static constexpr int kOwner = 0, kBlocks = 1;                        // positions in a record's integers
  static constexpr std::int32_t kNobody = -1;                          // kOwner of a free record

  double* counts(const TreeLayout& layout, int node) { return &counts_[std::size_t(node) * layout.classes]; }
  double weight(const TreeLayout& layout, int node) const {
    double total = 0;
    for (int c = 0; c < layout.classes; ++c) total += counts(layout, node)[c];
    return total;
  }
  // The number of instances outside the majority class, which is the most that a split could correct.
  double promise(const TreeLayout& layout, int node) const {
    const double* seen = counts(layout, node);
    return weight(layout, node) - *std::max_element(seen, seen + layout.classes);
  }
  int classes_present(const TreeLayout& layout, int node) const {
    const double* seen = counts(layout, node);
    return static_cast<int>(std::count_if(seen, seen + layout.classes, [](double n) { return n != 0; }));
  }

  int add_nodes(const TreeLayout& layout, int n) {
    const std::size_t first = nodes_.size();
    make_size(nodes_, first + n);
    make_size(counts_, (first + n) * layout.classes);
    make_size(lengths_, first + n);
    return static_cast<int>(first);
  }

  std::int32_t* blocks_of(int node) { return leaves_.ints(nodes_[node].link) + kBlocks; }
  const std::int32_t* blocks_of(int node) const { return leaves_.ints(nodes_[node].link) + kBlocks; }

  void account(const TreeLayout& layout) {
    bytes_ = static_cast<std::int64_t>(nodes_.size()) * layout.node_bytes() + leaves_.used() * layout.leaf_bytes() +
             blocks_.used() * layout.block_bytes();
  }
  std::int64_t observer_bytes(const TreeLayout& layout, int node) const {
    if (!nodes_[node].observes()) return 0;
    const std::int32_t* block = blocks_of(node);
    const auto n = std::count_if(block, block + layout.classes, [](std::int32_t b) { return b >= 0; });
    return layout.leaf_bytes() + n * layout.block_bytes();
  }

  // A split must leave room for the statistics of one such leaf. Otherwise a tree that is full of nodes could never
  // learn again.
  bool room_for_split(const TreeLayout& layout, int node, int branches) const {
    const auto nodes = static_cast<std::int64_t>(nodes_.size()) + branches;
    return nodes * layout.node_bytes() + observer_bytes(layout, node) <= max_bytes_;
  }

  // Allocates the statistics that leaf `node` needs to learn from an instance of class y. If there is no room, even
  // after deactivating less promising leaves, the leaf becomes inactive and the result is false.
  bool open_observers(const TreeLayout& layout, int node, int y) {
    const bool fresh = nodes_[node].link == Node::kFresh;
    if (!fresh && blocks_of(node)[y] >= 0) return true;
    const std::int64_t need = (fresh ? layout.leaf_bytes() : 0) + layout.block_bytes();
    if (!make_room(layout, need, node)) {
      deactivate(layout, node);
      return false;
    }
    if (fresh) {
      const int link = leaves_.take();
      nodes_[node].link = link;
      leaves_.ints(link)[kOwner] = node;
      std::fill_n(blocks_of(node), layout.classes, -1);
    }
    const int b = blocks_.take();
    clear(layout, ClassBlock(layout, blocks_.reals(b), blocks_.ints(b)));
    blocks_of(node)[y] = b;
    bytes_ += need;
    return true;
  }

  // Frees the statistics of a leaf. The leaf may collect new statistics.
  void close_observers(const TreeLayout& layout, int node) {
    if (!nodes_[node].observes()) return;
    bytes_ -= observer_bytes(layout, node);
    for (int c = 0; c < layout.classes; ++c)
      if (blocks_of(node)[c] >= 0) blocks_.give_back(blocks_of(node)[c]);
    leaves_.ints(nodes_[node].link)[kOwner] = kNobody;
    leaves_.give_back(nodes_[node].link);
    nodes_[node].link = Node::kFresh;
  }

  void deactivate(const TreeLayout& layout, int node) {
    close_observers(layout, node);
    nodes_[node].link = Node::kInactive;
  }

  // Lets an inactive leaf learn again if there is room.
  void reconsider(const TreeLayout& layout, int node) {
    const std::int64_t need = layout.leaf_bytes() + classes_present(layout, node) * layout.block_bytes();
    if (make_room(layout, need, node)) nodes_[node].link = Node::kFresh;
  }

  // Frees `need` bytes by deactivating leaves that are less promising than leaf `asking` (-1: any leaf), the least
  // promising first. If this cannot free enough bytes, nothing changes.
  bool make_room(const TreeLayout& layout, std::int64_t need, int asking) {
    if (bytes_ + need <= max_bytes_) return true;
    const double bar = asking < 0 ? std::numeric_limits<double>::infinity() : promise(layout, asking);
    std::vector<std::pair<double, int>> victims;  // promise, node
    for (int i = 0; i < leaves_.size(); ++i) {
      const int node = leaves_.ints(i)[kOwner];
      if (node == kNobody || node == asking) continue;
      const double p = promise(layout, node);
      if (p < bar) victims.emplace_back(p, node);
    }
    std::sort(victims.begin(), victims.end());
    std::size_t n = 0;
    for (std::int64_t gained = 0; bytes_ + need - gained > max_bytes_; ++n) {
      if (n == victims.size()) return false;
      gained += observer_bytes(layout, victims[n].second);
    }
    for (std::size_t i = 0; i < n; ++i) deactivate(layout, victims[i].second);
    return true;
  }

  std::int64_t max_bytes_ = 0, bytes_ = 0;
  std::vector<Node> nodes_;
  std::vector<double> counts_;         // (nodes, classes)
  std::vector<std::int32_t> lengths_;  // per node: one more than the highest class counted
  Slab leaves_, blocks_;
};

}  // namespace heros
