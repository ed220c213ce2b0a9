// A stack: combines the log-odds of all models, and of the mixture of the best models, with learnt weights.
//
// z = w_0·log(mixture) + Σ w_i·log(p_i), where each logarithm is centred over the classes. The prediction is
// softmax(z). With each target, every weight takes a gradient step on the log loss. The mixture starts with half of the
// weight, so at first the stack is about as good as the mixture. It becomes better if the models make different errors.
// A model that was not evaluated is left out, and its weight does not change.
//
// For a number, the prediction is the mixture plus Σ w_i·(prediction of model i − mixture), in standard deviations of
// the target. Weights start at 0 and take normalised gradient steps on the squared error (NLMS).
//
// With several learning rates there is a set of weights for each. The prediction is the mean of the sets, each weighted
// by exp(−kSharpness · its recent loss). Sets with low learning rates are better on stable concepts, sets with high
// rates after a change.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include "core/state.hpp"

namespace heros {

// The predictions of an instance: a row of centred log-odds for the mixture and for each model, and the prediction of
// each set of weights.
struct StackedOdds {
  std::vector<double> odds, answers;
  std::vector<std::uint8_t> known;  // rows with a prediction; the others are 0 and are skipped
  double unit = 0;  // for a number: the standard deviation that scales the differences
};

class Stack {
 public:
  explicit Stack(std::vector<double> rates) : rates_(std::move(rates)), lost_(rates_.size()), shares_(rates_.size(), 1.0) {}

  // Call it before the first instance.
  void begin(int models, bool numeric) {
    rows_ = static_cast<std::size_t>(models) + 1;
    weights_.assign(rates_.size() * rows_, numeric ? 0.0 : 0.5 / models);
    for (std::size_t r = 0; r < rates_.size(); ++r) weights_[r * rows_] = numeric ? 0.0 : 0.5;
  }

  // The weights of the mixture and of each model: the mean of all sets, weighted by their current shares.
  std::vector<double> weights() const {
    std::vector<double> mean(rows_);
    for (std::size_t r = 0; r < rates_.size(); ++r)
      for (std::size_t j = 0; j < rows_; ++j) mean[j] += shares_[r] * weights_[r * rows_ + j];
    const double total = std::accumulate(shares_.begin(), shares_.end(), 0.0);
    for (double& weight : mean) weight /= total;
    return mean;
  }

  // Moves the weight of models that fall asleep to the mixture; they restart at 0 when they wake. For a number, the
  // mixture has no weight, as predictions are differences from it.
  void set_awake(const std::vector<std::uint8_t>& before, const std::vector<std::uint8_t>& awake, bool numeric) {
    for (std::size_t i = 0; i < awake.size(); ++i) {
      if (!before[i] || awake[i]) continue;
      if (!numeric) weights_[0] += weights_[i + 1];
      weights_[i + 1] = 0;
    }
  }

  static void clear(StackedOdds& said, int models, int outputs) {
    said.odds.assign(std::size_t(models + 1) * outputs, 0.0);
    said.known.assign(std::size_t(models) + 1, 0);
  }
  // Row 0 is the mixture, row i + 1 is model i.
  static void set(StackedOdds& said, int row, const double* probabilities, int outputs) {
    double* odds = said.odds.data() + std::size_t(row) * outputs;
    double mean = 0;
    said.known[row] = 1;
    for (int c = 0; c < outputs; ++c) mean += odds[c] = std::log(std::max(probabilities[c], kLeast));
    for (int c = 0; c < outputs; ++c) odds[c] -= mean / outputs;
  }

  // Writes the combined prediction.
  void say(StackedOdds& said, int outputs, double* out) const {
    said.answers.assign(rates_.size() * outputs, 0.0);
    for (std::size_t r = 0; r < rates_.size(); ++r) {
      double* answer = said.answers.data() + r * outputs;
      const double* weights = weights_.data() + r * rows_;
      for (std::size_t j = 0; j < rows_; ++j) {
        if (!said.known[j]) continue;
        for (int c = 0; c < outputs; ++c) answer[c] += weights[j] * said.odds[j * outputs + c];
      }
      const double top = *std::max_element(answer, answer + outputs);
      double total = 0;
      for (int c = 0; c < outputs; ++c) total += answer[c] = std::exp(answer[c] - top);
      for (int c = 0; c < outputs; ++c) answer[c] /= total;
    }
    mix(said.answers, outputs, out);
  }

