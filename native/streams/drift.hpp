// A drifting stream: draws, for each instance, which of two streams the instance comes from.
#pragma once

#include <cmath>
#include <cstdint>

#include "streams/java_random.hpp"

namespace heros {

class Drift {
 public:
  Drift() : Drift(0, 1, 0) {}
  Drift(std::int64_t position, std::int64_t width, std::int64_t seed)
      : position_(position), width_(width), random_(seed) {}

  // Whether the next instance comes from the stream after the drift.
  bool draw() {
    ++count_;
    const double x = -4.0 * static_cast<double>(count_ - position_) / static_cast<double>(width_);
    const double probability = 1.0 / (1.0 + std::exp(x));
    return !(random_.next_double() > probability);
  }

  template <class Archive>
  void fields(Archive& archive) {
    archive("position", position_);
    archive("width", width_);
    archive("count", count_);
    random_.fields(archive);
  }
  void check() const {
    require(position_ >= 0, "position");
    require(width_ >= 1, "width");
    require(count_ >= 0 && count_ <= INT64_MAX / 2, "count");  // leaves room for increments
    random_.check();
  }

 private:
  std::int64_t position_;
  std::int64_t width_;
  std::int64_t count_ = 0;
  JavaRandom random_;
};

}  // namespace heros
