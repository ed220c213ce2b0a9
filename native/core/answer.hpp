// `answer`: selects the models that predict for the ensemble, and combines their predictions.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include "core/stack.hpp"
#include "core/task.hpp"

namespace heros {

// The stacked predictions of an instance: of the fast models, and also of all models if the fast models were not sure
// enough.
struct SaidOdds {
  StackedOdds first, all;
  bool enough = false;
};

struct Answer {
  enum class Kind { best, average, weighted, top, stacked };
  static constexpr std::pair<const char*, Kind> kNames[] = {
      {"best", Kind::best}, {"average", Kind::average}, {"weighted", Kind::weighted}, {"top", Kind::top},
      {"stacked", Kind::stacked}};

  Kind kind;
  int n;             // top, stacked: number of models that are mixed
  double sharpness;  // top, stacked: how fast the weight falls with the score
  double sure;       // stacked: above this probability, slow models are not evaluated
  Stack stack;       // stacked: the weights of all models
  Stack first;       // stacked: the weights if only the fast models predict

  explicit Answer(Kind kind, int n = 1, double sharpness = 0, const std::vector<double>& rates = {0}, double sure = 1)
      : kind(kind), n(n), sharpness(sharpness), sure(sure), stack(rates), first(rates) {}

  // Call it before the first instance. all_look: `watch` evaluates all models.
  void begin(const Pool& pool, bool numeric, bool all_look) {
    const int models = pool.models();
    stack.begin(models, numeric);
    if (kind != Kind::stacked || sure >= 1 || numeric || !all_look) return;
    for (int i = 0; i < models; ++i) slow_.push_back(pool.asked_last(i));
    const auto last = std::count(slow_.begin(), slow_.end(), 1);
    if (last == 0 || last == models) slow_.clear();
    first.begin(models, false);
    take_turns(std::vector<std::uint8_t>(models, 1));
  }
  // Moves the weights of models that fall asleep to the mixture.
  void set_awake(const std::vector<std::uint8_t>& before, const std::vector<std::uint8_t>& awake, bool numeric) {
    if (kind != Kind::stacked) return;
    stack.set_awake(before, awake, numeric);
    if (!slow_.empty()) first.set_awake(before, awake, numeric);
    take_turns(awake);
  }
  // Sets which of the awake models are evaluated first, and which last.
  void take_turns(const std::vector<std::uint8_t>& awake) {
    asked_first_.clear(), asked_last_.clear();
    for (std::size_t i = 0; i < slow_.size(); ++i)
      asked_first_.push_back(awake[i] && !slow_[i]), asked_last_.push_back(awake[i] && slow_[i]);
    const auto some = [](const auto& mask) { return std::find(mask.begin(), mask.end(), 1) != mask.end(); };
    if (!some(asked_first_) || !some(asked_last_)) asked_first_.clear(), asked_last_.clear();
  }
  bool in_turns() const { return !asked_first_.empty(); }
  // Masks of the models to evaluate first (the fast ones) and last; nullptr if all are evaluated together.
  const std::uint8_t* asked_first() const { return in_turns() ? asked_first_.data() : nullptr; }
  const std::uint8_t* asked_last() const { return in_turns() ? asked_last_.data() : nullptr; }

  // The model after i by falling score, ties by rising index. After -1: the best model; after the last: -1.
  static int next(const std::vector<double>& scores, int i) {
    int next = -1;
    for (int j = 0; j < static_cast<int>(scores.size()); ++j)
      if ((i < 0 || scores[j] < scores[i] || (scores[j] == scores[i] && j > i)) &&
          (next < 0 || scores[j] > scores[next]))
        next = j;
    return next;
  }

  // Marks the models whose predictions are needed.
  void mark(const std::vector<double>& scores, std::uint8_t* watched) const {
    const bool all = kind == Kind::average || kind == Kind::weighted || kind == Kind::stacked;
    if (all) std::fill_n(watched, scores.size(), std::uint8_t{1});
    const int answering = all ? 0 : kind == Kind::best ? 1 : n;
    for (int i = next(scores, -1), left = answering; i >= 0 && left > 0; i = next(scores, i), --left) watched[i] = 1;
  }

  // Writes the ensemble's prediction. Returns the model that predicted, or -1 if several did.
  //
  // `ask(i, said)` writes the prediction of model i. It returns false if the model was not evaluated or its output is
  // not finite; the model is then left out. `odds` keeps the predictions for `learn`. `go_on` is called before the slow
  // models predict, if their predictions are needed.
  template <class Ask, class GoOn>
  int say(const Task& task, const std::vector<double>& scores, int outputs, Ask ask, GoOn go_on, SaidOdds& odds,
          double* out) {
    if (kind != Kind::stacked) return say_without_stack(task, scores, outputs, ask, out);
    const int models = static_cast<int>(scores.size());
    heard_.assign(models, 0), words_.resize(std::size_t(models) * outputs);
    Stack::clear(odds.all, models, outputs);
    hear(task, outputs, ask, asked_first(), odds.all);
    odds.enough = false;
    if (in_turns()) {
      odds.first = odds.all;
      mix(task, scores, outputs, odds.first, out);
      first.say(odds.first, outputs, out);
      odds.enough = *std::max_element(out, out + outputs) > sure;
      told_.assign(out, out + outputs);
      if (!odds.enough) go_on();
      const auto agree = [&](int, double* said) { return std::copy_n(told_.begin(), outputs, said) != nullptr; };
      if (odds.enough) hear(task, outputs, agree, asked_last(), odds.all);
      else hear(task, outputs, ask, asked_last(), odds.all);
    }
    mix(task, scores, outputs, odds.all, out);
    if (task.numeric()) stack.say_number(odds.all, heard_, task.unit(), out);
    else stack.say(odds.all, outputs, out);
    return -1;
  }

