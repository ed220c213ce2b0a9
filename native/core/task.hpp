// What is learnt: which targets there are, and how right a model was about one.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "core/interval.hpp"
#include "core/lookers.hpp"
#include "core/pool.hpp"
#include "core/sets.hpp"
#include "core/surprise.hpp"
#include "core/target.hpp"

namespace heros {

class Task {
 public:
  virtual ~Task() = default;

  // Whether this can be the target of models with so many outputs.
  virtual bool fits(double target, int outputs) const = 0;

  // How right each of the models that looked was about the target, in [0, 1]. One that is not sound was wrong.
  virtual void outcomes(const Pool& pool, double target, const Lookers& lookers, double* out) = 0;

  // Whether the target is a number, and if so the standard deviation of recent ones.
  virtual bool numeric() const { return false; }
  virtual double unit() const { return 0; }

  // What a model says, as far as it counts where several answer: one that is far off must not outweigh all others.
  virtual double counted(double said) const { return said; }

  // What is said if there is nobody who could answer.
  virtual void no_answer(double* out, int outputs) const = 0;

  // How many numbers the ensemble says of an instance: the outputs of a model, and what `complete` puts behind them.
  virtual int width(int outputs) const { return outputs; }
  virtual void complete(double* /*said*/) const {}

  // How right the ensemble was about a class.
  virtual double outcome(const double* /*said*/, double /*target*/, int /*outputs*/) const { return 0; }

  // Whether the target was to be expected by what the ensemble said.
  virtual bool expected(const double* said, double target, const Surprise& surprise) const = 0;

  // How wrong what the ensemble said was: for a class 0 or 1, for a number how far off. What it lost, in [0, 1]. The class,
  // -1 of a number.
  struct Fault {
    double mistake, lost;
    int target;
  };
  virtual Fault fault(const double* said, double target, int outputs) const = 0;

  // Learns from the target of what the ensemble said; after `outcomes`.
  virtual void learn(const double* /*said*/, double /*target*/, int /*outputs*/) {}
};

// A class of several, by its index. A hit is 1, a miss 0: pools know which class their models favour without working
// out probabilities.
class Classification final : public Task {
 public:
  explicit Classification(double level = 0) : sets_(level) {}

  PredictionSets& sets() { return sets_; }
  void learn(const double* said, double target, int outputs) override {
    if (sets_.on()) sets_.learn(said, static_cast<int>(target), outputs);
  }
  bool fits(double target, int outputs) const override {
    return target >= 0 && target < outputs && target == std::floor(target);
  }
  void outcomes(const Pool& pool, double target, const Lookers& lookers, double* out) override {
    for (const int i : lookers) out[i] = pool.outcome(i, target);
  }
  void no_answer(double* out, int outputs) const override { std::fill_n(out, outputs, 1.0 / outputs); }
  double outcome(const double* said, double target, int outputs) const override {
    return std::max_element(said, said + outputs) - said == target ? 1.0 : 0.0;
  }
  bool expected(const double* said, double target, const Surprise& surprise) const override {
    return said[static_cast<int>(target)] > surprise.sure;
  }
  Fault fault(const double* said, double target, int outputs) const override {
    const int right = static_cast<int>(target);
    return {std::max_element(said, said + outputs) - said == right ? 0.0 : 1.0, 1 - said[right], right};
  }

 private:
  PredictionSets sets_;
};

// A number. Models say what it is, in its own unit; the ensemble puts an interval behind that, its lower and its upper
// end, and what the running mean of the targets would say. An outcome is s/(|error| + s), where s is the standard deviation of recent targets, the one at hand included.
class Regression final : public Task {
 public:
  explicit Regression(double level) : errors_(level) {}

  bool fits(double target, int) const override { return std::fabs(target) <= TargetScale::kLargest; }
  void outcomes(const Pool& pool, double target, const Lookers& lookers, double* out) override {
    scale_.learn(target);
    for (const int i : lookers) {
      double said = 0;
      pool.output(i, &said);
      out[i] = pool.sound(i) ? closeness(said - target, scale_.unit().sd) : 0.0;
    }
  }
  bool numeric() const override { return true; }
  double unit() const override { return scale_.unit().sd; }
  double counted(double said) const override { return scale_.within(said); }
  void no_answer(double* out, int) const override { *out = scale_.mean(); }

  int width(int) const override { return 4; }
  void complete(double* said) const override {
    const double half = errors_.half_width();
    said[1] = said[0] - half, said[2] = said[0] + half, said[3] = scale_.mean();
  }
  bool expected(const double* said, double target, const Surprise& surprise) const override {
    return std::fabs(target - said[0]) < surprise.inside * (said[2] - said[1]) / 2;
  }
  Fault fault(const double* said, double target, int) const override {
    return {std::fabs(target - said[0]), 1 - closeness(target - said[0], scale_.unit().sd), -1};
  }
  void learn(const double* said, double target, int) override {
    if (scale_.count() <= 1) return;  // of the first target nothing was known: that error says nothing of others
    errors_.learn(std::fabs(target - said[0]), errors_.half_width());
  }

  template <class Archive>
  void fields(Archive& a) {
    scale_.fields(a);
    errors_.fields(a);
  }
  void check() {
    scale_.check();
    errors_.check();
  }

 private:
  TargetScale scale_;
  RecentErrors errors_;
};

}  // namespace heros
