// Which instruction set the kernels use, and floats too small to matter.
#pragma once

#include <stdexcept>
#include <string>
#include <vector>

#include "pools/mlp/sweep.hpp"

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace heros {

struct Isa {
  std::string name;
  SweepFunction sweep;
  AheadFunction look_ahead;
};

// What this machine can run, the widest first.
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

// Adam's moments decay into denormal numbers, which are several times slower and mean nothing here: while
// a guard lives they are flushed to zero, in this thread. The flag is restored afterwards.
class FlushDenormals {
 public:
#if defined(__x86_64__)
  FlushDenormals() : before_(_mm_getcsr()) { _mm_setcsr(before_ | 0x8040); }
  ~FlushDenormals() { _mm_setcsr(before_); }
  FlushDenormals(const FlushDenormals&) = delete;
  FlushDenormals& operator=(const FlushDenormals&) = delete;

 private:
  unsigned before_;
#else
  FlushDenormals() {}  // not trivial, so that a guard is no unused variable
#endif
};

}  // namespace heros
