// The bins of a numeric feature: cut points between values, so that the bins hold about equally many of them.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace heros {

// Of an instance in the window there is one byte per feature: 0 is a missing value. A number has the number of its bin,
// from 1; a nominal value its code + 1, and all codes from 254 on share the last byte.
inline constexpr int kMissing = 0, kMostBins = 255;

inline int byte_of_code(double code) { return static_cast<int>(std::min(code + 1, double{kMostBins})); }

// A number below or at the first edge is in bin 1. Without branches: no branch could be predicted.
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

// A number between two others, or the lower one: a <= middle < b.
inline double between(double a, double b) {
  const double middle = a / 2 + b / 2;
  return middle > a && middle < b ? middle : a;
}

// A value, and how many instances have it.
struct ValueCount {
  double value;
  std::int64_t count;
};

// Edges for so many bins at most, for values that rise. Where there are few distinct values, each has a bin of its own;
// else a bin is closed once it has its share of the instances that are left, and before a value that has a whole share
// alone. An edge lies in the middle between two values, or where one was before.
inline std::vector<double> edges_of(const std::vector<ValueCount>& values, int bins, const std::vector<double>& before) {
  std::vector<double> edges;
  const bool each = values.size() <= static_cast<std::size_t>(bins);
  std::int64_t left = 0, in_bin = 0;
  for (const ValueCount& one : values) left += one.count;
  for (std::size_t v = 0; v + 1 < values.size(); ++v) {
    const std::int64_t free = bins - static_cast<std::int64_t>(edges.size());  // the bin at hand and those to come
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
