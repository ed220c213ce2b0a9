// The shared part of trees over bins: nodes, and the observers of leaves that may still split. Each kind of tree
// defines the numbers of its nodes and observers.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/state.hpp"

namespace heros {

class BinnedTree {
 public:
  struct Summary {
    std::int64_t nodes = 0, leaves = 0, active = 0, depth = 0, bytes = 0;
  };

  std::vector<std::int32_t> ints;  // per node: feature or -1, first child, observer or -1, depth
  std::vector<double> observers;   // concatenated

  static constexpr int kInts = 4;
  enum Int { kFeature, kChild, kObserver, kDepth };

  int nodes() const { return static_cast<int>(ints.size()) / kInts; }
  std::int32_t& i(int node, Int what) { return ints[std::size_t(node) * kInts + what]; }
  std::int32_t i(int node, Int what) const { return ints[std::size_t(node) * kInts + what]; }

 protected:
  // The numbers of a node's observer; `size` is the length of an observer.
  double* observer(int node, std::size_t size) { return &observers[i(node, kObserver) * size]; }
  const double* observer(int node, std::size_t size) const { return &observers[i(node, kObserver) * size]; }

  int append_node(int depth) {
    ints.insert(ints.end(), {-1, 0, -1, depth});
    return nodes() - 1;
  }
  // Adds an observer of zeros to a leaf. The initial range of a numeric feature is [0, 0].
  void observe(int node, std::size_t size) {
    i(node, kObserver) = size > 0 ? static_cast<std::int32_t>(observers.size() / size) : -1;
    observers.resize(observers.size() + size);
  }
  // Removes the observer of a leaf. The last observer takes the free place.
  void give_up(int node, std::size_t size) {
    const std::int32_t slot = i(node, kObserver);
    const auto last = static_cast<std::int32_t>(observers.size() / size) - 1;
    for (int other = 0; other < nodes() && slot != last; ++other)
      if (i(other, kObserver) == last) i(other, kObserver) = slot;
    if (slot != last) std::copy_n(&observers[last * size], size, &observers[slot * size]);
    observers.resize(std::size_t(last) * size);
    i(node, kObserver) = -1;
  }
  // Removes the observer of the leaf with the lowest `promise`, except leaf `but`; returns false if no other leaf has
  // an observer.
  template <class Promise>
  bool give_up_least(int but, std::size_t size, Promise promise) {
    int least = -1;
    for (int node = 0; node < nodes(); ++node)
      if (i(node, kObserver) >= 0 && node != but && (least < 0 || promise(node) < promise(least))) least = node;
    if (least < 0) return false;
    give_up(least, size);
    return true;
  }

  Summary summary_of(std::int64_t bytes) const {
    Summary s;
    s.nodes = nodes(), s.bytes = bytes;
    for (int node = 0; node < nodes(); ++node) {
      s.depth = std::max<std::int64_t>(s.depth, i(node, kDepth));
      s.leaves += i(node, kFeature) < 0, s.active += i(node, kObserver) >= 0;
    }
    return s;
  }

  // Checks that imported arrays are a tree over this number of features with observers of this size.
  void check_nodes(int features, std::size_t size) const {
    require(ints.size() % kInts == 0 && nodes() >= 1, "nodes");
    require(size > 0 ? observers.size() % size == 0 : observers.empty(), "an observer is incomplete");
    const auto slots = static_cast<std::int32_t>(size > 0 ? observers.size() / size : 0);
    std::vector<std::uint8_t> taken(slots);
    for (int node = 0; node < nodes(); ++node) {
      const bool leaf = i(node, kFeature) < 0;
      require(i(node, kFeature) < features && i(node, kDepth) >= 0, "a split uses an unknown feature");
      require(leaf || (i(node, kChild) > node && i(node, kChild) < nodes() - 1), "children must follow their parents");
      const std::int32_t slot = i(node, kObserver);
      require(slot >= -1 && slot < slots && (slot < 0 || (leaf && !taken[slot])),
              "every active leaf must have its own observer");
      if (slot >= 0) taken[slot] = 1;
    }
    require(std::count(taken.begin(), taken.end(), 1) == slots, "every observer must belong to a leaf");
  }
};

}  // namespace heros
