// A pool of forests with different settings.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "core/pool.hpp"
#include "core/state.hpp"
#include "pools/forest/forest.hpp"
#include "pools/forest/state.hpp"
#include "pools/looks.hpp"

namespace heros {

// The state of a pool, for export and import.
struct ForestPoolState {
  std::vector<std::int32_t> values;
  std::int32_t classes = 0;
  std::vector<ForestState> forests;

  template <class Archive>
  void fields(Archive& a) {
    a("values", values), a("classes", classes);
    for (std::size_t i = 0; i < forests.size(); ++i) {
      Prefixed<Archive> own{a, "forest_" + std::to_string(i) + "_"};
      forests[i].fields(own);
    }
  }
  void check() const {
    require(classes > 0 && all_of(values, [](int v) { return v >= 0; }), "invalid schema");
    expect_countable(values, classes);
  }
};

class ForestPool final : public AskingPool {
 public:
  // seeds: one per forest.
  ForestPool(const std::vector<ForestSettings>& settings, const std::vector<std::uint64_t>& seeds) {
    for (std::size_t i = 0; i < settings.size(); ++i) forests_.emplace_back(settings[i], seeds[i]);
  }

  bool asked_last(int) const override { return true; }
  int models() const override { return static_cast<int>(forests_.size()); }
  int features() const override { return static_cast<int>(values_.size()); }
  int outputs() const override { return classes_; }
  const std::vector<std::int32_t>& values() const { return values_; }

  // The lowest byte limit for a schema: trees of one node, with background trees.
  std::int64_t least_bytes(int i, const std::vector<std::int32_t>& /*values*/, int classes) const {
    return forests_[i].settings().least_bytes(TreeLayout({}, classes).node_bytes());
  }
  // Adapts the pool to an extended schema. values[f]: the number of values of feature f, 0 if it is numeric. If memory
  // is short, the pool stays unchanged.
  void grow(const std::vector<std::int32_t>& values, int classes) {
    for (int i = 0; i < models(); ++i)
      if (const std::int64_t least = least_bytes(i, values, classes); forests_[i].settings().tree.max_bytes < least)
        throw std::invalid_argument("A forest needs " + std::to_string(least) + " bytes with this schema.");
    std::vector<Forest> forests = forests_;
    for (Forest& forest : forests) forest.grow(values, classes);
    adopt(std::move(forests), values, classes);
  }

  void train(const double* x, double target, const std::uint8_t* chosen, PhaseClock& clock) override {
    look(x, chosen, clock);  // does nothing for models already evaluated on x
    for (int i = 0; i < models(); ++i)
      if (chosen[i]) forests_[i].train(x, static_cast<int>(target), instance_weight_.times);
    looks_.forget();
    clock.lap(Phase::train);
  }

  const Forest& forest(int i) const { return forests_[i]; }

  ForestPoolState state() const {
    ForestPoolState state{values_, classes_, {}};
    for (const Forest& forest : forests_) state.forests.push_back(forest.state());
    return state;
  }
  // Imports the state of all forests. If it does not fit, the pool stays unchanged.
  void restore(const ForestPoolState& state) {
    std::vector<Forest> forests = forests_;
    for (std::size_t i = 0; i < forests.size(); ++i) forests[i].restore(state.forests[i], state.values, state.classes);
    adopt(std::move(forests), state.values, state.classes);
  }

 private:
  void adopt(std::vector<Forest> forests, std::vector<std::int32_t> values, int classes) {
    Looks looks;
    looks.resize(models(), static_cast<int>(values.size()), classes);
    forests_ = std::move(forests), values_ = std::move(values), classes_ = classes, looks_ = std::move(looks);
  }

  void ask(int i, const double* x) override {
    forests_[i].look(x, looks_.of(i));
    looks_.take(i);
  }

  std::vector<Forest> forests_;
  std::vector<std::int32_t> values_;
  int classes_ = 0;
};

}  // namespace heros
