// Allocator for vectors of floats: aligned to cache lines, with large pages for large arrays where the system has them.
// Large pages help because every step reads a whole pool from end to end.
#pragma once

#include <cstddef>
#include <new>
#include <vector>

#include "core/platform.hpp"

namespace heros {

template <class T>
struct AlignedAllocator {
  using value_type = T;
  static constexpr std::size_t kLine = 64;
  static constexpr std::size_t kLargePage = std::size_t{2} << 20;

  AlignedAllocator() = default;
  template <class U>
  AlignedAllocator(const AlignedAllocator<U>&) {}

  T* allocate(std::size_t n) {
    if (n > (std::size_t(-1) - kLargePage) / sizeof(T)) throw std::bad_alloc();
    const std::size_t bytes = n * sizeof(T);
    const std::size_t alignment = bytes >= kLargePage ? kLargePage : kLine;
    void* p = aligned_memory(alignment, (bytes + alignment - 1) / alignment * alignment);
    if (p == nullptr) throw std::bad_alloc();
    if (alignment == kLargePage) want_large_pages(p, bytes);
    return static_cast<T*>(p);
  }
  void deallocate(T* p, std::size_t) { free_aligned(p); }

  template <class U>
  bool operator==(const AlignedAllocator<U>&) const {
    return true;
  }
};

using AlignedFloats = std::vector<float, AlignedAllocator<float>>;

}  // namespace heros
