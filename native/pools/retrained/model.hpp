// Boosted trees that are retrained on the latest instances (gradient boosting with histograms, as in LightGBM: Ke et
// al. 2017).
//
// The first training is at kFirst instances. Later trainings follow when the number of instances has doubled, or after
// `every` instances. The trees of the last complete training predict. Before the first training is complete, the model
// predicts the class frequencies or the mean of the targets.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/adwin.hpp"
#include "core/state.hpp"
#include "pools/retrained/settings.hpp"
#include "pools/retrained/training.hpp"
#include "pools/retrained/trees.hpp"
#include "pools/retrained/window.hpp"

namespace heros {

class Retrained {
 public:
  static constexpr bool kLooksFirst = false;
  static constexpr bool kAlwaysLearns = true;  // the window needs every instance
  static constexpr std::int64_t kFirst = 50;
  static constexpr std::int64_t kFewest = 200;  // instances after a change before the next training
  static constexpr std::int64_t kLongest = 6;  // how long a training may be delayed, in multiples of `every`
  struct Summary {
    BoostedSlab::Summary trees;
    std::int64_t bytes = 0, instances = 0, window = 0, trainings = 0;
  };

  Retrained(const RetrainedSettings& settings, bool numeric) : settings_(settings), numeric_(numeric), window_(settings),
        loss_(1, settings.drift > 0 ? settings.drift : 1, false) {}

  // The lowest byte limit for a schema: room for kFirst instances to train on.
  std::int64_t least_bytes(const std::vector<std::int32_t>& values, int classes) const {
    return fixed_bytes(values, classes) + (kFirst + settings_.most_spread()) * row_bytes(values, classes);
  }
  void expect_room(const std::vector<std::int32_t>& values, int classes) const {
    const std::int64_t least = least_bytes(values, classes);
    if (settings_.max_bytes < least)
      throw std::invalid_argument("A retrained model needs " + std::to_string(least) + " bytes with this schema.");
  }

  // Adapts the model to an extended schema. classes: 1 for a numeric target. A running training ends with its old
  // features and classes, if its instances still fit.
  void grow(const std::vector<std::int32_t>& values, int classes) {
    const std::int64_t capacity = capacity_for(values, classes);
    if (capacity < window_.capacity() && training_.active()) training_.stop(), next_ = window_.learnt();
    window_.grow(values, capacity);
    prior_.resize(numeric_ ? 2 : classes);
    make_place(values, classes);
    fit_trees();
  }

  // Writes the predicted probabilities or the predicted number.
  void look(const double* x, double* out) {
    double* said = said_.data();
    if (trees_.trained()) trees_.say(x, values_, bytes_.data(), said);
    else if (numeric_) *said = prior_[1];
    else if (said_.size() == 1) *said = std::log(((classes_ > 1 ? prior_[1] : 0) + 1) / (prior_[0] + 1));
    else
      for (int c = 0; c < classes_; ++c) said[c] = std::log(prior_[c] + 1);
    if (numeric_) *out = *said;
    else probabilities(said, out);
  }

  // Tells whether the next training instance was expected, and whether the ensemble's loss is steady. In both cases the
  // next training would gain little and is delayed, unless the window has grown by half since the last training.
  void set_expected(bool expected, bool steady) { expected_ = expected, steady_ = steady; }

  void train(const double* x, double target, double weight) {
    if (settings_.drift > 0 && trees_.trained()) look_for_drift(x, target);
    window_.learn(x, target, weight);
    if ((expected_ || steady_) && !has_grown() && postponed_ < kLongest * settings_.every) ++next_, ++postponed_;
    if (!trees_.trained()) learn_prior(target, weight);
    if (!training_.active()) {
      if (window_.learnt() < next_) return;
      const std::int64_t gap = std::min(window_.learnt() - start_, settings_.every), n = used();
      next_ = window_.learnt() + gap, postponed_ = 0;
      const std::int64_t steps = settings_.spread_for(n, window_.features(), static_cast<int>(said_.size()));
      training_.start(window_, n, classes_, numeric_, std::clamp<std::int64_t>(gap / 2, 1, steps), settings_);
    }
    if (!training_.advance(window_, settings_)) return;
    trees_ = training_.take();
    ++trainings_;
    fit_trees();
  }

  Summary summary() const {
    return {trees_.summary(), window_.bytes() + training_.bytes() + trees_.bytes(), used(),
            width(), trainings_};
  }
  std::vector<double> gains() const {
    return trees_.trained() ? trees_.gains : std::vector<double>(values_.size());
  }

  template <class Archive>
  void fields(Archive& a) {
    a("next", next_), a("postponed", postponed_), a("trainings", trainings_), a("prior", prior_);
    if (settings_.drift > 0) {
      a("start", start_), a("errors", errors_), a("usual_error", usual_error_);
      Prefixed<Archive> loss{a, "loss_"};
      loss_.fields(loss);
    }
    window_.fields(a);
    trees_.fields(a);
    Prefixed<Archive> own{a, "training_"};
    training_.fields(own);
  }
  void check(const std::vector<std::int32_t>& values, int classes) {
    require(countable(next_) && countable(trainings_) && postponed_ >= 0 && postponed_ <= kLongest * settings_.every,
            "trainings");
    require(start_ >= 0 && start_ <= window_.learnt() && countable(errors_) && amount(usual_error_), "changes");
    loss_.check();
    if (classes == 0) return require(prior_.empty() && !training_.active(), "a model without a schema must be empty");
    require(least_bytes(values, classes) <= settings_.max_bytes, "the model does not fit into its byte limit");
    window_.check(values, classes, numeric_, capacity_for(values, classes));
    require(next_ <= window_.learnt() + settings_.every + kFirst, "trainings");
    require(prior_.size() == std::size_t(numeric_ ? 2 : classes) &&
                all_of(prior_, [](double v) { return std::isfinite(v); }) && prior_[0] >= 0 &&
                (numeric_ || all_of(prior_, amount)),
            "invalid class counts or moments of the target");
    const int outputs = boosted_outputs(classes, numeric_);
    trees_.check(values, static_cast<std::size_t>(outputs), std::int64_t{settings_.trees} * outputs, settings_.leaves);
    training_.check(window_, classes, numeric_, settings_);
    make_place(values, classes);
  }

