// Counts of classes after the last label or the last two labels, with fading.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

#include "core/state.hpp"
#include "pools/labels/recent.hpp"

namespace heros {

// The memory layout of the counts: a row for all instances, a row per last label, and a row per pair of last labels. A
// row has one count per class. If this takes more than kMost numbers, the classes from the last context on share that
// context.
struct TransitionLayout {
  static constexpr std::int64_t kMost = 1 << 17;

  int classes = 0;
  int contexts[3] = {1, 0, 0};  // number of contexts of a label, using the last 0, 1 or 2 labels

  TransitionLayout() = default;
  TransitionLayout(int n_classes, int order) : classes(n_classes) {
    for (int o = 1; o <= order; ++o) {
      int& n = contexts[o];
      while (n < classes && rows_of(o, n + 1) * row() <= kMost) ++n;
      n = std::max(n, std::min(classes, 1));
    }
  }

  std::int64_t row() const { return classes; }
  // The start of the row of these labels, and the total number of counts.
  std::int64_t place(int order, int last, int before) const {
    if (order == 0) return 0;
    const int n = contexts[order];
    if (order == 1) return row() * (1 + std::min(last, n - 1));
    return row() * (1 + contexts[1] + std::int64_t{std::min(before, n - 1)} * n + std::min(last, n - 1));
  }
  std::int64_t size() const { return row() * (1 + contexts[1] + rows_of(2, contexts[2])); }

 private:
  static std::int64_t rows_of(int order, int n) { return order == 1 ? n : std::int64_t{n} * n; }
};

class Transitions {
 public:
  static constexpr double kHeaviest = 0x1p300;
  static constexpr double kPrior = 1;  // number of prior instances with the overall class frequencies

  Transitions(double fading = 1, int order = 1) : fading_(fading), order_(order) {}

  int classes() const { return layout_.classes; }

  // Keeps all counts, and adds up the counts of contexts that are now shared.
  void grow(int classes) {
    const TransitionLayout grown(classes, order_);
    std::vector<double> counts(static_cast<std::size_t>(grown.size()));
    for (int o = 0; o <= order_ && layout_.classes > 0; ++o)
      for (int before = 0; before < (o == 2 ? layout_.contexts[2] : 1); ++before)
        for (int last = 0; last < layout_.contexts[o]; ++last) {
          const double* from = counts_.data() + layout_.place(o, last, before);
          double* to = counts.data() + grown.place(o, last, before);
          for (std::int64_t c = 0; c < layout_.row(); ++c) to[c] += from[c];
        }
    layout_ = grown, counts_ = std::move(counts);
  }

  // Predicts the class frequencies, shifted towards the frequencies after the last label, then towards the frequencies
  // after the last two labels. The shift is larger if these labels occurred more often.
  void predict(const RecentLabels& labels, const Vantage& from, double* p) const {
    const int classes = layout_.classes;
    std::fill_n(p, classes, 1.0 / classes);
    double prior = kPrior * classes;
    for (int o = 0; o <= known(labels, from); ++o, prior = kPrior) {
      const double* row = counts_.data() + place(labels, from, o);
      const double assumed = prior * weight_, total = std::accumulate(row, row + classes, assumed);
      for (int c = 0; c < classes; ++c) p[c] = (row[c] + assumed * p[c]) / total;
    }
  }

  void learn(const RecentLabels& labels, const Vantage& from, int target, double weight) {
    weight_ /= fading_;  // instead of reducing every count
    if (weight_ > kHeaviest / 2) {
      weight_ /= kHeaviest / 2;
      for (double& count : counts_) count *= 2 / kHeaviest;
    }
    for (int o = 0; o <= known(labels, from); ++o) {
      counts_[static_cast<std::size_t>(place(labels, from, o) + target)] += weight * weight_;
    }
  }

  // The probability of each class (columns) after each label (rows).
  void follows(double* out) const {
    for (int last = 0; last < layout_.classes; ++last, out += layout_.classes) {
      RecentLabels one(1);
      one.add(last);
      predict(one, {}, out);
    }
  }

  double weight_ = 1;  // the weight of the last instance
  std::vector<double> counts_;

  // Checks imported weight and counts for this number of classes.
  void check(int classes) {
    layout_ = TransitionLayout(classes, order_);
    require(weight_ >= 1 && weight_ <= kHeaviest, "invalid weight of the last instance");
    require(static_cast<std::int64_t>(counts_.size()) == (classes == 0 ? 0 : layout_.size()) && all_of(counts_, amount),
            "invalid counts of label transitions");
  }

 private:
  // The number of last labels that can be used.
  int known(const RecentLabels& labels, const Vantage& from) const {
    int n = 0;
    while (n < order_ && labels.has(from.first + n)) ++n;
    return n;
  }
  std::int64_t place(const RecentLabels& labels, const Vantage& from, int order) const {
    const int last = order > 0 ? static_cast<int>(labels.at(from.first)) : 0;
    const int before = order > 1 ? static_cast<int>(labels.at(from.first + 1)) : 0;
    return layout_.place(order, last, before);
  }

  double fading_;
  int order_;
  TransitionLayout layout_;
};

}  // namespace heros
