// The settings of boosted trees that are retrained on a window.
#pragma once

#include <algorithm>
#include <cstdint>

namespace heros {

struct RetrainedSettings {
  std::int64_t window = 5000;  // number of latest instances used for a training
  std::int64_t every = 1000;   // instances between two trainings
  std::int64_t spread = 0;     // instances over which one training is spread; 0: as many as it needs
  std::int32_t trees = 30;     // per output
  std::int32_t leaves = 15;    // maximum per tree
  double learning_rate = 0.2;
  std::int32_t bins = 63;      // maximum per numeric feature
  std::int32_t min_leaf = 20;  // minimum number of instances in a leaf
  double shrinkage = 1;        // λ: added to a leaf's second derivatives
  std::int32_t most_trees = 0;  // maximum over all outputs; 0: no limit
  double drift = 0;            // ADWIN's δ for restarting the window; 0: never
  std::int64_t max_bytes = 0;  // limit of instances, trees and the memory of a training

  // Trees per output. If `most_trees` allows fewer than `trees`, each tree takes a larger step.
  static constexpr double kLargestStep = 0.5;
  std::int32_t rounds(int outputs) const {
    return most_trees == 0 ? trees : std::clamp(most_trees / std::max(outputs, 1), 1, trees);
  }
  double step(int outputs) const {
    const double larger = learning_rate * trees / rounds(outputs);
    return std::max(learning_rate, std::min(larger, kLargestStep));
  }

  // The maximum and the actual number of instances over which a training is spread. A step processes about kStep values
  // (of instances, or of histograms when a leaf's split is chosen), which takes about half a millisecond.
  static constexpr double kStep = 150'000, kPerTree = 10, kPasses = 2;
  std::int64_t most_spread() const { return spread > 0 ? spread : std::max<std::int64_t>(1, std::min(every, window) / 2); }
  std::int64_t spread_for(std::int64_t instances, int features, int outputs) const {
    if (spread > 0) return spread;
    const std::int64_t found = std::min<std::int64_t>(leaves, instances / min_leaf) * bins;
    const double rows = kPasses * static_cast<double>(instances + found);
    const double work = rows * (features + kPerTree) * rounds(outputs) * outputs;
    return std::clamp<std::int64_t>(static_cast<std::int64_t>(std::min(work / kStep, 1e9)), 1, most_spread());
  }
};

}  // namespace heros
