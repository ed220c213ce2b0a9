// The state of a pool of forests as arrays.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/pool.hpp"
#include "core/state.hpp"
#include "pools/forest/forest.hpp"
#include "pools/hoeffding/state.hpp"

namespace heros {

struct ForestTreeArrays : TreeArrays {
  std::vector<std::int32_t> columns;
};

// The state of a forest, for export and import.
struct ForestState {
  std::uint64_t draws = 0;
  std::int64_t warnings = 0, replaced = 0;
  std::vector<std::uint8_t> behind;     // per tree: whether it has a background tree
  std::vector<std::uint64_t> keys;      // the keys of the trees, then of the background trees
  std::vector<ForestTreeArrays> trees;  // the trees in the same order
  Forest::Hits drift, warning_hits;

  template <class Archive>
  void fields(Archive& a) {
    a("draws", draws), a("warnings", warnings), a("replaced", replaced), a("behind", behind), a("keys", keys);
    joined(a, "columns", trees, &ForestTreeArrays::columns);
    tree_fields(a, trees);
    Prefixed<Archive> drifts{a, "drift_"}, warned{a, "warning_"};
    drift.fields(drifts), warning_hits.fields(warned);
  }
  void check(const ForestSettings& settings, int features) {
    require(behind.size() == std::size_t(settings.trees) && all_of(behind, [](auto b) { return b <= 1; }), "trees");
    const auto n = behind.size() + static_cast<std::size_t>(std::count(behind.begin(), behind.end(), 1));
    require(trees.size() == n && keys.size() == n, "there must be arrays for each tree and background tree");
    for (const ForestTreeArrays& tree : trees) check_columns(tree.columns, features);
    require(countable(warnings) && countable(replaced), "counts");
    drift.check(), warning_hits.check();
  }

 private:
  static void check_columns(const std::vector<std::int32_t>& columns, int features) {
    std::vector<std::uint8_t> seen(features);
    for (const std::int32_t f : columns) require(f >= 0 && f < features && !seen[f]++,
                                                 "a tree uses an unknown feature, or a feature twice");
  }
};

inline ForestState Forest::state() const {
  ForestState state{draws_.state(), warnings_, replaced_, {}, {}, {}, drift_, warning_};
  const auto add = [&](const ForestTree& tree) {
    state.keys.push_back(tree.settings().search.key);
    state.trees.push_back({tree.arrays(), tree.columns()});
  };
  for (const ForestTree& tree : trees_) add(tree);
  for (const std::optional<ForestTree>& tree : background_) {
    state.behind.push_back(tree.has_value());
    if (tree) add(*tree);
  }
  return state;
}

inline void Forest::restore(ForestState state, const std::vector<std::int32_t>& values, int classes) {
  state.check(settings_, static_cast<int>(values.size()));
  values_ = values, classes_ = classes;
  std::size_t at = 0;
  const auto next = [&](std::int64_t bytes) {
    const TreeSettings settings = tree_settings(bytes, state.keys[at]);
    ForestTreeArrays& arrays = state.trees[at++];
    return ForestTree(settings, std::move(arrays.columns), values_, classes_, std::move(arrays));
  };
  trees_.clear();
  for (int t = 0; t < settings_.trees; ++t) trees_.push_back(next(settings_.tree_bytes()));
  for (int t = 0; t < settings_.trees; ++t) {
    background_[t].reset();
    if (state.behind[t]) background_[t] = next(settings_.background_bytes());
  }
  draws_ = Draws(state.draws), warnings_ = state.warnings, replaced_ = state.replaced;
  drift_ = std::move(state.drift), warning_ = std::move(state.warning_hits);
}

}  // namespace heros
