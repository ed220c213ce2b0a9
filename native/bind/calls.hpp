// Policies and scores written in Python. The core calls them with Python's lock held; Python code checks their results.
// The garbage collector visits them through the step that owns them (bind/step.cpp).
#pragma once

#include <cstring>
#include <limits>

#include "bind/arrays.hpp"
#include "core/choose.hpp"
#include "core/scores.hpp"

namespace heros {

// A policy in Python. choose(scores, costs, k) returns a mask. update(outcomes, chosen), if it exists, receives the
// outcomes of the trained models, and NaN for the others.
class PolicyCalls final : public Chooser {
 public:
  PolicyCalls(nb::object policy, int k)
      : policy_(std::move(policy)), learns_(nb::cast<bool>(nb::getattr(policy_, "learns", nb::bool_(false)))), k_(k) {}

  nb::object& policy() { return policy_; }

  void set_costs(const std::vector<double>& costs) override { costs_ = costs; }
  void set_k(int k) override { k_ = k; }
  void choose(const double* scores, std::uint8_t* chosen) override {
    const auto mask =
        nb::cast<In1<bool>>(policy_.attr("choose")(to_array(scores, costs_.size()), to_array(costs_), k_));
    expect(mask.size() == costs_.size(), "the mask must have one entry per model");
    std::memcpy(chosen, mask.data(), mask.size());
  }
  void learn(const double* outcomes, const std::uint8_t* chosen) override {
    if (!learns_) return;
    const std::size_t models = costs_.size();
    NewArray<double, 1> known({models});
    NewArray<bool, 1> trained({models});
    for (std::size_t i = 0; i < models; ++i) {
      trained.data()[i] = chosen[i] != 0;
      known.data()[i] = chosen[i] ? outcomes[i] : std::numeric_limits<double>::quiet_NaN();
    }
    policy_.attr("update")(known.array(), trained.array());
  }

 private:
  nb::object policy_;
  bool learns_;
  int k_;
  std::vector<double> costs_;
};

// A score in Python. values() returns L of every model. update(outcomes, looked) receives the outcomes of the evaluated
// models, and NaN for the others.
class ScoreCalls final : public Scores {
 public:
  ScoreCalls(nb::object score, int models) : Scores(models), score_(std::move(score)) { read(); }

  nb::object& score() { return score_; }

  void read() {
    const auto values = nb::cast<In1<double>>(score_.attr("values")());
    expect(values.size() == static_cast<std::size_t>(models_), "there must be one score per model");
    values_ = to_vector(values);
  }
  void update(const double* outcomes, const Lookers& lookers) override {
    NewArray<double, 1> known({static_cast<std::size_t>(models_)});
    NewArray<bool, 1> looked({static_cast<std::size_t>(models_)});
    for (int i = 0; i < models_; ++i) {
      looked.data()[i] = lookers.has(i);
      known.data()[i] = lookers.has(i) ? outcomes[i] : std::numeric_limits<double>::quiet_NaN();
    }
    score_.attr("update")(known.array(), looked.array());
    read();
  }

 private:
  nb::object score_;
};

}  // namespace heros
