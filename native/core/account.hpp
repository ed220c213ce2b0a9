// How right models were at the instances they were trained on, and confidence bounds on it: what a policy knows that
// chooses by bounds, and not by the scores. The theory behind it: docs/theory.md.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "core/state.hpp"

namespace heros {

// How wide the bounds are, and how fast the account forgets.
struct Bounds {
  double scale = 1;   // of the width: at less than 1 the bounds are narrower than the theory asks for
  double factor = 1;  // what an outcome counts one instance later
  double rate = 0.5;  // α: a model's own regret after n updates is at most n^α
  double delta = 0.05;  // how likely some bound may fail
};

struct Account {
  double factor = 1;
  std::vector<double> rounds;         // one number: the instances so far, faded
  std::vector<double> weight, right;  // of each model: how often it was trained and how right it was then, faded

  Account() = default;
  Account(double factor, int models) : factor(factor), rounds(1), weight(models), right(models) {}

  void note(const double* outcomes, const std::uint8_t* chosen) {
    rounds[0] = factor * rounds[0] + 1;
    for (std::size_t i = 0; i < weight.size(); ++i) {
      weight[i] *= factor, right[i] *= factor;
      if (chosen[i]) weight[i] += 1, right[i] += outcomes[i];
    }
  }

  // The most that each model may be worth: infinite if it was never trained.
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
  // Of a model that was not under such a policy there is none.
  void check(int models) {
    if (rounds.empty() && weight.empty() && right.empty()) *this = Account(factor, models);
    const std::size_t m = models;
    require(rounds.size() == 1 && weight.size() == m && right.size() == m && all_of(rounds, amount) &&
                all_of(weight, amount) && all_of(right, amount),
            "account of every model");
  }
};

}  // namespace heros
