// Random numbers that belong to one native object. They do not depend on the draws of other models, and their state is
// a single number.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

namespace heros {

// SplitMix64 (Steele, Lea and Flood 2014).
class Draws {
 public:
  explicit Draws(std::uint64_t state = 0) : state_(state) {}

  std::uint64_t state() const { return state_; }
  std::uint64_t next() { return mixed(state_ += 0x9E3779B97F4A7C15ull); }

  // Uniform in [0, 1), and in {0, ..., n - 1}. The bias of the multiply-shift is negligible, as n is far below 2^32.
  double uniform() { return static_cast<double>(next() >> 11) * 0x1p-53; }
  std::uint32_t below(std::uint32_t n) { return static_cast<std::uint32_t>(((next() >> 32) * n) >> 32); }

  // Hashes z. The result can seed a sequence that is unrelated to the one seeded with z.
  static std::uint64_t mixed(std::uint64_t z) {
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
    return z ^ (z >> 31);
  }

 private:
  std::uint64_t state_;
};

// A Poisson variate: how often online bagging trains on an instance (Oza and Russell 2001). It inverts the distribution
// function; a table gives the first index to test.
class Poisson {
 public:
  explicit Poisson(double mean = 1) : first_(kFirsts) {
    double p = std::exp(-mean), sum = p;
    for (int n = 1; n < kMost && sum < 1 && at_most_.size() < std::size_t(kMost); ++n) {
      at_most_.push_back(sum);
      p *= mean / n, sum += p;
    }
    for (int i = 0; i < kFirsts; ++i)
      while (first_[i] < size() && at_most_[first_[i]] <= static_cast<double>(i) / kFirsts) ++first_[i];
  }

  std::int32_t operator()(Draws& draws) const {
    const double u = draws.uniform();
    std::int32_t n = first_[static_cast<std::size_t>(u * kFirsts)];
    while (n < size() && at_most_[n] <= u) ++n;
    return n;
  }

 private:
  static constexpr int kMost = 400, kFirsts = 64;
  std::int32_t size() const { return static_cast<std::int32_t>(at_most_.size()); }

  std::vector<double> at_most_;  // P(N <= n)
  std::vector<std::int32_t> first_;
};

}  // namespace heros
