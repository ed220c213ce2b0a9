// The scale of a target that is a number: how models that learn by gradients see it, and in what unit errors are judged.
#pragma once

#include <algorithm>
#include <cmath>

#include "core/state.hpp"

namespace heros {

// Running moments of the targets, of which the latest kMemory or so count: a target whose scale changes is followed.
//
// What is in use is a mean and a standard deviation that stay as they are until the running ones have moved away by
// kApart of it. So models learn a target that stands still; when it does not, who has weights in the old unit takes
// them over into the new one, so that its answers stay what they were.
class TargetScale {
 public:
  static constexpr double kMemory = 1000;  // instances
  static constexpr double kApart = 0.1;    // of a standard deviation
  static constexpr double kFarthest = 10;  // standard deviations: what is farther off is learnt as if it were this far
  static constexpr double kLargest = 1e100;  // a target whose square can be reckoned with

  struct Unit {
    double mean = 0, sd = 0;
  };

  // What is in use.
  const Unit& unit() const { return unit_; }
  double mean() const { return mean_; }
  double count() const { return count_; }

  // A target in the unit in use, and back. Where all targets have been the same, that is what is answered.
  double scaled(double y) const {
    return unit_.sd > 0 ? std::clamp((y - unit_.mean) / unit_.sd, -kFarthest, kFarthest) : 0.0;
  }
  // A number no farther off than a target that is learnt.
  double within(double y) const {
    const double most = kFarthest * unit_.sd;
    return most > 0 ? std::clamp(y, unit_.mean - most, unit_.mean + most) : y;
  }
  double unscaled(double z) const { return unit_.mean + unit_.sd * z; }

  // Makes y part of the moments, each of the first kMemory with the same weight. True if another unit is in use now.
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
            "moments of the target");
  }

 private:
  double count_ = 0, mean_ = 0, variance_ = 0;
  Unit unit_;
};

// How an output in one unit, a·z + b of what it was, is written in another.
struct Rescaling {
  double factor, shift;

  // From a unit in which nothing was learnt yet, since it had no standard deviation, things are left as they are.
  Rescaling(const TargetScale::Unit& from, const TargetScale::Unit& to)
      : factor(from.sd > 0 && to.sd > 0 ? from.sd / to.sd : 1.0),
        shift(from.sd > 0 && to.sd > 0 ? (from.mean - to.mean) / to.sd : 0.0) {}
};

// How right an answer was about a number: 1 if it is the number, 1/2 if it is off by s, towards 0 beyond.
inline double closeness(double error, double s) {
  const double size = std::fabs(error);
  return size == 0 ? 1.0 : s / (size + s);
}

}  // namespace heros
