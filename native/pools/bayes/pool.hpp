// A pool of naive Bayes models with fading: Gaussians for numeric features, counts for nominal ones.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "core/pool.hpp"
#include "core/state.hpp"
#include "pools/bayes/layout.hpp"
#include "pools/looks.hpp"

namespace heros {

struct BayesSettings {
  double fading;          // the weight of an instance relative to the next one
  double smoothing;       // prior count of every nominal value in every class
  double variance_prior;  // number of prior instances per class, with the variance of all classes together
};

// The logarithm of a product that may exceed the range of doubles.
class LogProduct {
 public:
  void multiply(double x) {
    product_ *= x;
    if (!(product_ > 1e-150 && product_ < 1e150)) flush();
  }
  double log() {
    flush();
    return log_;
  }

 private:
  void flush() {
    log_ += std::log(product_);
    product_ = 1;
  }
  double product_ = 1, log_ = 0;
};

class BayesPool final : public AskingPool {
 public:
  explicit BayesPool(std::vector<BayesSettings> settings)
      : settings_(std::move(settings)), weight_(settings_.size(), 1.0) {}

  int models() const override { return static_cast<int>(settings_.size()); }
  int features() const override { return layout_.features(); }
  int outputs() const override { return layout_.classes; }
  const std::vector<std::int32_t>& values() const { return layout_.values; }

  // Adapts the pool to an extended schema. Known statistics do not change.
  void grow(const std::vector<std::int32_t>& values, int classes) {
    BayesLayout grown(values, classes);
    std::vector<double> statistics(grown.model() * settings_.size());
    for (int i = 0; i < models() && !statistics_.empty(); ++i)
      for (int b = 0; b <= layout_.classes; ++b) {
        const double* from = block(i, b);
        double* to = statistics.data() + grown.model() * i + grown.block * b;
        to[0] = from[0];
        for (int f = 0; f < features(); ++f) {
          const std::size_t end = f + 1 < features() ? layout_.place[f + 1] : layout_.block;
          std::copy(from + layout_.place[f], from + end, to + grown.place[f]);
        }
      }
    Looks looks;
    looks.resize(models(), grown.features(), classes);
    layout_ = std::move(grown), statistics_ = std::move(statistics), looks_ = std::move(looks);
  }

  void train(const double* x, double target, const std::uint8_t* chosen, PhaseClock& clock) override {
    for (int i = 0; i < models(); ++i) {
      if (!chosen[i]) continue;
      fade(i);
      const double weight = weight_[i] * instance_weight_.value;
      count(block(i, 0), x, weight);
      count(block(i, 1 + static_cast<int>(target)), x, weight);
    }
    looks_.forget();
    clock.lap(Phase::train);
  }

  template <class Archive>
  void fields(Archive& a) {
    a("values", layout_.values), a("classes", layout_.classes), a("weight", weight_), a("statistics", statistics_);
  }
  void check() {
    require(layout_.classes >= 0 && all_of(layout_.values, [](std::int32_t n) { return n >= 0; }), "values");
    expect_countable(layout_.values, layout_.classes);
    layout_ = BayesLayout(layout_.values, layout_.classes);
    require(statistics_.empty() ? layout_.classes == 0 : statistics_.size() == layout_.model() * settings_.size(),
            "there must be statistics for each model");
    require(weight_.size() == settings_.size() &&
                all_of(weight_, [](double w) { return w >= 1 && w <= kHeaviest; }),
            "invalid weight of the last instance");
    for (std::size_t at = 0; at < statistics_.size(); at += layout_.block) check_block(&statistics_[at]);
    looks_.resize(models(), features(), outputs());
  }

 private:
  static constexpr double kHeaviest = 0x1p300;
  static constexpr double kLeastVariance = 1e-9;  // as a share of the variance of all classes

  double* block(int i, int b) { return statistics_.data() + layout_.model() * i + layout_.block * b; }
  const double* block(int i, int b) const { return const_cast<BayesPool*>(this)->block(i, b); }

