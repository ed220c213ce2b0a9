// The step of HEROS (predict, evaluate, choose, train) and the loop over a block of instances.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <ctime>
#include <functional>
#include <memory>
#include <vector>

#include "core/choose.hpp"
#include "core/phases.hpp"
#include "core/pool.hpp"
#include "core/scores.hpp"
#include "core/state.hpp"

namespace heros {

enum class Answer : int { best, average, weighted };

// What a block of n instances gave. Arrays of the caller's, in C order.
struct BlockRecord {
  double* probabilities;   // (n, classes), of the ensemble, before the label was seen
  std::int32_t* answered;  // (n,) the model that answered; -1 where several did
  std::uint8_t* chosen;    // (n, M) which models were trained
  double* spent;           // (n,) Σγ of the chosen models
  double* reward;          // (n,) R = Σ (L_i + (1 − γ_i)) over the chosen models
};

// Chooses from the scores; writes 1 for the chosen models. Built-in policies choose inside the core, a
// user's own is called back.
using Choose = std::function<void(const double* scores, std::uint8_t* chosen)>;

class Ensemble {
 public:
  Ensemble(std::shared_ptr<Pool> pool, Scores scores, std::vector<double> costs, Answer answer, std::int64_t warmup)
      : pool_(std::move(pool)), scores_(std::move(scores)), costs_(std::move(costs)), answer_(answer),
        warmup_(warmup), trained_(costs_.size()), invested_(costs_.size()), diverged_(costs_.size()),
        cpu_(kPhases), outcomes_(costs_.size()) {}

  int models() const { return pool_->models(); }
  int features() const { return pool_->features(); }
  int outputs() const { return pool_->outputs(); }
  Pool& pool() { return *pool_; }
  const std::vector<double>& costs() const { return costs_; }
  const std::vector<double>& scores() const { return scores_.values(); }
  const std::vector<std::int64_t>& trained() const { return trained_; }
  const std::vector<double>& invested() const { return invested_; }
  const std::vector<std::uint8_t>& diverged() const { return diverged_; }
  const std::vector<double>& cpu_seconds() const { return cpu_; }
  std::int64_t instances() const { return instances_; }

  // The costs of the models may be measured anew while a stream runs.
  void set_costs(std::vector<double> costs) { costs_ = std::move(costs); }

  // Test, then train, on instance after instance. If something throws, the rest of the block is not touched
  // and the exception goes on. An instance counts once it has been scored: if `choose` throws, as one on
  // which nothing was trained.
  void run(const double* X, const double* target, std::int64_t n, const Choose& choose, BlockRecord out) {
    const double cpu_before = thread_cpu_seconds();
    PhaseClock clock;
    clock.start();
    try {
      for (std::int64_t t = 0; t < n; ++t) {
        const double* x = X + t * features();
        if (t == 0) pool_->look(x, nullptr, clock);
        out.answered[t] = answer(out.probabilities + t * outputs());
        score(target[t]);
        clock.lap(Phase::evaluate);
        std::uint8_t* chosen = out.chosen + t * models();
        choose_or_train_nothing(choose, x, target[t], chosen, clock);
        clock.lap(Phase::choose);
        account(chosen, out.spent[t], out.reward[t]);
        ++instances_;
        const double* next = x + features();
        if (t + 1 < n) pool_->train_and_look(x, target[t], chosen, next, nullptr, n - t - 1, clock);
        else pool_->train(x, target[t], chosen, clock);
      }
    } catch (...) {
      book(clock, thread_cpu_seconds() - cpu_before);
      throw;
    }
    clock.lap(Phase::other);
    book(clock, thread_cpu_seconds() - cpu_before);
  }

  // The ensemble's probabilities for any x; nothing is learnt.
  void predict(const double* x, double* out) {
    if (answer_ == Answer::best) {
      const int i = best([](int) { return true; });
      pool_->answer(i, x, out);
      if (pool_->sound(i)) return;
    }
    scratch_.resize(outputs());
    for (int i = 0; i < models(); ++i) pool_->answer(i, x, scratch_.data());
    answer(out);
  }

