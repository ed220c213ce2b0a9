// The effect of Adam on a weight while its gradient is zero, in closed form.
//
// If the gradient is zero for s steps from step t on, m and v only decay, and w changes by
//   −lr·(m/√v)·Σ_{τ=1..s} a_{t+τ} ρ^τ,   a_t = √(1 − β2^t)/(1 − β1^t),  ρ = β1/√β2,
// up to Adam's ε. With B_t = Σ_{τ≥1} a_{t+τ} ρ^τ the sum is B_t − ρ^s·B_{t+s}, and B_t = ρ·(a_{t+1} + B_{t+1}).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "pools/mlp/sweep.hpp"

namespace heros {

class Adam {
 public:
  static constexpr double kBeta1 = 0.9, kBeta2 = 0.999, kEpsilon = 1e-8;

  // All pools share the tables.
  static const Adam& tables() {
    static const Adam adam;
    return adam;
  }

  // The factors of the learning rate (a_t) and of ε at step t.
  double rate_factor(std::int64_t t) const { return rate_factor_[clamp(t, kFaded)]; }
  double epsilon(std::int64_t t) const { return epsilon_[clamp(t, kFaded)]; }

  // The update of a row last touched at step `from`, for a model at step `to`.
  CatchUp between(std::int64_t from, std::int64_t to, double rate) const {
    const std::int64_t s = to - from;
    CatchUp lag;
    lag.due = true;
    lag.drift = static_cast<float>(rate * (tail_[clamp(from, kFaded)] - decay(rho_, s) * tail_[clamp(to, kFaded)]));
    lag.epsilon = static_cast<float>(epsilon(from));
    lag.keep_m = static_cast<float>(decay(beta1_, s));
    lag.keep_v = static_cast<float>(decay(beta2_, s));
    return lag;
  }

 private:
  static constexpr std::int64_t kFaded = 40000;  // 0.999^40000 < 1e-17: the bias correction is negligible
  static constexpr std::int64_t kPowers = 1024;

  Adam() : rate_factor_(kFaded + 1), epsilon_(kFaded + 1), tail_(kFaded + 1) {
    const double rho = kBeta1 / std::sqrt(kBeta2);
    for (std::int64_t t = 0; t <= kFaded; ++t) {
      const double root = std::sqrt(1 - std::pow(kBeta2, static_cast<double>(t)));
      rate_factor_[t] = t == 0 ? 0 : root / (1 - std::pow(kBeta1, static_cast<double>(t)));
      epsilon_[t] = kEpsilon * root;
    }
    tail_[kFaded] = rho / (1 - rho);
    for (std::int64_t t = kFaded - 1; t >= 0; --t) tail_[t] = rho * (rate_factor_[t + 1] + tail_[t + 1]);
    fill_powers(beta1_, kBeta1);
    fill_powers(beta2_, kBeta2);
    fill_powers(rho_, rho);
  }

  static std::int64_t clamp(std::int64_t t, std::int64_t top) { return std::min(t, top); }
  static void fill_powers(std::vector<double>& powers, double base) {
    for (std::int64_t s = 0; s < kPowers; ++s) powers.push_back(std::pow(base, static_cast<double>(s)));
  }
  static double decay(const std::vector<double>& powers, std::int64_t s) {
    return s < kPowers ? powers[s] : std::pow(powers[1], static_cast<double>(s));
  }

  std::vector<double> rate_factor_, epsilon_, tail_;
  std::vector<double> beta1_, beta2_, rho_;
};

}  // namespace heros
