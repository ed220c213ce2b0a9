// A pool of models that use only earlier labels, not the features.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "core/pool.hpp"
#include "core/state.hpp"
#include "core/target.hpp"
#include "pools/labels/recent.hpp"
#include "pools/labels/seasons.hpp"
#include "pools/labels/series.hpp"
#include "pools/labels/transitions.hpp"
#include "pools/looks.hpp"

namespace heros {

struct LabelSettings {
  double fading;         // the weight of an instance relative to the next one
  std::int32_t order;    // classes: number of last labels used
  std::int32_t seasons;  // numbers: number of seasonal lags used
};

// All models share the latest labels. Every label is stored, even if no model is trained on it. A model learns from a
// label only if the policy chooses the model.
class LabelPool final : public LookingPool {
 public:
  LabelPool(std::vector<LabelSettings> settings, std::int64_t memory, bool numeric)
      : settings_(std::move(settings)), memory_(memory), numeric_(numeric), labels_(memory),
        seasons_(numeric ? memory - 2 : 0) {
    for (const LabelSettings& s : settings_) {
      if (numeric_) series_.emplace_back(s.fading, s.seasons);
      else transitions_.emplace_back(s.fading, s.order);
    }
  }

  bool always_learns(int) const override { return true; }
  int models() const override { return static_cast<int>(settings_.size()); }
  int features() const override { return static_cast<int>(values_.size()); }
  int outputs() const override { return classes_; }
  const std::vector<std::int32_t>& values() const { return values_; }
  bool numeric() const { return numeric_; }

  void grow(const std::vector<std::int32_t>& values, int classes) {
    LabelPool grown = *this;
    for (Transitions& model : grown.transitions_) model.grow(classes);
    grown.values_ = values, grown.classes_ = classes;
    grown.looks_.resize(models(), features(), classes);
    *this = std::move(grown);
  }

  void set_delay(std::int64_t labels) override { delay_ = labels; }

  // Predicts as at the time of the instance's prediction, using only the labels that were known at that time.
  void look(const double*, const std::uint8_t* watched, PhaseClock& clock) override {
    from_ = {delay_, 1};
    for (int i = 0; i < models(); ++i)
      if (looks(watched, i)) ask(i, from_);
    clock.lap(Phase::evaluate);
  }

  double outcome(int i, double target) const override { return numeric_ ? 0 : looks_.outcome(i, target); }

  void train(const double*, double target, const std::uint8_t* chosen, PhaseClock& clock) override {
    for (int i = 0; i < models(); ++i)
      if (chosen[i]) learn(i, target);
    const bool others = numeric_ && seasons_.learn(labels_, target);
    if (numeric_) scale_.learn(target);
    labels_.add(target);
    if (others)
      for (Series& model : series_) model.relearn(labels_, from_.first, scale_.mean(), seasons_);
    reach_ = std::max(from_.first, reach_ - 1);
    clock.lap(Phase::train);
  }

  // If the last label is farther away than in recent training, the models give no prediction: their output is not
  // finite.
  void answer(int i, const double*, double* out) override {
    if (delay_ <= reach_) {
      ask(i, {0, 1 + delay_});
    } else {
      *looks_.of(i) = std::numeric_limits<double>::quiet_NaN();
      looks_.take(i);
    }
    output(i, out);
  }

  // (classes, classes): the probability of each class after each label.
  void follows(int i, double* out) const { transitions_[i].follows(out); }
  // The coefficients of a model's inputs, and the seasonal lags among them.
  Series::Inputs coefficients(int i) const { return series_[i].coefficients(); }
  const std::array<std::int32_t, Seasons::kMost>& seasons() const { return seasons_.lags(); }
  std::int64_t remembered() const { return labels_.size(); }

  template <class Archive>
  void fields(Archive& a) {
    std::vector<double> labels = labels_.latest(), sums, weights;
    for (const Series& model : series_) sums.insert(sums.end(), model.sums().begin(), model.sums().end());
    a("values", values_), a("classes", classes_), a("labels", labels), a("reach", reach_);
    if (numeric_) {
      seasons_.fields(a), scale_.fields(a), a("sums", sums);
      require(sums.size() == series_.size() * Series::kSums, "there must be sums for each model");
      if (Archive::kReads)
        for (std::size_t i = 0; i < series_.size(); ++i) series_[i].restore(sums.data() + i * Series::kSums);
    } else {
      for (const Transitions& model : transitions_) weights.push_back(model.weight_);
      a("weight", weights);
      require(weights.size() == transitions_.size(), "there must be one weight per model");
      if (Archive::kReads)
        for (std::size_t i = 0; i < transitions_.size(); ++i) transitions_[i].weight_ = weights[i];
      joined(a, "counts", transitions_, &Transitions::counts_);
      require(transitions_.size() == settings_.size(), "there must be counts for each model");
    }
    require(static_cast<std::int64_t>(labels.size()) <= memory_, "there are more labels than the memory holds");
    if (Archive::kReads) labels_.restore(std::move(labels));
  }
  void check() {
    require(all_of(values_, [](std::int32_t n) { return n >= 0; }) && classes_ >= 0, "values");
    expect_countable(values_, classes_);
    require(!numeric_ || classes_ <= 1, "a numeric target has exactly one output");
    require(all_of(labels_.latest(),
                   [this](double y) {
                     return numeric_ ? std::fabs(y) <= TargetScale::kLargest
                                     : y >= 0 && y < classes_ && y == std::floor(y);
                   }),
            "labels");
    require(countable(reach_), "invalid distance between labels");
    for (Transitions& model : transitions_) model.check(classes_);
    if (numeric_) seasons_.check(memory_ - 2), scale_.check();
    looks_.resize(models(), features(), classes_);
  }

 private:
  void ask(int i, const Vantage& from) {
    double* said = looks_.of(i);
    if (!numeric_) {
      transitions_[i].predict(labels_, from, said);
      return looks_.take(i);
    }
    *said = scale_.mean();
    if (labels_.has(from.first)) {
      const double off = series_[i].predict(series_[i].inputs(labels_, from, scale_.mean(), seasons_));
      *said = scale_.within(labels_.at(from.first) + off);
    }
    looks_.take(i, TargetScale::kLargest);
  }

  void learn(int i, double target) {
    if (!numeric_) {
      transitions_[i].learn(labels_, from_, static_cast<int>(target), instance_weight_.value);
    } else if (labels_.has(from_.first)) {
      const Series::Inputs in = series_[i].inputs(labels_, from_, scale_.mean(), seasons_);
      series_[i].learn(in, target - labels_.at(from_.first), instance_weight_.value);
    }
  }

  std::vector<LabelSettings> settings_;
  std::int64_t memory_;
  bool numeric_;
  std::vector<std::int32_t> values_;
  std::int32_t classes_ = 0;  // 1 if the target is a number
  RecentLabels labels_;
  Seasons seasons_;
  TargetScale scale_;
  std::vector<Transitions> transitions_;  // per model, if the target is a class
  std::vector<Series> series_;            // per model, if the target is a number
  std::int64_t reach_ = 0;                // the largest recent distance between a label and its prediction

  std::int64_t delay_ = 0;
  Vantage from_;  // the position of the evaluated instance
};

}  // namespace heros
