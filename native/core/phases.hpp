// Measures the time of each phase of a step, in ticks of a fast wall clock. The caller scales the shares to the CPU
// time of the block.
#pragma once

#include <array>
#include <cstdint>
#include <numeric>

#include "core/platform.hpp"

namespace heros {

enum class Phase : int { encode, evaluate, choose, train, other };
inline constexpr std::array kPhaseNames{"encode", "evaluate", "choose", "train", "other"};
inline constexpr int kPhases = static_cast<int>(kPhaseNames.size());

class PhaseClock {
 public:
  void start() { last_ = heros::ticks(); }

  // Adds the time since the last lap (or start) to `phase`.
  void lap(Phase phase) {
    const std::int64_t t = heros::ticks();
    ticks_[static_cast<int>(phase)] += t - last_;
    last_ = t;
  }

  // Divides the time since the last lap between two phases; `first` gets `share` of it.
  void lap_split(Phase first, double share, Phase second) {
    const std::int64_t t = heros::ticks();
    const auto part = static_cast<std::int64_t>(share * static_cast<double>(t - last_));
    ticks_[static_cast<int>(first)] += part;
    ticks_[static_cast<int>(second)] += t - last_ - part;
    last_ = t;
  }

  std::int64_t total() const { return std::accumulate(ticks_.begin(), ticks_.end(), std::int64_t{0}); }
  std::int64_t ticks(Phase phase) const { return ticks_[static_cast<int>(phase)]; }
  const std::array<std::int64_t, kPhases>& all() const { return ticks_; }

 private:
  std::array<std::int64_t, kPhases> ticks_{};
  std::int64_t last_ = 0;
};

}  // namespace heros
