// The step of HEROS, and its loop over a block of instances.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <vector>

#include "core/answer.hpp"
#include "core/changes.hpp"
#include "core/choose.hpp"
#include "core/ledger.hpp"
#include "core/phases.hpp"
#include "core/pool.hpp"
#include "core/ranges.hpp"
#include "core/scores.hpp"
#include "core/surprise.hpp"
#include "core/task.hpp"
#include "core/watch.hpp"

namespace heros {

// The results of a block of n instances, in arrays of the caller (C order).
struct BlockRecord {
  double* outputs;         // (n, width) predictions of the ensemble, made before the target was known
  std::int32_t* answered;  // (n,) the model that predicted; -1 if several did
  std::uint8_t* chosen;    // (n, M) which models were trained
  double* spent;           // (n,) Σγ of the chosen models
  double* reward;          // (n,) R = Σ (L_i + (1 − γ_i)) over the chosen models
};

class Step {
 public:
  Step(std::shared_ptr<Pool> pool, std::shared_ptr<Task> task, std::shared_ptr<Scores> scores,
       std::unique_ptr<Chooser> chooser, std::vector<double> costs, Answer answer, Watch watch, std::int64_t burst,
       std::int64_t warmup)
      : pool_(std::move(pool)), models_(pool_->models()), task_(std::move(task)), scores_(std::move(scores)),
        answer_(answer), watch_(watch), burst_(watch.all() ? 0 : burst), warmup_(warmup), ledger_(std::move(costs)),
        changes_(models_), outcomes_(models_), watched_(models_), awake_(models_, 1), lookers_(models_),
        awakers_(models_) {
    answer_.begin(*pool_, task_->numeric(), watch_.all());
    set_chooser(std::move(chooser));
  }

  int models() const { return models_; }
  int features() const { return pool_->features(); }
  int outputs() const { return pool_->outputs(); }
  int width() const { return task_->width(outputs()); }  // the width of the ensemble's prediction
  Pool& pool() { return *pool_; }
  Task& task() { return *task_; }
  const Scores& scores() const { return *scores_; }
  const Ledger& ledger() const { return ledger_; }
  bool all_look() const { return watch_.all(); }
  Burst& burst() { return burst_; }
  Changes& changes() { return changes_; }
  const Changes& changes() const { return changes_; }
  std::optional<bool> explored() const { return chooser_->explored(); }
  // The scores used for the last choice.
  const std::vector<double>& chosen_from() const { return watch_.all() ? scores_->values() : chosen_from_; }
  // The account of a policy with bounds, and the bounds of its last choice.
  Account* account() { return chooser_->account(); }
  const std::vector<double>* bounds() const { return chooser_->bounds(); }

  // Replaces the policy, also in the middle of a stream. The new policy takes over the account if it has the same
  // fading factor.
  void set_chooser(std::unique_ptr<Chooser> chooser) {
    chooser->set_costs(ledger_.costs);
    Account* known = chooser_ == nullptr ? nullptr : chooser_->account();
    Account* fresh = chooser->account();
    if (known != nullptr && fresh != nullptr && known->factor == fresh->factor) *fresh = std::move(*known);
    chooser_ = std::move(chooser);
  }
  void set_surprise(std::optional<Surprise> surprise, Random random) { surprise_ = surprise, random_ = random; }
  bool surprise() const { return surprise_.has_value(); }
  RecentLoss& recent_loss() { return recent_loss_; }
  const RecentLoss& recent_loss() const { return recent_loss_; }
  // Whether the last instance was expected, so that models were not trained on it.
  bool expected() const { return expected_; }
  void set_k(int k) { chooser_->set_k(k); }
  // Sets which models are awake, one byte per model. Sleeping models are not evaluated, do not predict and are not
  // trained; their scores stay.
  const std::vector<std::uint8_t>& awake() const { return awake_; }
  void set_awake(std::vector<std::uint8_t> awake) {
    answer_.set_awake(awake_, awake, task_->numeric());
    restore_awake(std::move(awake));
  }
  // Clips outliers from now on. numeric: which features are numeric. Call it again when the schema has grown.
  void set_bounded(const std::vector<std::uint8_t>& numeric) {
    inputs_.set_columns(numeric);
    if (task_->numeric()) targets_.set_columns({1});
  }
  Ranges& inputs() { return inputs_; }
  Ranges& targets() { return targets_; }
  void set_watch(Watch watch) { watch_ = watch; }
  void set_costs(std::vector<double> costs) {
    ledger_.costs = std::move(costs);
    chooser_->set_costs(ledger_.costs);
  }
  // The rule that combines predictions, with the weights of a stack.
  const Answer& answer() const { return answer_; }
  void set_answer(Answer answer) { answer_ = std::move(answer); }
  // Sets which models are awake, but leaves the weights of the stack unchanged, as they were saved with this mask.
  void restore_awake(std::vector<std::uint8_t> awake) {
    awake_ = std::move(awake);
    some_sleep_ = std::find(awake_.begin(), awake_.end(), 0) != awake_.end();
    awakers_.take(some_sleep_ ? awake_.data() : nullptr);
    answer_.take_turns(awake_);
    pool_->set_awake(awake_.data());
  }
  void set_ledger(Ledger ledger) {
    ledger_ = std::move(ledger);
    chooser_->set_costs(ledger_.costs);
  }

