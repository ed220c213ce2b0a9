// The numbers of java.util.Random, so that a stream reproduces what MOA draws for the same seed.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

#include "state.hpp"

namespace heros {

// Java's StrictMath.log, bit for bit, for a finite x > 0: the C library's logarithm may differ from it
// in the last bit, and so may two C libraries.
//
// The method and its constants are those of e_log.c of fdlibm 5.3:
// Copyright (C) 1993 by Sun Microsystems, Inc. All rights reserved. Developed at SunSoft, a Sun
// Microsystems, Inc. business. Permission to use, copy, modify, and distribute this software is freely
// granted, provided that this notice is preserved.
inline double java_log(double x) {
  constexpr double ln2_high = 6.93147180369123816490e-01, ln2_low = 1.90821492927058770002e-10;
  int exponent = 0;
  if (x < 0x1p-1022) {  // subnormal
    x *= 0x1p54;
    exponent = -54;
  }
  // x = 2^exponent * (1 + f) with 1 + f between sqrt(2)/2 and sqrt(2)
  const auto bits = std::bit_cast<std::uint64_t>(x);
  const auto high = static_cast<std::int32_t>(bits >> 32);
  const std::int32_t mantissa = high & 0xfffff;
  const std::int32_t halve = (mantissa + 0x95f64) & 0x100000;
  exponent += (high >> 20) - 1023 + (halve >> 20);
  const auto scaled = static_cast<std::uint64_t>(mantissa | (halve ^ 0x3ff00000)) << 32 | (bits & 0xffffffff);
  const double f = std::bit_cast<double>(scaled) - 1.0;
  const double k = exponent;

  if ((0xfffff & (2 + mantissa)) < 3) {  // |f| < 2^-20
    if (f == 0.0) return exponent == 0 ? 0.0 : k * ln2_high + k * ln2_low;
    const double r = f * f * (0.5 - 0.33333333333333333 * f);
    return exponent == 0 ? f - r : k * ln2_high - ((r - k * ln2_low) - f);
  }
  const double s = f / (2.0 + f);
  const double z = s * s;
  const double w = z * z;
  const double even =
      w * (3.999999999940941908e-01 + w * (2.222219843214978396e-01 + w * 1.531383769920937332e-01));
  const double odd = z * (6.666666666666735130e-01 +
                          w * (2.857142874366239149e-01 +
                               w * (1.818357216161805012e-01 + w * 1.479819860511658591e-01)));
  const double r = odd + even;
  if (((mantissa - 0x6147a) | (0x6b851 - mantissa)) > 0) {
    const double half_square = 0.5 * f * f;
    return exponent == 0 ? f - (half_square - s * (half_square + r))
                         : k * ln2_high - ((half_square - (s * (half_square + r) + k * ln2_low)) - f);
  }
  return exponent == 0 ? f - s * (f - r) : k * ln2_high - ((s * (f - r) - k * ln2_low) - f);
}

class JavaRandom {
 public:
  explicit JavaRandom(std::int64_t seed = 0)
      : bits_((static_cast<std::uint64_t>(seed) ^ kMultiplier) & kMask) {}

  // Uniform in [0, 1).
  double next_double() {
    const auto high = static_cast<std::int64_t>(next(26)) << 27;
    return static_cast<double>(high + next(27)) * 0x1p-53;
  }

  // Uniform in 0..n-1, n > 0.
  std::int32_t next_int(std::int32_t n) {
    if ((n & (n - 1)) == 0) return static_cast<std::int32_t>((static_cast<std::int64_t>(n) * next(31)) >> 31);
    std::int32_t drawn, value;
    do {  // the last, incomplete run of n values would favour the small ones
      drawn = next(31);
      value = drawn % n;
    } while (static_cast<std::int64_t>(drawn) - value + (n - 1) > INT32_MAX);
    return value;
  }

  // Standard normal, two for each pair of uniforms.
  double next_gaussian() {
    if (has_spare_) {
      has_spare_ = 0;
      return spare_;
    }
    double a, b, q;
    do {
      a = 2.0 * next_double() - 1.0;
      b = 2.0 * next_double() - 1.0;
      q = a * a + b * b;
    } while (q >= 1.0 || q == 0.0);
    const double factor = std::sqrt(-2.0 * java_log(q) / q);
    spare_ = b * factor;
    has_spare_ = 1;
    return a * factor;
  }

  template <class Archive>
  void fields(Archive& archive) {
    archive("random_bits", bits_);
    archive("random_spare", spare_);
    archive("random_has_spare", has_spare_);
  }
  void check() const {
    require(bits_ <= kMask, "random_bits");
    require(has_spare_ <= 1, "random_has_spare");
  }

 private:
  static constexpr std::uint64_t kMultiplier = 0x5DEECE66D;
  static constexpr std::uint64_t kMask = (std::uint64_t{1} << 48) - 1;

  // The top `count` of the 48 bits; count <= 31, so never negative.
  std::int32_t next(int count) {
    bits_ = (bits_ * kMultiplier + 11) & kMask;
    return static_cast<std::int32_t>(bits_ >> (48 - count));
  }

  std::uint64_t bits_;
  double spare_ = 0.0;
  std::uint8_t has_spare_ = 0;
};

}  // namespace heros
