// The settings of a forest.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "pools/hoeffding/tree.hpp"

namespace heros {

struct ForestSettings {
  TreeSettings tree;              // the settings of every tree; max_bytes is the limit of the whole forest
  std::int32_t trees = 1;
  double features = 1;            // the share of the features used by a tree or a leaf
  bool per_leaf = false;          // draw the features per leaf instead of per tree
  double bagging = 0;             // mean of the Poisson distribution of an instance's weight; 0: weight 1
  double warning = 0, drift = 0;  // ADWIN's δ for starting a background tree and for replacing a tree; 0: never

  int features_of(int all) const {
    return std::min(std::max(static_cast<int>(std::round(features * all)), 1), all);
  }

  // The byte limit of a tree: an equal part of the forest's limit, less a quarter for its background tree.
  std::int64_t tree_bytes() const { return warning > 0 ? tree.max_bytes / trees - background_bytes() : tree.max_bytes / trees; }
  std::int64_t background_bytes() const { return tree.max_bytes / trees / 4; }
  // The lowest limit of a forest at which every background tree has room for one node.
  std::int64_t least_bytes(std::int64_t node) const { return 4 * trees * node; }
};

}  // namespace heros
