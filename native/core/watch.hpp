// Which models look at an instance. With all of them looking, as in the paper, the policy chooses once they have been
// scored. Else it chooses first, from the scores as they stand: a model that is trained has to look anyway, and only
// those at rest can be spared.
#pragma once

#include <cstdint>

namespace heros {

struct Watch {
  static constexpr std::int64_t kAll = 0, kTrained = -1;

  std::int64_t every = kAll;  // or: each model at rest looks at every so manieth instance; kTrained: at none

  bool all() const { return every == kAll; }

  // Adds the models at rest whose turn it is at instance t: one in `every`, spread evenly.
  void mark(std::int64_t t, int models, std::uint8_t* watched) const {
    if (every <= 0) return;
    for (std::int64_t i = (every - t % every) % every; i < models; i += every) watched[i] = 1;
  }
};

}  // namespace heros
