// The settings of boosted trees that are retrained on a window.
#pragma once

#include <cstdint>

namespace heros {

struct RetrainedSettings {
  std::int64_t window = 5000;  // instances that a training uses: the latest
  std::int64_t every = 1000;   // instances between two trainings
  std::int64_t spread = 200;   // instances over which the work of one training is spread
  std::int32_t trees = 30;     // per output
  std::int32_t leaves = 15;    // of a tree, at most
  double learning_rate = 0.2;
  std::int32_t bins = 63;      // of a numeric feature, at most
  std::int32_t min_leaf = 20;  // instances in a leaf
  double shrinkage = 1;        // λ: added to a leaf's second derivatives
  std::int64_t max_bytes = 0;  // of instances, trees and everything that a training needs
};

}  // namespace heros