  // Tests, then trains, on one instance after another.
  //
  // If a call throws, the rest of the block is skipped, and the exception is passed on. An instance counts once its
  // outcomes have updated the scores. If the policy throws after that, no model is trained on the instance.
  //
  // weights: per instance, for training and scores; nullptr means equal weights. An instance of weight 0 is predicted
  // but not trained on. delays: the number of labels learnt between an instance's prediction and its own label
  // (`Pool::set_delay`); nullptr means 0.
  void run(const double* X, const double* targets, std::int64_t n, BlockRecord out, const Weight* weights = nullptr,
           const std::int64_t* delays = nullptr) {
    const AsUsual as_usual{*pool_};
    const double cpu_before = thread_cpu_seconds();
    PhaseClock clock;
    clock.start();
    if (inputs_.on()) X = inputs_.learn(X, n, bounded_x_);
    if (targets_.on()) targets = targets_.learn(targets, n, bounded_targets_);
    try {
      if (n > 0 && delays != nullptr) pool_->set_delay(delays[0]);
      if (n > 0) begin(X, out.chosen, clock);
      for (std::int64_t t = 0; t < n; ++t) {
        const double* x = X + t * features();
        std::uint8_t* chosen = out.chosen + t * models();
        double* said = out.outputs + t * width();
        out.answered[t] = answer(x, said, clock);
        if (weights != nullptr) pool_->weigh(weights[t]);
        expected_ = expected(said, targets[t]);
        const bool steady = surprise_ && recent_loss_.steady();
        if (surprise_) pool_->set_expected(expected_, steady);
        score(said, targets[t], weights == nullptr ? Weight{} : weights[t]);
        clock.lap(Phase::evaluate);
        if (watch_.all()) or_train_nothing(x, targets[t], chosen, clock, [&] { choose(chosen); });
        if (expected_) spare_expected(chosen);
        else if (steady && rests()) spare_slow(chosen);
        spare(chosen, weights != nullptr && weights[t].value == 0);
        or_train_nothing(x, targets[t], chosen, clock, [&] { chooser_->learn(outcomes_.data(), chosen); });
        ledger_.note_training(chosen, scored(), scores_->values().data(), out.spent[t], out.reward[t]);
        if (delays != nullptr && t + 1 < n) pool_->set_delay(delays[t + 1]);
        train_and_go_on(x, targets[t], chosen, n - t - 1, clock);
      }
    } catch (...) {
      ledger_.note_time(clock, thread_cpu_seconds() - cpu_before);
      if (weights != nullptr) pool_->weigh({});
      throw;
    }
    if (weights != nullptr) pool_->weigh({});
    clock.lap(Phase::other);
    ledger_.note_time(clock, thread_cpu_seconds() - cpu_before);
  }