  template <class Archive>
  void fields(Archive& a) {
    a("instances", instances_), a("trained", trained_), a("invested", invested_), a("diverged", diverged_);
    a("costs", costs_), a("cpu", cpu_);
    scores_.fields(a);
  }
  void check() const {
    const std::size_t m = models();
    require(trained_.size() == m && invested_.size() == m && diverged_.size() == m && costs_.size() == m,
            "counts of every model");
    require(cpu_.size() == kPhases && all_of(cpu_, amount), "CPU time of every phase");
    require(countable(instances_) && all_of(trained_, countable), "counts");
    require(all_of(costs_, amount) && all_of(invested_, amount), "costs");
    require(all_of(diverged_, [](std::uint8_t flag) { return flag <= 1; }), "which models diverged");
    scores_.check();
  }

 private:
  static double thread_cpu_seconds() {
    timespec t{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
  }

  // The model with the highest score (ties: the lowest index) among those that are `fit`; 0 if none is.
  template <class Fit>
  int best(Fit fit) const {
    const std::vector<double>& scores = scores_.values();
    int best = -1;
    for (int i = 0; i < models(); ++i)
      if ((best < 0 || scores[i] > scores[best]) && fit(i)) best = i;
    return std::max(best, 0);
  }

  // The ensemble's probabilities for the evaluated instance. A diverged model never answers.
  int answer(double* out) {
    const auto sound = [&](int i) { return pool_->sound(i); };
    if (answer_ == Answer::best) {
      const int i = best(sound);
      pool_->output(i, out);
      return i;
    }
    const std::vector<double>& scores = scores_.values();
    const bool weighted = answer_ == Answer::weighted &&
                          std::any_of(scores.begin(), scores.end(), [](double s) { return s > 0; });
    std::fill(out, out + outputs(), 0.0);
    scratch_.resize(outputs());
    double total = 0;
    for (int i = 0; i < models(); ++i) {
      const double weight = weighted ? scores[i] : 1.0;
      if (weight == 0 || !sound(i)) continue;
      pool_->output(i, scratch_.data());
      for (int c = 0; c < outputs(); ++c) out[c] += weight * scratch_[c];
      total += weight;
    }
    for (int c = 0; c < outputs(); ++c) out[c] = total > 0 ? out[c] / total : 1.0 / outputs();
    return -1;
  }

  void choose_or_train_nothing(const Choose& choose, const double* x, double target, std::uint8_t* chosen,
                               PhaseClock& clock) {
    if (instances_ < warmup_) {
      std::fill(chosen, chosen + models(), std::uint8_t{1});
    } else {
      try {
        choose(scores_.values().data(), chosen);
      } catch (...) {
        std::fill(chosen, chosen + models(), std::uint8_t{0});
        ++instances_;
        pool_->train(x, target, chosen, clock);
        throw;
      }
    }
    for (int i = 0; i < models(); ++i)
      if (!pool_->trainable(i)) chosen[i] = 0;
  }

  void score(double target) {
    for (int i = 0; i < models(); ++i) {
      outcomes_[i] = pool_->outcome(i, target);
      if (outcomes_[i] == 0 && !pool_->sound(i)) diverged_[i] = 1;
    }
    scores_.update(outcomes_.data());
  }

  void account(const std::uint8_t* chosen, double& spent, double& reward) {
    const std::vector<double>& scores = scores_.values();
    spent = reward = 0;
    for (int i = 0; i < models(); ++i) {
      if (!chosen[i]) continue;
      ++trained_[i];
      invested_[i] += costs_[i];
      spent += costs_[i];
      reward += scores[i] + (1 - costs_[i]);
    }
  }

  // Scales the shares of the phases to the CPU time the thread really got.
  void book(const PhaseClock& clock, double seconds) {
    std::int64_t total = 0;
    for (std::int64_t ticks : clock.all()) total += ticks;
    for (int p = 0; p < kPhases && total > 0; ++p)
      cpu_[p] += seconds * static_cast<double>(clock.all()[p]) / static_cast<double>(total);
  }

  std::shared_ptr<Pool> pool_;
  Scores scores_;
  std::vector<double> costs_;
  Answer answer_;
  std::int64_t warmup_;

  std::int64_t instances_ = 0;
  std::vector<std::int64_t> trained_;   // how often each model was trained
  std::vector<double> invested_;        // r_i: the cost spent on each model
  std::vector<std::uint8_t> diverged_;  // ever gave a prediction that was not finite
  std::vector<double> cpu_;             // seconds per phase
  std::vector<double> outcomes_, scratch_;
};

}  // namespace heros
