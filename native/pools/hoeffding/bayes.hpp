// Naive Bayes at a leaf: the count of each class times the probabilities of the values, as logarithms.
//
// MOA multiplies the factors in feature order in double precision, so a vote can underflow to 0. With many features all
// votes underflow, and class 0 wins. Sums of logarithms are faster and would not underflow. However, a leaf's choice
// between naive Bayes and majority depends on these zeros, so this code reproduces them. In nearly all cases the sum
// shows whether the product is 0. In the other cases, and if two classes are so close that rounding decides, the
// products are computed.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "pools/hoeffding/layout.hpp"
#include "pools/hoeffding/observers.hpp"
#include "pools/hoeffding/slab.hpp"

namespace heros {

// The index of the highest value (ties: the lowest index).
inline int highest(const double* values, int n) {
  int best = 0;
  for (int i = 1; i < n; ++i)
    if (values[i] > values[best]) best = i;
  return best;
}

inline constexpr double kNoVote = -std::numeric_limits<double>::infinity();

// Whether any class at the leaf has a value of feature f.
inline bool seen_by_any(const TreeLayout& layout, const Slab& blocks, const std::int32_t* block, int f) {
  const int j = layout.position[f], at = layout.values[f] > 0 ? layout.numbers() + j : j;
  for (int c = 0; c < layout.classes; ++c)
    if (block[c] >= 0 && blocks.ints(block[c])[at] > 0) return true;
  return false;
}

// The vote of class c as a product in feature order. Missing values and features without any value at this leaf are
// skipped.
inline double product_vote(const TreeLayout& layout, const Slab& blocks, const std::int32_t* block, int c,
                           double prior, const TreeInstance& instance) {
  const ConstClassBlock own(layout, blocks.reals(block[c]), blocks.ints(block[c]));
  double vote = prior;
  for (int f = 0; f < layout.features(); ++f) {
    const int j = layout.position[f];
    const double x = instance.x[f];
    if (std::isnan(x) || !seen_by_any(layout, blocks, block, f)) continue;
    if (layout.values[f] == 0) {
      vote *= own.seen[j] > 0 ? Gaussian(own.seen[j], own.mean[j], own.spread[j]).density(x) : 0;
    } else {
      vote *= own.divisor[j] > 0 ? (own.count[instance.slots[j]] + 1.0) / own.divisor[j] : 0;
    }
  }
  return std::isnan(vote) ? 0 : vote;
}

// The statistics of a leaf. Per class: its block (-1: none), its count, and the results of log_base (`base` includes
// the logarithm of the count).
struct BayesLeaf {
  const TreeLayout& layout;
  const Slab& blocks;
  const std::int32_t* block;
  const double *counts, *base, *headroom;
};

inline void product_votes(const BayesLeaf& leaf, const TreeInstance& instance, double* votes) {
  const TreeLayout& layout = leaf.layout;
  double total = 0;
  for (int c = 0; c < layout.classes; ++c) total += leaf.counts[c];
  bool any = false;  // whether any value is used; if so, a class without statistics gets no vote
  for (int f = 0; f < layout.features() && !any; ++f)
    any = !std::isnan(instance.x[f]) && seen_by_any(layout, leaf.blocks, leaf.block, f);
  for (int c = 0; c < layout.classes; ++c) {
    votes[c] = leaf.counts[c] / total;
    if (any && leaf.block[c] < 0) votes[c] = 0;
    else if (any) votes[c] = product_vote(layout, leaf.blocks, leaf.block, c, votes[c], instance);
  }
}

// Computes the votes as sums of logarithms, up to a constant; false if products are needed.
inline bool sum_votes(const BayesLeaf& leaf, const TreeInstance& instance, double* votes) {
  constexpr double kSurelyZero = -746, kNearZero = -650, kNearInfinity = 700, kTie = 1e-9;
  const TreeLayout& layout = leaf.layout;
  double best = kNoVote, second = kNoVote;
  for (int c = 0; c < layout.classes; ++c) {
    votes[c] = kNoVote;
    if (leaf.block[c] < 0) continue;
    if (!(leaf.headroom[c] < kNearInfinity)) return false;
    const ConstClassBlock own(layout, leaf.blocks.reals(leaf.block[c]), leaf.blocks.ints(leaf.block[c]));
    const double vote = leaf.base[c] - distance(instance.numbers.data(), own.mean, own.precision, layout.numbers()) +
                        log_counts(own.count, instance.plus) - log_counts(own.count, instance.minus);
    if (vote < kSurelyZero) continue;
    if (vote - leaf.headroom[c] < kNearZero) return false;
    votes[c] = vote;
    second = std::max(second, std::min(vote, best));
    best = std::max(best, vote);
  }
  return best == kNoVote || best - second > kTie;
}

// Computes the logarithms of all votes, up to a constant; kNoVote for a vote of 0. Returns the class with the highest
// vote (ties: the lowest class).
inline int log_votes(const BayesLeaf& leaf, const TreeInstance& instance, double* votes) {
  const int classes = leaf.layout.classes;
  if (!instance.missing && sum_votes(leaf, instance, votes)) return highest(votes, classes);
  product_votes(leaf, instance, votes);
  const int best = highest(votes, classes);
  for (int c = 0; c < classes; ++c) votes[c] = std::log(votes[c]);
  for (int c = 0; c < best; ++c)  // different products may have the same logarithm
    if (votes[c] == votes[best]) votes[best] = std::nextafter(votes[best], -kNoVote);
  return best;
}

}  // namespace heros
