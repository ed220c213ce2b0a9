// The statistics of one class at a leaf: a Gaussian per numeric feature, value counts per nominal feature. Naive Bayes
// and the search for splits use them.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numbers>
#include <vector>

#include "pools/hoeffding/layout.hpp"

namespace heros {

// The statistics of one class at one leaf, as pointers into a block.
template <class Real, class Int>
struct ClassBlockView {
  Real *mean, *precision, *spread, *low, *high;  // per numeric feature; precision = 1 / (2 variance)
  Int *seen;                                     // per numeric feature: number of values
  Int *divisor;                                  // per nominal feature: values seen + highest code seen + 1
  Int *count;                                    // per slot

  ClassBlockView(const TreeLayout& layout, Real* reals, Int* ints)
      : mean(reals), precision(mean + layout.numbers()), spread(precision + layout.numbers()),
        low(spread + layout.numbers()), high(low + layout.numbers()), seen(ints),
        divisor(seen + layout.numbers()), count(divisor + layout.codes()) {}
};
using ClassBlock = ClassBlockView<double, std::int32_t>;
using ConstClassBlock = ClassBlockView<const double, const std::int32_t>;

// The precision of a constant feature: any other value gets probability 0, as exp(-1e300 d²) does.
inline constexpr double kNoSpread = 1e300;

inline void clear(const TreeLayout& layout, const ClassBlock& block) {
  std::fill_n(block.precision, layout.numbers(), kNoSpread);
  std::fill_n(block.low, layout.numbers(), std::numeric_limits<double>::infinity());
  std::fill_n(block.high, layout.numbers(), -std::numeric_limits<double>::infinity());
}

// Counts have 32 bits. A leaf ignores further instances of a class after this many. A divisor also counts values, of
// which there are at most 2^24.
inline constexpr double kMostObserved = 1 << 30;
inline constexpr std::int32_t kFull = (1 << 30) + (1 << 25);

// Whether the statistics of a block are valid.
inline bool is_sound(const TreeLayout& layout, const ConstClassBlock& block) {
  for (int j = 0; j < layout.numbers(); ++j) {
    const bool moments = std::isfinite(block.mean[j]) && std::isfinite(block.spread[j]) && block.spread[j] >= 0 &&
                         block.precision[j] >= 1 / kNoSpread && block.precision[j] <= kNoSpread;
    const bool range = block.seen[j] == 0 ||
                       (std::isfinite(block.low[j]) && std::isfinite(block.high[j]) && block.low[j] <= block.high[j]);
    if (!moments || !range) return false;
  }
  return true;
}

// Adds a value with weight `times`. With weight 1, the result equals the unweighted formula bit for bit. The first mean
// is x itself, as w * x / w may differ by rounding.
inline void observe_number(const ClassBlock& block, int j, double x, std::int32_t times) {
  const double w = times, n = block.seen[j] + w, away = x - block.mean[j];
  const double mean = block.mean[j] + (block.seen[j] > 0 ? w * away / n : away);
  const double spread = block.spread[j] + w * away * (x - mean);
  if (!std::isfinite(spread)) return;  // the value is too large for the moments and is ignored
  block.seen[j] += times;
  block.mean[j] = mean;
  block.spread[j] = spread;
  block.low[j] = std::min(block.low[j], x);
  block.high[j] = std::max(block.high[j], x);
  const double precision = (n - 1) / (2 * block.spread[j]);
  block.precision[j] = block.spread[j] > 0 ? std::clamp(precision, 1 / kNoSpread, kNoSpread) : kNoSpread;
}

inline void observe_code(const TreeLayout& layout, const ClassBlock& block, int j, std::int32_t slot,
                         std::int32_t times) {
  std::int32_t growth = 0;
  if (block.count[slot] == 0) {  // the highest code may have increased
    const std::int32_t first = layout.slot[j], last = first + layout.values[layout.nominal[j]] - 1;
    std::int32_t highest = last;
    while (highest >= first && block.count[highest] == 0) --highest;
    growth = std::max(0, slot - highest);
  }
  block.count[slot] += times;
  block.divisor[j] += times + growth;
}

inline void observe(const TreeLayout& layout, const ClassBlock& block, const TreeInstance& instance,
                    std::int32_t times) {
  const int numbers = layout.numbers(), codes = layout.codes();
  for (int j = 0; j < numbers; ++j)
    if (!std::isnan(instance.numbers[j])) observe_number(block, j, instance.numbers[j], times);
  for (int j = 0; j < codes; ++j)
    if (instance.slots[j] >= 0) observe_code(layout, block, j, instance.slots[j], times);
}

// The part of a class's naive-Bayes log-vote that does not depend on the instance.
struct LogBase {
  double base;      // Σ log of the densities' constants, the nominal divisors and the counts of code 0
  double headroom;  // upper bound on the log of any partial product; infinite if a feature has no values
};

inline LogBase log_base(const TreeLayout& layout, const ConstClassBlock& block) {
  // The product of the precisions / π, with mantissas and exponents separate: one logarithm for all features.
  double product = 1;
  std::int64_t exponent = 0, above_one = 0;
  bool unseen = false;
  for (int j = 0; j < layout.numbers(); ++j) {
    unseen |= block.seen[j] == 0;
    if (block.precision[j] == kNoSpread) continue;  // a factor of 1
    const auto bits = std::bit_cast<std::uint64_t>(block.precision[j] * std::numbers::inv_pi);
    const std::int64_t e = static_cast<std::int64_t>(bits >> 52) - 1023;
    product *= std::bit_cast<double>((bits & 0xFFFFFFFFFFFFFull) | 0x3FF0000000000000ull);
    exponent += e;
    above_one += std::max<std::int64_t>(e + 1, 0);
    if ((j & 511) == 511) exponent += std::ilogb(product), product = std::scalbn(product, -std::ilogb(product));
  }
  double codes = 0;
  const LogTable& log = log_table();
  for (int j = 0; j < layout.codes(); ++j) {
    unseen |= block.divisor[j] == 0;
    codes -= log(block.divisor[j]);
  }
  for (const std::int32_t slot : layout.usual) codes += log(block.count[slot] + 1);
  const double numbers = 0.5 * (std::log(product) + std::numbers::ln2 * static_cast<double>(exponent));
  const double headroom = 0.5 * std::numbers::ln2 * static_cast<double>(above_one);
  return {numbers + codes, unseen ? std::numeric_limits<double>::infinity() : headroom};
}

// Σ (x − mean)² · precision, in four fixed lanes, so that the sum is the same on every machine.
inline double distance(const double* x, const double* mean, const double* precision, int n) {
  double lane[4] = {0, 0, 0, 0};
  int j = 0;
  for (; j + 4 <= n; j += 4)
    for (int l = 0; l < 4; ++l) {
      const double away = x[j + l] - mean[j + l];
      lane[l] += away * away * precision[j + l];
    }
  for (int l = 0; j < n; ++j, ++l) {
    const double away = x[j] - mean[j];
    lane[l] += away * away * precision[j];
  }
  return (lane[0] + lane[1]) + (lane[2] + lane[3]);
}

// Σ log(count + 1) over some slots.
inline double log_counts(const std::int32_t* count, const std::vector<std::int32_t>& slots) {
  const LogTable& log = log_table();
  const std::size_t n = slots.size();
  double even = 0, odd = 0;
  std::size_t j = 0;
  for (; j + 2 <= n; j += 2) even += log(count[slots[j]] + 1), odd += log(count[slots[j + 1]] + 1);
  if (j < n) even += log(count[slots[j]] + 1);
  return even + odd;
}

// The normal distribution of a feature's values in a class.
struct Gaussian {
  double mean, sd;

  Gaussian(double n, double centre, double spread) : mean(centre), sd(n > 1 ? std::sqrt(spread / (n - 1)) : 0) {}

  // A constant feature has density 1 at its value, 0 elsewhere.
  double density(double x) const {
    if (!(sd > 0)) return x == mean ? 1 : 0;
    const double away = x - mean;
    return 1 / (std::sqrt(2 * std::numbers::pi) * sd) * std::exp(-(away * away / (2 * sd * sd)));
  }

  // The probability of a value <= x. The smaller tail is computed, so that the result is equally exact on both sides of
  // the mean. Different values that are very close have sd 0, because their squared differences round to 0.
  double at_most(double x) const {
    if (!(sd > 0)) return x >= mean ? 1 : 0;
    const double away = (x - mean) / sd * (std::numbers::sqrt2 / 2);
    const double tail = std::erfc(std::fabs(away)) / 2;
    return away > 0 ? 1 - tail : tail;
  }
};

}  // namespace heros
