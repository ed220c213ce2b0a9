// Boosted trees for streams (SGBT, Gunasekara, Pfahringer, Gomes and Bifet 2024). Each tree reduces the remaining loss
// of the trees before it. Every tree learns from every instance, from the derivatives of the loss at the sum of the
// trees before it. The loss is the log loss for classes, and half the squared error for numbers.
//
// Two classes have one output: the log-odds of the second class, which may not have occurred yet. More classes have one
// output each; a number has one. The sum starts with the class frequencies or the mean of the targets.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/draws.hpp"
#include "core/state.hpp"
#include "pools/boosted/settings.hpp"
#include "pools/boosted/tree.hpp"
#include "pools/subspace.hpp"

namespace heros {

class Boosted {
 public:
  Boosted(const BoostedSettings& settings, bool numeric, std::uint64_t seed)
      : settings_(settings), numeric_(numeric), draws_(seed) {}

  static constexpr bool kLooksFirst = true;
  int outputs_of(int classes) const { return numeric_ || classes <= 2 ? 1 : classes; }

  // The lowest byte limit for a schema: trees of one node.
  std::int64_t least_bytes(const std::vector<std::int32_t>&, int classes) const {
    return settings_.rounds * GradientTree::node_bytes(outputs_of(classes));
  }
  void expect_room(const std::vector<std::int32_t>& values, int classes) const {
    const std::int64_t least = least_bytes(values, classes);
    if (settings_.max_bytes < least)
      throw std::invalid_argument("A boosted model needs " + std::to_string(least) + " bytes with this schema.");
  }

  // Adapts the model to an extended schema. classes: 1 for a numeric target.
  void grow(const std::vector<std::int32_t>& values, int classes) {
    const int outputs = outputs_of(classes), all = static_cast<int>(values.size());
    trees_.resize(settings_.rounds);
    for (GradientTree& tree : trees_) {
      std::vector<std::int32_t> known = subspace(tree.columns, all, settings_.features_of(all), draws_);
      if (tree.ints.empty()) tree.begin(std::move(known), values, outputs, settings_.tree_bytes());
      else tree.grow(std::move(known), values, outputs, settings_.tree_bytes());
    }
    prior_.resize(numeric_ ? 2 : classes);
    make_place(classes);
  }

  // Writes the predicted probabilities or the predicted number.
  void look(const double* x, double* out) {
    double* said = said_.data();
    begin(said);
    for (int t = 0; t < settings_.rounds; ++t) {
      double* next = said + outputs_;
      leaves_[t] = trees_[t].leaf_of(x);
      for (int k = 0; k < outputs_; ++k)
        next[k] = said[k] + settings_.learning_rate * trees_[t].step(leaves_[t], k, settings_.shrinkage);
      said = next;
    }
    if (numeric_) *out = *said;
    else probabilities(said, out);
  }

  // Trains on x, the instance evaluated last.
  void train(const double* x, double target, double weight) {
    for (int t = 0; t < settings_.rounds; ++t) {
      derive(said_.data() + std::size_t(t) * outputs_, target, weight);
      trees_[t].learn(leaves_[t], x, gh_.data(), weight, settings_);
    }
    learn_prior(target, weight);
  }

  GradientTree::Summary summary() const {
    GradientTree::Summary sum;
    for (const GradientTree& tree : trees_) {
      const GradientTree::Summary s = tree.summary();
      sum.nodes += s.nodes, sum.leaves += s.leaves, sum.active += s.active, sum.bytes += s.bytes;
      sum.depth = std::max(sum.depth, s.depth);
    }
    return sum;
  }

  // Returns the total loss reduction by the splits on each feature.
  std::vector<double> gains(int features) const {
    std::vector<double> sum(features);
    for (const GradientTree& tree : trees_)
      for (std::size_t f = 0; f < tree.columns.size(); ++f) sum[tree.columns[f]] += tree.gains[f];
    return sum;
  }

