// How a row of weights learns. A row has a weight per class and, behind the weights, what the optimiser keeps of each.
// A row whose input is inactive is left alone, whatever the optimiser would do to it meanwhile; `catch_up` does that
// in closed form when the row is needed again.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "pools/mlp/adam.hpp"

namespace heros {

enum class Optimizer : int { sgd, adam, ftrl };

struct LinearSettings {
  Optimizer optimizer;
  double rate, l1, l2;
};

// Numbers kept per weight, itself included: Adam m and v; FTRL z and the root of n.
inline int planes(Optimizer optimizer) { return optimizer == Optimizer::sgd ? 1 : 3; }
// Whether rows change while their inputs are inactive.
inline bool drifts(const LinearSettings& s) {
  return s.optimizer == Optimizer::adam || (s.optimizer == Optimizer::sgd && s.l2 > 0);
}

class LinearStep {
 public:
  LinearStep(const LinearSettings& settings, int classes) : settings_(settings), classes_(classes) {}

  // The weights of a row that was last touched at step `from`, as they are at step `to`, added to the logits.
  void add(const double* row, double value, std::int64_t from, std::int64_t to, double* logits) const {
    if (from == to) {
      for (int c = 0; c < classes_; ++c) logits[c] += value * row[c];
    } else if (settings_.optimizer == Optimizer::sgd) {
      const double kept = decay(from, to);
      for (int c = 0; c < classes_; ++c) logits[c] += value * (kept * row[c]);
    } else {
      const CatchUp lag = Adam::tables().between(from, to, settings_.rate);
      for (int c = 0; c < classes_; ++c) logits[c] += value * caught_up(row, c, lag);
    }
  }

  // The row as step `to` finds it.
  void catch_up(double* row, std::int64_t from, std::int64_t to) const {
    if (from == to) return;
    if (settings_.optimizer == Optimizer::sgd) {
      const double kept = decay(from, to);
      for (int c = 0; c < classes_; ++c) row[c] *= kept;
      return;
    }
    const CatchUp lag = Adam::tables().between(from, to, settings_.rate);
    for (int c = 0; c < classes_; ++c) {
      row[c] = caught_up(row, c, lag);
      row[classes_ + c] *= lag.keep_m;
      row[2 * classes_ + c] *= lag.keep_v;
    }
  }

  // One step, number t, along errors (∂loss/∂logit) times the value of the row's input.
  void train(double* row, const double* errors, double value, std::int64_t t, bool bias) const {
    switch (settings_.optimizer) {
      case Optimizer::sgd: return sgd(row, errors, value, bias);
      case Optimizer::adam: return adam(row, errors, value, t);
      case Optimizer::ftrl: return ftrl(row, errors, value, bias);
    }
  }

 private:
  // What l2 leaves of a weight in a step of SGD. The bias is active at every step and pays no l1 or l2.
  double keep() const { return std::max(0.0, 1 - settings_.rate * settings_.l2); }
  double decay(std::int64_t from, std::int64_t to) const {
    return std::pow(keep(), static_cast<double>(to - from));
  }
  double caught_up(const double* row, int c, const CatchUp& lag) const {
    const double m = row[classes_ + c];
    return m == 0 ? row[c] : row[c] - lag.drift * m / (std::sqrt(row[2 * classes_ + c]) + lag.epsilon);
  }

  void sgd(double* w, const double* errors, double value, bool bias) const {
    const double kept = bias ? 1 : keep();
    for (int c = 0; c < classes_; ++c) w[c] = kept * w[c] - settings_.rate * errors[c] * value;
  }

  void adam(double* w, const double* errors, double value, std::int64_t t) const {
    const Adam& tables = Adam::tables();
    const double rate = settings_.rate * tables.rate_factor(t), epsilon = tables.epsilon(t);
    double *m = w + classes_, *v = m + classes_;
    for (int c = 0; c < classes_; ++c) {
      const double g = errors[c] * value;
      m[c] = Adam::kBeta1 * m[c] + (1 - Adam::kBeta1) * g;
      v[c] = Adam::kBeta2 * v[c] + (1 - Adam::kBeta2) * g * g;
      w[c] -= rate * m[c] / (std::sqrt(v[c]) + epsilon);
    }
  }

  // FTRL-Proximal (McMahan et al. 2013, algorithm 1), with β = 1.
  void ftrl(double* w, const double* errors, double value, bool bias) const {
    const double l1 = bias ? 0 : settings_.l1, l2 = bias ? 0 : settings_.l2;
    const double steepness = 1 / settings_.rate;
    double *z = w + classes_, *root = z + classes_;
    for (int c = 0; c < classes_; ++c) {
      const double g = errors[c] * value, before = root[c];
      root[c] = std::sqrt(before * before + g * g);
      z[c] += g - (root[c] - before) * steepness * w[c];
      const double shrunk = z[c] - std::copysign(l1, z[c]);
      w[c] = std::fabs(z[c]) <= l1 ? 0 : -shrunk / ((kBeta + root[c]) * steepness + l2);
    }
  }

  static constexpr double kBeta = 1;
  LinearSettings settings_;
  int classes_;
};

}  // namespace heros
