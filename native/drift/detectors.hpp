// Detectors of changes in a sequence of numbers. After a change, a detector starts again with the next number.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "core/adwin.hpp"
#include "core/state.hpp"

namespace heros {

// ADWIN over numbers of any size. The window stores differences from its first number, so that rounding does not
// distort the variance of large numbers.
class AdwinDetector {
 public:
  AdwinDetector(double delta, WindowSettings settings) : window_(1, delta, true, settings) {}

  bool update(double x) {
    if (window_.width(0) == 0 || window_.changed(0)) origin_ = x;
    window_.update(0, x - origin_);
    detections_ += window_.changed(0);
    return window_.changed(0);
  }

  // Processes at least one of n numbers and returns how many. Only the last of these numbers can cause a change.
  std::int64_t take(const double* x, std::int64_t n) {
    if (window_.width(0) == 0 || window_.changed(0)) return update(*x), 1;
    const std::int64_t some = std::min(n, window_.until_look(0));
    window_.update_many(0, x, some, origin_);
    detections_ += window_.changed(0);
    return some;
  }

  bool changed() const { return window_.changed(0); }
  std::int64_t detections() const { return detections_; }
  std::int64_t width() const { return window_.width(0); }
  double mean() const { return width() > 0 ? origin_ + window_.mean(0) : 0.0; }
  double variance() { return window_.sample_variance(0); }

  template <class Archive>
  void fields(Archive& a) {
    window_.fields(a);
    a("origin", origin_), a("detections", detections_);
  }
  void check() const {
    window_.check();
    require(std::isfinite(origin_) && countable(detections_), "invalid origin or count of ADWIN");
  }

 private:
  AdaptiveWindows<WindowSettings> window_;
  double origin_ = 0;
  std::int64_t detections_ = 0;
};

// The Page-Hinkley test (Page 1954): compares the sum of deviations from the running mean with its extreme value so
// far.
class PageHinkley {
 public:
  enum class Mode { up, down, both };
  static constexpr std::pair<const char*, Mode> kModes[] = {{"up", Mode::up}, {"down", Mode::down}, {"both", Mode::both}};

  PageHinkley(std::int64_t least, double delta, double threshold, double keep, Mode mode)
      : least_(least), delta_(delta), threshold_(threshold), keep_(keep), mode_(mode) {}

  bool update(double x) {
    if (changed_) forget();
    ++count_;
    mean_ += 1 / static_cast<double>(count_) * (x - mean_);
    const double apart = x - mean_;
    rise_ = keep_ * rise_ + apart - delta_;
    fall_ = keep_ * fall_ + apart + delta_;
    lowest_ = std::min(lowest_, rise_);
    highest_ = std::max(highest_, fall_);
    if (count_ >= least_)
      changed_ = (mode_ != Mode::down && rise_ - lowest_ > threshold_) ||
                 (mode_ != Mode::up && highest_ - fall_ > threshold_);
    detections_ += changed_;
    return changed_;
  }

  bool changed() const { return changed_; }
  std::int64_t detections() const { return detections_; }
  std::int64_t width() const { return count_; }
  double mean() const { return mean_; }

  template <class Archive>
  void fields(Archive& a) {
    a("count", count_), a("mean", mean_), a("rise", rise_), a("fall", fall_), a("lowest", lowest_);
    a("highest", highest_), a("changed", changed_), a("detections", detections_);
  }
  void check() const {
    require(countable(count_) && countable(detections_) && changed_ <= 1, "invalid counts of the Page-Hinkley test");
    require(std::isfinite(mean_) && std::isfinite(rise_) && std::isfinite(fall_) && !std::isnan(lowest_) &&
                !std::isnan(highest_),
            "invalid sums of the Page-Hinkley test");
  }

 private:
  static constexpr double kInfinity = std::numeric_limits<double>::infinity();

  void forget() {
    count_ = changed_ = 0;
    mean_ = rise_ = fall_ = 0;
    lowest_ = kInfinity, highest_ = -kInfinity;
  }

  std::int64_t least_;
  double delta_, threshold_, keep_;
  Mode mode_;
  std::int64_t count_ = 0, detections_ = 0;
  std::uint8_t changed_ = 0;
  double mean_ = 0, rise_ = 0, fall_ = 0, lowest_ = kInfinity, highest_ = -kInfinity;
};

}  // namespace heros
