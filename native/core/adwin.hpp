// ADWIN: windows that grow while their mean is stable and drop their oldest part when it changes. Scores use one window
// per model (`Adwin`); `heros.drift.ADWIN` is one window with its own settings.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "core/state.hpp"

namespace heros {

// buckets: the maximum per row. clock: outcomes between two tests for a change. grace: windows up to this width are not
// tested. minimum: the minimum width of each part of a split.
struct UsualWindow {
  static constexpr int buckets = 5, clock = 32, grace = 10, minimum = 5;
};
struct WindowSettings {
  int buckets = UsualWindow::buckets, clock = UsualWindow::clock, grace = UsualWindow::grace;
  int minimum = UsualWindow::minimum;
};

// ADWIN (Bifet and Gavaldà 2007): the mean over a window that drops its oldest part when the means of its two parts
// differ. The window is stored as rows of a few buckets; a bucket of row r sums 2^r outcomes. It keeps the sums of
// outcomes and of their squares, which give the variance of the whole window.
//
// Only the test for a change needs the buckets. Until the test, outcomes are queued, so that a step touches few cache
// lines.
template <class Settings>
class AdaptiveWindows {
 public:
  static constexpr int kRows = 40;  // 5 · 2^40 outcomes: longer than any stream

  AdaptiveWindows() = default;
  AdaptiveWindows(int models, double delta, bool restart, Settings settings = {})
      : settings_(settings), models_(models), restart_(restart), delta_(delta), ticks_(models), width_(models),
        rows_(models, 1), changed_(models), count_(models * kRows), total_(models), squares_(models),
        sums_(std::size_t(models) * kRows * (settings.buckets + 1)), square_sums_(sums_.size()), waiting_(models),
        outcomes_(std::size_t(models) * settings.clock) {}

  // Adds an outcome of model i and returns the mean of its window.
  double update(int i, double outcome) {
    if (changed_[i]) {
      changed_[i] = 0;
      if (restart_) forget(i);
    }
    outcomes_[std::size_t(waiting_[i]++) * models_ + i] = outcome;
    width_[i] += 1;
    total_[i] += outcome;
    if (++ticks_[i] == settings_.clock) look_for_change(i);
    return total_[i] / static_cast<double>(width_[i]);
  }

  // Returns the number of outcomes of model i until the next test for a change. `update_many` takes up to that many,
  // each minus `origin`. If the last outcome caused no change, the result equals that of single updates.
  std::int64_t until_look(int i) const { return settings_.clock - ticks_[i]; }
  void update_many(int i, const double* outcomes, std::int64_t n, double origin) {
    double total = total_[i];
    double* waiting = outcomes_.data() + std::size_t(waiting_[i]) * models_ + i;
    for (std::int64_t k = 0; k < n; ++k, waiting += models_) total += *waiting = outcomes[k] - origin;
    total_[i] = total;
    waiting_[i] += static_cast<std::int32_t>(n), width_[i] += n, ticks_[i] += n;
    if (ticks_[i] == settings_.clock) look_for_change(i);
  }

  // The width and mean of model i's window, and whether the last outcome shortened the window.
  std::int64_t width(int i) const { return width_[i]; }
  double mean(int i) const { return width_[i] > 0 ? total_[i] / static_cast<double>(width_[i]) : 0.0; }
  bool changed(int i) const { return changed_[i] != 0; }
  double sample_variance(int i) {
    settle(i);
    const auto n = static_cast<double>(width_[i]);
    return n > 1 ? std::max((squares_[i] - total_[i] * total_[i] / n) / (n - 1), 0.0) : 0.0;
  }

  // Empties the window of model i.
  void forget(int i) {
    ticks_[i] = width_[i] = 0;
    clear(bucket(i, 0, 0), rows_[i] * (settings_.buckets + 1));
    rows_[i] = 1;
    waiting_[i] = changed_[i] = 0;
    total_[i] = squares_[i] = 0;
    std::fill_n(&count(i, 0), kRows, 0);
  }

