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

struct Answer {
  enum class Kind { best, average, weighted, top, stacked };
  static constexpr std::pair<const char*, Kind> kNames[] = {
      {"best", Kind::best}, {"average", Kind::average}, {"weighted", Kind::weighted}, {"top", Kind::top},
      {"stacked", Kind::stacked}};

  Kind kind;
  int n;             // top, stacked: how many answer, or are mixed
  double sharpness;  // of these: how fast a lower score counts less
  Stack stack;       // stacked: what everyone's word counts

  explicit Answer(Kind kind, int n = 1, double sharpness = 0, double rate = 0)
      : kind(kind), n(n), sharpness(sharpness), stack(rate) {}

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
  template <class Ask>
  int say(const Task& task, const std::vector<double>& scores, int outputs, Ask ask, StackedOdds& odds, double* out) {
    if (kind != Kind::stacked) return say_without_stack(task, scores, outputs, ask, out);
    const int models = static_cast<int>(scores.size());
    heard_.assign(models, 0), words_.resize(std::size_t(models) * outputs);
    Stack::clear(odds, models, outputs);
    for (int i = 0; i < models; ++i) {
      double* words = words_.data() + std::size_t(i) * outputs;
      heard_[i] = ask(i, words);
      if (heard_[i] && task.numeric()) odds.odds[i + 1] = *words = task.counted(*words);
      else if (heard_[i]) Stack::set(odds, i + 1, words, outputs);
    }
    const auto recall = [&](int i, double* said) {
      std::copy_n(words_.data() + std::size_t(i) * outputs, outputs, said);
      return heard_[i] != 0;
    };
    say_without_stack(task, scores, outputs, recall, out);
    if (task.numeric()) {
      stack.say_number(odds, heard_, task.unit(), out);
      return -1;
    }
    Stack::set(odds, 0, out, outputs);
    stack.say(odds, outputs, out);
    return -1;
  }

  // Learns from the target of what was said.
  void learn(const Task& task, const StackedOdds& odds, double target, int outputs, double weight = 1) {
    if (kind != Kind::stacked) return;
    if (task.numeric()) stack.learn_number(odds, target, weight);
    else stack.learn(odds, static_cast<int>(target), outputs, weight);
  }

 private:
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

  std::vector<double> said_, words_;  // of one model; of all
  std::vector<std::uint8_t> heard_;   // whether a model could be asked
};

}  // namespace heros
