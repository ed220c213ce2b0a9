// The memory layout of naive Bayes statistics. A model has one block for all classes together and one per class. A
// block holds the weight of the instances; per numeric feature a count, the mean and the squared deviations; per
// nominal feature a count and the counts of its values.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace heros {

struct BayesLayout {
  std::vector<std::int32_t> values;  // per feature: number of values, 0 if numeric
  int classes = 0;
  std::vector<std::size_t> place;  // per feature: start of its statistics in a block
  std::size_t block = 1;           // numbers in a block

  BayesLayout() = default;
  BayesLayout(std::vector<std::int32_t> values_per_feature, int n_classes)
      : values(std::move(values_per_feature)), classes(n_classes) {
    for (const std::int32_t n : values) {
      place.push_back(block);
      block += n == 0 ? 3 : 1 + static_cast<std::size_t>(n);
    }
  }

  int features() const { return static_cast<int>(values.size()); }
  std::size_t model() const { return block * (1 + static_cast<std::size_t>(classes)); }
};

// Adds a value to the statistics of a numeric feature: count, mean and squared deviations.
inline void learn_number(double* at, double x, double weight) {
  const double n = at[0] + weight;
  const double off = x - at[1];
  const double mean = at[1] + off * (weight / n);
  const double squares = at[2] + weight * off * (x - mean);
  if (!std::isfinite(squares)) return;  // the value is too large for the moments and is ignored
  at[0] = n, at[1] = mean, at[2] = squares;
}

}  // namespace heros
