// The counts per model: number of evaluations, number of training steps and training cost.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "core/phases.hpp"
#include "core/lookers.hpp"
#include "core/state.hpp"

namespace heros {

struct Ledger {
  std::int64_t instances = 0;
  std::vector<double> costs;           // γ of each model
  std::vector<std::int64_t> looked;    // number of evaluations of each model; empty while all models see every instance
  std::vector<std::int64_t> trained;   // number of training steps of each model
  std::vector<double> invested;        // r_i: the training cost spent on each model
  std::vector<std::uint8_t> diverged;  // whether any output was not finite
  std::vector<double> cpu;             // seconds per phase

  Ledger() = default;
  explicit Ledger(std::vector<double> gamma)
      : costs(std::move(gamma)), trained(costs.size()), invested(costs.size()), diverged(costs.size()),
        cpu(kPhases) {}

  int models() const { return static_cast<int>(costs.size()); }

  std::vector<std::int64_t> looks_of_each() const {
    return looked.empty() ? std::vector<std::int64_t>(models(), instances) : looked;
  }

  // Counts the evaluations of the next instance. Call it before `note_training`.
  void note_looks(const Lookers& lookers) {
    if (lookers.all() && looked.empty()) return;
    if (looked.empty()) looked.assign(models(), instances);
    for (const int i : lookers) ++looked[i];
  }

  // Counts an instance: `spent` is Σγ of the chosen models, `reward` is R = Σ (L_i + (1 − γ_i)) over them. Chosen
  // models have been evaluated.
  void note_training(const std::uint8_t* chosen, const Lookers& lookers, const double* scores, double& spent,
                     double& reward) {
    ++instances;
    double cost = 0, gain = 0;
    for (const int i : lookers) {
      if (!chosen[i]) continue;
      ++trained[i];
      invested[i] += costs[i];
      cost += costs[i];
      gain += scores[i] + (1 - costs[i]);
    }
    spent = cost, reward = gain;
  }

  // Scales the shares of the phases to the CPU time of the thread.
  void note_time(const PhaseClock& clock, double seconds) {
    std::int64_t total = 0;
    for (std::int64_t ticks : clock.all()) total += ticks;
    for (int p = 0; p < kPhases && total > 0; ++p)
      cpu[p] += seconds * static_cast<double>(clock.all()[p]) / static_cast<double>(total);
  }

  template <class Archive>
  void fields(Archive& a) {
    a("instances", instances), a("trained", trained), a("invested", invested), a("diverged", diverged);
    a("costs", costs), a("cpu", cpu);
    a.optional("looked", looked);
  }
  void check(int models, bool all_look) const {
    const std::size_t m = models;
    require(trained.size() == m && invested.size() == m && diverged.size() == m && costs.size() == m,
            "there must be counts for each model");
    require(looked.size() == m || (looked.empty() && (all_look || instances == 0)),
            "there must be a number of evaluations for each model");
    require(cpu.size() == kPhases && all_of(cpu, amount), "there must be one CPU time per phase");
    require(countable(instances) && all_of(trained, countable) && all_of(looked, countable), "counts");
    require(all_of(costs, amount) && all_of(invested, amount), "costs");
    require(all_of(diverged, [](std::uint8_t flag) { return flag <= 1; }),
            "the flags of diverged models must be 0 or 1");
  }
};

}  // namespace heros