  template <class Archive>
  void fields(Archive& a) {
    std::uint64_t draws = draws_.state();
    a("draws", draws), a("prior", prior_);
    if (Archive::kReads) draws_ = Draws(draws);
    joined(a, "columns", trees_, &GradientTree::columns), joined(a, "ints", trees_, &GradientTree::ints);
    joined(a, "reals", trees_, &GradientTree::reals), joined(a, "observers", trees_, &GradientTree::observers);
    joined(a, "gains", trees_, &GradientTree::gains);
  }
  void check(const std::vector<std::int32_t>& values, int classes) {
    require(trees_.size() == std::size_t(classes > 0 ? settings_.rounds : 0), "there must be arrays for each tree");
    if (classes == 0) return;
    require(prior_.size() == std::size_t(numeric_ ? 2 : classes) &&
                all_of(prior_, [](double v) { return std::isfinite(v); }) && prior_[0] >= 0 &&
                (numeric_ || all_of(prior_, amount)),
            "invalid class counts or moments of the target");
    for (GradientTree& tree : trees_) {
      tree.check(values, outputs_of(classes));
      require(tree.bytes() <= std::max(settings_.tree_bytes(), GradientTree::node_bytes(outputs_of(classes))),
              "a tree exceeds its byte limit");
    }
    make_place(classes);
  }

 private:
  static constexpr double kSurest = 1e-6;    // the smallest second derivative
  static constexpr double kFarthest = 1e100;  // limit of the error of a number

  void make_place(int classes) {
    classes_ = classes, outputs_ = outputs_of(classes);
    said_.assign(std::size_t(settings_.rounds + 1) * outputs_, 0);
    leaves_.assign(settings_.rounds, 0), gh_.assign(2 * std::size_t(outputs_), 0);
  }

  // The output before the first tree. prior_: the weight of each class, or the total weight and mean of the numbers.
  void begin(double* said) const {
    if (numeric_) *said = prior_[1];
    else if (outputs_ == 1) *said = std::log(((classes_ > 1 ? prior_[1] : 0) + 1) / (prior_[0] + 1));
    else
      for (int c = 0; c < classes_; ++c) said[c] = std::log(prior_[c] + 1);
  }
  void learn_prior(double target, double weight) {
    if (numeric_) {
      prior_[0] += weight;
      prior_[1] += weight * (target - prior_[1]) / prior_[0];
      if (settings_.horizon > 0) prior_[0] = std::min(prior_[0], settings_.horizon);
      return;
    }
    if (settings_.horizon > 0)
      for (double& n : prior_) n *= 1 - 1 / settings_.horizon;
    prior_[static_cast<int>(target)] += weight;
  }

  static double logistic(double f) { return 1 / (1 + std::exp(-f)); }
  void probabilities(const double* said, double* out) const {
    if (outputs_ == 1) {
      if (classes_ == 1) *out = 1;
      else out[1] = logistic(*said), out[0] = 1 - out[1];
      return;
    }
    const double most = *std::max_element(said, said + classes_);
    double sum = 0;
    for (int c = 0; c < classes_; ++c) sum += out[c] = std::exp(said[c] - most);
    for (int c = 0; c < classes_; ++c) out[c] /= sum;
  }

  // Computes the derivatives of the loss at the output `said`.
  void derive(const double* said, double target, double weight) {
    if (numeric_) {
      gh_[0] = weight * std::clamp(*said - target, -kFarthest, kFarthest), gh_[1] = weight;
    } else if (outputs_ == 1) {
      const double p = logistic(*said);
      gh_[0] = weight * (p - target), gh_[1] = weight * std::max(p * (1 - p), kSurest);
    } else {
      chances_.resize(classes_);
      probabilities(said, chances_.data());
      for (int c = 0; c < classes_; ++c) {
        const double p = chances_[c];
        gh_[2 * c] = weight * (p - (target == c ? 1 : 0)), gh_[2 * c + 1] = weight * std::max(p * (1 - p), kSurest);
      }
    }
  }

  BoostedSettings settings_;
  bool numeric_;
  int classes_ = 0, outputs_ = 0;
  Draws draws_;
  std::vector<double> prior_;
  std::vector<GradientTree> trees_;

  std::vector<double> said_;           // last evaluation (rounds + 1, outputs): before each tree, then final
  std::vector<std::int32_t> leaves_;   // the leaf of the instance in each tree
  std::vector<double> gh_, chances_;
};

}  // namespace heros
