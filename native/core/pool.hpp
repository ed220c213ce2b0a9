// What the step needs of a pool of M models, whatever the models are.
#pragma once

#include <cstdint>
#include <vector>

#include "core/phases.hpp"
#include "core/state.hpp"

namespace heros {

// An instance is a row of doubles: numbers as they are, nominal values as 0-based codes, NaN = missing.
// The caller has checked it against the schema: pools do not check again. Only models written in Python throw.
class Pool {
 public:
  virtual ~Pool() = default;

  // Whether an ensemble works with the pool at this moment: without Python's lock, so that nobody may look
  // inside, or in the middle of a step, so that nobody may change it.
  bool busy = false, in_step = false;

  virtual int models() const = 0;
  virtual int features() const = 0;
  virtual int classes() const = 0;

  // Every model looks at x; what prediction and training need of that look is kept until the next one.
  virtual void evaluate(const double* x, PhaseClock& clock) = 0;

  // The class model i gave to the last evaluated instance (ties: the lowest), or -1 if it gave none
  // (a diverged model): that counts as wrong.
  virtual int vote(int i) const = 0;

  // Model i's probabilities for the last evaluated instance: finite, summing to 1, uniform if diverged.
  virtual void probabilities(int i, double* out) const = 0;

  // Trains the chosen models (chosen[i] != 0) on x, the last evaluated instance, with class y.
  virtual void train(const double* x, int y, const std::uint8_t* chosen, PhaseClock& clock) = 0;

  // Whether model i can be trained now: one that has been set aside is not, even if it is chosen.
  virtual bool trainable(int) const { return true; }

  // train(x) followed by evaluate(next), for pools that can do both in one pass over their memory. `next` is the
  // first of `left` rows to come: a pool may look ahead. The results must equal those of the two calls bit for bit.
  virtual void train_and_evaluate(const double* x, int y, const std::uint8_t* chosen, const double* next,
                                  std::int64_t /*left*/, PhaseClock& clock) {
    train(x, y, chosen, clock);
    evaluate(next, clock);
  }

  // Model i's probabilities for any x. Nothing that is learnt changes.
  virtual void predict(int i, const double* x, double* out) = 0;
};

// Places in memory are counted with 32 bits: a schema beyond that is refused before anything is laid out.
inline void expect_countable(const std::vector<std::int32_t>& values, int classes) {
  constexpr std::int64_t kMost = 1 << 24;
  std::int64_t total = 0;
  for (const std::int32_t n : values) total += n;
  require(classes <= kMost && total + static_cast<std::int64_t>(values.size()) <= kMost,
          "features, values and classes, each at most 16 million in all");
}

}  // namespace heros
