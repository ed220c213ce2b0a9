// Stores the evaluation of the last instance: which models were evaluated, and their outputs.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "core/pool.hpp"
#include "pools/last_instance.hpp"

namespace heros {

class Looks {
 public:
  void resize(int models, int features, int outputs) {
    outputs_ = outputs;
    features_ = features;
    fresh_.assign(models, 0), sound_.assign(models, 1), favoured_.assign(models, 0);
    said_.assign(std::size_t(models) * outputs, 0);
    last_.forget();
  }

  // Whether x is the instance evaluated last. If not, x becomes the current instance, and no model is marked as
  // evaluated.
  bool at(const double* x) {
    if (last_.is(x)) return true;
    last_.set(x, features_);
    std::fill(fresh_.begin(), fresh_.end(), std::uint8_t{0});
    return false;
  }
  // Discards the outputs, as training has changed the models.
  void forget() { last_.forget(); }

  bool fresh(int i) const { return fresh_[i] != 0; }

  // Where model i writes its output. `take` then marks the output as valid.
  double* of(int i) { return said_.data() + std::size_t(i) * outputs_; }
  void take(int i, double most = std::numeric_limits<double>::max()) {  // larger outputs are not sound
    double* p = of(i);
    sound_[i] = std::all_of(p, p + outputs_, [most](double x) { return std::fabs(x) <= most; });
    if (!sound_[i]) std::fill_n(p, outputs_, 1.0 / outputs_);
    favoured_[i] = static_cast<std::int32_t>(std::max_element(p, p + outputs_) - p);
    fresh_[i] = 1;
  }

  double outcome(int i, double target) const { return sound_[i] && favoured_[i] == target ? 1.0 : 0.0; }
  bool sound(int i) const { return sound_[i] != 0; }
  void output(int i, double* out) const { std::copy_n(said_.data() + std::size_t(i) * outputs_, outputs_, out); }

 private:
  int features_ = 0, outputs_ = 0;
  LastInstance last_;
  std::vector<std::uint8_t> fresh_, sound_;   // per model: evaluated on this instance; output is finite
  std::vector<std::int32_t> favoured_;        // the predicted class (ties: the lowest)
  std::vector<double> said_;                  // (models, outputs)
};

// A pool that stores its outputs in `Looks` and supports weights.
class LookingPool : public Pool {
 public:
  double outcome(int i, double target) const override { return looks_.outcome(i, target); }
  bool sound(int i) const override { return looks_.sound(i); }
  void output(int i, double* out) const override { looks_.output(i, out); }

  bool weighs() const override { return true; }
  void weigh(const Weight& weight) override { instance_weight_ = weight; }

 protected:
  Looks looks_;
  Weight instance_weight_;  // the weight of the next training instance
};

// A pool whose models are evaluated one by one, without shared preparation.
class AskingPool : public LookingPool {
 public:
  void look(const double* x, const std::uint8_t* watched, PhaseClock& clock) override {
    looks_.at(x);
    for (int i = 0; i < models(); ++i)
      if (looks(watched, i) && !looks_.fresh(i)) ask(i, x);
    clock.lap(Phase::evaluate);
  }
  void answer(int i, const double* x, double* out) override {
    looks_.at(x);
    if (!looks_.fresh(i)) ask(i, x);
    output(i, out);
  }

 protected:
  // Evaluates model i on x.
  virtual void ask(int i, const double* x) = 0;
};

}  // namespace heros
