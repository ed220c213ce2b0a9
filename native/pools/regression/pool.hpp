// A pool of regression trees with different byte limits, grace periods and predictions.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "core/moments.hpp"
#include "core/pool.hpp"
#include "core/state.hpp"
#include "core/target.hpp"
#include "pools/looks.hpp"
#include "pools/regression/tree.hpp"

namespace heros {

class RegressionTreePool final : public LookingPool {
 public:
  explicit RegressionTreePool(std::vector<RegressionTreeSettings> settings) : settings_(std::move(settings)) {}

  int models() const override { return static_cast<int>(settings_.size()); }
  int features() const override { return layout_.features(); }
  int outputs() const override { return outputs_; }
  const std::vector<std::int32_t>& values() const { return layout_.values; }

  // The lowest byte limit for a schema: a tree of one node.
  std::int64_t least_bytes(int /*i*/, const std::vector<std::int32_t>& values, int /*classes*/) const {
    return RegressionTree::node_bytes(RegressionLayout(values));
  }
  // Adapts the pool to an extended schema. Known statistics do not change.
  void grow(const std::vector<std::int32_t>& values) {
    RegressionTreePool grown = *this;
    grown.layout_ = RegressionLayout(values);
    grown.trees_.resize(settings_.size());
    for (int i = 0; i < models(); ++i) {
      const std::int64_t limit = settings_[i].max_bytes;
      if (outputs_ == 0) grown.trees_[i].begin(grown.layout_, limit);
      else grown.trees_[i].grow(layout_, grown.layout_, limit);
    }
    grown.outputs_ = 1;
    grown.moments_.grow(values.size());
    grown.make_place();
    *this = std::move(grown);
  }

  void look(const double* x, const std::uint8_t* watched, PhaseClock& clock) override {
    look_at(x);
    clock.lap(Phase::encode);
    for (int i = 0; i < models(); ++i)
      if (looks(watched, i) && !looks_.fresh(i)) ask(i, x);
    clock.lap(Phase::evaluate);
  }

  double outcome(int, double) const override { return 0; }  // the task rates numbers

  void train(const double* x, double target, const std::uint8_t* chosen, PhaseClock& clock) override {
    look_at(x);
    for (int i = 0; i < models(); ++i)
      if (chosen[i]) trees_[i].learn(x, z_.data(), target, instance_weight_.value, layout_, settings_[i]);
    for (int f = 0; f < features(); ++f)
      if (layout_.values[f] == 0 && !std::isnan(x[f])) moments_.learn(f, x[f]);
    looks_.forget();
    clock.lap(Phase::train);
  }

  void answer(int i, const double* x, double* out) override {
    look_at(x);
    if (!looks_.fresh(i)) ask(i, x);
    looks_.output(i, out);
  }

  RegressionTree::Summary summary(int i) const { return trees_[i].summary(layout_); }

  // The arrays of all trees are concatenated, with the number of nodes and of observed numbers per tree.
  template <class Archive>
  void fields(Archive& a) {
    std::vector<std::int64_t> nodes, observed;
    std::vector<std::int32_t> ints;
    std::vector<double> reals, weights, observers;
    for (const RegressionTree& tree : trees_) {
      nodes.push_back(tree.nodes()), observed.push_back(static_cast<std::int64_t>(tree.observers.size()));
      ints.insert(ints.end(), tree.ints.begin(), tree.ints.end());
      reals.insert(reals.end(), tree.reals.begin(), tree.reals.end());
      weights.insert(weights.end(), tree.weights.begin(), tree.weights.end());
      observers.insert(observers.end(), tree.observers.begin(), tree.observers.end());
    }
    a("values", layout_.values), a("classes", outputs_), a("nodes", nodes), a("observed", observed);
    a("ints", ints), a("reals", reals), a("weights", weights), a("observers", observers);
    moments_.fields(a);
    if (Archive::kReads) unpack(nodes, observed, ints, reals, weights, observers);
  }
  void check() {
    require(outputs_ == 0 || outputs_ == 1, "a numeric target has exactly one output");
    require(all_of(layout_.values, [](std::int32_t n) { return n >= 0; }), "values");
    expect_countable(layout_.values, outputs_);
    require(whole_, "there must be arrays for each tree");
    layout_ = RegressionLayout(layout_.values);
    moments_.check(layout_.values.size());
    require(trees_.size() == (outputs_ == 0 ? 0 : settings_.size()), "there must be one tree per model");
    for (std::size_t i = 0; i < trees_.size(); ++i) {
      trees_[i].check(layout_);
      require(trees_[i].bytes(layout_) <= std::max(settings_[i].max_bytes, RegressionTree::node_bytes(layout_)),
              "a tree exceeds its byte limit");
    }
    make_place();
  }

