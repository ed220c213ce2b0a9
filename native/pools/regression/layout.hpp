// The memory layout of regression trees.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "pools/bins.hpp"

namespace heros {

// A leaf that may split has an observer. A numeric feature has the range of its bins; each bin has the number of
// targets, their sum and the sum of their squares. A nominal feature has the same sums per value. Sums are of
// deviations from the leaf's first target, so that large targets lose no digits.
struct RegressionLayout {
  static constexpr int kSums = 3;

  std::vector<std::int32_t> values;   // per feature: number of values, 0 if numeric
  std::vector<std::size_t> place;     // per feature: start of its part of an observer
  std::vector<std::int32_t> number;  // per feature: its index among numeric features, or -1
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
  // The number of weights of a leaf's linear model: one weight per numeric feature, and the bias.
  std::size_t weights() const { return std::size_t(numbers) + 1; }
};

struct RegressionTreeSettings {
  enum class Prediction { mean, linear, adaptive };

  std::int64_t max_bytes, grace_period;
  double split_confidence, tie_threshold;
  Prediction prediction;
  std::int32_t max_depth;  // negative: no limit
};

}  // namespace heros
