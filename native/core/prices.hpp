// Measures the cost of each model of a pool: CPU time of an evaluation, and of the training step after it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "core/phases.hpp"
#include "core/pool.hpp"

namespace heros {

struct Prices {
  std::vector<double> look, train;  // (M,) seconds
};

// Trains the models on the n instances, one model after another; the pool is not used afterwards. The first half warms
// up. The second half is split into rounds, and the median round counts, as other processes may disturb a round.
inline Prices measured_prices(Pool& pool, const double* X, const double* targets, std::int64_t n) {
  constexpr std::int64_t kRounds = 5;
  const std::size_t models = pool.models(), features = pool.features();
  const std::int64_t warm = n / 2, length = std::max<std::int64_t>(1, (n - warm) / kRounds);
  Prices prices{std::vector<double>(models), std::vector<double>(models)};
  std::vector<std::uint8_t> only(models);
  PhaseClock clock;
  clock.start();
  const auto pass = [&](std::int64_t from, std::int64_t to, bool trains) {
    const double before = thread_cpu_seconds();
    for (std::int64_t t = from; t < std::min(to, n); ++t) {
      const double* x = X + t * static_cast<std::int64_t>(features);
      pool.look(x, only.data(), clock);
      if (trains) pool.train(x, targets[t], only.data(), clock);
    }
    return (thread_cpu_seconds() - before) / static_cast<double>(std::max<std::int64_t>(1, std::min(to, n) - from));
  };
  const auto median = [](std::vector<double> values) {
    std::nth_element(values.begin(), values.begin() + values.size() / 2, values.end());
    return std::max(values[values.size() / 2], 0.0);
  };
  for (std::size_t i = 0; i < models; ++i) {
    only[i] = 1;
    pass(0, warm, true);
    std::vector<double> looks, steps;
    for (std::int64_t from = warm; from < n; from += length) {
      looks.push_back(pass(from, from + length, false));
      steps.push_back(pass(from, from + length, true));
    }
    prices.look[i] = median(looks);
    prices.train[i] = std::max(median(steps) - prices.look[i], 0.0);
    only[i] = 0;
  }
  return prices;
}

}  // namespace heros
