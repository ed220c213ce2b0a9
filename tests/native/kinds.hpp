// Shared code of the native tests: a small pool of every compiled family, and instances for it.
#pragma once

#include <cmath>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

#include "pools/bayes/pool.hpp"
#include "pools/forest/pool.hpp"
#include "pools/hoeffding/pool.hpp"
#include "pools/labels/pool.hpp"
#include "pools/linear/pool.hpp"
#include "pools/mlp/pool.hpp"
#include "pools/neighbours/pool.hpp"
#include "pools/retrained/pool.hpp"

namespace heros {

inline std::mt19937_64 generator(1);
inline std::uint64_t next_bits(void*) { return generator(); }
inline std::uint32_t next_half(void*) { return static_cast<std::uint32_t>(generator() >> 32); }
inline double next_double(void*) { return static_cast<double>(generator() >> 11) * 0x1p-53; }
inline BitGen bits{nullptr, next_bits, next_half, next_double, next_bits};

using Values = std::vector<std::int32_t>;
struct Kind {
  std::string name;
  std::function<std::unique_ptr<Pool>()> make;
  std::function<void(Pool&, const Values&, int)> grow;
  std::function<std::string(const Pool&)> state;  // the whole state, as bytes
};

// Collects the fields of a state as the bindings do.
struct Bytes {
  static constexpr bool kReads = false;
  std::string all;
  template <class T, class A>
  void operator()(const char*, const std::vector<T, A>& values) {
    if (!values.empty()) all.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
  }
  template <class T>
    requires std::is_arithmetic_v<T>
  void operator()(const char*, const T& value) {
    all.append(reinterpret_cast<const char*>(&value), sizeof(T));
  }
  template <class T, class A>
  void optional(const char* name, const std::vector<T, A>& values) {
    (*this)(name, values);
  }
};

template <class Object>
std::string bytes_of(const Object& object) {
  Bytes bytes;
  write_fields(object, bytes);
  return bytes.all;
}

template <class P, class Make>
Kind kind(const std::string& name, Make make) {
  return {name, make,
          [](Pool& pool, const Values& values, int classes) {
            if constexpr (std::is_same_v<P, MlpPool>) static_cast<P&>(pool).grow(values, classes, Random(&bits));
            else if constexpr (requires(P& p) { p.grow(values, classes); }) static_cast<P&>(pool).grow(values, classes);
            else static_cast<P&>(pool).grow(values);
          },
          [](const Pool& pool) {
            const auto& own = static_cast<const P&>(pool);
            if constexpr (requires { own.state(0, 1); }) return bytes_of(own.state(0, own.models()));
            else if constexpr (requires { own.state(); }) return bytes_of(own.state());
            else return bytes_of(own);
          }};
}

inline std::vector<Kind> kinds() {
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

// Trains for n steps and returns the models' outputs.
inline std::vector<double> lived(Pool& pool, int n, unsigned seed) {
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

}  // namespace heros
