// Distances from an instance to a block of kRows stored rows.
//
// A block stores its rows column by column, so that a vector holds the same feature of several rows. There are no sums
// across a vector. A distance is thus the same bit for bit for every vector width. Numbers are in standard deviations;
// two different nominal values have a squared distance of 1.
#pragma once

#include <algorithm>
#include <cstdint>

#if defined(__aarch64__)
#include <arm_neon.h>
#endif

namespace heros {

inline constexpr int kRows = 64;
inline constexpr float kFarthest = 6;  // numbers are clipped at this many standard deviations

namespace neighbours {

typedef float Four __attribute__((vector_size(16)));
typedef std::int32_t FourInts __attribute__((vector_size(16)));
typedef std::uint8_t Bytes __attribute__((vector_size(16)));
inline constexpr int kFours = kRows / 4, kBytes = kRows / 16;

inline const Four* fours(const float* p) { return reinterpret_cast<const Four*>(p); }
inline Four* fours(float* p) { return reinterpret_cast<Four*>(p); }
inline Four all(float x) { return Four{x, x, x, x}; }

#if defined(__aarch64__)
inline constexpr int kTogether = kFours;  // sums that fit the registers
inline Four less_product(Four c, Four a, Four b) { return vfmsq_f32(c, a, b); }  // c − a·b; rounding may differ
inline Four lower(Four a, Four b) { return vminq_f32(a, b); }
#else
inline constexpr int kTogether = kFours / 2;
inline Four less_product(Four c, Four a, Four b) { return c - a * b; }
inline Four lower(Four a, Four b) { return a < b ? a : b; }
#endif

// The same with AVX2, twice as fast. All functions except `rough` give the same results bit for bit.
#if defined(__x86_64__)
namespace avx2 {

typedef float Eight __attribute__((vector_size(32)));
typedef std::uint8_t WideBytes __attribute__((vector_size(32)));
inline constexpr int kEights = kRows / 8;
#define HEROS_AVX2 __attribute__((target("avx2"))) inline

inline const Eight* eights(const float* p) { return reinterpret_cast<const Eight*>(p); }
inline Eight* eights(float* p) { return reinterpret_cast<Eight*>(p); }

HEROS_AVX2 float lowest(const float* values) {
  Eight low = *eights(values);
  for (int v = 1; v < kEights; ++v) low = low < eights(values)[v] ? low : eights(values)[v];
  float least = low[0];
  for (int lane = 1; lane < 8; ++lane) least = std::min(least, low[lane]);
  return least;
}
HEROS_AVX2 void add_mismatches(const std::uint8_t* columns, const std::uint8_t* codes, int n, float* counts) {
  WideBytes same[2] = {};
  for (int j = 0; j < n; ++j) {
    const WideBytes* column = reinterpret_cast<const WideBytes*>(columns + j * kRows);
    const WideBytes code = WideBytes{} + codes[j];
    for (int v = 0; v < 2; ++v) same[v] -= reinterpret_cast<WideBytes>(column[v] == code);  // true is −1
  }
  const auto* each = reinterpret_cast<const std::uint8_t*>(same);
  for (int r = 0; r < kRows; ++r) counts[r] += static_cast<float>(n - each[r]);
}
HEROS_AVX2 void add_squares(const float* columns, const float* numbers, int n, float* out) {
  Eight sum[kEights] = {};
  for (int j = 0; j < n; ++j) {
    const Eight* column = eights(columns + j * kRows);
    const Eight x = Eight{} + numbers[j];
    for (int v = 0; v < kEights; ++v) sum[v] += (column[v] - x) * (column[v] - x);
  }
  for (int v = 0; v < kEights; ++v) eights(out)[v] += sum[v];
}
HEROS_AVX2 void rough(const float* columns, const float* numbers, int n, const float* half_norms,
                      const float* mismatches, float* out) {
  Eight sum[kEights];
  for (int v = 0; v < kEights; ++v) sum[v] = eights(half_norms)[v] + 0.5F * eights(mismatches)[v];
  for (int j = 0; j < n; ++j) {
    const Eight* column = eights(columns + j * kRows);
    const Eight x = Eight{} + numbers[j];
    for (int v = 0; v < kEights; ++v) sum[v] -= column[v] * x;
  }
  for (int v = 0; v < kEights; ++v) eights(out)[v] = sum[v];
}
#undef HEROS_AVX2

inline const bool available = [] {
  __builtin_cpu_init();
  return __builtin_cpu_supports("avx2") != 0;
}();

}  // namespace avx2
#define HEROS_OR_AVX2(call) \
  if (avx2::available) return avx2::call
#else
#define HEROS_OR_AVX2(call)
#endif

inline float lowest(const float* values) {
  HEROS_OR_AVX2(lowest(values));
  Four low = *fours(values);
  for (int v = 1; v < kFours; ++v) low = lower(low, fours(values)[v]);
  return std::min(std::min(low[0], low[1]), std::min(low[2], low[3]));
}

// Counts how many of the n codes in `columns` (n, kRows) differ from the instance's. Adds the counts to `counts`
// (kRows).
inline void add_mismatches(const std::uint8_t* columns, const std::uint8_t* codes, int n, float* counts) {
  constexpr int kMost = 255;  // the largest count that fits into a byte
  for (; n > 0; columns += kMost * kRows, codes += kMost, n -= kMost) {
    const int some = std::min(n, kMost);
#if defined(__x86_64__)
    if (avx2::available) {
      avx2::add_mismatches(columns, codes, some, counts);
      continue;
    }
#endif
    Bytes same[kBytes] = {};  // counts equal codes: one instruction less
    for (int j = 0; j < some; ++j) {
      const Bytes* column = reinterpret_cast<const Bytes*>(columns + j * kRows);
      const Bytes code = Bytes{} + codes[j];
      for (int v = 0; v < kBytes; ++v) same[v] -= reinterpret_cast<Bytes>(column[v] == code);  // true is −1
    }
    const auto* each = reinterpret_cast<const std::uint8_t*>(same);
    for (int r = 0; r < kRows; ++r) counts[r] += static_cast<float>(some - each[r]);
  }
}
inline void add_mismatches(const float* columns, const float* codes, int n, float* counts) {
  for (int j = 0; j < n; ++j)
    for (int v = 0; v < kFours; ++v) {
      const FourInts differ = fours(columns + j * kRows)[v] != all(codes[j]);
      fours(counts)[v] += reinterpret_cast<Four>(differ & reinterpret_cast<FourInts>(all(1)));
    }
}

// Adds the squared distances over n numbers to `out` (kRows).
inline void add_squares(const float* columns, const float* numbers, int n, float* out) {
  HEROS_OR_AVX2(add_squares(columns, numbers, n, out));
  for (int first = 0; first < kFours; first += kTogether) {
    Four sum[kTogether] = {};
    for (int j = 0; j < n; ++j) {
      const Four* column = fours(columns + j * kRows) + first;
      const Four x = all(numbers[j]);
      for (int v = 0; v < kTogether; ++v) sum[v] += (column[v] - x) * (column[v] - x);
    }
    for (int v = 0; v < kTogether; ++v) fours(out)[first + v] += sum[v];
  }
}

// Computes the distance of one row of the block, with the same result bit for bit.
inline float square_of(const float* columns, const float* numbers, int n, int row) {
  float sum = 0;
  for (int j = 0; j < n; ++j) {
    const float off = columns[j * kRows + row] - numbers[j];
    sum += off * off;
  }
  return sum;
}

// Half of the squared distances without the instance's own half norm, ½‖a‖² − a·x + ½ mismatches, up to rounding. The
// computation needs a third of the arithmetic of exact distances, and is sufficient for most blocks.
inline void rough(const float* columns, const float* numbers, int n, const float* half_norms, const float* mismatches,
                  float* out) {
  HEROS_OR_AVX2(rough(columns, numbers, n, half_norms, mismatches, out));
  for (int first = 0; first < kFours; first += kTogether) {
    Four sum[kTogether];
    for (int v = 0; v < kTogether; ++v)
      sum[v] = fours(half_norms)[first + v] + all(0.5F) * fours(mismatches)[first + v];
    for (int j = 0; j < n; ++j) {
      const Four* column = fours(columns + j * kRows) + first;
      const Four x = all(numbers[j]);
      for (int v = 0; v < kTogether; ++v) sum[v] = less_product(sum[v], column[v], x);
    }
    for (int v = 0; v < kTogether; ++v) fours(out)[first + v] = sum[v];
  }
}

// Upper bound on the rounding error of a rough half distance over n numbers and some codes. Every number is within
// kFarthest, so norms and products are bounded. A sum of n terms has at most n + 1 rounding errors; the bound is twice
// that, for safety.
inline float rough_slack(int n, int codes) {
  constexpr float kRounding = 1.0F / (1 << 24);
  const float largest = 1.5F * static_cast<float>(n) * kFarthest * kFarthest + 0.5F * static_cast<float>(codes);
  return 2 * (static_cast<float>(n) + 2) * kRounding * largest;
}

#undef HEROS_OR_AVX2

}  // namespace neighbours
}  // namespace heros