 private:
  static constexpr double kFarthest = 3;  // standard deviations at which numeric inputs of linear models are clipped

  void make_place() {
    looks_.resize(models(), features(), outputs_);
    z_.assign(layout_.numbers, 0);
  }
  void look_at(const double* x) {
    if (looks_.at(x)) return;
    for (int f = 0; f < features(); ++f) {
      if (layout_.values[f] > 0) continue;
      double& z = z_[layout_.number[f]];
      z = 0;
      if (std::isnan(x[f])) continue;
      const auto [off, sd] = moments_.deviation(f, x[f]);
      if (sd > 0) z = std::clamp(off / sd, -kFarthest, kFarthest);
    }
  }
  void ask(int i, const double* x) {
    *looks_.of(i) = trees_[i].predict(x, z_.data(), layout_, settings_[i]);
    looks_.take(i, TargetScale::kLargest);
  }

  // Splits the imported arrays into trees.
  void unpack(const std::vector<std::int64_t>& nodes, const std::vector<std::int64_t>& observed,
              const std::vector<std::int32_t>& ints, const std::vector<double>& reals,
              const std::vector<double>& weights, const std::vector<double>& observers) {
    const std::size_t per_node = RegressionLayout(sound_values()).weights();
    std::size_t n = 0, o = 0;
    whole_ = nodes.size() == observed.size();
    for (std::size_t t = 0; whole_ && t < nodes.size(); ++t) {
      whole_ = nodes[t] >= 1 && nodes[t] <= (1 << 30) && observed[t] >= 0 && observed[t] <= (std::int64_t{1} << 40);
      if (whole_) n += static_cast<std::size_t>(nodes[t]), o += static_cast<std::size_t>(observed[t]);
    }
    whole_ = whole_ && ints.size() == n * RegressionTree::kInts && reals.size() == n * RegressionTree::kReals &&
             weights.size() == n * per_node && observers.size() == o;
    if (!whole_) return;
    trees_.assign(nodes.size(), {});
    auto i = ints.begin();
    auto r = reals.begin(), w = weights.begin(), b = observers.begin();
    for (std::size_t t = 0; t < nodes.size(); ++t) {
      const auto m = static_cast<std::ptrdiff_t>(nodes[t]);
      const auto width = static_cast<std::ptrdiff_t>(per_node);
      trees_[t].ints.assign(i, i + m * RegressionTree::kInts), i += m * RegressionTree::kInts;
      trees_[t].reals.assign(r, r + m * RegressionTree::kReals), r += m * RegressionTree::kReals;
      trees_[t].weights.assign(w, w + m * width), w += m * width;
      trees_[t].observers.assign(b, b + observed[t]), b += observed[t];
    }
  }
  // Clamps imported values to a range that is safe for a layout.
  std::vector<std::int32_t> sound_values() const {
    std::vector<std::int32_t> values = layout_.values;
    for (std::int32_t& n : values) n = std::clamp(n, 0, 1 << 24);
    return values;
  }

  std::vector<RegressionTreeSettings> settings_;
  RegressionLayout layout_;
  std::int32_t outputs_ = 0;
  std::vector<RegressionTree> trees_;
  Moments moments_;
  bool whole_ = true;  // whether the imported arrays fit together

  std::vector<double> z_;  // the standardised numeric features of the evaluated instance
};

}  // namespace heros
