// What the step needs of a pool of M models, whatever the models are and whatever they learn.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/guard.hpp"
#include "core/phases.hpp"
#include "core/state.hpp"

namespace heros {

// An instance is a row of doubles: numbers as they are, nominal values as 0-based codes, NaN = missing. A target is a
// double: the index of a class. An output is what a model says of an instance: a probability per class. The caller has
// checked instances and targets: pools do not check again. Only models written in Python throw.
//
// Instances may count differently: `weigh` says what the next one counts that is trained on.
//
// Who looks and who is trained are masks with a byte per model, 0 or 1; no mask (nullptr) of those who look means all.
struct Weight {
  double value = 1;
  std::int32_t times = 1;  // as whole times, which add up to the weights: for models that count instances
};

class Pool {
 public:
  virtual ~Pool() = default;

  // Whether the models can weigh instances; and what those count that they are trained on from now on.
  virtual bool weighs() const { return false; }
  virtual void weigh(const Weight&) {}

  // How far the last label is from the instance that is looked at next, or asked about, beyond the instance before it:
  // at a look, how many labels were learnt between its prediction and now; where it is asked about, how many instances
  // before it have no label yet. For models that know the order of labels.
  virtual void set_delay(std::int64_t /*labels*/) {}

  virtual int models() const = 0;
  virtual int features() const = 0;
  virtual int outputs() const = 0;  // numbers in an output; 0 before the pool knows its instances

  // The watched models look at x; what outputs and training need of that look is kept until the next one. A model
  // that does not look costs nothing.
  virtual void look(const double* x, const std::uint8_t* watched, PhaseClock& clock) = 0;

  // Of the last look of model i: how right it was, in [0, 1] (for a class: 1 if it is the one that the model favours,
  // ties: the lowest; else 0); whether its output is finite (a model that has diverged is not sound, and its outcome
  // is 0); and the output, which sums to 1 and is uniform if it is not sound.
  virtual double outcome(int i, double target) const = 0;
  virtual bool sound(int i) const = 0;
  virtual void output(int i, double* out) const = 0;

  // Trains the chosen models on x, the last instance looked at. Where training needs a look and a model has not had
  // one, it looks first.
  virtual void train(const double* x, double target, const std::uint8_t* chosen, PhaseClock& clock) = 0;

  // Whether model i can be trained now: one that has been set aside is not, even if it is chosen.
  virtual bool trainable(int) const { return true; }
  virtual bool all_trainable() const { return true; }  // whether that is so of all, now and later

  // Whether learning costs model i next to nothing, so that it learns also what was expected (`Surprise`).
  virtual bool always_learns(int) const { return false; }

  // Whether evaluating model i takes long, so that it is asked only where the others are not sure (`Stack`).
  virtual bool asked_last(int) const { return false; }

  // Which models are awake, a byte per model: the others are neither evaluated nor trained until they are woken, so nothing
  // need be prepared for them.
  virtual void set_awake(const std::uint8_t* /*awake*/) {}
  // The time of each part of a joined pool since the last `set_awake`: of everything but training, then of training.
  virtual std::vector<std::int64_t> ticks() const { return {}; }

  // Of the instance that is trained on next (`Surprise`): whether the ensemble had expected its target, and whether the
  // ensemble's loss is steady.
  virtual void set_expected(bool /*expected*/, bool /*steady*/) {}

  // train(x) followed by look(next), for pools that can do both in one pass over their memory. `next` is the first of
  // `left` rows to come: where all look, a pool may look ahead. The results must equal those of the two calls bit for
  // bit.
  virtual void train_and_look(const double* x, double target, const std::uint8_t* chosen, const double* next,
                              const std::uint8_t* watched, std::int64_t /*left*/, PhaseClock& clock) {
    train(x, target, chosen, clock);
    look(next, watched, clock);
  }

  // Model i's output for any x, of which `sound` and `output` then speak. Nothing that is learnt changes.
  virtual void answer(int i, const double* x, double* out) = 0;

  // The pools that this one is joined from, if it is.
  virtual std::vector<std::shared_ptr<Pool>> parts() const { return {}; }

  // Who reads the pool or works with it. Pools do not ask it themselves: their callers do.
  const Guard& guard() const { return guard_; }

 private:
  Guard guard_;
};

// Whether model i is among those who look.
inline bool looks(const std::uint8_t* watched, int i) { return watched == nullptr || watched[i] != 0; }

// Places in memory are counted with 32 bits: a schema beyond that is refused before anything is laid out.
inline void expect_countable(const std::vector<std::int32_t>& values, int classes) {
  constexpr std::int64_t kMost = 1 << 24;
  std::int64_t total = 0;
  for (const std::int32_t n : values) total += n;
  require(classes <= kMost && total + static_cast<std::int64_t>(values.size()) <= kMost,
          "features, values and classes, each at most 16 million in all");
}

}  // namespace heros
