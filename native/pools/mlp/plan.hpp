// The merged active inputs of the instance to train on and of the instance to evaluate.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "core/encode.hpp"
#include "pools/mlp/sweep.hpp"

namespace heros {

struct Plan {
  std::vector<SweepRow> rows;

  void assign(const Encoder& encoder, const Inputs& now, const Inputs& next) {
    constexpr std::int32_t kEnd = std::numeric_limits<std::int32_t>::max();
    rows.clear();
    for (int a = 0, b = 0; a < now.size() || b < next.size();) {
      const std::int32_t i = a < now.size() ? now.index[a] : kEnd, j = b < next.size() ? next.index[b] : kEnd;
      SweepRow row{std::min(i, j)};
      row.slot = encoder.slot(row.input);
      row.sparse = encoder.is_category(row.input);
      row.in_now = i <= j, row.in_next = j <= i;
      if (row.in_now) row.now = now.value[a++];
      if (row.in_next) row.next = next.value[b++];
      rows.push_back(row);
    }
  }
};

}  // namespace heros
