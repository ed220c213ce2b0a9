// The settings of a boosted model.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace heros {

struct BoostedSettings {
  std::int64_t max_bytes = 0;  // the limit of all trees together; each tree gets an equal part
  std::int32_t rounds = 1;     // number of trees
  double learning_rate = 0.1;
  double features = 1;         // the share of the features used by a tree
  std::int64_t grace_period = 200;
  double split_confidence = 1e-7, tie_threshold = 0.05;
  std::int32_t max_depth = -1;  // negative: no limit
  double shrinkage = 1;         // λ: added to a leaf's second derivatives
  double horizon = 0;           // effective number of instances in a leaf's fading sums; 0: no fading

  std::int64_t tree_bytes() const { return max_bytes / rounds; }
  int features_of(int all) const {
    return std::min(std::max(static_cast<int>(std::round(features * all)), 1), all);
  }
};

}  // namespace heros
