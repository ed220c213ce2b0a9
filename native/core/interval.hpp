// An interval around an answer that is a number: as wide as recent errors were (conformal prediction over a sliding
// window), with a level that is corrected by how often it held (adaptive conformal inference, Gibbs and Candès 2021).
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
  static constexpr std::size_t kMost = 1000;  // errors that count
  static constexpr double kCorrection = 0.005;

  // level: the share of targets that is to be inside.
  explicit RecentErrors(double level = 0.9) : level_(level), miss_(1 - level) {}

  // Half the width of the interval: the error that the level, as it is corrected, asks for; the largest one where so
  // high a level would need more errors than there are; 0 if there are none.
  double half_width() const {
    if (sorted_.empty()) return 0;
    const auto n = static_cast<double>(sorted_.size());
    const double rank = std::clamp(std::ceil((n + 1) * (1 - miss_)), 1.0, n);
    return sorted_[static_cast<std::size_t>(rank) - 1];
  }

  // Whether so high a level would need more errors than there are.
  bool out_of_reach() const {
    const auto n = static_cast<double>(sorted_.size());
    return std::ceil((n + 1) * (1 - miss_)) > n;
  }

  // The error of an answer whose interval had this half width.
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
    require(ring_.size() <= kMost && all_of(ring_, amount), "recent errors");
    require(next_ >= 0 && (next_ == 0 || next_ < static_cast<std::int64_t>(ring_.size())), "the oldest of them");
    require(miss_ >= 0 && miss_ <= 1, "a share of misses");
    sorted_ = ring_;
    std::sort(sorted_.begin(), sorted_.end());
  }

 private:
  double level_, miss_;  // the share of misses that the quantile is taken for
  std::vector<double> ring_, sorted_;
  std::int64_t next_ = 0;  // the oldest, once the ring is full
};

}  // namespace heros
