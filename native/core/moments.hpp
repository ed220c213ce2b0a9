// Running moments of features (Welford), and how far a value is from what has been usual so far.
#pragma once

#include <cmath>
#include <cstddef>
#include <vector>

#include "core/state.hpp"

namespace heros {

class Moments {
 public:
  struct Deviation {
    double off, sd;  // x − mean and the standard deviation; sd is 0 where there is none to speak of
  };

  int features() const { return static_cast<int>(mean_.size()); }
  void grow(std::size_t features) { count_.resize(features), mean_.resize(features), squares_.resize(features); }

  // Of x, as if it were already part of the moments. Changes nothing.
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
    if (!std::isfinite(squares)) return;  // numbers near the end of the range: beyond what moments can hold
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
            "moments of every feature");
    require(all_of(count_, amount) && all_of(squares_, amount) &&
                all_of(mean_, [](double x) { return std::isfinite(x); }),
            "moments that are numbers");
  }

 private:
  std::vector<double> count_, mean_, squares_;
};

}  // namespace heros
