// One training, split into steps. It uses the instances in the window at its start. A part of the work is done at every
// later instance. The instances stay in place until the training ends.
//
// Two classes have one output, the log-odds of the second class. More classes have one output each, with one tree each
// per round; a number has one output. Predictions are stored as odds, which a tree multiplies by one factor per leaf.
// Therefore no exponential is computed per instance.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "core/state.hpp"
#include "pools/retrained/grower.hpp"
#include "pools/retrained/settings.hpp"
#include "pools/retrained/trees.hpp"
#include "pools/retrained/window.hpp"

namespace heros {

inline int boosted_outputs(int classes, bool numeric) { return numeric || classes <= 2 ? 1 : classes; }

class Training {
 public:
  bool active() const { return steps_ > 0; }
  int outputs() const { return boosted_outputs(classes_, numeric_); }

  // Starts a training on the latest n instances, split into this number of steps.
  void start(const BinnedWindow& window, std::int64_t n, int classes, bool numeric, std::int64_t steps,
             const RetrainedSettings& settings) {
    first_ = window.learnt() - n, count_ = n, features_ = window.features(), classes_ = classes, numeric_ = numeric;
    fitted_ = 0, done_ = 0, step_ = 0, steps_ = steps;
    total_ = work(settings);
  }
  void stop() { steps_ = 0; }

  // Does the work of one step. Returns true after the last step, when `trees` is ready.
  bool advance(BinnedWindow& window, const RetrainedSettings& settings) {
    ++step_;
    const std::int64_t due = total_ / steps_ * step_ + total_ % steps_ * step_ / steps_;
    while (done_ < due) work_on(window, settings);
    if (step_ < steps_) return false;
    trees_.finish(window);
    steps_ = 0;
    return true;
  }
  BoostedSlab take() { return std::move(trees_); }

  static std::int64_t row_bytes(std::size_t features, int outputs) {
    return TreeGrower::row_bytes(features) + 8 * (3 + std::int64_t{outputs});
  }
  std::int64_t bytes() const {
    return grower_.bytes() + trees_.bytes() +
           static_cast<std::int64_t>(8 * (odds_.size() + sums_.size() + first_derivatives_.size() + second_derivatives_.size()));
  }

  // The progress of a training is not stored: it follows from the instances, and is computed again.
  template <class Archive>
  void fields(Archive& a) {
    a("first", first_), a("count", count_), a("features", features_), a("classes", classes_), a("fitted", fitted_);
    a("done", done_), a("step", step_), a("steps", steps_);
  }
  void check(const BinnedWindow& window, int classes, bool numeric, const RetrainedSettings& settings) {
    numeric_ = numeric;
    require(steps_ >= 0 && steps_ <= settings.most_spread(), "the number of steps of the training is out of range");
    if (!active()) return;
    require(step_ >= 0 && step_ < steps_ && classes_ >= 1 && classes_ <= classes && features_ >= 0 &&
                features_ <= window.features() && fitted_ >= 0 && fitted_ <= features_,
            "invalid progress of the training");
    require(count_ >= 1 && count_ <= settings.window && first_ >= window.learnt() - window.kept() &&
                first_ <= window.learnt() - count_,
            "invalid instances of the training");
    total_ = work(settings);
    require(done_ >= fitted_ && done_ <= total_ && (fitted_ == features_ || done_ == fitted_),
            "invalid progress of the training");
    const std::int64_t done = done_;
    if (fitted_ < features_ || done == 0) return;
    prepare(window, settings);
    for (done_ = features_; done_ < done;) grow_on(window, settings);
    require(done_ == done, "invalid progress of the training");
  }

 private:
  static constexpr double kFarthest = 1e100;  // limit of the derivatives for a number
  static constexpr double kSurest = 1e150;    // limit of the odds

