// The interface of a pool of M models, for any kind of model and target.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/guard.hpp"
#include "core/phases.hpp"
#include "core/state.hpp"

namespace heros {

// The weight of an instance (`Pool::weigh`).
struct Weight {
  double value = 1;
  std::int32_t times = 1;  // as an integer, for models that count instances; its sum equals the sum of `value`
};

// A pool of M models.
//
// An instance is a row of doubles: numbers, 0-based codes of nominal values, NaN for missing values. A target is a
// double: the index of a class, or a number. An output is a model's prediction: a probability per class, or a number.
// The caller has checked instances and targets; pools do not check again. Only models written in Python throw.
//
// Masks select the models to evaluate or to train: one byte per model, 0 or 1. To evaluate, nullptr means all models.
class Pool {
 public:
  virtual ~Pool() = default;

  // Whether the models support weights. `weigh` sets the weight of the instances trained on from now on.
  virtual bool weighs() const { return false; }
  virtual void weigh(const Weight&) {}

  // Sets the number of missing labels before the next instance, for models that depend on the order of labels. For
  // `look`: the number of labels learnt between the instance's prediction and now. For `answer`: the number of
  // instances before it without a label.
  virtual void set_delay(std::int64_t /*labels*/) {}

  virtual int models() const = 0;
  virtual int features() const = 0;
  virtual int outputs() const = 0;  // the length of an output; 0 before the schema is known

  // Evaluates the watched models on x. Stores what `output` and `train` need, until the next call. The call must do no
  // work for models that are not watched.
  virtual void look(const double* x, const std::uint8_t* watched, PhaseClock& clock) = 0;

  // Results of the last evaluation of model i. `outcome` rates it in [0, 1]; for a class it is 1 if the model predicts
  // the class (ties: the lowest class), else 0. `sound` is false if the output is not finite, as when the model has
  // diverged; then the outcome is 0. `output` writes the output: probabilities sum to 1, and are uniform if the output
  // is not sound.
  virtual double outcome(int i, double target) const = 0;
  virtual bool sound(int i) const = 0;
  virtual void output(int i, double* out) const = 0;

  // Trains the chosen models on x, the instance evaluated last. Models that need an evaluation before training are
  // evaluated if necessary.
  virtual void train(const double* x, double target, const std::uint8_t* chosen, PhaseClock& clock) = 0;

  // Whether model i can be trained now. A disabled model is not trained even if it is chosen.
  virtual bool trainable(int) const { return true; }
  virtual bool all_trainable() const { return true; }  // whether every model can always be trained

  // Whether training costs model i almost nothing, so that it is trained on expected instances too (`Surprise`).
  virtual bool always_learns(int) const { return false; }

  // Whether evaluating model i is slow, so that it is evaluated only if the other models are not sure (`Stack`).
  virtual bool asked_last(int) const { return false; }

  // Sets which models are awake, one byte per model. Sleeping models are neither evaluated nor trained until they wake,
  // so the pool need not prepare anything for them.
  virtual void set_awake(const std::uint8_t* /*awake*/) {}
  // The time of each part of a joined pool and of the rest of a step, since the first `set_awake`: first without
  // training, then of training.
  virtual std::vector<std::int64_t> ticks() const { return {}; }

  // Tells whether the ensemble expected the target of the next training instance (`Surprise`), and whether its loss is
  // steady.
  virtual void set_expected(bool /*expected*/, bool /*steady*/) {}

  // train(x) followed by look(next). Pools may do both in one pass over their memory. `next` is the first of `left`
  // further rows; if all models are evaluated, a pool may also evaluate later rows ahead. The results must equal those
  // of two calls bit for bit.
  virtual void train_and_look(const double* x, double target, const std::uint8_t* chosen, const double* next,
                              const std::uint8_t* watched, std::int64_t /*left*/, PhaseClock& clock) {
    train(x, target, chosen, clock);
    look(next, watched, clock);
  }

  // Writes model i's output for any x; `sound` and `output` then refer to x. Must not change what the model has learnt.
  virtual void answer(int i, const double* x, double* out) = 0;

  // The parts of a joined pool; empty for other pools.
  virtual std::vector<std::shared_ptr<Pool>> parts() const { return {}; }

  // The lock of the pool. Callers must hold it; pools do not lock themselves.
  const Guard& guard() const { return guard_; }

 private:
  Guard guard_;
};

// Whether the mask selects model i.
inline bool looks(const std::uint8_t* watched, int i) { return watched == nullptr || watched[i] != 0; }

// Rejects schemas that are too large for the 32-bit indices of the pools.
inline void expect_countable(const std::vector<std::int32_t>& values, int classes) {
  constexpr std::int64_t kMost = 1 << 24;
  std::int64_t total = 0;
  for (const std::int32_t n : values) total += n;
  require(classes <= kMost && total + static_cast<std::int64_t>(values.size()) <= kMost,
          "at most 16 million classes, and 16 million features and values together, are possible");
}

}  // namespace heros
