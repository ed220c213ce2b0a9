// The outcomes of models on their training instances, and confidence bounds on the mean outcomes. Policies with bounds
// use these bounds instead of the scores. Theory: docs/theory.md.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "core/state.hpp"

namespace heros {

// The width of the bounds, and how fast old outcomes fade.
struct Bounds {
  double scale = 1;   // factor of the width: below 1 the bounds are narrower than the theory requires
  double factor = 1;  // the weight of an outcome shrinks by this factor per instance
  double rate = 0.5;  // α: a model's own regret after n updates is at most n^α
  double delta = 0.05;  // the probability that some bound fails
};

struct Account {
  double factor = 1;
  std::vector<double> rounds;         // one number: the faded number of instances
  std::vector<double> weight, right;  // per model: the faded number of training steps, and their summed outcomes

  Account() = default;
  Account(double factor, int models) : factor(factor), rounds(1), weight(models), right(models) {}

  void note(const double* outcomes, const std::uint8_t* chosen) {
    rounds[0] = factor * rounds[0] + 1;
    for (std::size_t i = 0; i < weight.size(); ++i) {
      weight[i] *= factor, right[i] *= factor;
      if (chosen[i]) weight[i] += 1, right[i] += outcomes[i];
    }
  }

  // Writes each model's upper bound: infinite for a model that was never trained.
  void upper(const Bounds& bounds, double* out) const {
    const double t = std::max(rounds[0], 1.0), models = static_cast<double>(weight.size());
    const double log_term = std::log(2 * models * t * (t + 1) / bounds.delta);
    for (std::size_t i = 0; i < weight.size(); ++i) {
      const double n = weight[i];
      out[i] = n > 0 ? right[i] / n : std::numeric_limits<double>::infinity();
      if (n > 0 && bounds.scale > 0)
        out[i] += bounds.scale * (std::sqrt(log_term / (2 * n)) + std::pow(n, bounds.rate - 1));
    }
  }

  template <class Archive>
  void fields(Archive& a) {
    a.optional("account_rounds", rounds), a.optional("account_weight", weight), a.optional("account_right", right);
  }
  // The arrays are empty if the saved model had a policy without bounds.
  void check(int models) {
    if (rounds.empty() && weight.empty() && right.empty()) *this = Account(factor, models);
    const std::size_t m = models;
    require(rounds.size() == 1 && weight.size() == m && right.size() == m && all_of(rounds, amount) &&
                all_of(weight, amount) && all_of(right, amount),
            "the account must have valid sums for each model");
  }
};

}  // namespace heros
