// Predicts a number from earlier numbers: the last number, the trend, recent means and seasons, combined by least
// squares with fading.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "core/state.hpp"
#include "pools/labels/recent.hpp"
#include "pools/labels/seasons.hpp"

namespace heros {

class Series {
 public:
  static constexpr int kInputs = 4 + 2 * Seasons::kMost;
  static constexpr std::int64_t kFew = 8;  // number of labels whose mean is an input
  static constexpr double kPrior = 4;      // number of prior instances that favour the last label alone
  static constexpr std::size_t kSums = 1 + kInputs + kInputs * kInputs;
  using Inputs = std::array<double, kInputs>;
  using Sums = std::array<double, kSums>;

  Series(double fading = 1, int seasons = Seasons::kMost) : fading_(fading), seasons_(seasons) {}

  // The inputs, each as a difference from the newest usable label: the mean, the trend, and the mean of the last few
  // labels. Each season adds two labels from earlier periods: at the position to predict, and at the position of the
  // newest label.
  Inputs inputs(const RecentLabels& labels, const Vantage& from, double mean, const Seasons& seasons) const {
    const double last = labels.at(from.first);
    Inputs in{1, mean - last};
    if (labels.has(from.first + 1)) in[2] = last - labels.at(from.first + 1);
    const std::int64_t few = std::min(kFew, labels.size() - from.first);
    double sum = 0;
    for (std::int64_t j = 0; j < few; ++j) sum += labels.at(from.first + j) - last;
    in[3] = sum / static_cast<double>(few);
    for (int s = 0; s < seasons_; ++s) {
      const std::int64_t lag = seasons.lags()[s];
      if (lag == 0) continue;
      const std::int64_t times = (from.distance() + lag - 1) / lag;  // periods back to a usable label
      const std::int64_t place = times * lag - from.ahead;
      if (labels.has(place)) in[4 + 2 * s] = labels.at(place) - last;
      const std::int64_t then = place + from.distance();  // position of the newest label in that period
      if (labels.has(then)) in[5 + 2 * s] = labels.at(then) - last;
    }
    return in;
  }

  // Predicts the difference between the label and the newest usable label.
  double predict(const Inputs& in) const {
    const Inputs by = coefficients();
    double said = 0;
    for (int i = 0; i < kInputs; ++i) said += by[i] * in[i];
    return said;
  }

  void learn(const Inputs& in, double difference, double weight) {
    Sums sums = sums_;
    for (double& sum : sums) sum *= fading_;
    sums[0] += weight;
    for (int i = 0; i < kInputs; ++i) {
      sums[1 + i] += weight * in[i] * difference;
      for (int j = 0; j < kInputs; ++j) sums[product(i, j)] += weight * in[i] * in[j];
    }
    if (finite(sums)) sums_ = sums;  // otherwise the label is too large for the sums and is ignored
  }

  // Learns again from the stored labels after the seasonal lags changed. `delay` is assumed between each prediction and
  // its label.
  void relearn(const RecentLabels& labels, std::int64_t delay, double mean, const Seasons& seasons) {
    sums_ = {};
    for (std::int64_t place = labels.size() - 2 - delay; place >= 0; --place) {
      const Vantage from{place + 1 + delay, -place};
      learn(inputs(labels, from, mean, seasons), labels.at(place) - labels.at(from.first), 1);
    }
  }

  // Least squares with all inputs scaled to the same size, and kPrior instances in favour of zero. An input that was
  // always zero has coefficient 0.
  Inputs coefficients() const {
    Inputs by{}, size{};
    double lower[kInputs][kInputs] = {};
    const double ridge = 1 + kPrior / std::max(sums_[0], 1e-12);
    for (int i = 0; i < kInputs; ++i) {
      size[i] = std::sqrt(sums_[product(i, i)]);
      if (!(size[i] > 0)) continue;
      for (int j = 0; j <= i; ++j) {
        if (!(size[j] > 0)) continue;
        double left = i == j ? ridge : sums_[product(i, j)] / size[i] / size[j];
        for (int k = 0; k < j; ++k) left -= lower[i][k] * lower[j][k];
        lower[i][j] = i == j ? std::sqrt(std::max(left, ridge - 1)) : left / lower[j][j];
      }
      double left = sums_[1 + i] / size[i];
      for (int k = 0; k < i; ++k) left -= lower[i][k] * by[k];
      by[i] = left / lower[i][i];
    }
    for (int i = kInputs - 1; i >= 0; --i) {
      if (!(size[i] > 0)) continue;
      for (int k = i + 1; k < kInputs; ++k) by[i] -= lower[k][i] * by[k];
      by[i] /= lower[i][i];
    }
    for (int i = 0; i < kInputs; ++i) by[i] = size[i] > 0 && std::isfinite(by[i]) ? by[i] / size[i] : 0;
    return by;
  }

  const Sums& sums() const { return sums_; }
  void restore(const double* sums) {
    std::copy_n(sums, kSums, sums_.begin());
    require(finite(sums_) && sums_[0] >= 0, "invalid sums of products");
    for (int i = 0; i < kInputs; ++i) require(sums_[product(i, i)] >= 0, "sums of squares must be 0 or more");
  }

 private:
  static bool finite(const Sums& sums) {
    return std::all_of(sums.begin(), sums.end(), [](double x) { return std::isfinite(x); });
  }
  static std::size_t product(int i, int j) { return static_cast<std::size_t>(1 + kInputs + i * kInputs + j); }

  double fading_;
  int seasons_;
  Sums sums_{};  // sums of weights, of inputs times differences, of products of inputs
};

}  // namespace heros
