// `Surprise`: the models are trained on only a share of the expected instances. While the loss is steady, slow models
// are trained on only a share of the other instances.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "core/state.hpp"

namespace heros {

struct Surprise {
  double sure;    // a class is expected if its predicted probability is higher
  double share;   // the share of expected instances that are trained on
  double inside;  // a number is expected if the error is below this share of the interval's half width
  double steady;  // the least share of the other instances that slow models are trained on while the loss is steady
  double after;   // the number of instances after which slow models are trained less

  // The share of the other instances that slow models are trained on while the loss is steady, after n instances.
  double slow_share(std::int64_t n) const { return std::max(steady, after / std::max(static_cast<double>(n), 1.0)); }
};

// The ensemble's recent loss, in [0, 1]: its fading means over about kShort and kLong instances. The loss is steady
// while the two means differ by no more than chance. It is not steady after a change, or while the ensemble still
// improves quickly.
class RecentLoss {
 public:
  bool steady() const {
    const double variance = std::max(square_ - long_ * long_, 0.0);
    return count_ > kLong && std::fabs(short_ - long_) <= kDeviations * std::sqrt(variance / (2 * kShort));
  }
  void note(double lost) {
    ++count_;
    const double first = 1 / static_cast<double>(count_), few = std::max(1.0 / kShort, first), many = std::max(1.0 / kLong, first);
    short_ += few * (lost - short_), long_ += many * (lost - long_), square_ += many * (lost * lost - square_);
  }

  template <class Archive>
  void fields(Archive& a) {
    a("count", count_), a("short", short_), a("long", long_), a("square", square_);
  }
  void check() const {
    require(countable(count_) && amount(short_) && amount(long_) && amount(square_), "invalid recent losses");
  }

 private:
  static constexpr int kShort = 100, kLong = 1000;  // instances
  static constexpr double kDeviations = 2;          // standard deviations of the short mean

  std::int64_t count_ = 0;
  double short_ = 0, long_ = 0, square_ = 0;
};

}  // namespace heros
