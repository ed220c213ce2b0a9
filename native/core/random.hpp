// Draws from a NumPy BitGenerator, so that Python and the core share one sequence of random numbers.
#pragma once

#include <cstdint>

#include "core/platform.hpp"

namespace heros {

// The struct behind NumPy's "BitGenerator" capsule (numpy/random/bitgen.h, part of its stable C API).
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

  // Uniform in {0, ..., n - 1}, without bias: Lemire's multiply-shift with rejection.
  std::uint64_t below(std::uint64_t n) {
    Product product = multiply(bits_->next_uint64(bits_->state), n);
    if (product.low < n) {
      const std::uint64_t threshold = (0 - n) % n;
      while (product.low < threshold) product = multiply(bits_->next_uint64(bits_->state), n);
    }
    return product.high;
  }

 private:
  BitGen* bits_;
};

}  // namespace heros
