// Where the numbers of a regression tree's leaves lie.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "pools/bins.hpp"

namespace heros {

// A leaf that looks for splits has an observer: for every numeric feature the range that its bins divide, and of each
// bin how many targets there were, their sum and the sum of their squares; for a nominal one the same per value. The
// sums are those of deviations from the leaf's first target, so that large targets lose no digits.
struct RegressionLayout {
  static constexpr int kSums = 3;

  std::vector<std::int32_t> values;   // per feature: how many values it has, 0 if numeric
  std::vector<std::size_t> place;     // per feature: where its part of an observer begins
  std::vector<std::int32_t> number;  // per feature: the how manieth numeric one, or -1
  int numbers = 0;
  std::size_t observer = 0;          // doubles

  RegressionLayout() = default;
  explicit RegressionLayout(std::vector<std::int32_t> per_feature) : values(std::move(per_feature)) {
    for (const std::int32_t n : values) {
      place.push_back(observer);
      number.push_back(n == 0 ? numbers++ : -1);
      observer += n == 0 ? Bins::size(kSums) : std::size_t(kSums) * n;
    }
  }
  int features() const { return static_cast<int>(values.size()); }
  // Weights of a leaf's linear model: one per numeric feature, and the bias.
  std::size_t weights() const { return std::size_t(numbers) + 1; }
};

struct RegressionTreeSettings {
  enum class Prediction { mean, linear, adaptive };

  std::int64_t max_bytes, grace_period;
  double split_confidence, tie_threshold;
  Prediction prediction;
  std::int32_t max_depth;  // negative: none
};

}  // namespace heros
