// The choice of the instruction set for the kernels.
#pragma once

#include <stdexcept>
#include <string>
#include <vector>

#include "core/platform.hpp"
#include "pools/mlp/sweep.hpp"

namespace heros {

struct Isa {
  std::string name;
  SweepFunction sweep;
  AheadFunction look_ahead;
};

// The instruction sets of this machine, the widest first.
inline const std::vector<Isa>& available_isas() {
  static const std::vector<Isa> isas = [] {
    std::vector<Isa> found;
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw"))
      found.push_back({"avx512", avx512::sweep, avx512::look_ahead});
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
      found.push_back({"avx2", avx2::sweep, avx2::look_ahead});
#elif defined(__aarch64__)
    found.push_back({"neon", neon::sweep, neon::look_ahead});
#endif
    found.push_back({"baseline", baseline::sweep, baseline::look_ahead});
    return found;
  }();
  return isas;
}

inline const Isa& find_isa(const std::string& name) {
  for (const Isa& isa : available_isas())
    if (isa.name == name) return isa;
  throw std::invalid_argument("This machine has no instruction set '" + name + "'.");
}

}  // namespace heros