 private:
  std::int64_t width() const { return std::min(settings_.window, window_.capacity() - settings_.most_spread()); }

  // The number of instances for a training: of the window, and since the last change.
  std::int64_t used() const { return std::min({window_.kept(), width(), window_.learnt() - start_}); }

  // If the loss of the trees has risen, the window restarts at the change. Losses are in [0, 1]: 1 minus the
  // probability of the class, or for a number the error relative to the usual error.
  void look_for_drift(const double* x, double target) {
    asked_.resize(static_cast<std::size_t>(classes_));
    look(x, asked_.data());
    double lost = 1 - asked_[numeric_ ? 0 : static_cast<std::size_t>(target)];
    if (numeric_) {
      const double error = std::fabs(asked_[0] - target);
      usual_error_ += (error - usual_error_) / static_cast<double>(++errors_);
      lost = error > 0 ? error / (error + usual_error_) : 0;
    }
    const double before = loss_.mean(0), after = loss_.update(0, lost);
    if (!loss_.changed(0) || after <= before) return;
    start_ = std::max(start_, window_.learnt() - loss_.width(0));
    next_ = std::max(window_.learnt(), start_ + kFewest), postponed_ = 0;
    training_.stop();
  }

  // Whether the window has grown by half since the start of the last training. A full window no longer grows.
  bool has_grown() const {
    const std::int64_t before = next_ - postponed_ - settings_.every - start_;
    return window_.learnt() - start_ > before + before / 2 && before < width();
  }

  // The window also needs room for instances that arrive during a training.
  std::int64_t capacity_for(const std::vector<std::int32_t>& values, int classes) const {
    const std::int64_t room = (settings_.max_bytes - fixed_bytes(values, classes)) / row_bytes(values, classes);
    return std::min(room, settings_.window + settings_.most_spread());
  }
  std::int64_t row_bytes(const std::vector<std::int32_t>& values, int classes) const {
    return BinnedWindow::row_bytes(values.size()) + Training::row_bytes(values.size(), boosted_outputs(classes, numeric_));
  }
  std::int64_t fixed_bytes(const std::vector<std::int32_t>& values, int classes) const {
    std::int64_t all = 0;  // bytes of all features
    for (const std::int32_t n : values) all += 1 + (n > 0 ? std::min(n, kMostBins) : settings_.bins);
    const std::int64_t outputs = boosted_outputs(classes, numeric_), features = static_cast<std::int64_t>(values.size());
    const std::int64_t trees = settings_.rounds(static_cast<int>(outputs)) * outputs;
    const std::int64_t slab = BoostedSlab::bytes_of(trees, settings_.leaves) + 8 * outputs +
                              features * (20 + 8 * std::int64_t{settings_.bins});
    return window_.fixed_bytes(values) + TreeGrower::fixed_bytes(all, settings_.leaves) + 2 * slab;
  }

  void make_place(const std::vector<std::int32_t>& values, int classes) {
    values_ = values, classes_ = classes;
    said_.assign(static_cast<std::size_t>(boosted_outputs(classes, numeric_)), 0);
    bytes_.assign(values.size(), 0);
  }
  // The trees may have been trained with fewer features and classes than the current schema has.
  void fit_trees() {
    trees_.grow(values_.size(), said_.size(), -std::log(static_cast<double>(used()) + 1));
  }

  void learn_prior(double target, double weight) {
    if (!numeric_) {
      prior_[static_cast<int>(target)] += weight;
      return;
    }
    prior_[0] += weight;
    if (prior_[0] > 0) prior_[1] += weight / prior_[0] * (target - prior_[1]);
  }

  void probabilities(const double* said, double* out) const {
    if (said_.size() == 1) {
      if (classes_ == 1) *out = 1;
      else out[1] = 1 / (1 + std::exp(-*said)), out[0] = 1 - out[1];
      return;
    }
    const double most = *std::max_element(said, said + classes_);
    double sum = 0;
    for (int c = 0; c < classes_; ++c) sum += out[c] = std::exp(said[c] - most);
    for (int c = 0; c < classes_; ++c) out[c] /= sum;
  }

  RetrainedSettings settings_;
  bool numeric_;
  std::vector<std::int32_t> values_;
  int classes_ = 0;
  BinnedWindow window_;
  Training training_;
  BoostedSlab trees_;  // the trees of the last complete training
  std::int64_t next_ = kFirst, postponed_ = 0, trainings_ = 0;
  Adwin loss_;              // the loss of the trees
  std::int64_t start_ = 0;  // the first instance since the last change
  std::int64_t errors_ = 0;
  double usual_error_ = 0;  // the mean error, for a number
  bool expected_ = false, steady_ = false;  // for the next training instance
  std::vector<double> prior_;  // before the first training: class weights, or total weight and mean of the numbers

  std::vector<double> said_;
  std::vector<double> asked_;
  std::vector<std::uint8_t> bytes_;  // the bytes of the evaluated instance
};

}  // namespace heros