  // Predicts x without learning. delay: the number of instances before x that have no label yet.
  void predict(const double* x, double* out, std::int64_t delay = 0) {
    const AsUsual as_usual{*pool_};
    pool_->set_delay(delay);
    if (inputs_.on()) x = inputs_.bounded(x, bounded_x_);
    const auto ask = [&](int i, double* said) {
      if (!awake_[i]) return false;
      pool_->answer(i, x, said);
      return pool_->sound(i);
    };
    answer_.say(*task_, scores_->values(), outputs(), ask, [] {}, odds_asked_, out);
    task_->complete(out);
  }

 private:
  // Resets delay and expectation on exit: by default there is no delay, and the next instance is not expected.
  struct AsUsual {
    Pool& pool;
    ~AsUsual() { pool.set_delay(0), pool.set_expected(false, false); }
  };

  // The models to evaluate first if all awake models are evaluated.
  const std::uint8_t* first_lookers() const { return answer_.in_turns() ? answer_.asked_first() : awakers_.mask(); }

  void begin(const double* x, std::uint8_t* chosen, PhaseClock& clock) {
    lookers_.take(first_lookers());
    if (!watch_.all()) choose_and_watch(chosen, clock);
    pool_->look(x, lookers_.mask(), clock);
  }

  // Trains on x, and evaluates the next instance if there is one. The caller must already know which models to
  // evaluate.
  void train_and_go_on(const double* x, double target, std::uint8_t* chosen, std::int64_t left, PhaseClock& clock) {
    if (left == 0) return pool_->train(x, target, chosen, clock);
    if (watch_.all()) {
      lookers_.take(first_lookers());
    } else {
      try {
        choose_and_watch(chosen + models(), clock);
      } catch (...) {
        pool_->train(x, target, chosen, clock);
        throw;
      }
    }
    pool_->train_and_look(x, target, chosen, x + features(), lookers_.mask(), left, clock);
  }

  // Writes the ensemble's prediction of the evaluated instance. Slow models are evaluated only now, if they are needed.
  int answer(const double* x, double* out, PhaseClock& clock) {
    const auto ask = [&](int i, double* said) {
      if (!lookers_.has(i) || !pool_->sound(i)) return false;
      pool_->output(i, said);
      return true;
    };
    const auto go_on = [&] {
      clock.lap(Phase::evaluate);
      pool_->look(x, answer_.asked_last(), clock);
      lookers_.take(awakers_.mask());
    };
    const int answered = answer_.say(*task_, scores_->values(), outputs(), ask, go_on, odds_, out);
    task_->complete(out);
    return answered;
  }

  void score(const double* said, double target, const Weight& weight) {
    if (!expected_) answer_.learn(*task_, odds_, target, outputs(), weight.value);
    task_->outcomes(*pool_, target, lookers_, outcomes_.data());
    task_->learn(said, target, outputs());
    for (const int i : lookers_)
      if (outcomes_[i] == 0 && !pool_->sound(i)) ledger_.diverged[i] = 1;
    if (burst_.on()) burst_.note(outcomes_[Answer::next(scores_of_awake(), -1)]);
    if (watch_.all() && !lookers_.all())  // skipped models count as if they had predicted the same
      for (const int i : awakers_)
        if (!lookers_.has(i)) outcomes_[i] = task_->outcome(said, target, outputs());
    for (std::int32_t e = 0; e < weight.times; ++e) scores_->update(outcomes_.data(), scored());
    ledger_.note_looks(lookers_);
    const Task::Fault fault = task_->fault(said, target, outputs());
    if (surprise_) recent_loss_.note(fault.lost);
    note_changes(fault);
  }

  void note_changes(const Task::Fault& fault) {
    changes_.note(fault.mistake, fault.lost, fault.target, scores_->values());
    if (!scores_->dropped()) return;
    for (const Scores::Drop& drop : scores_->take_drops())
      changes_.note_drop(drop.model, drop.before, drop.after, drop.width);
  }