  // The number of work units: one per feature (its bins), then the list of instances, and the calls for every tree.
  std::int64_t work(const RetrainedSettings& settings) const { return tree_begin(settings.rounds(outputs()) * outputs(), settings); }
  std::int64_t tree_begin(std::int64_t tree, const RetrainedSettings& settings) const {
    return features_ + TreeGrower::kParts + tree * TreeGrower::most_calls(settings.leaves);
  }
  void work_on(BinnedWindow& window, const RetrainedSettings& settings) {
    if (done_ == 0 && features_ == 0) prepare(window, settings);
    if (fitted_ == features_) return grow_on(window, settings);
    window.fit(fitted_++);
    ++done_;
    if (fitted_ == features_) prepare(window, settings);
  }

  // Computes the outputs before the first tree.
  void prepare(const BinnedWindow& window, const RetrainedSettings& settings) {
    trees_ = {};
    trees_.gains.assign(static_cast<std::size_t>(features_), 0);
    grower_.start(window, first_, count_, features_, settings);
    tree_ = 0, growing_ = false;
    over_.assign(static_cast<std::size_t>(outputs()), 0);
    if (numeric_) begin_numbers(window);
    else begin_classes(window);
    slots_ = static_cast<std::size_t>(window.kept());
    odds_.resize(static_cast<std::size_t>(outputs()) * slots_);
    for (int k = 0; k < outputs(); ++k)
      std::fill_n(odds_.begin() + static_cast<std::ptrdiff_t>(slots_) * k, slots_, numeric_ ? trees_.base[k] : std::exp(trees_.base[k]));
    first_derivatives_.assign(grower_.instances().size(), 0), second_derivatives_ = first_derivatives_;
    if (outputs() > 1) sums_.assign(slots_, 0);
  }
  void begin_numbers(const BinnedWindow& window) {
    double weights = 0, mean = 0;
    for (const std::int32_t slot : grower_.instances()) {
      const double w = window.weight(slot);
      weights += w;
      if (weights > 0) mean += w / weights * (window.target(slot) - mean);
    }
    trees_.base = {mean};
  }
  void begin_classes(const BinnedWindow& window) {
    std::vector<double> counts(static_cast<std::size_t>(std::max(classes_, 2)));
    for (const std::int32_t slot : grower_.instances()) counts[static_cast<int>(window.target(slot))] += window.weight(slot);
    if (outputs() == 1) {
      trees_.base = {std::log((counts[1] + 1) / (counts[0] + 1))};
      return;
    }
    double all = 0;
    for (const double n : counts) all += n + 1;
    for (int c = 0; c < classes_; ++c) {
      trees_.base.push_back(std::log((counts[c] + 1) / all));
      over_[c] = counts[c] == 0;  // no tree for a class without instances in the window
    }
  }

  void grow_on(const BinnedWindow& window, const RetrainedSettings& settings) {
    const std::int64_t unit = done_++ - features_;
    if (unit < TreeGrower::kParts) return grower_.list(window, unit);
    if (!growing_) begin_tree(window);
    else if (grower_.filling()) grower_.fill(window);
    else grower_.split(window);
    if (growing_ && (grower_.filling() || grower_.can_split())) return;
    if (growing_ && !grower_.nodes().empty()) end_tree(settings);
    else over_[tree_ % outputs()] = 1;  // no loss left to reduce
    growing_ = false;
    done_ = tree_begin(++tree_, settings);
  }

  void begin_tree(const BinnedWindow& window) {
    const int k = static_cast<int>(tree_ % outputs());
    if (outputs() > 1 && k == 0) {  // sums of the odds of all classes, for this round
      std::fill(sums_.begin(), sums_.end(), 0.0);
      for (int c = 0; c < outputs(); ++c)
        for (std::size_t s = 0; s < slots_; ++s) sums_[s] += odds_[c * slots_ + s];
    }
    if (over_[k]) return;
    derive(window, k);
    double first = 0, second = 0;
    for (const double g : first_derivatives_) first += std::fabs(g);
    for (const double h : second_derivatives_) second += h;
    const double first_scale = kWhole / first, second_scale = kWhole / second;
    if (!(std::isnormal(first_scale) && std::isnormal(second_scale) && std::isnormal(first) && std::isnormal(second))) return;
    const std::vector<std::int32_t>& instances = grower_.instances();
    for (std::size_t i = 0; i < instances.size(); ++i)
      grower_.derivatives[instances[i]] = packed(first_derivatives_[i] * first_scale, second_derivatives_[i] * second_scale);
    grower_.begin(first / kWhole, second / kWhole);
    growing_ = grower_.filling();
    if (growing_) grower_.fill(window);
  }

