// Merits of all thresholds of a numeric feature at once, in single precision. Forests search for splits so often that
// the exact computation (split.hpp) would take most of their time. Lanes are fixed and never summed across, so the
// results are the same on every machine.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace heros {

// log2(x) for normal x > 0, with an error of about 1e-6: the exponent, and a polynomial for the mantissa.
inline float quick_log2(float x) {
  const auto bits = std::bit_cast<std::int32_t>(x);
  const auto exponent = static_cast<float>((bits >> 23) - 127);
  const float m = std::bit_cast<float>((bits & 0x7FFFFF) | 0x3F800000);
  const float p = ((((-3.4436006e-2f * m + 3.1821337e-1f) * m - 1.2315303f) * m + 2.5988452f) * m - 3.3241990f) * m +
                  3.1157899f;
  return exponent + p * (m - 1);
}

// The normal distribution function, with an error of about 3e-7 (Abramowitz and Stegun, 7.1.28).
inline float quick_normal(float z) {
  const float x = std::fabs(z) * 0.70710678f;
  float q = 1 + x * (0.0705230784f +
                     x * (0.0422820123f +
                          x * (0.0092705272f + x * (0.0001520143f + x * (0.0002765672f + x * 0.0000430638f)))));
  q *= q, q *= q, q *= q, q *= q;
  return 0.5f + std::copysign(0.5f - 0.5f / q, z);
}

// The thresholds of one numeric feature. Classes are added one by one.
class QuickCuts {
 public:
  static constexpr int kCuts = 12;

  QuickCuts(double low, double high) {
    for (int k = 0; k < kCuts; ++k) value_[k] = (high - low) / (kCuts + 1.0) * (k + 1) + low;
  }

  double value(int k) const { return value_[k]; }

  // Adds a class with n values in [low, high].
  void add(double n, double mean, double sd, double low, double high) {
    const double scale = sd > 0 ? 1 / sd : 0;
    const auto whole = static_cast<float>(n);
    float z[kCuts], below[kCuts];
    for (int k = 0; k < kCuts; ++k) z[k] = static_cast<float>((value_[k] - mean) * scale);
    for (int k = 0; k < kCuts; ++k) below[k] = whole * quick_normal(z[k]);
    for (int k = 0; k < kCuts && value_[k] < low; ++k) below[k] = 0;
    for (int k = kCuts - 1; k >= 0 && value_[k] >= high; --k) below[k] = whole;
    for (int k = 0; k < kCuts; ++k) {
      const float above = whole - below[k];
      left_[k] += below[k], right_[k] += above;
      bits_[k] += times_log2(below[k]) + times_log2(above);
    }
  }

  struct Best {
    int cut = 0;
    double entropy = std::numeric_limits<double>::infinity();
  };

  // Returns the threshold with the lowest entropy, if both sides have more than `smallest` of the weight.
  Best best(float smallest) const {
    float after[kCuts];
    for (int k = 0; k < kCuts; ++k) {
      const float total = left_[k] + right_[k];
      after[k] = (times_log2(left_[k]) + times_log2(right_[k]) - bits_[k]) / total;
    }
    Best best;
    for (int k = 0; k < kCuts; ++k) {
      const float least = smallest * (left_[k] + right_[k]);
      if (left_[k] > least && right_[k] > least && after[k] < best.entropy) best = {k, after[k]};
    }
    return best;
  }

 private:
  static float times_log2(float x) { return x * quick_log2(x + 1e-30f); }  // 0 for 0

  double value_[kCuts];
  float left_[kCuts] = {}, right_[kCuts] = {}, bits_[kCuts] = {};  // weight on either side; Σ w log2 w over classes
};

}  // namespace heros
