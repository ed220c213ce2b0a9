// What a forest is made of.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "pools/hoeffding/tree.hpp"

namespace heros {

struct ForestSettings {
  TreeSettings tree;              // of every tree; its byte limit is the whole forest's
  std::int32_t trees = 1;
  double features = 1;            // the share of the features for a tree or a leaf
  bool per_leaf = false;          // drawn at every leaf, not once for a tree
  double bagging = 0;             // how often an instance counts: the mean of a Poisson distribution; 0: once
  double warning = 0, drift = 0;  // ADWIN's δ for a tree to begin in the background, and for it to take over; 0: never

  int features_of(int all) const {
    return std::min(std::max(static_cast<int>(std::round(features * all)), 1), all);
  }

  // What a tree may hold: an equal part of the forest's bytes, of which a quarter is kept for the one behind it.
  std::int64_t tree_bytes() const { return warning > 0 ? tree.max_bytes / trees - background_bytes() : tree.max_bytes / trees; }
  std::int64_t background_bytes() const { return tree.max_bytes / trees / 4; }
  // The byte limit from which on every tree in the background has room for a node of this size.
  std::int64_t least_bytes(std::int64_t node) const { return 4 * trees * node; }
};

}  // namespace heros