  // The models whose scores this instance updates.
  const Lookers& scored() const { return watch_.all() ? awakers_ : lookers_; }
  const std::vector<double>& scores_of_awake() {
    if (!some_sleep_) return scores_->values();
    ranked_ = scores_->values();
    for (int i = 0; i < models(); ++i)
      if (!awake_[i]) ranked_[i] = -std::numeric_limits<double>::infinity();
    return ranked_;
  }
  void leave_out_sleepers(std::uint8_t* mask) const {
    for (int i = 0; some_sleep_ && i < models(); ++i) mask[i] &= awake_[i];
  }

  void choose(std::uint8_t* chosen) {
    if (ledger_.instances < warmup_) std::fill_n(chosen, models(), std::uint8_t{1});
    else chooser_->choose(scores_->values().data(), chosen);
    leave_out_sleepers(chosen);
  }

  // Whether the target was expected, so that models are not trained on the instance. Warm-up trains all models.
  bool expected(const double* said, double target) {
    return surprise_ && ledger_.instances >= warmup_ && task_->expected(said, target, *surprise_) &&
           random_.uniform() >= surprise_->share;
  }
  // Keeps only the chosen models that are trained at almost no cost.
  void spare_expected(std::uint8_t* chosen) const {
    for (int i = 0; i < models(); ++i)
      if (chosen[i] && !pool_->always_learns(i)) chosen[i] = 0;
  }

  // Whether slow models are not trained on this instance, which was not expected, although the loss is steady.
  bool rests() {
    const double share = surprise_->slow_share(ledger_.instances);
    return share < 1 && ledger_.instances >= warmup_ && random_.uniform() >= share;
  }
  void spare_slow(std::uint8_t* chosen) const {
    for (int i = 0; i < models(); ++i)
      if (pool_->asked_last(i) && !pool_->always_learns(i)) chosen[i] = 0;
  }

  // Removes models that cannot be trained; all models, if the instance has weight 0.
  void spare(std::uint8_t* chosen, bool counts_nothing) const {
    if (counts_nothing) std::fill_n(chosen, models(), std::uint8_t{0});
    else if (!pool_->all_trainable())
      for (int i = 0; i < models(); ++i)
        if (!pool_->trainable(i)) chosen[i] = 0;
  }

  // Calls the policy. If it throws, the instance counts as one without training.
  template <class Act>
  void or_train_nothing(const double* x, double target, std::uint8_t* chosen, PhaseClock& clock, Act act) {
    try {
      act();
    } catch (...) {
      std::fill_n(chosen, models(), std::uint8_t{0});
      ++ledger_.instances;
      pool_->train(x, target, chosen, clock);
      throw;
    }
    clock.lap(Phase::choose);
  }

  // Chooses the models to train, and from them the models to evaluate, before any evaluation.
  void choose_and_watch(std::uint8_t* chosen, PhaseClock& clock) {
    const std::vector<double>& scores = scores_->values();
    choose(chosen);
    chosen_from_ = scores;
    std::copy_n(chosen, models(), watched_.data());
    answer_.mark(scores_of_awake(), watched_.data());
    watch_.mark(ledger_.instances, models(), watched_.data());
    burst_.mark(models(), watched_.data());
    leave_out_sleepers(watched_.data());
    lookers_.take(watched_.data());
    clock.lap(Phase::choose);
  }

  std::shared_ptr<Pool> pool_;
  int models_;
  std::shared_ptr<Task> task_;
  std::shared_ptr<Scores> scores_;
  std::unique_ptr<Chooser> chooser_;
  Answer answer_;
  SaidOdds odds_, odds_asked_;  // for the current instance, and for calls that only predict
  Watch watch_;
  Burst burst_;
  std::int64_t warmup_;
  std::optional<Surprise> surprise_;
  Random random_{nullptr};  // draws which expected instances are trained on
  bool expected_ = false;
  RecentLoss recent_loss_;
  Ledger ledger_;
  Changes changes_;
  std::vector<double> outcomes_, chosen_from_, ranked_;
  std::vector<std::uint8_t> watched_, awake_;
  bool some_sleep_ = false;
  Ranges inputs_, targets_;
  std::vector<double> bounded_x_, bounded_targets_;
  Lookers lookers_;  // models evaluated on the current instance
  Lookers awakers_;  // the awake models
};

}  // namespace heros
