// `watch`: chooses the models to evaluate on an instance.
//
// If all models are evaluated, as in the paper, the policy chooses after scoring. Otherwise it chooses first, from the
// current scores. Training needs an evaluation, so only idle models can be skipped.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/scores.hpp"

namespace heros {

struct Watch {
  static constexpr std::int64_t kAll = 0, kTrained = -1;

  std::int64_t every = kAll;  // n > 0: evaluate each idle model on every n-th instance; kTrained: never

  bool all() const { return every == kAll; }

  // Marks the idle models to evaluate at instance t: one in `every`, spread evenly.
  void mark(std::int64_t t, int models, std::uint8_t* watched) const {
    if (every <= 0) return;
    for (std::int64_t i = (every - t % every) % every; i < models; i += every) watched[i] = 1;
  }
};

// Evaluates all models for a while after the model with the highest score gets worse. The ranking of the idle models
// may have changed too. An ADWIN window over the outcomes of that model, which is always evaluated, detects this for
// any kind of score.
class Burst {
 public:
  static constexpr double kDelta = 0.002;  // the value used by Bifet and Gavaldà

  Burst() = default;
  explicit Burst(std::int64_t length) : length_(length), adwin_(length > 0, kDelta, false) {}

  bool on() const { return length_ > 0; }
  void mark(int models, std::uint8_t* watched) const {
    if (left_ > 0) std::fill_n(watched, models, std::uint8_t{1});
  }

  // Receives the outcome of the model with the highest score.
  void note(double outcome) {
    left_ = std::max<std::int64_t>(left_ - 1, 0);
    const double before = adwin_.mean(0);
    const double mean = adwin_.update(0, outcome);
    if (adwin_.changed(0) && mean < before) left_ = length_;
  }

  template <class Archive>
  void fields(Archive& a) {
    a("left", left_);
    adwin_.fields(a);
  }
  void check() const {
    require(left_ >= 0 && left_ <= length_, "the rest of the burst is out of range");
    adwin_.check();
  }

 private:
  std::int64_t length_ = 0, left_ = 0;  // number of instances in a burst, and remaining instances
  Adwin adwin_;
};

}  // namespace heros