  template <class Archive>
  void fields(Archive& a) {
    const auto waits = [](std::int32_t n) { return n > 0; };
    if constexpr (Archive::kReads) {
      std::fill(waiting_.begin(), waiting_.end(), 0);
    } else if (std::any_of(waiting_.begin(), waiting_.end(), waits)) {
      AdaptiveWindows settled = *this;
      for (int i = 0; i < models_; ++i) settled.settle(i);
      return settled.fields(a);
    }
    a("ticks", ticks_), a("width", width_), a("rows", rows_), a("changed", changed_), a("count", count_);
    a("total", total_), a("squares", squares_), a("sums", sums_), a("square_sums", square_sums_);
  }
  void check() const {
    const std::size_t m = models_;
    require(ticks_.size() == m && width_.size() == m && rows_.size() == m && changed_.size() == m &&
                total_.size() == m && squares_.size() == m && count_.size() == m * kRows &&
                sums_.size() == m * kRows * (settings_.buckets + 1) && square_sums_.size() == sums_.size(),
            "ADWIN's arrays have the wrong length");
    require(std::all_of(rows_.begin(), rows_.end(), [](auto r) { return r >= 1 && r <= kRows; }),
            "ADWIN's number of rows is out of range");
    require(std::all_of(count_.begin(), count_.end(), [&](auto c) { return c >= 0 && c <= settings_.buckets; }),
            "ADWIN's number of buckets per row is out of range");
    for (int i = 0; i < models_; ++i) require(holds_together(i),
                                              "an ADWIN window and its buckets must have the same width");
    const auto finite = [](double x) { return std::isfinite(x); };
    require(all_of(total_, finite) && all_of(squares_, finite) && all_of(sums_, finite) &&
                all_of(square_sums_, finite) && all_of(changed_, [](std::uint8_t flag) { return flag <= 1; }),
            "ADWIN sums");
  }

 private:
  bool holds_together(int i) const {
    std::int64_t width = 0;
    for (int row = 0; row < kRows; ++row) {
      const std::int32_t buckets = count_[i * kRows + row];
      if (row >= rows_[i] && buckets != 0) return false;
      width += std::int64_t{buckets} << row;
    }
    const bool top = rows_[i] == 1 || count_[i * kRows + rows_[i] - 1] > 0;
    return top && width == width_[i] && ticks_[i] >= 0 && ticks_[i] < settings_.clock;
  }

  void look_for_change(int i) {
    ticks_[i] = 0;
    settle(i);
    if (width_[i] <= settings_.grace) return;
    while (cut_exists(i)) {
      drop_oldest(i);
      changed_[i] = 1;
    }
  }

  // Moves the queued outcomes into buckets, in order. If a row has too many buckets, its oldest buckets (stored first)
  // are merged in pairs into buckets of the next row. Merging once gives the same buckets as merging after every
  // outcome.
  void settle(int i) {
    int coming = waiting_[i];
    if (coming == 0) return;
    waiting_[i] = 0;
    const int most = settings_.buckets, room = settings_.clock;
    scratch_.resize(4 * std::size_t(room));
    double *sums = scratch_.data(), *squares = sums + room, *next_sums = squares + room, *next_squares = next_sums + room;
    double all_squares = squares_[i];
    for (int w = 0; w < coming; ++w) {
      const double outcome = outcomes_[std::size_t(w) * models_ + i];
      sums[w] = outcome, squares[w] = outcome * outcome;
      all_squares += outcome * outcome;
    }
    squares_[i] = all_squares;
    for (int row = 0; coming > 0; ++row) {
      if (row == rows_[i]) ++rows_[i];
      const int there = count(i, row), all = there + coming;
      const std::size_t at = bucket(i, row, 0);
      const int pairs = all > most && row + 1 < kRows ? (all - most + 1) / 2 : 0;
      double *sum = &sums_[at], *square = &square_sums_[at];
      // Oldest buckets first: two old buckets, the last old bucket with the first new one, or two new buckets.
      int p = 0;
      for (; 2 * p + 1 < there && p < pairs; ++p) {
        next_sums[p] = sum[2 * p] + sum[2 * p + 1];
        next_squares[p] = square[2 * p] + square[2 * p + 1];
      }
      if (2 * p < there && p < pairs) {
        next_sums[p] = sum[2 * p] + sums[0];
        next_squares[p] = square[2 * p] + squares[0];
        ++p;
      }
      for (int from = 2 * p - there; p < pairs; ++p, from += 2) {
        next_sums[p] = sums[from] + sums[from + 1];
        next_squares[p] = squares[from] + squares[from + 1];
      }
      int b = 0;
      for (int from = 2 * pairs; from < there; ++from, ++b) sum[b] = sum[from], square[b] = square[from];
      for (int from = std::max(2 * pairs - there, 0); from < coming; ++from, ++b) sum[b] = sums[from], square[b] = squares[from];
      const int left = count(i, row) = all - 2 * pairs;
      if (left < there) clear(at + left, there - left);
      std::swap(sums, next_sums), std::swap(squares, next_squares);
      coming = pairs;
    }
  }

  std::int32_t& count(int i, int row) { return count_[i * kRows + row]; }
  std::size_t bucket(int i, int row, int b) const { return (std::size_t(i) * kRows + row) * (settings_.buckets + 1) + b; }

  // Sets unused buckets to 0, so that equal windows have equal bytes.
  void clear(std::size_t at, int n) {
    for (int b = 0; b < n; ++b) sums_[at + b] = square_sums_[at + b] = 0;
  }

