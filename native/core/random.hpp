// Draws from a NumPy BitGenerator, so that Python and the core share one sequence of random numbers.
#pragma once

#include <cstdint>

namespace heros {

// The struct behind NumPy's "BitGenerator" capsule (numpy/random/bitgen.h: part of its stable C API).
struct BitGen {
  void* state;
  std::uint64_t (*next_uint64)(void*);
  std::uint32_t (*next_uint32)(void*);
  double (*next_double)(void*);
  std::uint64_t (*next_raw)(void*);
};

class Random {
 public:
  explicit Random(BitGen* bits) : bits_(bits) {}

  double uniform() { return bits_->next_double(bits_->state); }

  // Uniform in {0, ..., n - 1}: Lemire's multiply-shift with rejection, so without bias.
  std::uint64_t below(std::uint64_t n) {
    __extension__ using uint128 = unsigned __int128;
    uint128 product = static_cast<uint128>(bits_->next_uint64(bits_->state)) * n;
    if (static_cast<std::uint64_t>(product) < n) {
      const std::uint64_t threshold = (0 - n) % n;
      while (static_cast<std::uint64_t>(product) < threshold)
        product = static_cast<uint128>(bits_->next_uint64(bits_->state)) * n;
    }
    return static_cast<std::uint64_t>(product >> 64);
  }

 private:
  BitGen* bits_;
};

}  // namespace heros
