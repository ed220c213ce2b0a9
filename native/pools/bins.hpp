// Bins of equal width over the range of a number. Each bin sums gradients, targets or counts. In memory: the two ends
// of the range, then the sums of each bin.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

namespace heros {

struct Bins {
  static constexpr int kBins = 24;
  static constexpr double kLargest = 1e150;  // larger values are clipped, so that ranges stay finite

  // The number of doubles for this number of sums per bin. The first sum is a count or a total weight.
  static constexpr std::size_t size(int sums) { return 2 + std::size_t(sums) * kBins; }

  // The upper end of a bin.
  static double cut(const double* at, int bin) { return at[0] + (at[1] - at[0]) * (bin + 1) / kBins; }

  // Returns the sums of the bin of x, after widening the range if x is outside.
  static double* of(double* at, double x, int sums) {
    x = std::clamp(x, -kLargest, kLargest);
    if (!(at[0] < at[1] && x >= at[0] && x <= at[1])) widen(at, x, sums);
    const double share = (x - at[0]) / (at[1] - at[0]);  // NaN if the range is a single point
    return at + 2 + sums * (share > 0 ? std::min(static_cast<int>(share * kBins), kBins - 1) : 0);
  }

 private:
  // Doubles the range, merging bins in pairs, until it contains x.
  static void widen(double* at, double x, int sums) {
    double* bin = at + 2;
    bool empty = true;
    for (int b = 0; b < kBins; ++b) empty = empty && bin[b * sums] == 0;
    if (empty) {
      at[0] = at[1] = x;
      return;
    }
    if (at[0] == at[1]) {  // all values were equal: they move to the first or the last bin
      if (x == at[0]) return;
      const double middle = at[0];
      if (x < middle) std::swap_ranges(bin, bin + sums, bin + (kBins - 1) * sums);
      at[0] = std::min(x, middle), at[1] = std::max(x, middle);
      return;
    }
    for (int guard = 0; (x < at[0] || x > at[1]) && guard < 2100; ++guard) {
      const double width = at[1] - at[0];
      if (!std::isfinite(2 * width)) return;
      const bool down = x < at[0];
      std::vector<double> merged(std::size_t(kBins) * sums);
      for (int b = 0; b < kBins; ++b)
        for (int s = 0; s < sums; ++s) merged[((down ? kBins : 0) + b) / 2 * sums + s] += bin[b * sums + s];
      std::copy(merged.begin(), merged.end(), bin);
      (down ? at[0] : at[1]) += down ? -width : width;
    }
  }
};

}  // namespace heros
