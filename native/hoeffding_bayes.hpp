// Naive Bayes at a leaf: each class's count times the probabilities of the values, as logarithms.
//
// MOA multiplies the factors in feature order in double precision, so a vote can underflow to 0 (and with
// many features all of them do, and class 0 wins). Sums of logarithms are faster and would not, but a
// leaf's choice between naive Bayes and majority depends on those zeros: we keep them. A sum tells in all
// but a narrow band of cases whether the product is 0; in that band the product is worked out.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

#include "hoeffding_layout.hpp"
#include "hoeffding_observers.hpp"
#include "hoeffding_slab.hpp"

namespace heros {

// The index of the highest value (ties: the lowest index).
inline int highest(const double* values, int n) {
  int best = 0;
  for (int i = 1; i < n; ++i)
    if (values[i] > values[best]) best = i;
  return best;
}

inline constexpr double kNoVote = -std::numeric_limits<double>::infinity();

// Whether any class at the leaf has seen a value of feature f.
inline bool seen_by_any(const TreeLayout& layout, const Slab& blocks, const std::int32_t* block, int f) {
  const int j = layout.position[f], at = layout.values[f] > 0 ? layout.numbers() + j : j;
  for (int c = 0; c < layout.classes; ++c)
    if (block[c] >= 0 && blocks.ints(block[c])[at] > 0) return true;
  return false;
}

// The vote of class c as a product in feature order. Missing values, and features no instance at this leaf
// has had a value of, say nothing.
inline double product_vote(const TreeLayout& layout, const Slab& blocks, const std::int32_t* block, int c,
                           double prior, const TreeInstance& instance) {
  const ConstClassBlock own(layout, blocks.reals(block[c]), blocks.ints(block[c]));
  double vote = prior;
  for (int f = 0; f < layout.features(); ++f) {
    const int j = layout.position[f];
    const double x = instance.x[f];
    if (std::isnan(x) || !seen_by_any(layout, blocks, block, f)) continue;
    if (layout.values[f] == 0) {
      vote *= density(x, own.seen[j], own.mean[j], own.spread[j]);
    } else {
      vote *= own.divisor[j] > 0 ? (own.count[instance.slots[j]] + 1.0) / own.divisor[j] : 0;
    }
  }
  return std::isnan(vote) ? 0 : vote;
}

// The logarithms of all votes, up to a constant; kNoVote for a vote of 0. `block`: per class, its block or
// -1; `base` and `headroom`: what log_base gave for the class (base with the log of its count).
inline void log_votes(const TreeLayout& layout, const Slab& blocks, const std::int32_t* block, const double* counts,
                      const double* base, const double* headroom, const TreeInstance& instance, double* votes) {
  constexpr double kSurelyZero = -746, kNearZero = -650, kNearInfinity = 700;
  double total = 0;
  for (int c = 0; c < layout.classes; ++c) total += counts[c];
  bool any_product = false;
  for (int c = 0; c < layout.classes && !any_product; ++c) {
    if (block[c] < 0) {
      votes[c] = kNoVote;
      continue;
    }
    if (instance.missing || !(headroom[c] < kNearInfinity)) {
      any_product = true;
      break;
    }
    const ConstClassBlock own(layout, blocks.reals(block[c]), blocks.ints(block[c]));
    votes[c] = base[c] - distance(instance.numbers.data(), own.mean, own.precision, layout.numbers()) +
               log_counts(own.count, instance.slots.data(), layout.codes());
    if (votes[c] < kSurelyZero) votes[c] = kNoVote;
    else if (votes[c] - headroom[c] < kNearZero) any_product = true;
  }
  if (!any_product) return;
  for (int c = 0; c < layout.classes; ++c)
    votes[c] = block[c] < 0 ? kNoVote
                            : std::log(product_vote(layout, blocks, block, c, counts[c] / total, instance));
}

}  // namespace heros
