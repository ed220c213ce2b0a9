// The losses of gradient models for a numeric target. Errors are in standard deviations of the target.
#pragma once

#include <algorithm>
#include <utility>

namespace heros {

enum class Loss : int { squared, huber };
inline constexpr std::pair<const char*, Loss> kLossNames[] = {{"squared", Loss::squared}, {"huber", Loss::huber}};

inline constexpr double kHuber = 1;        // Huber's loss is linear for larger errors
inline constexpr double kSoundest = 1e6;  // an output beyond this means that the model has diverged

// The derivative of ½·error² or of Huber's loss.
inline double slope(Loss loss, double error) {
  return loss == Loss::squared ? error : std::clamp(error, -kHuber, kHuber);
}

}  // namespace heros
