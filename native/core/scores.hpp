// The running score L(f_i) of M models, updated with an outcome in [0, 1] per evaluated model. The score of a model
// counts only the instances on which the model was evaluated.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "core/adwin.hpp"
#include "core/lookers.hpp"
#include "core/state.hpp"

namespace heros {

// Base class of scores: the built-in means (below), or a score written in Python (bind/scores.cpp).
class Scores {
 public:
  explicit Scores(int models) : models_(models), values_(models) {}
  virtual ~Scores() = default;

  int models() const { return models_; }
  const std::vector<double>& values() const { return values_; }

  // A score that fell because ADWIN cut its window: the model, its score before and after, and the new width.
  // `take_drops` returns the drops since the last call.
  struct Drop {
    int model;
    double before, after;
    std::int64_t width;
  };
  std::vector<Drop> take_drops() { return std::exchange(drops_, {}); }
  bool dropped() const { return !drops_.empty(); }

  // outcomes: M values in [0, 1], used only for the evaluated models.
  virtual void update(const double* outcomes, const Lookers& lookers) = 0;

 protected:
  Scores(const Scores&) = default;
  Scores& operator=(const Scores&) = default;
  int models_;
  std::vector<double> values_;
  std::vector<Drop> drops_;
};

// The built-in scores.
class MeanScores final : public Scores {
 public:
  enum class Kind { adwin, cumulative, window, fading };
  static constexpr std::pair<const char*, Kind> kNames[] = {
      {"adwin", Kind::adwin}, {"cumulative", Kind::cumulative}, {"window", Kind::window}, {"fading", Kind::fading}};

  // `parameter`: ADWIN's δ, the window's size, or the fading factor.
  MeanScores(Kind kind, int models, double parameter, bool restart)
      : Scores(models), kind_(kind), parameter_(parameter) {
    if (kind == Kind::adwin) adwin_ = Adwin(models, parameter, restart);
    else sums_.resize(models);
    if (kind == Kind::window) ring_.resize(static_cast<std::size_t>(parameter) * models);
  }

  void update(const double* outcomes, const Lookers& lookers) override {
    if (kind_ != Kind::adwin && !lookers.all() && looks_.empty())
      looks_.assign(models_, updates_), weights_.assign(models_, weight_);
    ++updates_;
    const double keep = kind_ == Kind::fading ? parameter_ : 1;
    if (kind_ == Kind::cumulative || kind_ == Kind::fading) weight_ = keep * weight_ + 1;
    for (const int i : lookers) {
      if (kind_ == Kind::adwin) adapt(i, outcomes[i]);
      else if (kind_ == Kind::window) slide(i, outcomes[i]);
      else average(i, outcomes[i], keep);
    }
  }

  template <class Archive>
  void fields(Archive& a) {
    a("updates", updates_), a("weight", weight_), a("values", values_), a("averaged_sums", sums_), a("ring", ring_);
    a.optional("looks", looks_), a.optional("weights", weights_);
    adwin_.fields(a);
  }
  void check(bool all_look = true) const {
    const std::size_t m = models_;
    require(values_.size() == m, "there must be one score per model");
    require((looks_.size() == m && weights_.size() == m) ||
                (looks_.empty() && weights_.empty() && (all_look || updates_ == 0 || kind_ == Kind::adwin)),
            "there must be a number of evaluations for each model");
    require(kind_ == Kind::adwin || sums_.size() == m, "there must be one sum per model");
    require(kind_ != Kind::window || ring_.size() == static_cast<std::size_t>(parameter_) * m, "window");
    const auto finite = [](double x) { return std::isfinite(x); };
    require(all_of(values_, finite) && all_of(sums_, finite) && all_of(ring_, finite) && amount(weight_) &&
                all_of(weights_, amount),
            "scores");
    require(countable(updates_) && all_of(looks_, countable), "updates");
    adwin_.check();
  }

 private:
  void adapt(int i, double outcome) {
    const double before = values_[i];
    values_[i] = adwin_.update(i, outcome);
    if (adwin_.changed(i) && values_[i] < before) drops_.push_back({i, before, values_[i], adwin_.width(i)});
  }

  void average(int i, double outcome, double keep) {
    sums_[i] = keep * sums_[i] + outcome;
    if (!weights_.empty()) weights_[i] = keep * weights_[i] + 1;
    values_[i] = sums_[i] / (weights_.empty() ? weight_ : weights_[i]);
  }

  void slide(int i, double outcome) {
    const auto size = static_cast<std::int64_t>(parameter_);
    const std::int64_t now = looks_.empty() ? updates_ : ++looks_[i];
    double& oldest = ring_[static_cast<std::size_t>((now - 1) % size) * models_ + i];
    sums_[i] += outcome - oldest;
    oldest = outcome;
    values_[i] = sums_[i] / static_cast<double>(std::min(now, size));
  }

  Kind kind_;
  double parameter_;
  std::int64_t updates_ = 0;          // instances
  double weight_ = 0;                 // total weight of a model evaluated on every instance
  std::vector<std::int64_t> looks_;   // per model: number of evaluations; empty while all models see every instance
  std::vector<double> weights_;       // per model: total weight; empty in the same case (ADWIN keeps its own)
  std::vector<double> sums_, ring_;
  Adwin adwin_;
};

}  // namespace heros
