// Differences between processors, systems and standard libraries: clocks, aligned memory, 128-bit products, denormal
// numbers, vectors. The compiler must be GCC or clang (clang-cl on Windows), as the kernels use their `vector_size`
// extension.
#pragma once

#if !defined(__GNUC__) && !defined(__clang__)
#error "HEROS needs GCC or clang (on Windows: clang-cl, CMake's toolset ClangCL)"
#endif

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <vector>

#if defined(_WIN32)
#ifndef NOMINMAX
#define NOMINMAX
#endif
#include <malloc.h>
#include <windows.h>
#elif defined(__linux__)
#include <sys/mman.h>
#endif
#if defined(__GLIBC__)
#include <malloc.h>
#endif
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace heros {

// CPU time of this thread, in seconds.
inline double thread_cpu_seconds() {
#if defined(_WIN32)
  FILETIME created, ended, kernel, user;
  if (!GetThreadTimes(GetCurrentThread(), &created, &ended, &kernel, &user)) return 0;
  const auto ticks = [](const FILETIME& t) { return std::uint64_t{t.dwHighDateTime} << 32 | t.dwLowDateTime; };
  return 1e-7 * static_cast<double>(ticks(kernel) + ticks(user));
#else
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
#endif
}

// A wall clock in an arbitrary unit. ARM's counter is the same for all cores and takes one instruction. On other
// processors the system's steady clock decides which counter is reliable.
inline std::int64_t ticks() {
#if defined(__aarch64__) && !defined(_WIN32)
  std::uint64_t t;
  asm volatile("mrs %0, cntvct_el0" : "=r"(t));
  return static_cast<std::int64_t>(t);
#else
  return std::chrono::steady_clock::now().time_since_epoch().count();
#endif
}

// Allocates `bytes` (a multiple of `alignment`); returns nullptr if there is not enough memory.
inline void* aligned_memory(std::size_t alignment, std::size_t bytes) {
#if defined(_WIN32)
  return _aligned_malloc(bytes, alignment);
#else
  void* p = nullptr;
  return posix_memalign(&p, alignment, bytes) == 0 ? p : nullptr;
#endif
}
inline void free_aligned(void* p) {
#if defined(_WIN32)
  _aligned_free(p);
#else
  std::free(p);
#endif
}
// Requests large pages if the system has them.
inline void want_large_pages([[maybe_unused]] void* p, [[maybe_unused]] std::size_t bytes) {
#if defined(__linux__) && defined(MADV_HUGEPAGE)
  madvise(p, bytes, MADV_HUGEPAGE);
#endif
}

// Returns freed memory to the system if the allocator would keep it.
inline void give_back_memory() {
#if defined(__GLIBC__)
  malloc_trim(0);
#endif
}

// a·b with all 128 bits.
struct Product {
  std::uint64_t high, low;
};
inline Product multiply(std::uint64_t a, std::uint64_t b) {
  __extension__ using uint128 = unsigned __int128;
  const uint128 product = static_cast<uint128>(a) * b;
  return {static_cast<std::uint64_t>(product >> 64), static_cast<std::uint64_t>(product)};
}

// Flushes denormal numbers to zero in this thread during its lifetime, then restores the flag. Adam's moments decay to
// denormal numbers, which are several times slower and carry no information here.
class FlushDenormals {
 public:
#if defined(__x86_64__)
  FlushDenormals() : before_(_mm_getcsr()) { set(before_ | 0x8040); }  // flush results and operands
#elif defined(__aarch64__)
  FlushDenormals() {
    asm volatile("mrs %0, fpcr" : "=r"(before_));
    set(before_ | std::uint64_t{1} << 24);  // FZ: flush results and operands
  }
#else
  FlushDenormals() {}
#endif
  ~FlushDenormals() { set(before_); }
  FlushDenormals(const FlushDenormals&) = delete;
  FlushDenormals& operator=(const FlushDenormals&) = delete;

 private:
  static void set([[maybe_unused]] std::uint64_t flags) {
#if defined(__x86_64__)
    _mm_setcsr(static_cast<unsigned>(flags));
#elif defined(__aarch64__)
    asm volatile("msr fpcr, %0" : : "r"(flags) : "memory");
#endif
  }
  std::uint64_t before_ = 0;
};

// v.assign(n, 0), but v stays unchanged if the allocation fails. libc++'s assign frees the old memory first.
template <class T, class Allocator>
void assign_zeros(std::vector<T, Allocator>& v, std::size_t n) {
  if (n <= v.capacity()) v.assign(n, T{});
  else v = std::vector<T, Allocator>(n, T{});
}

}  // namespace heros