  // Updates the weights of the stack with the target of the last prediction.
  void learn(const Task& task, const SaidOdds& odds, double target, int outputs, double weight = 1) {
    if (kind != Kind::stacked) return;
    if (task.numeric()) return stack.learn_number(odds.all, target, weight);
    if (in_turns()) first.learn(odds.first, static_cast<int>(target), outputs, weight);
    if (!odds.enough) stack.learn(odds.all, static_cast<int>(target), outputs, weight);
  }

  template <class Archive>
  void fields(Archive& a) {
    if (kind != Kind::stacked) return;
    stack.fields(a);
    Prefixed<Archive> own{a, "first_"};
    if (!slow_.empty()) first.fields(own);
  }
  void check(int models) {
    if (kind != Kind::stacked) return;
    stack.check(models);
    if (!slow_.empty()) first.check(models);
  }

 private:
  // Collects the predictions of the models in the mask (nullptr: all).
  template <class Ask>
  void hear(const Task& task, int outputs, Ask ask, const std::uint8_t* mask, StackedOdds& odds) {
    for (int i = 0; i < static_cast<int>(heard_.size()); ++i) {
      if (!looks(mask, i)) continue;
      double* words = words_.data() + std::size_t(i) * outputs;
      heard_[i] = ask(i, words);
      if (heard_[i] && task.numeric()) odds.odds[i + 1] = *words = task.counted(*words);
      else if (heard_[i]) Stack::set(odds, i + 1, words, outputs);
    }
  }
  // Writes the weighted mean of the best of the collected predictions.
  void mix(const Task& task, const std::vector<double>& scores, int outputs, StackedOdds& odds, double* out) {
    const auto recall = [&](int i, double* said) {
      std::copy_n(words_.data() + std::size_t(i) * outputs, outputs, said);
      return heard_[i] != 0;
    };
    say_without_stack(task, scores, outputs, recall, out);
    if (!task.numeric()) Stack::set(odds, 0, out, outputs);
  }

  template <class Ask>
  int say_without_stack(const Task& task, const std::vector<double>& scores, int outputs, Ask ask, double* out) {
    if (kind == Kind::best) {
      for (int i = next(scores, -1); i >= 0; i = next(scores, i))
        if (ask(i, out)) return i;
      task.no_answer(out, outputs);
      return 0;
    }
    said_.resize(outputs);
    std::fill_n(out, outputs, 0.0);
    double total = 0;
    const auto add = [&](int i, double weight) {
      if (weight == 0 || !ask(i, said_.data())) return false;
      if (task.numeric()) said_[0] = task.counted(said_[0]);
      for (int c = 0; c < outputs; ++c) out[c] += weight * said_[c];
      total += weight;
      return true;
    };
    if (kind == Kind::average || kind == Kind::weighted) add_all(scores, add);
    else add_top(scores, add);
    if (!(total > 0)) task.no_answer(out, outputs);
    else for (int c = 0; c < outputs; ++c) out[c] /= total;
    return -1;
  }

  template <class Add>
  void add_all(const std::vector<double>& scores, Add add) const {
    const bool by_score =
        kind == Kind::weighted && std::any_of(scores.begin(), scores.end(), [](double s) { return s > 0; });
    for (int i = 0; i < static_cast<int>(scores.size()); ++i) add(i, by_score ? scores[i] : 1.0);
  }
  template <class Add>
  void add_top(const std::vector<double>& scores, Add add) {
    rank(scores);
    int best = -1, left = n;
    for (std::size_t at = 0; at < order_.size() && left > 0; ++at) {
      const int i = order_[at];
      const double weight = best < 0 ? 1.0 : std::exp(-sharpness * (scores[best] - scores[i]));
      if (!add(i, weight)) continue;
      if (best < 0) best = i;
      --left;
    }
  }

  // Sorts the models by falling score, ties by rising index. The order of the last call is nearly correct, so few
  // models move.
  void rank(const std::vector<double>& scores) {
    if (order_.size() != scores.size()) {
      order_.resize(scores.size());
      std::iota(order_.begin(), order_.end(), 0);
    }
    const auto ahead = [&](int i, int j) { return scores[i] > scores[j] || (scores[i] == scores[j] && i < j); };
    for (std::size_t from = 1; from < order_.size(); ++from) {
      const int i = order_[from];
      std::size_t to = from;
      for (; to > 0 && ahead(i, order_[to - 1]); --to) order_[to] = order_[to - 1];
      order_[to] = i;
    }
  }

  std::vector<int> order_;            // the models by score
  std::vector<double> said_, words_, told_;  // predictions: of one model, all models, the fast stack
  std::vector<std::uint8_t> heard_;   // whether a model has a prediction
  std::vector<std::uint8_t> slow_;    // mask of the slow models; empty if all models are evaluated together
  std::vector<std::uint8_t> asked_first_, asked_last_;  // awake models; empty if evaluated together
};

}  // namespace heros