  // Computes the derivatives of the loss of output k at the current predictions.
  void derive(const BinnedWindow& window, int k) {
    const std::vector<std::int32_t>& instances = grower_.instances();
    const double* odds = odds_.data() + static_cast<std::size_t>(k) * slots_;
    const double curvature = outputs() > 1 ? outputs() / (outputs() - 1.0) : 1;  // factor for one of several classes
    for (std::size_t i = 0; i < instances.size(); ++i) {
      const std::int32_t slot = instances[i];
      const double w = window.weight(slot), y = window.target(slot);
      if (numeric_) {
        first_derivatives_[i] = w * std::clamp(odds[slot] - y, -kFarthest, kFarthest), second_derivatives_[i] = w;
        continue;
      }
      const double p = odds[slot] / (outputs() > 1 ? sums_[slot] : 1 + odds[slot]);
      const bool hit = outputs() > 1 ? y == k : y == 1;
      first_derivatives_[i] = w * (p - (hit ? 1 : 0)), second_derivatives_[i] = w * curvature * p * (1 - p);
    }
  }

  // Stores the tree, and adds it to the predictions of the training instances.
  void end_tree(const RetrainedSettings& settings) {
    const int k = static_cast<int>(tree_ % outputs());
    double* odds = odds_.data() + static_cast<std::size_t>(k) * slots_;
    std::vector<std::int32_t> place;
    for (const TreeGrower::Node& node : grower_.nodes()) {
      place.push_back(trees_.add_node(node.test));
      if (node.parent >= 0) trees_.set_child(place[node.parent], node.below, place.back());
    }
    for (const TreeGrower::Leaf& leaf : grower_.leaves()) {
      const double second = grower_.second_derivative(leaf) + settings.shrinkage;
      const double step = -settings.step(outputs()) * grower_.first_derivative(leaf) / second;
      trees_.set_child(place[leaf.parent], leaf.below, trees_.add_leaf(step));
      const double factor = std::exp(step);
      for (std::int32_t i = leaf.first; i < leaf.end; ++i) {
        double& one = odds[grower_.order()[i]];
        one = numeric_ ? std::clamp(one + step, -kFarthest, kFarthest) : std::clamp(one * factor, 1 / kSurest, kSurest);
      }
    }
    for (std::size_t n = 0; n < grower_.nodes().size(); ++n)
      trees_.gains[grower_.nodes()[n].test.feature] += grower_.nodes()[n].gain;
    trees_.add_tree(place[0], k);
  }

  // The instances, the schema and the progress.
  std::int64_t first_ = 0, count_ = 0;
  std::int32_t features_ = 0, classes_ = 1, fitted_ = 0;
  std::int64_t done_ = 0, step_ = 0, steps_ = 0;
  bool numeric_ = false;

  // Computed from the members above.
  std::int64_t total_ = 0, tree_ = 0;
  bool growing_ = false;
  std::size_t slots_ = 0;
  std::vector<std::uint8_t> over_;  // per output: no further tree is needed
  std::vector<double> odds_;        // (outputs, slots of the window): odds, or predicted numbers
  std::vector<double> sums_;        // (slots,) sums of all classes' odds
  std::vector<double> first_derivatives_, second_derivatives_;
  TreeGrower grower_;
  BoostedSlab trees_;
};

}  // namespace heros
