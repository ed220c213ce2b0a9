// A tree of a forest: a Hoeffding tree over some of the features, with its evaluation of the last instance.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "pools/hoeffding/grow.hpp"
#include "pools/hoeffding/state.hpp"
#include "pools/hoeffding/tree.hpp"

namespace heros {

class ForestTree {
 public:
  // columns: the features of the tree, in the order in which they were added.
  ForestTree(const TreeSettings& settings, std::vector<std::int32_t> columns, const std::vector<std::int32_t>& values,
             int classes)
      : columns_(std::move(columns)), layout_(picked(values), classes), tree_(settings, layout_) {
    fit();
  }
  ForestTree(const TreeSettings& settings, std::vector<std::int32_t> columns, const std::vector<std::int32_t>& values,
             int classes, TreeArrays arrays)
      : columns_(std::move(columns)), layout_(picked(values), classes) {
    tree_.adopt(std::move(arrays), settings, layout_);
    fit();
  }

  const std::vector<std::int32_t>& columns() const { return columns_; }
  const TreeSettings& settings() const { return tree_.settings(); }
  TreeSummary summary() const { return tree_.summary(layout_); }
  TreeArrays arrays() const { return tree_.arrays(); }
  void limit(std::int64_t max_bytes) {
    TreeSettings settings = tree_.settings();
    settings.max_bytes = max_bytes;
    tree_.change(settings);
  }

  // The first columns must be the columns of the tree so far.
  void grow(const TreeSettings& settings, std::vector<std::int32_t> columns, const std::vector<std::int32_t>& values,
            int classes) {
    columns_ = std::move(columns);
    const TreeLayout layout(picked(values), classes);
    tree_.change(settings);
    tree_.grow(layout_, layout);
    layout_ = layout;
    fit();
  }

  // Evaluation in three steps: gather the values, find the leaf, predict at the leaf. All trees do one step before any
  // tree does the next step, so that the prefetches of `find` have time to complete.
  void gather(const double* x) { instance_.gather(x, columns_, layout_); }
  void find() {
    place_ = tree_.find(instance_.x.data());
    tree_.prefetch(layout_, place_);
  }
  void ask() {
    by_bayes_ = tree_.answers_by_bayes(place_);
    favoured_ = by_bayes_ ? tree_.bayes_votes(layout_, place_, instance_, votes_.data())
                          : highest(tree_.counts_at(layout_, place_), layout_.classes);
  }

  int favoured() const { return favoured_; }

  // Adds `weight` times the tree's probabilities; false if the tree has none, as it has no data or all votes are 0.
  bool add_to(double* out, double weight) {
    const int n = layout_.classes;
    double total = 0;
    if (by_bayes_) {
      const double top = votes_[favoured_];
      if (top == kNoVote) return false;
      for (int c = 0; c < n; ++c) {
        shares_[c] = votes_[c] == top ? 1 : votes_[c] == kNoVote ? 0 : std::exp(votes_[c] - top);
        total += shares_[c];
      }
    } else {
      const double* counts = tree_.counts_at(layout_, place_);
      for (int c = 0; c < n; ++c) total += shares_[c] = counts[c];
    }
    if (!(total > 0)) return false;
    for (int c = 0; c < n; ++c) out[c] += weight / total * shares_[c];
    return true;
  }

  // Trains on the evaluated instance with weight `times`.
  void train(int y, std::int32_t times) {
    tree_.train(layout_, instance_, y, place_, by_bayes_ ? favoured_ : -1, votes_.data(), times);
  }

 private:
  std::vector<std::int32_t> picked(const std::vector<std::int32_t>& values) const {
    std::vector<std::int32_t> own;
    for (const std::int32_t f : columns_) own.push_back(values[f]);
    return own;
  }
  void fit() {
    votes_.resize(layout_.classes);
    shares_.resize(layout_.classes);
  }

  std::vector<std::int32_t> columns_;
  TreeLayout layout_;
  HoeffdingTree tree_;
  TreeInstance instance_;
  HoeffdingTree::Place place_;
  std::int32_t favoured_ = 0;
  bool by_bayes_ = false;
  std::vector<double> votes_, shares_;  // per class
};

}  // namespace heros
