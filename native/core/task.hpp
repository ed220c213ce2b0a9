// The task: classification or regression. It defines valid targets and rates predictions.
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

  // Whether the value is a valid target for models with this number of outputs.
  virtual bool fits(double target, int outputs) const = 0;

  // Writes the outcome in [0, 1] of each evaluated model for this target. Outputs that are not finite give 0.
  virtual void outcomes(const Pool& pool, double target, const Lookers& lookers, double* out) = 0;

  // Whether the target is a number; if so, `unit` is the standard deviation of recent targets.
  virtual bool numeric() const { return false; }
  virtual double unit() const { return 0; }

  // Clips a model's prediction before it is combined with others, so that an extreme prediction does not outweigh the
  // others.
  virtual double counted(double said) const { return said; }

  // Writes the prediction used if no model has a finite output.
  virtual void no_answer(double* out, int outputs) const = 0;

  // The length of the ensemble's prediction: the outputs of a model, and the numbers that `complete` appends.
  virtual int width(int outputs) const { return outputs; }
  virtual void complete(double* /*said*/) const {}

  // Rates the ensemble's prediction of a class.
  virtual double outcome(const double* /*said*/, double /*target*/, int /*outputs*/) const { return 0; }

  // Whether the ensemble's prediction made the target expected.
  virtual bool expected(const double* said, double target, const Surprise& surprise) const = 0;

  // The error of the ensemble's prediction. mistake: 0 or 1 for a class, the absolute error for a number. lost: the
  // loss in [0, 1]. target: the class, or -1 for a number.
  struct Fault {
    double mistake, lost;
    int target;
  };
  virtual Fault fault(const double* said, double target, int outputs) const = 0;

  // Learns from the ensemble's prediction and the target. Called after `outcomes`.
  virtual void learn(const double* /*said*/, double /*target*/, int /*outputs*/) {}
};

// Classification: a target is the index of a class. The outcome of a model is 1 if it predicts the class, else 0. Pools
// know the predicted class without computing probabilities.
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

// Regression: a target is a number, and models predict it in its own unit. The ensemble appends the lower and upper end
// of an interval and the running mean of the targets. An outcome is s/(|error| + s). Here s is the standard deviation
// of recent targets, including the current one.
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
    if (scale_.count() <= 1) return;  // the first prediction was made without data, so its error is ignored
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
