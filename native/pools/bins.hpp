// A number seen through bins of equal width over a range that grows: what gradients, targets or counts there were in
// each. In memory: the ends of the range, then the sums of bin after bin.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

namespace heros {

struct Bins {
  static constexpr int kBins = 24;
  static constexpr double kLargest = 1e150;  // of a value: ranges have to be finite

  // How many doubles they take with so many sums per bin. The first sum is a count, or weighs what was counted.
  static constexpr std::size_t size(int sums) { return 2 + std::size_t(sums) * kBins; }

  // The upper end of a bin.
  static double cut(const double* at, int bin) { return at[0] + (at[1] - at[0]) * (bin + 1) / kBins; }

  // The sums of the bin that x falls into, once the range holds it.
  static double* of(double* at, double x, int sums) {
    x = std::clamp(x, -kLargest, kLargest);
    if (!(at[0] < at[1] && x >= at[0] && x <= at[1])) widen(at, x, sums);
    const double share = (x - at[0]) / (at[1] - at[0]);  // NaN where the range is a point
    return at + 2 + sums * (share > 0 ? std::min(static_cast<int>(share * kBins), kBins - 1) : 0);
  }

 private:
  // A range that does not hold x is made twice as wide, two bins becoming one, until it does.
  static void widen(double* at, double x, int sums) {
    double* bin = at + 2;
    bool empty = true;
    for (int b = 0; b < kBins; ++b) empty = empty && bin[b * sums] == 0;
    if (empty) {
      at[0] = at[1] = x;
      return;
    }
    if (at[0] == at[1]) {  // all at one point: the first bin, or the last
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
