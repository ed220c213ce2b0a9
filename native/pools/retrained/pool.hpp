// A pool of retrained boosted trees with different settings. Each model stores its own window of instances.
#pragma once

#include <vector>

#include "pools/retrained/model.hpp"
#include "pools/separate.hpp"

namespace heros {

using RetrainedPool = SeparatePool<Retrained>;

inline RetrainedPool retrained_pool(const std::vector<RetrainedSettings>& settings, bool numeric) {
  std::vector<Retrained> models;
  for (const RetrainedSettings& one : settings) models.emplace_back(one, numeric);
  return {std::move(models), numeric};
}

}  // namespace heros
