// What models that learn a number by gradients make of an error, in standard deviations of the target.
#pragma once

#include <algorithm>
#include <utility>

namespace heros {

enum class Loss : int { squared, huber };
inline constexpr std::pair<const char*, Loss> kLossNames[] = {{"squared", Loss::squared}, {"huber", Loss::huber}};

inline constexpr double kHuber = 1;        // beyond this error Huber's loss is linear
inline constexpr double kSoundest = 1e6;  // a model that is farther off than this has diverged

// The slope of ½·error², or of Huber's loss.
inline double slope(Loss loss, double error) {
  return loss == Loss::squared ? error : std::clamp(error, -kHuber, kHuber);
}

}  // namespace heros
