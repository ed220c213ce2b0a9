// Seasonal lags of a series of numbers, found incrementally from its differences.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <vector>

#include "core/state.hpp"
#include "pools/labels/recent.hpp"

namespace heros {

class Seasons {
 public:
  static constexpr int kMost = 2;
  static constexpr std::int64_t kEvery = 64;  // labels between two searches
  static constexpr double kLeast = 0.1;       // least correlation of a season
  static constexpr double kClose = 0.9;       // a shorter lag with this share of the highest correlation is preferred

  // longest: the largest lag. Products of differences fade over four times as many labels.
  explicit Seasons(std::int64_t longest = 0)
      : fading_(1 - 1 / (4.0 * static_cast<double>(std::max<std::int64_t>(longest, 1)))),
        products_(static_cast<std::size_t>(longest + 1)) {}

  const std::array<std::int32_t, kMost>& lags() const { return lags_; }  // 0: none

  // Adds a label after the stored labels. Returns true if the lags changed.
  bool learn(const RecentLabels& labels, double label) {
    const std::int64_t n = labels.size();
    if (n < 2) return false;
    const double* end = labels.end();
    const double difference = label - end[-1];
    const std::int64_t lags = std::min(static_cast<std::int64_t>(products_.size()) - 1, n - 1);
    products_[0] = fading_ * products_[0] + difference * difference;
    for (std::int64_t l = 1; l <= lags; ++l) products_[l] = fading_ * products_[l] + difference * (end[-l] - end[-l - 1]);
    count_ = std::min(count_ + 1, std::int64_t{1} << 40);
    return count_ % kEvery == 0 && search();
  }

  template <class Archive>
  void fields(Archive& a) {
    a("season_products", products_), a("season_count", count_);
    std::vector<std::int32_t> lags(lags_.begin(), lags_.end());
    a("seasons", lags);
    if (!Archive::kReads) return;
    fits_ = lags.size() == lags_.size();
    if (fits_) std::copy(lags.begin(), lags.end(), lags_.begin());
  }
  void check(std::int64_t longest) const {
    require(fits_ && products_.size() == static_cast<std::size_t>(longest + 1) && countable(count_) &&
                all_of(products_, [](double x) { return std::isfinite(x); }),
            "invalid products of differences");
    for (const std::int32_t lag : lags_) require(lag == 0 || (lag >= 2 && lag <= longest), "seasons");
  }

 private:
  double correlation(std::int64_t lag) const { return products_[lag] / products_[0]; }
  double least() const {
    const double n = std::min(static_cast<double>(count_), 1 / (1 - fading_));
    return std::max(kLeast, 4 / std::sqrt(n));  // some of the hundreds of lags correlate by chance
  }
  // Whether lag l has a local maximum of the correlation, and the season occurred three times.
  bool stands_out(std::int64_t l) const {
    const double r = correlation(l);
    return 3 * l <= count_ && r > least() && r >= correlation(l - 1) && r > correlation(l + 1);
  }

  bool search() {
    if (!(products_[0] > 0)) return false;
    std::array<std::int32_t, kMost> found{};
    const auto last = static_cast<std::int64_t>(products_.size()) - 2;
    double highest = 0;
    for (std::int64_t l = 2; l <= last; ++l)
      if (stands_out(l)) highest = std::max(highest, correlation(l));
    for (std::int64_t l = 2; l <= last && found[0] == 0 && highest > 0; ++l)
      if (stands_out(l) && correlation(l) >= kClose * highest) found[0] = static_cast<std::int32_t>(l);
    if (keeps(lags_[0], found[0])) found[0] = lags_[0];
    const std::int64_t first = found[0];
    for (std::int64_t l = 2; l <= last && first > 0; ++l) {
      const bool multiple = std::min(l % first, first - l % first) <= 1;  // a multiple needs a higher correlation
      if (l == first || !stands_out(l) || (multiple && correlation(l) <= correlation(first))) continue;
      if (found[1] == 0 || correlation(l) > correlation(found[1])) found[1] = static_cast<std::int32_t>(l);
    }
    if (lags_[1] != found[0] && keeps(lags_[1], found[1])) found[1] = lags_[1];
    const bool changed = found != lags_;
    lags_ = found;
    return changed;
  }
  // Whether a known lag stays because its correlation is nearly as high as that of the other lag.
  bool keeps(std::int64_t lag, std::int64_t other) const {
    return lag > 0 && correlation(lag) > least() && (other == 0 || correlation(lag) >= kClose * correlation(other));
  }

  double fading_;
  std::vector<double> products_;  // per lag: faded products of differences at this distance
  std::int64_t count_ = 0;
  std::array<std::int32_t, kMost> lags_{};
  bool fits_ = true;  // whether the imported state is valid
};

}  // namespace heros
