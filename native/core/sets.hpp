// Prediction sets: the classes that contain the class of an instance with a given probability.
//
// Conformal prediction over a sliding window: a set contains each class whose probability is not unusually low for a
// true class. The share of correct sets so far corrects the level.
#pragma once

#include <cmath>
#include <cstdint>

#include "core/interval.hpp"
#include "core/state.hpp"

namespace heros {

class PredictionSets {
 public:
  // level: the share of instances whose class should be in the set; 0 turns sets off.
  explicit PredictionSets(double level = 0) : on_(level > 0), lost_(on_ ? level : 0.9) {}

  bool on() const { return on_; }
  // A class is in the set if its probability is at least 1 minus this threshold.
  double threshold() const { return lost_.out_of_reach() ? 1.0 : lost_.half_width(); }
  std::int64_t instances() const { return instances_; }
  std::int64_t held() const { return held_; }
  double sizes() const { return sizes_; }

  void learn(const double* said, int target, int outputs) {
    const double threshold = this->threshold(), lost = 1 - said[target];
    ++instances_;
    held_ += lost <= threshold;
    for (int c = 0; c < outputs; ++c) sizes_ += 1 - said[c] <= threshold;
    // With too few errors the threshold is 1, so that each set contains all classes.
    lost_.learn(lost < 0 ? 0 : lost, threshold);
  }

  template <class Archive>
  void fields(Archive& a) {
    lost_.fields(a);
    a("instances", instances_), a("held", held_), a("sizes", sizes_);
  }
  void check() {
    lost_.check();
    require(countable(instances_) && held_ >= 0 && held_ <= instances_ && amount(sizes_), "invalid counts of sets");
  }

 private:
  bool on_;
  RecentErrors lost_;  // 1 − the probability of the true class
  std::int64_t instances_ = 0, held_ = 0;
  double sizes_ = 0;
};

}  // namespace heros
