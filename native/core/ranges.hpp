// Clips outliers, based on the running range of each numeric feature and of a numeric target. Without clipping, a
// single extreme value could ruin the models.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "core/state.hpp"

namespace heros {

class Ranges {
 public:
  static constexpr std::int64_t kFree = 100;  // the first values of a column are never clipped
  static constexpr double kReach = 3;         // the allowed distance from the range, in widths of the range

  // numeric[c]: whether column c is numeric. Columns are added, never removed.
  void set_columns(const std::vector<std::uint8_t>& numeric) {
    numeric_ = numeric;
    count_.resize(numeric.size());
    low_.resize(numeric.size());
    high_.resize(numeric.size());
  }
  bool on() const { return !numeric_.empty(); }
  std::size_t columns() const { return numeric_.size(); }

  // Returns the n rows with outliers clipped: X itself if there are no outliers, else `copy`. Updates the ranges.
  const double* learn(const double* X, std::int64_t n, std::vector<double>& copy) {
    return visit(X, n, copy, [this](std::size_t c, double value, double bounded) { note(c, value, bounded); });
  }
  // Clips the outliers of one row, without updating the ranges.
  const double* bounded(const double* x, std::vector<double>& copy) const {
    return visit(x, 1, copy, [](std::size_t, double, double) {});
  }

  template <class Archive>
  void fields(Archive& a) {
    a("count", count_), a("low", low_), a("high", high_);
  }
  void check() const {
    const std::size_t n = numeric_.size();
    require(count_.size() == n && low_.size() == n && high_.size() == n, "there must be one range per column");
    for (std::size_t c = 0; c < n; ++c)
      require(countable(count_[c]) && std::isfinite(low_[c]) && std::isfinite(high_[c]) && low_[c] <= high_[c],
              "invalid range of a column");
  }

 private:
  template <class Note>
  const double* visit(const double* X, std::int64_t n, std::vector<double>& copy, Note note) const {
    const std::size_t d = columns();
    bool copied = false;
    for (std::int64_t r = 0; r < n; ++r)
      for (std::size_t c = 0; c < d; ++c) {
        if (!numeric_[c]) continue;
        const double value = X[r * d + c];
        if (std::isnan(value)) continue;
        const double bounded = nearest(c, value);
        if (bounded != value) {
          if (!copied) copy.assign(X, X + n * d), copied = true;
          copy[r * d + c] = bounded;
        }
        note(c, value, bounded);
      }
    return copied ? copy.data() : X;
  }

  double width(std::size_t c) const {
    const double width = std::min(high_[c] - low_[c], kLargest / 8);
    return width > 0 ? width : std::max(std::abs(low_[c]), 1.0);
  }
  double nearest(std::size_t c, double value) const {
    if (count_[c] < kFree || (value >= low_[c] && value <= high_[c])) return value;
    const double reach = kReach * width(c);
    return std::clamp(value, low_[c] - reach, high_[c] + reach);
  }
  // A clipped value doubles the range, so that values on a new scale are soon inside the range.
  void note(std::size_t c, double value, double bounded) {
    if (count_[c]++ == 0) low_[c] = high_[c] = value;
    else if (bounded < value) high_[c] = std::min(high_[c] + width(c), kLargest);
    else if (bounded > value) low_[c] = std::max(low_[c] - width(c), -kLargest);
    else if (value > high_[c]) high_[c] = value;
    else if (value < low_[c]) low_[c] = value;
  }

  static constexpr double kLargest = std::numeric_limits<double>::max();
  std::vector<std::uint8_t> numeric_;
  std::vector<std::int64_t> count_;
  std::vector<double> low_, high_;
};

}  // namespace heros