  // Instead of reducing every count, the pool gives each instance a higher weight than the one before. Results are the
  // same up to a factor. The factor is divided out before it overflows; it is a power of two, so no digits are lost.
  void fade(int i) {
    weight_[i] /= settings_[i].fading;
    if (weight_[i] <= kHeaviest / 2) return;
    weight_[i] /= kHeaviest / 2;
    for (int b = 0; b <= layout_.classes; ++b) lighten(block(i, b));
  }
  void lighten(double* b) const {
    const double factor = 2 / kHeaviest;
    b[0] *= factor;
    for (int f = 0; f < features(); ++f) {
      double* at = b + layout_.place[f];
      if (layout_.values[f] == 0) at[0] *= factor, at[2] *= factor;
      else for (int v = 0; v <= layout_.values[f]; ++v) at[v] *= factor;
    }
  }

  void count(double* b, const double* x, double weight) const {
    b[0] += weight;
    for (int f = 0; f < features(); ++f) {
      if (std::isnan(x[f])) continue;
      double* at = b + layout_.place[f];
      if (layout_.values[f] == 0) learn_number(at, x[f], weight);
      else at[0] += weight, at[1 + static_cast<int>(x[f])] += weight;
    }
  }

  // log P(c) + Σ log P(x_f | c), up to a constant common to all classes. A class without instances has probability 0.
  void ask(int i, const double* x) override {
    double* p = looks_.of(i);
    constexpr double kNever = -std::numeric_limits<double>::infinity();
    for (int c = 0; c < outputs(); ++c) {
      const double* b = block(i, 1 + c);
      p[c] = b[0] > 0 ? likelihood(i, b, x) : kNever;
      if (std::isnan(p[c])) p[c] = kNever;
    }
    const double top = *std::max_element(p, p + outputs());
    double total = 0;
    for (int c = 0; c < outputs(); ++c) {  // if x is impossible for every class, use the class frequencies
      p[c] = top == kNever ? block(i, 1 + c)[0] : p[c] == top ? 1 : std::exp(p[c] - top);
      total += p[c];
    }
    for (int c = 0; c < outputs(); ++c) p[c] = total > 0 ? p[c] / total : 1.0 / outputs();
    looks_.take(i);
  }

  double likelihood(int i, const double* b, const double* x) const {
    const double* all = block(i, 0);
    const double unit = weight_[i], smoothing = settings_[i].smoothing * unit;
    const double prior = settings_[i].variance_prior * unit;
    double exponent = 0;
    LogProduct chance, variances;
    chance.multiply(b[0] / all[0]);
    for (int f = 0; f < features(); ++f) {
      if (std::isnan(x[f])) continue;
      const double* at = b + layout_.place[f];
      if (layout_.values[f] > 0) {
        chance.multiply((at[1 + static_cast<int>(x[f])] + smoothing) / (at[0] + smoothing * layout_.values[f]));
        continue;
      }
      const double* whole = all + layout_.place[f];
      if (at[0] == 0) at = whole;  // no values in this class yet
      const double usual = whole[0] > 0 ? whole[2] / whole[0] : 0;
      if (!(usual > 0 && std::isfinite(usual))) continue;  // a constant feature carries no information
      const double variance = std::max((at[2] + prior * usual) / (at[0] + prior), kLeastVariance * usual);
      const double off = x[f] - at[1];
      exponent += off * off / variance;
      variances.multiply(variance);
    }
    return chance.log() - 0.5 * (variances.log() + exponent);
  }

  void check_block(const double* b) const {
    const auto statistic = [](double x) { require(amount(x), "counts and sums of squares must be 0 or more"); };
    statistic(b[0]);
    for (int f = 0; f < features(); ++f) {
      const double* at = b + layout_.place[f];
      if (layout_.values[f] == 0) {
        statistic(at[0]), statistic(at[2]);
        require(std::isfinite(at[1]), "means");
      } else {
        std::for_each(at, at + 1 + layout_.values[f], statistic);
      }
    }
  }

  std::vector<BayesSettings> settings_;
  BayesLayout layout_;
  std::vector<double> weight_;      // per model: the weight of its last instance
  std::vector<double> statistics_;  // (models, 1 + classes, block)
};

}  // namespace heros
