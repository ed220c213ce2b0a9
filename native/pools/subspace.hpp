// Random subsets of features for the trees of an ensemble.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "core/draws.hpp"

namespace heros {

// Returns the known features, followed by randomly drawn others up to n features.
inline std::vector<std::int32_t> subspace(std::vector<std::int32_t> known, int all, int n, Draws& draws) {
  std::vector<std::uint8_t> taken(all);
  for (const std::int32_t f : known) taken[f] = 1;
  std::vector<std::int32_t> others;
  for (int f = 0; f < all; ++f)
    if (!taken[f]) others.push_back(f);
  const int more = std::max(0, n - static_cast<int>(known.size())), from = static_cast<int>(others.size());
  for (int j = 0; j < more && more < from; ++j)
    std::swap(others[j], others[j + draws.below(static_cast<std::uint32_t>(from - j))]);
  std::sort(others.begin(), others.begin() + more);
  known.insert(known.end(), others.begin(), others.begin() + more);
  return known;
}

}  // namespace heros