  void remove_oldest(int i, int row, int n) {
    const std::size_t at = bucket(i, row, 0);
    const int left = count(i, row) -= n;
    for (int b = 0; b < left; ++b) {
      sums_[at + b] = sums_[at + b + n];
      square_sums_[at + b] = square_sums_[at + b + n];
    }
    clear(at + left, n);
  }

  void drop_oldest(int i) {
    const int row = rows_[i] - 1;
    const std::size_t at = bucket(i, row, 0);
    width_[i] -= std::int64_t{1} << row;
    total_[i] -= sums_[at];
    squares_[i] -= square_sums_[at];
    remove_oldest(i, row, 1);
    while (rows_[i] > 1 && count(i, rows_[i] - 1) == 0) --rows_[i];
  }

  // Whether the window can be split into an older and a newer part whose means differ by more than ε.
  bool cut_exists(int i) {
    const double n = static_cast<double>(width_[i]), total = total_[i];
    const double variance = (squares_[i] - total * total / n) / n;
    const double log_term = std::log(2 * std::log(n) / delta_);
    const double scale = 2 * std::max(variance, 0.0) * log_term;
    if (!may_cut(i, scale)) return false;
    double n0 = 0, u0 = 0, size = std::ldexp(1.0, rows_[i] - 1);
    for (int row = rows_[i] - 1; row >= 0; --row, size /= 2) {
      const int buckets = count(i, row) - (row == 0);  // the newer part is never empty
      const double* sum = &sums_[bucket(i, row, 0)];
      for (int b = 0; b < buckets; ++b) {
        n0 += size;
        u0 += sum[b];
        const double n1 = n - n0;
        const double a0 = n0 - settings_.minimum + 1, a1 = n1 - settings_.minimum + 1;
        if (a0 < 1 || a1 < 1) continue;
        const double m = 1 / a0 + 1 / a1;
        if (std::fabs(u0 / n0 - (total - u0) / n1) > std::sqrt(scale * m) + 2.0 / 3.0 * log_term * m) return true;
      }
    }
    return false;
  }

  // Whether any split may exceed the bound |u0/n0 − u1/n1| > √(scale·(1/a0 + 1/a1)). Both sides are squared, without a
  // division, for all splits at once. This rules out a cut for nearly all windows. The margin of 1 % exceeds the
  // rounding errors.
  bool may_cut(int i, double scale) {
    const double n = static_cast<double>(width_[i]), total = total_[i], less = settings_.minimum - 1;
    if (!((squares_[i] + 1) * n * n * n * n * n < 1e290)) return true;  // the products might overflow
    splits_.resize(2 * std::size_t(kRows) * settings_.buckets);
    double *older = splits_.data(), *sum_older = older + std::size_t(kRows) * settings_.buckets;
    double before = 0, sum_before = 0, size = static_cast<double>(std::int64_t{1} << (rows_[i] - 1));
    int splits = 0;
    for (int row = rows_[i] - 1; row >= 0; --row, size /= 2) {
      const int buckets = count(i, row);
      const double* sum = &sums_[bucket(i, row, 0)];
      double in_row = 0, sum_in_row = 0;
      for (int b = 0; b < buckets; ++b, ++splits) {
        in_row += size, sum_in_row += sum[b];
        older[splits] = before + in_row, sum_older[splits] = sum_before + sum_in_row;
      }
      before += in_row, sum_before += sum_in_row;
    }
    const double wide = scale * (n - 2 * less) / 1.01;
    std::int64_t signs = 0;
    for (int s = 0; s < splits - 1; ++s) {  // the newer part is never empty
      const double n0 = older[s], n1 = n - n0, parts = n0 * n1, difference = sum_older[s] * n - total * n0;
      signs |= std::bit_cast<std::int64_t>(parts * parts * wide - difference * difference * ((n0 - less) * (n1 - less)));
    }
    return signs < 0;
  }

  [[no_unique_address]] Settings settings_;
  int models_ = 0;
  bool restart_ = false;
  double delta_ = 0;
  std::vector<std::int64_t> ticks_, width_;      // outcomes since the last test for a change; width of the window
  std::vector<std::int32_t> rows_;
  std::vector<std::uint8_t> changed_;
  std::vector<std::int32_t> count_;              // (M, rows)
  std::vector<double> total_, squares_;
  std::vector<double> sums_, square_sums_;       // (M, rows, buckets + 1), the oldest bucket first
  std::vector<std::int32_t> waiting_;            // outcomes not yet in buckets: at most `clock`
  std::vector<double> outcomes_;                 // (clock, M): the queued outcomes
  std::vector<double> scratch_, splits_;         // scratch memory for merging buckets and for comparing parts
};

using Adwin = AdaptiveWindows<UsualWindow>;

}  // namespace heros
