// The bins of a numeric feature: thresholds (edges) chosen so that all bins hold about the same number of values.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace heros {

// The window stores one byte per feature: 0 is a missing value. A number has the index of its bin, from 1. A nominal
// value has its code + 1; all codes from 254 on share the last byte.
inline constexpr int kMissing = 0, kMostBins = 255;

inline int byte_of_code(double code) { return static_cast<int>(std::min(code + 1, double{kMostBins})); }

// Returns the bin of x; x <= the first edge is bin 1. Branch-free, as branches would be unpredictable.
inline int bin_of(const std::vector<double>& edges, double x) {
  const double* first = edges.data();
  std::size_t n = edges.size();
  while (n > 1) {
    const std::size_t half = n / 2;
    first += first[half - 1] < x ? half : 0;
    n -= half;
  }
  return 1 + static_cast<int>(first - edges.data()) + (n == 1 && *first < x ? 1 : 0);
}

// A number between a and b, or a: a <= middle < b.
inline double between(double a, double b) {
  const double middle = a / 2 + b / 2;
  return middle > a && middle < b ? middle : a;
}

// A value and the number of instances with this value.
struct ValueCount {
  double value;
  std::int64_t count;
};

// Edges for at most this number of bins, from ascending values. With few distinct values, each gets its own bin.
// Otherwise a bin ends when it has its share of the remaining instances. A bin also ends before a value that fills a
// whole share. An edge is midway between two values, or at an old edge between them.
inline std::vector<double> edges_of(const std::vector<ValueCount>& values, int bins, const std::vector<double>& before) {
  std::vector<double> edges;
  const bool each = values.size() <= static_cast<std::size_t>(bins);
  std::int64_t left = 0, in_bin = 0;
  for (const ValueCount& one : values) left += one.count;
  for (std::size_t v = 0; v + 1 < values.size(); ++v) {
    const std::int64_t free = bins - static_cast<std::int64_t>(edges.size());  // the current and later bins
    if (free < 2) break;
    in_bin += values[v].count;
    if (!each && in_bin * free < left && values[v + 1].count * free < left) continue;
    const auto known = std::lower_bound(before.begin(), before.end(), values[v].value);
    const bool stays = known != before.end() && *known < values[v + 1].value;
    edges.push_back(stays ? *known : between(values[v].value, values[v + 1].value));
    left -= in_bin, in_bin = 0;
  }
  return edges;
}

}  // namespace heros
