// Who answers for the ensemble, and how several answers become one.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "core/stack.hpp"
#include "core/task.hpp"

namespace heros {

// What was said of an instance that is stacked: by those that are asked first, and by all unless the first were enough.
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
  int n;             // top, stacked: how many answer, or are mixed
  double sharpness;  // of these: how fast a lower score counts less
  double sure;       // stacked: a class of a higher probability is answered without those that are asked last
  Stack stack;       // stacked: what everyone's word counts
  Stack first;       // and where only those answer that are asked first

  explicit Answer(Kind kind, int n = 1, double sharpness = 0, const std::vector<double>& rates = {0}, double sure = 1)
      : kind(kind), n(n), sharpness(sharpness), sure(sure), stack(rates), first(rates) {}

  // Before the first instance. all_look: nobody is spared a look for another reason.
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
  // Those that fall asleep leave what their words count to the mixture.
  void set_awake(const std::vector<std::uint8_t>& before, const std::vector<std::uint8_t>& awake, bool numeric) {
    if (kind != Kind::stacked) return;
    stack.set_awake(before, awake, numeric);
    if (!slow_.empty()) first.set_awake(before, awake, numeric);
    take_turns(awake);
  }
  // Who is asked first, and who last, of those that are awake.
  void take_turns(const std::vector<std::uint8_t>& awake) {
    asked_first_.clear(), asked_last_.clear();
    for (std::size_t i = 0; i < slow_.size(); ++i)
      asked_first_.push_back(awake[i] && !slow_[i]), asked_last_.push_back(awake[i] && slow_[i]);
    const auto some = [](const auto& mask) { return std::find(mask.begin(), mask.end(), 1) != mask.end(); };
    if (!some(asked_first_) || !some(asked_last_)) asked_first_.clear(), asked_last_.clear();
  }
  bool in_turns() const { return !asked_first_.empty(); }
  // Who looks at first, and then, as masks; all, if there are no turns.
  const std::uint8_t* asked_first() const { return in_turns() ? asked_first_.data() : nullptr; }
  const std::uint8_t* asked_last() const { return in_turns() ? asked_last_.data() : nullptr; }

  // The model that comes after i by falling score, ties by rising index; the first one after -1, -1 after the last.
  static int next(const std::vector<double>& scores, int i) {
    int next = -1;
    for (int j = 0; j < static_cast<int>(scores.size()); ++j)
      if ((i < 0 || scores[j] < scores[i] || (scores[j] == scores[i] && j > i)) &&
          (next < 0 || scores[j] > scores[next]))
        next = j;
    return next;
  }

  // Adds those who answer if they are sound to those who look.
  void mark(const std::vector<double>& scores, std::uint8_t* watched) const {
    const bool all = kind == Kind::average || kind == Kind::weighted || kind == Kind::stacked;
    if (all) std::fill_n(watched, scores.size(), std::uint8_t{1});
    const int answering = all ? 0 : kind == Kind::best ? 1 : n;
    for (int i = next(scores, -1), left = answering; i >= 0 && left > 0; i = next(scores, i), --left) watched[i] = 1;
  }

  // What the ensemble says. `ask(i, said)` writes what model i says and tells whether it can be asked and is sound: one
  // that is not never answers. Gives the model that answered, -1 where several did. `odds`: where `learn` finds it.
  // `go_on` is called before those are asked that are asked last, if they are.
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

  // Learns from the target of what was said.
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
  // Asks those that the mask names (none: all) and keeps what they say.
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
  // Writes the mixture of the best of those that were heard.
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
  void add_top(const std::vector<double>& scores, Add add) const {
    int best = -1;
    for (int i = next(scores, -1), left = n; i >= 0 && left > 0; i = next(scores, i)) {
      const double weight = best < 0 ? 1.0 : std::exp(-sharpness * (scores[best] - scores[i]));
      if (!add(i, weight)) continue;
      if (best < 0) best = i;
      --left;
    }
  }

  std::vector<double> said_, words_, told_;  // of one model; of all; of those asked first, together
  std::vector<std::uint8_t> heard_;   // whether a model could be asked
  std::vector<std::uint8_t> slow_;    // those asked last, if there are turns at all
  std::vector<std::uint8_t> asked_first_, asked_last_;  // of those awake; nothing if they are asked together
};

}  // namespace heros
