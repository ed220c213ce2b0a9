// A forest: trees with different features and instance weights that predict together. A forest is one model of a pool:
// if a policy trained only some of the trees, the forest would predict worse.
//
// Online bagging (Oza and Russell 2001) draws the weight of an instance from a Poisson distribution. A tree uses a
// random subset of the features (streaming random patches, Gomes, Read and Bifet 2019), or each leaf does (adaptive
// random forests, Gomes et al. 2017). If the accuracy of a tree falls (ADWIN), the tree is replaced. A warning starts a
// background tree; at drift the background tree takes the place of the old tree. The prediction is the mean of the
// trees, weighted by their accuracy.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "core/draws.hpp"
#include "core/scores.hpp"
#include "pools/forest/settings.hpp"
#include "pools/forest/tree.hpp"
#include "pools/subspace.hpp"

namespace heros {

struct ForestState;

struct ForestSummary {
  std::int64_t background = 0, nodes = 0, leaves = 0, active = 0, depth = 0, bytes = 0, warnings = 0, replaced = 0;
};

class Forest {
 public:
  Forest(const ForestSettings& settings, std::uint64_t seed)
      : settings_(settings), poisson_(settings.bagging), draws_(seed), drift_(settings.trees, settings.drift),
        warning_(settings.trees, settings.warning), hits_(settings.trees), background_(settings.trees) {}

  const ForestSettings& settings() const { return settings_; }

  // Adapts the forest to an extended schema.
  void grow(const std::vector<std::int32_t>& values, int classes) {
    values_ = values, classes_ = classes;
    for (ForestTree& tree : trees_) widen(tree);
    for (std::optional<ForestTree>& tree : background_)
      if (tree) widen(*tree);
    while (trees_.size() < std::size_t(settings_.trees)) trees_.push_back(sprout(settings_.tree_bytes()));
  }

  // Writes the predicted probabilities.
  void look(const double* x, double* out) {
    for (ForestTree& tree : trees_) tree.gather(x);
    for (ForestTree& tree : trees_) tree.find();
    for (ForestTree& tree : trees_) tree.ask();
    std::fill_n(out, classes_, 0.0);
    double total = 0;
    for (std::size_t t = 0; t < trees_.size(); ++t) {
      const double weight = drift_.accuracy(static_cast<int>(t));
      if (trees_[t].add_to(out, weight)) total += weight;
    }
    for (int c = 0; c < classes_; ++c) out[c] = total > 0 ? out[c] / total : 1.0 / classes_;
  }

  // Trains on x, the instance evaluated last, with weight `equal`.
  void train(const double* x, int y, std::int32_t equal = 1) {
    for (std::size_t t = 0; t < trees_.size(); ++t) {
      hits_[t] = trees_[t].favoured() == y ? 1.0 : 0.0;
      std::int32_t times = settings_.bagging > 0 ? 0 : equal;
      for (std::int32_t e = 0; settings_.bagging > 0 && e < equal; ++e) times += poisson_(draws_);
      if (times == 0) continue;
      trees_[t].train(y, times);
      if (!background_[t]) continue;
      background_[t]->gather(x), background_[t]->find(), background_[t]->ask();
      background_[t]->train(y, times);
    }
    drift_.update(hits_);
    if (settings_.warning > 0) warning_.update(hits_);
    for (int t = 0; t < settings_.trees; ++t) {
      if (settings_.drift > 0 && drift_.fell(t)) replace(t);
      else if (settings_.warning > 0 && warning_.fell(t)) begin_behind(t);
    }
  }

  const ForestTree& tree(int t) const { return trees_[t]; }
  ForestSummary summary() const {
    ForestSummary sum;
    sum.warnings = warnings_, sum.replaced = replaced_;
    for (const ForestTree& tree : trees_) add(sum, tree.summary());
    for (const std::optional<ForestTree>& tree : background_)
      if (tree) ++sum.background, sum.bytes += tree->summary().bytes;
    return sum;
  }

  ForestState state() const;  // state.hpp
  void restore(ForestState state, const std::vector<std::int32_t>& values, int classes);

 private:
  friend struct ForestState;

  // The running accuracy of every tree, and detection of its decreases.
  class Hits {
   public:
    Hits(int trees, double delta) : adwin_(trees, delta > 0 ? delta : kNever, false), means_(trees), before_(trees) {}

    void update(const std::vector<double>& hits) {
      before_ = means_;
      for (std::size_t t = 0; t < hits.size(); ++t) means_[t] = adwin_.update(static_cast<int>(t), hits[t]);
    }
    bool fell(int t) const { return adwin_.changed(t) && means_[t] < before_[t]; }
    // The share of correct predictions, with one correct and one wrong prediction as prior.
    double accuracy(int t) const {
      const auto n = static_cast<double>(adwin_.width(t));
      return (std::clamp(means_[t], 0.0, 1.0) * n + 1) / (n + 2);
    }
    void forget(int t) { adwin_.forget(t), means_[t] = 0; }

    template <class Archive>
    void fields(Archive& a) {
      adwin_.fields(a);
    }
    void check() {
      adwin_.check();
      for (std::size_t t = 0; t < means_.size(); ++t) means_[t] = adwin_.mean(static_cast<int>(t));
    }

   private:
    static constexpr double kNever = 1e-300;
    Adwin adwin_;
    std::vector<double> means_, before_;
  };

  static void add(ForestSummary& sum, const TreeSummary& tree) {
    sum.nodes += tree.nodes, sum.leaves += tree.leaves, sum.active += tree.active, sum.bytes += tree.bytes;
    sum.depth = std::max(sum.depth, tree.depth);
  }

  int all_features() const { return static_cast<int>(values_.size()); }

  TreeSettings tree_settings(std::int64_t bytes, std::uint64_t key) const {
    TreeSettings settings = settings_.tree;
    settings.max_bytes = bytes;
    settings.search.key = key;
    settings.search.features = settings_.per_leaf ? settings_.features_of(all_features()) : 0;
    return settings;
  }

  ForestTree sprout(std::int64_t bytes) {
    const TreeSettings settings = tree_settings(bytes, draws_.next());
    return ForestTree(settings, columns({}), values_, classes_);
  }

  void widen(ForestTree& tree) {
    tree.grow(tree_settings(tree.settings().max_bytes, tree.settings().search.key), columns(tree.columns()), values_, classes_);
  }

  // Returns the features of a tree: its known features, and new features up to its share.
  std::vector<std::int32_t> columns(std::vector<std::int32_t> known) {
    const int n = settings_.per_leaf ? all_features() : settings_.features_of(all_features());
    return subspace(std::move(known), all_features(), n, draws_);
  }

  void replace(int t) {
    ++replaced_;
    if (background_[t]) {
      trees_[t] = std::move(*background_[t]);
      trees_[t].limit(settings_.tree_bytes());
      background_[t].reset();
    } else {
      trees_[t] = sprout(settings_.tree_bytes());
    }
    drift_.forget(t), warning_.forget(t);
  }

  void begin_behind(int t) {
    ++warnings_;
    background_[t] = sprout(settings_.background_bytes());
    warning_.forget(t);
  }

  ForestSettings settings_;
  Poisson poisson_;
  std::vector<std::int32_t> values_;
  int classes_ = 0;

  Draws draws_;
  Hits drift_, warning_;
  std::vector<double> hits_;  // outcome of every tree on the last instance
  std::vector<ForestTree> trees_;
  std::vector<std::optional<ForestTree>> background_;
  std::int64_t warnings_ = 0, replaced_ = 0;
};

}  // namespace heros
