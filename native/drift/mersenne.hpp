// The generator of Python's `random` (MT19937), with its algorithm for sampling without replacement. The same seed
// gives the same draws.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

#include "core/state.hpp"

namespace heros {

class Mersenne {
 public:
  static constexpr int kWords = 624, kShift = 397;

  // state: 624 words, then the number of words already used.
  explicit Mersenne(const std::vector<std::uint32_t>& state) : state_(state) {}

  // Draws n distinct numbers below `range`, as `random.sample` does, in the order of the draws.
  void sample(int range, int n, std::vector<std::int32_t>& drawn) {
    drawn.resize(n);
    double few = 21;
    if (n > 5) few += std::pow(4, std::ceil(std::log(n * 3) / std::log(4)));
    if (range <= few) {
      pool_.resize(range);
      std::iota(pool_.begin(), pool_.end(), 0);
      for (int i = 0; i < n; ++i) {
        const std::uint32_t at = below(range - i);
        drawn[i] = pool_[at];
        pool_[at] = pool_[range - i - 1];
      }
      return;
    }
    pool_.assign(range, 0);
    for (std::int32_t& one : drawn) {
      do one = static_cast<std::int32_t>(below(range));
      while (pool_[one]);
      pool_[one] = 1;
    }
  }

  template <class Archive>
  void fields(Archive& a) {
    a("random", state_);
  }
  void check() const {
    require(state_.size() == kWords + 1 && state_[kWords] <= kWords, "invalid state of the random generator");
  }

 private:
  std::uint32_t below(std::uint32_t n) {
    const int bits = std::bit_width(n);
    std::uint32_t drawn = next() >> (32 - bits);
    while (drawn >= n) drawn = next() >> (32 - bits);
    return drawn;
  }

  std::uint32_t next() {
    if (state_[kWords] >= kWords) renew();
    std::uint32_t y = state_[state_[kWords]++];
    y ^= y >> 11;
    y ^= (y << 7) & 0x9d2c5680U;
    y ^= (y << 15) & 0xefc60000U;
    return y ^ (y >> 18);
  }

  void renew() {
    for (int i = 0; i < kWords; ++i) {
      const std::uint32_t y = (state_[i] & 0x80000000U) | (state_[(i + 1) % kWords] & 0x7fffffffU);
      state_[i] = state_[(i + kShift) % kWords] ^ (y >> 1) ^ (y & 1U ? 0x9908b0dfU : 0U);
    }
    state_[kWords] = 0;
  }

  std::vector<std::uint32_t> state_;
  std::vector<std::int32_t> pool_;
};

}  // namespace heros
