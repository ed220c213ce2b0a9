// Training of a row of weights. A row has one weight per class, followed by the optimiser's numbers for each weight. A
// step skips the rows of inactive inputs. `catch_up` applies the missed steps in closed form when the row is needed
// again.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "core/target.hpp"
#include "pools/loss.hpp"
#include "pools/mlp/adam.hpp"

namespace heros {

enum class Optimizer : int { sgd, adam, ftrl, pa };

struct LinearSettings {
  Optimizer optimizer;
  double rate, l1, l2;
  Loss loss = Loss::squared;  // for a numeric target
  double epsilon = 0;         // pa: smaller errors are ignored
};

// Numbers per weight, including the weight: Adam adds m and v; FTRL adds z and the square root of n.
inline int planes(Optimizer optimizer) {
  return optimizer == Optimizer::sgd || optimizer == Optimizer::pa ? 1 : 3;
}
// Whether weights change while their inputs are inactive.
inline bool drifts(const LinearSettings& s) {
  return s.optimizer == Optimizer::adam || (s.optimizer == Optimizer::sgd && s.l2 > 0);
}

class LinearStep {
 public:
  LinearStep(const LinearSettings& settings, int classes) : settings_(settings), classes_(classes) {}

  // Adds the weights of a row to the logits. The row was last touched at step `from` and is read as of step `to`.
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

  // Brings a row from step `from` to step `to`.
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

  // Training step t along errors (∂loss/∂logit) times the value of the row's input.
  void train(double* row, const double* errors, double value, std::int64_t t, bool bias) const {
    switch (settings_.optimizer) {
      case Optimizer::sgd: return sgd(row, errors, value, bias);
      case Optimizer::adam: return adam(row, errors, value, t);
      case Optimizer::ftrl: return ftrl(row, errors, value, bias);
      case Optimizer::pa: return pa(row, errors, value);
    }
  }

  // Converts a caught-up row to another unit of the target. Predictions stay the same. The optimiser's numbers become
  // the numbers that it would have if the unit had always been the new one.
  void rescale(double* row, const Rescaling& to, bool bias) const {
    double *second = row + classes_, *third = second + classes_;
    for (int c = 0; c < classes_; ++c) {
      row[c] = row[c] * to.factor + (bias ? to.shift : 0);
      if (settings_.optimizer == Optimizer::adam) {
        second[c] *= to.factor;
        third[c] *= to.factor * to.factor;
      } else if (settings_.optimizer == Optimizer::ftrl) {
        third[c] *= to.factor;
        second[c] = ftrl_sum(row[c], second[c] * to.factor, third[c], bias);
      }
    }
  }

 private:
  // The factor by which l2 shrinks a weight per step of SGD. The bias is active at every step and has no l1 or l2.
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

  // The z that gives weight w. For w = 0, z stays within ±l1.
  double ftrl_sum(double w, double z, double root, bool bias) const {
    const double l1 = bias ? 0 : settings_.l1, l2 = bias ? 0 : settings_.l2;
    if (w == 0) return std::clamp(z, -l1, l1);
    return -w * ((kBeta + root) / settings_.rate + l2) - std::copysign(l1, w);
  }

  // Passive-aggressive: `errors` are the step sizes.
  void pa(double* w, const double* errors, double value) const {
    for (int c = 0; c < classes_; ++c) w[c] -= errors[c] * value;
  }

  static constexpr double kBeta = 1;
  LinearSettings settings_;
  int classes_;
};

}  // namespace heros
