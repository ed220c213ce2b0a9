// What differs between processors, compilers and systems, in one place: denormal numbers.
#pragma once

#include <cstdint>

#if defined(__x86_64__) || defined(_M_X64)
#include <xmmintrin.h>
#endif

namespace heros {

// Adam's moments decay into denormal numbers, which are several times slower and mean nothing here: while
// a guard lives they are flushed to zero, in this thread. The flag is restored afterwards.
class FlushDenormals {
 public:
#if defined(__x86_64__) || defined(_M_X64)
  FlushDenormals() : before_(_mm_getcsr()) { _mm_setcsr(before_ | 0x8040); }  // results and operands
  ~FlushDenormals() { _mm_setcsr(static_cast<unsigned>(before_)); }
#elif defined(__aarch64__)
  FlushDenormals() {
    asm volatile("mrs %0, fpcr" : "=r"(before_));
    set(before_ | std::uint64_t{1} << 24);  // FZ: results and operands
  }
  ~FlushDenormals() { set(before_); }
#else
  FlushDenormals() {}  // not trivial, so that a guard is no unused variable
  ~FlushDenormals() {}
#endif
  FlushDenormals(const FlushDenormals&) = delete;
  FlushDenormals& operator=(const FlushDenormals&) = delete;

 private:
#if defined(__aarch64__)
  static void set(std::uint64_t fpcr) { asm volatile("msr fpcr, %0" : : "r"(fpcr) : "memory"); }
#endif
  std::uint64_t before_ = 0;
};

}  // namespace heros