  // Learns from the class of the last prediction.
  void learn(const StackedOdds& said, int target, int outputs, double weight = 1) {
    const double counted = std::min(weight, kHeaviest);
    for (std::size_t r = 0; r < rates_.size(); ++r) {
      const double* answer = said.answers.data() + r * outputs;
      double* weights = weights_.data() + r * rows_;
      const double step = rates_[r] / static_cast<double>(rows_) * counted;
      for (std::size_t j = 0; j < rows_; ++j) {
        if (!said.known[j]) continue;
        const double* odds = said.odds.data() + j * outputs;
        double gradient = -odds[target];
        for (int c = 0; c < outputs; ++c) gradient += answer[c] * odds[c];
        weights[j] -= step * gradient;
      }
      note_lost(r, -std::log(std::max(answer[target], kLeastLost)) * counted);
    }
    share();
  }

  // For a number: `said` holds the prediction of each model, `heard` whether it has one. `out` holds the mixture and
  // gets the result.
  void say_number(StackedOdds& said, const std::vector<std::uint8_t>& heard, double unit, double* out) const {
    said.unit = unit;
    said.answers.assign(rates_.size(), 0.0);
    for (std::size_t j = 1; j < rows_; ++j) {
      double& apart = said.odds[j];
      apart = heard[j - 1] && unit > 0 ? std::clamp((apart - *out) / unit, -kFarthest, kFarthest) : 0.0;
    }
    for (std::size_t r = 0; r < rates_.size(); ++r) {
      double sum = 0;
      for (std::size_t j = 1; j < rows_; ++j) sum += weights_[r * rows_ + j] * said.odds[j];
      said.answers[r] = *out + unit * sum;
    }
    mix(said.answers, 1, out);
  }
  void learn_number(const StackedOdds& said, double target, double weight = 1) {
    if (!(said.unit > 0)) return;
    double squares = kRidge;
    for (std::size_t j = 1; j < rows_; ++j) squares += said.odds[j] * said.odds[j];
    for (std::size_t r = 0; r < rates_.size(); ++r) {
      const double rate = std::min(rates_[r] * weight, 1.0);  // a larger step would overshoot
      const double error = std::clamp((target - said.answers[r]) / said.unit, -kFarthest, kFarthest);
      for (std::size_t j = 1; j < rows_; ++j) weights_[r * rows_ + j] += rate * error * said.odds[j] / squares;
      note_lost(r, error * error * std::min(weight, kHeaviest));
    }
    share();
  }

  template <class Archive>
  void fields(Archive& a) {
    a("stack", weights_);
    if (rates_.size() > 1) a("stack_lost", lost_);
  }
  void check(int models) {
    require(weights_.size() == rates_.size() * std::size_t(models + 1),
            "there must be one weight for the mixture and one per model");
    require(all_of(weights_, [](double w) { return std::fabs(w) <= kMost; }),
            "the weights are not finite or too large");
    require(lost_.size() == rates_.size() && all_of(lost_, [](double x) { return amount(x) && x <= kMost; }), "losses");
    share();
  }

 private:
  static constexpr double kLeast = 1e-3;  // lower probabilities are raised to this value
  static constexpr double kMost = 1e9;
  static constexpr double kHeaviest = 10;  // limit of an instance's weight, for stable steps
  static constexpr double kFarthest = 10;  // standard deviations of the target
  static constexpr double kRidge = 1e-3;   // avoids a division by 0 if all models predict the same
  static constexpr double kFading = 0.999, kSharpness = 0.3, kLeastLost = 1e-4;  // constants of a set's recent loss

  void note_lost(std::size_t r, double lost) { lost_[r] = kFading * lost_[r] + lost; }
  void share() {
    const double least = *std::min_element(lost_.begin(), lost_.end());
    for (std::size_t r = 0; r < rates_.size(); ++r) shares_[r] = std::exp(-kSharpness * (lost_[r] - least));
  }
  void mix(const std::vector<double>& answers, int outputs, double* out) const {
    double total = 0;
    std::fill_n(out, outputs, 0.0);
    for (std::size_t r = 0; r < rates_.size(); ++r) {
      for (int c = 0; c < outputs; ++c) out[c] += shares_[r] * answers[r * outputs + c];
      total += shares_[r];
    }
    for (int c = 0; c < outputs; ++c) out[c] /= total;
  }

  std::vector<double> rates_;
  std::size_t rows_ = 0;
  std::vector<double> weights_;       // (rates, models + 1)
  std::vector<double> lost_, shares_;  // per set of weights: recent loss, share
};

}  // namespace heros
