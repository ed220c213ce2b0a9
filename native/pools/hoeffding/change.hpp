// Detects a change of the accuracy at a leaf, for trees that split on change (LAST, local adaptive streaming trees).
// The test is that of HDDM-A (Frías-Blanco et al. 2015), in both directions. The test compares all outcomes with the
// outcomes up to the lowest and up to the highest mean.
#pragma once

#include <cmath>

namespace heros {

class LeafChange {
 public:
  static constexpr int kReals = 6;

  // at: the numbers of a leaf, initially 0.
  explicit LeafChange(double* at) : all_{at}, low_{at + 2}, high_{at + 4} {}

  // Adds `times` equal outcomes. Returns true and restarts if the accuracy changed.
  bool add(bool hit, double times, double delta) {
    all_.n[0] += times, all_.n[1] += hit ? times : 0;
    const double log = std::log(1 / delta);
    if (low_.empty() || all_.mean() + all_.bound(log) <= low_.mean() + low_.bound(log)) low_ = all_;
    if (high_.empty() || all_.mean() - all_.bound(log) >= high_.mean() - high_.bound(log)) high_ = all_;
    const bool changed = all_.mean() - low_.mean() > between(low_, log) || high_.mean() - all_.mean() > between(high_, log);
    if (changed)
      for (const Part& part : {all_, low_, high_}) part.n[0] = part.n[1] = 0;
    return changed;
  }

  static bool sound(const double* at) {
    for (int i = 0; i < kReals; i += 2)
      if (!(std::isfinite(at[i]) && at[i + 1] >= 0 && at[i + 1] <= at[i] && at[i] <= at[0])) return false;
    return true;
  }

 private:
  struct Part {
    double* n;  // number of outcomes, number of correct outcomes

    bool empty() const { return n[0] == 0; }
    double mean() const { return n[1] / n[0]; }
    double bound(double log) const { return std::sqrt(log / (2 * n[0])); }
    Part& operator=(const Part& other) {
      n[0] = other.n[0], n[1] = other.n[1];
      return *this;
    }
    explicit Part(double* at) : n(at) {}
    Part(const Part&) = default;
  };

  // The allowed distance between the mean of all outcomes and the mean of the first part.
  double between(const Part& first, double log) const {
    return std::sqrt((1 / first.n[0] - 1 / all_.n[0]) * log / 2);
  }

  Part all_, low_, high_;
};

}  // namespace heros
