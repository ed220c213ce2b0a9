// Running moments of features (Welford), and the deviation of a value from them.
#pragma once

#include <cmath>
#include <cstddef>
#include <vector>

#include "core/state.hpp"

namespace heros {

class Moments {
 public:
  struct Deviation {
    double off, sd;  // x − mean, and the standard deviation (0 if it is 0 or not finite)
  };

  int features() const { return static_cast<int>(mean_.size()); }
  void grow(std::size_t features) { count_.resize(features), mean_.resize(features), squares_.resize(features); }

  // The deviation of x, as if x were already part of the moments. Does not change them.
  Deviation deviation(int f, double x) const {
    const double n = count_[f] + 1;
    const double off = x - mean_[f];
    const double mean = mean_[f] + off / n;
    const double variance = (squares_[f] + off * (x - mean)) / n;
    return {x - mean, variance > 0 && std::isfinite(variance) ? std::sqrt(variance) : 0.0};
  }

  void learn(int f, double x) {
    const double off = x - mean_[f];
    const double mean = mean_[f] + off / (count_[f] + 1);
    const double squares = squares_[f] + off * (x - mean);
    if (!std::isfinite(squares)) return;  // the value is too large for the moments and is ignored
    count_[f] += 1;
    mean_[f] = mean;
    squares_[f] = squares;
  }

  template <class Archive>
  void fields(Archive& a) {
    a("count", count_), a("mean", mean_), a("square_deviations", squares_);
  }
  void check(std::size_t features) const {
    require(count_.size() == features && mean_.size() == features && squares_.size() == features,
            "there must be moments for each feature");
    require(all_of(count_, amount) && all_of(squares_, amount) &&
                all_of(mean_, [](double x) { return std::isfinite(x); }),
            "moments must be finite numbers");
  }

 private:
  std::vector<double> count_, mean_, squares_;
};

}  // namespace heros
