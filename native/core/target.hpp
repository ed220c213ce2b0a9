// The scale of a numeric target: the unit in which gradient models learn it, and in which errors are rated.
#pragma once

#include <algorithm>
#include <cmath>

#include "core/state.hpp"

namespace heros {

// Running moments of the targets, over about the latest kMemory targets, so that the scale follows changes.
//
// The unit in use is a mean and a standard deviation. It changes only when the running moments differ from the unit by
// more than kApart standard deviations. With a stable unit, the models learn a stable target. When the unit changes,
// models convert their weights, so that their predictions stay the same (`Rescaling`).
class TargetScale {
 public:
  static constexpr double kMemory = 1000;  // instances
  static constexpr double kApart = 0.1;    // standard deviations
  static constexpr double kFarthest = 10;  // standard deviations: targets farther off are clipped for training
  static constexpr double kLargest = 1e100;  // a target whose square does not overflow

  struct Unit {
    double mean = 0, sd = 0;
  };

  // The unit in use.
  const Unit& unit() const { return unit_; }
  double mean() const { return mean_; }
  double count() const { return count_; }

  // Converts a target to the unit in use, and back. If all targets were equal, every prediction is equal to them.
  double scaled(double y) const {
    return unit_.sd > 0 ? std::clamp((y - unit_.mean) / unit_.sd, -kFarthest, kFarthest) : 0.0;
  }
  // Clips a number to the range of the targets used for training.
  double within(double y) const {
    const double most = kFarthest * unit_.sd;
    return most > 0 ? std::clamp(y, unit_.mean - most, unit_.mean + most) : y;
  }
  double unscaled(double z) const { return unit_.mean + unit_.sd * z; }

  // Adds y to the moments; the first kMemory targets have equal weights. Returns true if the unit changed.
  bool learn(double y) {
    count_ = std::min(count_ + 1, kMemory);
    const double off = y - mean_;
    mean_ += off / count_;
    variance_ = (1 - 1 / count_) * (variance_ + off * off / count_);
    const double sd = std::sqrt(variance_);
    if (std::fabs(sd - unit_.sd) <= kApart * unit_.sd && std::fabs(mean_ - unit_.mean) <= kApart * unit_.sd) return false;
    unit_ = {mean_, sd};
    return true;
  }

  template <class Archive>
  void fields(Archive& a) {
    a("count", count_), a("mean", mean_), a("variance", variance_), a("unit_mean", unit_.mean), a("unit_sd", unit_.sd);
  }
  void check() const {
    require(amount(count_) && count_ <= kMemory && amount(variance_) && amount(unit_.sd) &&
                std::fabs(mean_) <= kLargest && std::fabs(unit_.mean) <= kLargest && unit_.sd <= kLargest,
            "invalid moments of the target");
  }

 private:
  double count_ = 0, mean_ = 0, variance_ = 0;
  Unit unit_;
};

// Converts an output z from one unit to another: factor·z + shift.
struct Rescaling {
  double factor, shift;

  // A unit with a standard deviation of 0 was never used for training, so outputs stay as they are.
  Rescaling(const TargetScale::Unit& from, const TargetScale::Unit& to)
      : factor(from.sd > 0 && to.sd > 0 ? from.sd / to.sd : 1.0),
        shift(from.sd > 0 && to.sd > 0 ? (from.mean - to.mean) / to.sd : 0.0) {}
};

// Rates a numeric prediction: 1 if it is exact, 1/2 if the error is s, towards 0 for larger errors.
inline double closeness(double error, double s) {
  const double size = std::fabs(error);
  return size == 0 ? 1.0 : s / (size + s);
}

}  // namespace heros
