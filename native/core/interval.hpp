// Prediction intervals of a numeric target, from recent errors (conformal prediction over a sliding window). The share
// of targets inside corrects the level (adaptive conformal inference, Gibbs and Candès 2021).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/state.hpp"

namespace heros {

class RecentErrors {
 public:
  static constexpr std::size_t kMost = 1000;  // errors in the window
  static constexpr double kCorrection = 0.005;

  // level: the share of targets that should be inside the interval.
  explicit RecentErrors(double level = 0.9) : level_(level), miss_(1 - level) {}

  // Half the width of the interval: the quantile of the errors at the corrected level. It is the largest error if the
  // level needs more errors than the window has, and 0 without errors.
  double half_width() const {
    if (sorted_.empty()) return 0;
    const auto n = static_cast<double>(sorted_.size());
    const double rank = std::clamp(std::ceil((n + 1) * (1 - miss_)), 1.0, n);
    return sorted_[static_cast<std::size_t>(rank) - 1];
  }

  // Whether the level needs more errors than the window has.
  bool out_of_reach() const {
    const auto n = static_cast<double>(sorted_.size());
    return std::ceil((n + 1) * (1 - miss_)) > n;
  }

  // Adds the error of a prediction whose interval had this half width.
  void learn(double error, double half) {
    if (!std::isfinite(error)) return;
    if (!sorted_.empty()) miss_ = std::clamp(miss_ + kCorrection * (1 - level_ - (error > half ? 1.0 : 0.0)), 0.0, 1.0);
    if (ring_.size() < kMost) {
      ring_.push_back(error);
    } else {
      sorted_.erase(std::lower_bound(sorted_.begin(), sorted_.end(), ring_[next_]));
      ring_[next_] = error;
      next_ = (next_ + 1) % static_cast<std::int64_t>(kMost);
    }
    sorted_.insert(std::upper_bound(sorted_.begin(), sorted_.end(), error), error);
  }

  template <class Archive>
  void fields(Archive& a) {
    a("errors", ring_), a("next", next_), a("miss", miss_);
  }
  void check() {
    require(ring_.size() <= kMost && all_of(ring_, amount), "invalid recent errors");
    require(next_ >= 0 && (next_ == 0 || next_ < static_cast<std::int64_t>(ring_.size())),
            "the position of the oldest error is out of range");
    require(miss_ >= 0 && miss_ <= 1, "the share of misses must be in [0, 1]");
    sorted_ = ring_;
    std::sort(sorted_.begin(), sorted_.end());
  }

 private:
  double level_, miss_;  // the wanted level, and the corrected share of misses
  std::vector<double> ring_, sorted_;
  std::int64_t next_ = 0;  // the oldest error, once the ring is full
};

}  // namespace heros
