// A pool of Hoeffding trees with different byte limits, grace periods and options.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <vector>

#include "pools/hoeffding/grow.hpp"
#include "pools/hoeffding/state.hpp"
#include "pools/hoeffding/tree.hpp"
#include "core/pool.hpp"
#include "core/state.hpp"

namespace heros {

class HoeffdingPool final : public Pool {
 public:
  explicit HoeffdingPool(std::vector<TreeSettings> settings) : settings_(std::move(settings)) {
    looks_.resize(settings_.size());
  }

  int models() const override { return static_cast<int>(settings_.size()); }
  int features() const override { return layout_.features(); }
  int outputs() const override { return layout_.classes; }

  // The lowest byte limit for a schema: a tree of one node.
  std::int64_t least_bytes(int /*i*/, const std::vector<std::int32_t>& /*values*/, int classes) const {
    return TreeLayout({}, classes).node_bytes();
  }
  // Adapts the pool to an extended schema. values[f]: the number of values of feature f, 0 if it is numeric. If memory
  // is short, the pool stays unchanged.
  void grow(const std::vector<std::int32_t>& values, int classes) {
    TreeLayout layout(values, classes, watch_reals());
    const std::int64_t least = least_bytes(0, values, classes);
    for (const TreeSettings& settings : settings_)
      if (settings.max_bytes < least)
        throw std::invalid_argument("A tree of one node needs " + std::to_string(least) +
                                    " bytes with this schema; the byte limit must not be lower.");
    std::vector<HoeffdingTree> trees = trees_;
    for (HoeffdingTree& tree : trees) tree.grow(layout_, layout);
    while (trees.size() < settings_.size()) trees.emplace_back(settings_[trees.size()], layout);
    make_place(classes);
    layout_ = std::move(layout), trees_ = std::move(trees);
    forget_looks();
  }

  void look(const double* x, const std::uint8_t* watched, PhaseClock& clock) override {
    look_at(x);
    clock.lap(Phase::encode);
    gather([&](int i) { return int{looks(watched, i)} & int{!fresh(i)}; });
    for (const int i : gathered_) find(i);
    for (const int i : gathered_) ask(i);
    clock.lap(Phase::evaluate);
  }

  double outcome(int i, double target) const override { return looks_[i].favoured == target ? 1.0 : 0.0; }
  bool sound(int) const override { return true; }

  void output(int i, double* out) const override {
    const Look& look = looks_[i];
    const int n = layout_.classes;
    if (look.by_bayes) {
      const double* z = votes(i);
      const double top = z[look.favoured];
      for (int c = 0; c < n; ++c) out[c] = z[c] == top ? 1 : std::exp(z[c] - top);
      if (top == kNoVote) std::fill_n(out, n, 1.0);
    } else {
      std::copy_n(trees_[i].counts_at(layout_, look.place), n, out);
    }
    double total = 0;
    for (int c = 0; c < n; ++c) total += out[c];
    for (int c = 0; c < n; ++c) out[c] = total > 0 ? out[c] / total : 1.0 / n;
  }

  bool weighs() const override { return true; }
  void weigh(const Weight& weight) override { instance_weight_ = weight; }

  void train(const double* x, double target, const std::uint8_t* chosen, PhaseClock& clock) override {
    look_at(x);
    gather([&](int i) { return chosen[i] != 0; });
    if (!std::all_of(gathered_.begin(), gathered_.end(), [&](int i) { return fresh(i); })) {
      look(x, chosen, clock);
      gather([&](int i) { return chosen[i] != 0; });
    }
    if (instance_weight_.times == 0) gathered_.clear();
    for (const int i : gathered_) {
      const Look& look = looks_[i];
      trees_[i].train(layout_, instance_, static_cast<int>(target), look.place, look.by_bayes ? look.favoured : -1,
                      scratch_.data(), instance_weight_.times);
    }
    forget_looks();
    clock.lap(Phase::train);
  }

