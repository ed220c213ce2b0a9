// What is learnt: which targets there are, and how right a model was about one.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "core/pool.hpp"

namespace heros {

class Task {
 public:
  virtual ~Task() = default;

  // Whether this can be the target of models with so many outputs.
  virtual bool fits(double target, int outputs) const = 0;

  // How right each of the models that looked was about the target, in [0, 1]. One that is not sound was wrong.
  virtual void outcomes(const Pool& pool, double target, const std::uint8_t* watched, double* out) = 0;

  // What is said if there is nobody who could answer.
  virtual void no_answer(double* out, int outputs) const = 0;
};

// A class of several, by its index. A hit is 1, a miss 0: pools know which class their models favour without working
// out probabilities.
class Classification final : public Task {
 public:
  bool fits(double target, int outputs) const override {
    return target >= 0 && target < outputs && target == std::floor(target);
  }
  void outcomes(const Pool& pool, double target, const std::uint8_t* watched, double* out) override {
    for (int i = 0; i < pool.models(); ++i)
      if (looks(watched, i)) out[i] = pool.outcome(i, target);
  }
  void no_answer(double* out, int outputs) const override { std::fill_n(out, outputs, 1.0 / outputs); }
};

}  // namespace heros
