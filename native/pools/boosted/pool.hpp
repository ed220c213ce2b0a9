// A pool of boosted models with different settings.
#pragma once

#include <cstdint>
#include <vector>

#include "pools/boosted/model.hpp"
#include "pools/separate.hpp"

namespace heros {

using BoostedPool = SeparatePool<Boosted>;

// seeds: one per model.
inline BoostedPool boosted_pool(const std::vector<BoostedSettings>& settings, bool numeric,
                                const std::vector<std::uint64_t>& seeds) {
  std::vector<Boosted> models;
  for (std::size_t i = 0; i < settings.size(); ++i) models.emplace_back(settings[i], numeric, seeds[i]);
  return {std::move(models), numeric};
}

}  // namespace heros
