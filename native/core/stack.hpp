// Answers stacked: the log-odds of every model, and of the mixture of the best, are added up with weights that are learnt.
//
// z = w_0·log(mixture) + Σ w_i·log(p_i), each centred over the classes; the answer is softmax(z), and after the target is
// seen each weight takes a step down the gradient of the log loss. Half of the weight lies on the mixture at first, so
// that the answer begins as good as that and becomes better where models know different things. A model that did not
// look says nothing, and its weight stays.
//
// Of a number: the mixture and Σ w_i·(what model i says − the mixture) are added up, in standard deviations of the
// target; weights begin at 0, and each takes a step down the gradient of the squared error, normalised (NLMS).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/state.hpp"

namespace heros {

// What was said of an instance: a row of centred log-odds for the mixture and for each model, and the answer.
struct StackedOdds {
  std::vector<double> odds, answer;
  double unit = 0;  // of a number: the standard deviation that the answers' differences are in
};

class Stack {
 public:
  explicit Stack(double rate) : rate_(rate) {}

  // Before the first instance.
  void begin(int models, bool numeric) {
    weights_.assign(models + 1, numeric ? 0.0 : 0.5 / models);
    weights_[0] = numeric ? 0.0 : 0.5;
  }

  const std::vector<double>& weights() const { return weights_; }

  // Those that fall asleep leave their weight to the mixture, and begin at 0 when they wake. Of a number, words are
  // differences from the mixture, which has no weight.
  void set_awake(const std::vector<std::uint8_t>& before, const std::vector<std::uint8_t>& awake, bool numeric) {
    for (std::size_t i = 0; i < awake.size(); ++i) {
      if (!before[i] || awake[i]) continue;
      if (!numeric) weights_[0] += weights_[i + 1];
      weights_[i + 1] = 0;
    }
  }

  static void clear(StackedOdds& said, int models, int outputs) {
    said.odds.assign(std::size_t(models + 1) * outputs, 0.0);
  }
  // Row 0 is the mixture's, row i + 1 that of model i.
  static void set(StackedOdds& said, int row, const double* probabilities, int outputs) {
    double* odds = said.odds.data() + std::size_t(row) * outputs;
    double mean = 0;
    for (int c = 0; c < outputs; ++c) mean += odds[c] = std::log(std::max(probabilities[c], kLeast));
    for (int c = 0; c < outputs; ++c) odds[c] -= mean / outputs;
  }

  // Writes the answer.
  void say(StackedOdds& said, int outputs, double* out) const {
    std::fill_n(out, outputs, 0.0);
    for (std::size_t j = 0; j < weights_.size(); ++j)
      for (int c = 0; c < outputs; ++c) out[c] += weights_[j] * said.odds[j * outputs + c];
    const double top = *std::max_element(out, out + outputs);
    double total = 0;
    for (int c = 0; c < outputs; ++c) total += out[c] = std::exp(out[c] - top);
    for (int c = 0; c < outputs; ++c) out[c] /= total;
    said.answer.assign(out, out + outputs);
  }

  // Learns from the class of what was said last.
  void learn(const StackedOdds& said, int target, int outputs, double weight = 1) {
    const double step = rate_ / static_cast<double>(weights_.size()) * std::min(weight, kHeaviest);
    for (std::size_t j = 0; j < weights_.size(); ++j) {
      const double* odds = said.odds.data() + j * outputs;
      double gradient = -odds[target];
      for (int c = 0; c < outputs; ++c) gradient += said.answer[c] * odds[c];
      weights_[j] -= step * gradient;
    }
  }

  // Of a number: `said` has what each model says, and `heard` whether it does; `out` has the mixture and gets the answer.
  void say_number(StackedOdds& said, const std::vector<std::uint8_t>& heard, double unit, double* out) const {
    said.unit = unit;
    double sum = 0;
    for (std::size_t j = 1; j < weights_.size(); ++j) {
      double& apart = said.odds[j];
      apart = heard[j - 1] && unit > 0 ? std::clamp((apart - *out) / unit, -kFarthest, kFarthest) : 0.0;
      sum += weights_[j] * apart;
    }
    *out += unit * sum;
    said.answer.assign(1, *out);
  }
  void learn_number(const StackedOdds& said, double target, double weight = 1) {
    if (!(said.unit > 0)) return;
    const double rate = std::min(rate_ * weight, 1.0);  // beyond it a step would go too far
    const double error = std::clamp((target - said.answer[0]) / said.unit, -kFarthest, kFarthest);
    double squares = kRidge;
    for (std::size_t j = 1; j < weights_.size(); ++j) squares += said.odds[j] * said.odds[j];
    for (std::size_t j = 1; j < weights_.size(); ++j) weights_[j] += rate * error * said.odds[j] / squares;
  }

  template <class Archive>
  void fields(Archive& a) {
    a("stack", weights_);
  }
  void check(int models) const {
    require(weights_.size() == std::size_t(models + 1), "a weight for the mixture and for every model");
    require(all_of(weights_, [](double w) { return std::fabs(w) <= kMost; }), "weights that are numbers");
  }

 private:
  static constexpr double kLeast = 1e-3;  // nobody is surer than that a class is not the one
  static constexpr double kMost = 1e9;
  static constexpr double kHeaviest = 10;  // an instance of more weight would throw the others off balance
  static constexpr double kFarthest = 10;  // standard deviations of the target
  static constexpr double kRidge = 1e-3;   // where all say the same, there is nothing to learn

  double rate_;
  std::vector<double> weights_;
};

}  // namespace heros
