// A pool that cannot have the memory to grow stays as it is, whichever piece of memory it is refused: every allocation of
// a growth in turn. What standard libraries leave behind after a refusal differs, so this runs with each.
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <new>
#include <random>
#include <string>
#include <vector>

#include "pools/bayes/pool.hpp"
#include "pools/labels/pool.hpp"
#include "pools/forest/pool.hpp"
#include "pools/hoeffding/pool.hpp"
#include "pools/linear/pool.hpp"
#include "pools/mlp/pool.hpp"
#include "pools/neighbours/pool.hpp"
#include "pools/retrained/pool.hpp"

namespace {
long granted = -1;  // allocations until one is refused; below 0: never
bool refused() { return granted >= 0 && granted-- == 0; }
}  // namespace

// Not inlined: GCC sees only one half of a pair then, and warns.
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

std::mt19937_64 generator(1);
std::uint64_t next_bits(void*) { return generator(); }
std::uint32_t next_half(void*) { return static_cast<std::uint32_t>(generator() >> 32); }
double next_double(void*) { return static_cast<double>(generator() >> 11) * 0x1p-53; }
BitGen bits{nullptr, next_bits, next_half, next_double, next_bits};

using Values = std::vector<std::int32_t>;
struct Kind {
  std::string name;
  std::function<std::unique_ptr<Pool>()> make;
  std::function<void(Pool&, const Values&, int)> grow;
};

template <class P, class Make>
Kind kind(const std::string& name, Make make) {
  return {name, make, [](Pool& pool, const Values& values, int classes) {
            if constexpr (std::is_same_v<P, MlpPool>) static_cast<P&>(pool).grow(values, classes, Random(&bits));
            else static_cast<P&>(pool).grow(values, classes);
          }};
}

std::vector<Kind> kinds() {
  TreeSettings tree;
  tree.max_bytes = 1 << 20, tree.grace_period = 20;
  ForestSettings forest;
  forest.tree = tree, forest.trees = 3, forest.features = 0.7, forest.bagging = 1;
  forest.warning = 0.1, forest.drift = 0.05;
  RetrainedSettings retrained;
  retrained.window = 100, retrained.every = 40, retrained.spread = 20, retrained.trees = 3, retrained.min_leaf = 5;
  retrained.max_bytes = 1 << 22;
  return {
      kind<MlpPool>("perceptrons",
                    [] {
                      return std::make_unique<MlpPool>(std::vector<std::int32_t>{16, 70}, std::vector<std::uint8_t>{1, 0},
                                                       std::vector<double>{0.005, 0.05}, true, "baseline");
                    }),
      kind<LinearPool>("linear models",
                       [] {
                         return std::make_unique<LinearPool>(
                             std::vector<LinearSettings>{{Optimizer::adam, 0.01, 0, 0}, {Optimizer::sgd, 0.1, 0, 1e-4}},
                             true, 1000, 1000);
                       }),
      kind<BayesPool>("naive Bayes",
                      [] { return std::make_unique<BayesPool>(std::vector<BayesSettings>{{1, 1, 1}, {0.99, 1, 1}}); }),
      kind<LabelPool>("memories of labels",
                      [] {
                        return std::make_unique<LabelPool>(std::vector<LabelSettings>{{1, 1, 2}, {0.99, 2, 0}}, 50, false);
                      }),
      kind<NeighboursPool>("neighbours",
                           [] {
                             return std::make_unique<NeighboursPool>(
                                 std::vector<NeighbourSettings>{{200, 3, true}, {50, 5, false}}, 1 << 20, 0.01);
                           }),
      kind<HoeffdingPool>("trees", [tree] { return std::make_unique<HoeffdingPool>(std::vector{tree, tree}); }),
      kind<RetrainedPool>("retrained",
                          [retrained] {
                            return std::make_unique<RetrainedPool>(retrained_pool({retrained, retrained}, false));
                          }),
      kind<ForestPool>("forests",
                       [forest] {
                         return std::make_unique<ForestPool>(std::vector{forest, forest},
                                                             std::vector<std::uint64_t>{1, 2});
                       }),
  };
}

// What the models say over n steps of training.
std::vector<double> lived(Pool& pool, int n, unsigned seed) {
  std::mt19937_64 draws(seed);
  const auto uniform = [&] { return static_cast<double>(draws() >> 11) * 0x1p-53; };
  const std::vector<std::uint8_t> all(pool.models(), 1);
  PhaseClock clock;
  std::vector<double> said, x(pool.features()), out(pool.outputs());
  for (int t = 0; t < n; ++t) {
    for (std::size_t f = 0; f < x.size(); ++f) x[f] = f % 2 == 1 ? std::floor(3 * uniform()) : uniform() - 0.5;
    pool.look(x.data(), nullptr, clock);
    for (int i = 0; i < pool.models(); ++i) {
      pool.output(i, out.data());
      said.insert(said.end(), out.begin(), out.end());
    }
    pool.train(x.data(), x[0] > 0.1 * x[1], all.data(), clock);
  }
  return said;
}

// How many refusals a growth to this schema can meet; -1 if one of them changed the pool.
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