  void answer(int i, const double* x, double* out) override {
    look_at(x);
    if (!fresh(i)) {
      find(i);
      ask(i);
    }
    output(i, out);
  }

  const std::vector<std::int32_t>& values() const { return layout_.values; }
  TreeSummary summary(int i) const { return trees_[i].summary(layout_); }
  std::int64_t bytes(int i) const { return trees_[i].bytes(); }

  // The state of `count` trees, starting with tree `first`.
  PoolState state(int first, int count) const {
    PoolState state{layout_.values, layout_.classes, {}};
    for (int i = first; i < first + count && i < static_cast<int>(trees_.size()); ++i)
      state.trees.push_back(trees_[i].arrays());
    return state;
  }
  // Imports the state of all trees. If it does not fit, the pool stays unchanged.
  void restore(const PoolState& state) {
    require(state.trees.empty() ? state.classes == 0 : state.trees.size() == settings_.size(),
            "there must be one tree per model");
    TreeLayout layout(state.values, state.classes, watch_reals());
    std::vector<HoeffdingTree> trees(state.trees.size());
    for (std::size_t i = 0; i < trees.size(); ++i) trees[i].adopt(state.trees[i], settings_[i], layout);
    make_place(layout.classes);
    layout_ = std::move(layout), trees_ = std::move(trees);
    forget_looks();
  }

 private:
  struct Look {  // a tree's evaluation of the last instance
    HoeffdingTree::Place place;
    std::int32_t favoured = 0;  // the class with the most votes
    bool by_bayes = false;
    std::int64_t number = 0;  // the number of the evaluation; older evaluations are not fresh
  };

  // If any tree splits on change, the leaves of all trees have room for change detection.
  int watch_reals() const {
    const auto watches = [](const TreeSettings& settings) { return settings.on_change; };
    return std::any_of(settings_.begin(), settings_.end(), watches) ? LeafChange::kReals : 0;
  }

  double* votes(int i) { return &votes_[std::size_t(i) * layout_.classes]; }
  const double* votes(int i) const { return &votes_[std::size_t(i) * layout_.classes]; }

  // Whether tree i has been evaluated on the current instance.
  bool fresh(int i) const { return looks_[i].number == look_number_; }

  void look_at(const double* x) {
    const auto same = [](double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); };
    if (instance_.x.size() == layout_.values.size() && std::equal(instance_.x.begin(), instance_.x.end(), x, same))
      return;
    instance_.assign(x, layout_);
    ++look_number_;
  }

  // Collects the wanted trees. Branch-free, as choices are unpredictable.
  template <class Wanted>
  void gather(Wanted wanted) {
    const int models = this->models();
    gathered_.resize(models);
    int n = 0;
    for (int i = 0; i < models; ++i) {
      gathered_[n] = i;
      n += wanted(i);
    }
    gathered_.resize(n);
  }

  void find(int i) {
    looks_[i].place = trees_[i].find(instance_.x.data());
    trees_[i].prefetch(layout_, looks_[i].place);
  }

  void ask(int i) {
    Look& look = looks_[i];
    look.by_bayes = trees_[i].answers_by_bayes(look.place);
    look.favoured = look.by_bayes ? trees_[i].bayes_votes(layout_, look.place, instance_, votes(i))
                                  : highest(trees_[i].counts_at(layout_, look.place), layout_.classes);
    look.number = look_number_;
  }

  void forget_looks() {
    ++look_number_;
    instance_.x.clear();
  }
  // Allocates the results of evaluations. The arrays may be larger than the classes need.
  void make_place(int classes) {
    votes_.resize(settings_.size() * classes);
    scratch_.resize(classes);
  }

  std::vector<TreeSettings> settings_;
  TreeLayout layout_;
  std::vector<HoeffdingTree> trees_;
  TreeInstance instance_;
  std::vector<Look> looks_;
  std::int64_t look_number_ = 1;
  std::vector<double> votes_, scratch_;  // (models, classes); per class
  std::vector<int> gathered_;
  Weight instance_weight_;  // the weight of the next training instance
};

}  // namespace heros
