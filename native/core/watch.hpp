// Which models look at an instance. With all of them looking, as in the paper, the policy chooses once they have been
// scored. Else it chooses first, from the scores as they stand: a model that is trained has to look anyway, and only
// those at rest can be spared.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/scores.hpp"

namespace heros {

struct Watch {
  static constexpr std::int64_t kAll = 0, kTrained = -1;

  std::int64_t every = kAll;  // or: each model at rest looks at every so manieth instance; kTrained: at none

  bool all() const { return every == kAll; }

  // Adds the models at rest whose turn it is at instance t: one in `every`, spread evenly.
  void mark(std::int64_t t, int models, std::uint8_t* watched) const {
    if (every <= 0) return;
    for (std::int64_t i = (every - t % every) % every; i < models; i += every) watched[i] = 1;
  }
};

// All models look for a while once the model with the highest score, which always looks, gets worse: what those at rest are
// worth may have changed too. A window of its own over how right that model was tells, whatever the scores are.
class Burst {
 public:
  static constexpr double kDelta = 0.002;  // as Bifet and Gavaldà have it

  Burst() = default;
  explicit Burst(std::int64_t length) : length_(length), adwin_(length > 0, kDelta, false) {}

  bool on() const { return length_ > 0; }
  void mark(int models, std::uint8_t* watched) const {
    if (left_ > 0) std::fill_n(watched, models, std::uint8_t{1});
  }

  // How right the model with the highest score was about an instance.
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
    require(left_ >= 0 && left_ <= length_, "how long all models look");
    adwin_.check();
  }

 private:
  std::int64_t length_ = 0, left_ = 0;  // in instances
  Adwin adwin_;
};

}  // namespace heros
