// The random numbers of java.util.Random, so that a stream equals MOA's for the same seed.
#pragma once

#include <cmath>
#include <cstdint>

#include "core/state.hpp"

namespace heros {

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
    do {  // rejects the last, incomplete run of n values, which would favour small values
      drawn = next(31);
      value = drawn % n;
    } while (static_cast<std::int64_t>(drawn) - value + (n - 1) > INT32_MAX);
    return value;
  }

  // Standard normal; two numbers per pair of uniforms. The last bit may differ from Java's, as Java and the C library
  // compute logarithms differently.
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
    const double factor = std::sqrt(-2.0 * std::log(q) / q);
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
    require(std::isfinite(spare_), "random_spare");
    require(has_spare_ <= 1, "random_has_spare");
  }

 private:
  static constexpr std::uint64_t kMultiplier = 0x5DEECE66D;
  static constexpr std::uint64_t kMask = (std::uint64_t{1} << 48) - 1;

  // The highest `count` of the 48 bits. Never negative, as count <= 31.
  std::int32_t next(int count) {
    bits_ = (bits_ * kMultiplier + 11) & kMask;
    return static_cast<std::int32_t>(bits_ >> (48 - count));
  }

  std::uint64_t bits_;
  double spare_ = 0.0;
  std::uint8_t has_spare_ = 0;
};

}  // namespace heros
