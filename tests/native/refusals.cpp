// A pool that runs out of memory while it grows must stay unchanged. Each allocation of a growth fails in turn.
// Standard libraries differ in what a failed allocation leaves, so this test runs with each.
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <new>
#include <vector>

#include "kinds.hpp"

namespace {
long granted = -1;  // allocations until one fails; negative: never
bool refused() { return granted >= 0 && granted-- == 0; }
}  // namespace

// Not inlined: otherwise GCC sees only one half of the pair and warns.
[[gnu::noinline]] void* operator new(std::size_t n) {
  void* p = refused() ? nullptr : std::malloc(n);
  if (p == nullptr) throw std::bad_alloc();
  return p;
}
[[gnu::noinline]] void operator delete(void* p) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete(void* p, std::size_t) noexcept { std::free(p); }
#if !defined(_WIN32)
extern "C" int posix_memalign(void** p, std::size_t alignment, std::size_t n) noexcept {
  *p = refused() ? nullptr : std::aligned_alloc(alignment, n);
  return *p == nullptr ? 12 : 0;  // ENOMEM
}
#endif

using namespace heros;

namespace {

// Returns the number of allocations that can fail in a growth to this schema; -1 if a failure changed the pool.
int refusals(const Kind& kind, const Values& values, int classes) {
  const auto young = [&] {
    generator.seed(5);
    std::unique_ptr<Pool> pool = kind.make();
    kind.grow(*pool, {0, 3}, 2);
    lived(*pool, 150, 1);
    return pool;
  };
  const std::unique_ptr<Pool> never = young();
  const std::vector<double> wanted = lived(*never, 60, 2);
  for (int n = 0;; ++n) {
    const std::unique_ptr<Pool> pool = young();
    granted = n;
    try {
      kind.grow(*pool, values, classes);
      granted = -1;
      lived(*pool, 60, 3);
      return n;
    } catch (const std::bad_alloc&) {
      granted = -1;
    }
    if (pool->features() != 2 || pool->outputs() != 2 || lived(*pool, 60, 2) != wanted) {
      std::printf("FAILED  %s: the pool is another one after refusal %d\n", kind.name.c_str(), n);
      return -1;
    }
    kind.grow(*pool, values, classes);
    lived(*pool, 60, 3);
  }
}

}  // namespace

int main() {
  bool well = true;
  for (const Kind& kind : kinds()) {
    const int wider = refusals(kind, {0, 3, 0, 4}, 2), more = refusals(kind, {0, 5}, 70);
    std::printf("%-13s %d and %d refusals\n", kind.name.c_str(), wider, more);
    well = well && wider > 0 && more > 0;
  }
  std::printf(well ? "refusals: all well\n" : "refusals: FAILED\n");
  return well ? 0 : 1;
}
