// The policies: they choose which k of M models to train, from the scores L and costs γ. The docstrings in
// src/heros/policies specify the policies. Unless stated otherwise, the lowest index wins ties.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <memory>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "core/account.hpp"
#include "core/random.hpp"

namespace heros {

// Chooses models to train by their scores: a built-in policy (below) or one written in Python (bind/step.cpp).
class Chooser {
 public:
  virtual ~Chooser() = default;
  virtual void set_costs(const std::vector<double>& costs) = 0;
  // Sets how many models the policy may choose from now on.
  virtual void set_k(int /*k*/) {}
  // Writes 1 for the chosen models and 0 for the others.
  virtual void choose(const double* scores, std::uint8_t* chosen) = 0;
  // Receives the outcomes of the current instance, and the models that are trained on it.
  virtual void learn(const double* /*outcomes*/, const std::uint8_t* /*chosen*/) {}
  // The outcomes that a policy with bounds has counted; nullptr for other policies.
  virtual Account* account() { return nullptr; }
  // The bounds used for the last choice; nullptr if the policy used none.
  virtual const std::vector<double>* bounds() const { return nullptr; }
  // Whether the last choice was exploration, if known.
  virtual std::optional<bool> explored() const { return std::nullopt; }
};

struct Policy {
  enum class Kind {
    random, perform_best, perform_worst, cheapest, expensive, cand, cand_as_published,
    zeta, explore, reward, budget, everything, mlcb,
  };
  static constexpr std::pair<const char*, Kind> kNames[] = {
      {"random", Kind::random},
      {"perform_best", Kind::perform_best},
      {"perform_worst", Kind::perform_worst},
      {"cheapest", Kind::cheapest},
      {"expensive", Kind::expensive},
      {"cand", Kind::cand},
      {"cand_as_published", Kind::cand_as_published},
      {"zeta", Kind::zeta},
      {"explore", Kind::explore},
      {"reward", Kind::reward},
      {"budget", Kind::budget},
      {"everything", Kind::everything},
      {"mlcb", Kind::mlcb},
  };
  Kind kind;
  double parameter = 0;                         // ζ, ε, w or β
  std::shared_ptr<const Policy> inner = nullptr;  // explore: the policy used otherwise
  Bounds bounds = {};                           // mlcb

  // The policy below all levels of exploration.
  const Policy& innermost() const { return inner == nullptr ? *this : inner->innermost(); }
};

// A built-in policy that chooses at most k models of one pool. It keeps the order of the scores between steps. Scores
// change little from one instance to the next, so sorting an almost sorted list is fast. The choice is a pure function
// of scores, costs, k and random numbers, and of the account for policies with bounds.
class PolicyChooser final : public Chooser {
 public:
  PolicyChooser(Policy policy, int k, Random random) : policy_(std::move(policy)), k_(k), random_(random) {}

  void set_costs(const std::vector<double>& costs) override {
    const int models = models_ = static_cast<int>(costs.size());
    costs_ = costs;
    by_score_.resize(models);
    std::iota(by_score_.begin(), by_score_.end(), 0);
    by_cost_ = by_score_;
    std::stable_sort(by_cost_.begin(), by_cost_.end(), [&](int a, int b) { return costs_[a] < costs_[b]; });
    by_cost_down_ = by_score_;
    std::stable_sort(by_cost_down_.begin(), by_cost_down_.end(),
                     [&](int a, int b) { return costs_[a] > costs_[b]; });
    cost_rank_.resize(models);
    for (int r = 0; r < models; ++r) cost_rank_[by_cost_[r]] = r;
    urn_.resize(models);
    key_.resize(models);
    eligible_.resize((models + 63) / 64);
    if (bounded() && account_.weight.empty()) account_ = Account(policy_.innermost().bounds.factor, models);
  }

  void set_k(int k) override { k_ = k; }
  void learn(const double* outcomes, const std::uint8_t* chosen) override {
    if (bounded()) account_.note(outcomes, chosen);
  }
  Account* account() override { return bounded() ? &account_ : nullptr; }
  const std::vector<double>* bounds() const override { return bounded() ? &key_ : nullptr; }
  std::optional<bool> explored() const override { return explored_; }

  void choose(const double* scores, std::uint8_t* chosen) override {
    std::fill(chosen, chosen + models_, std::uint8_t{0});
    explored_ = false;
    follow(policy_, scores, k_, chosen);
  }

 private:
  using Kind = Policy::Kind;

  bool bounded() const { return policy_.innermost().kind == Kind::mlcb; }

  void follow(const Policy& policy, const double* scores, int k, std::uint8_t* chosen) {
    switch (policy.kind) {
      case Kind::random: return draw_rest(k, chosen);
      case Kind::perform_best: return take(sorted_by(scores), k, chosen);
      case Kind::perform_worst: return take_worst(scores, k, chosen);
      case Kind::cheapest: return take(by_cost_, k, chosen);
      case Kind::expensive: return take(by_cost_down_, k, chosen);
      case Kind::cand:
        take(sorted_by(scores), k / 2, chosen);
        return draw_rest(k - k / 2, chosen);
      case Kind::cand_as_published:
        take_worst(scores, k / 2, chosen);
        return draw_rest(k - k / 2, chosen);
      case Kind::zeta: return zeta(policy.parameter, scores, k, chosen);
      case Kind::explore:
        explored_ = random_.uniform() < policy.parameter;
        if (explored_) return draw_rest(k, chosen);
        return follow(*policy.inner, scores, k, chosen);
      case Kind::reward: return reward(policy.parameter, scores, k, chosen);
      case Kind::budget: return budget(policy.parameter, scores, k, chosen);
      case Kind::everything: std::fill(chosen, chosen + models_, std::uint8_t{1}); return;
      case Kind::mlcb:
        account_.upper(policy.bounds, key_.data());
        return take(sorted_by(key_.data()), k, chosen);
    }
  }

  static void take(const std::vector<int>& order, int n, std::uint8_t* chosen) {
    for (int r = 0; r < n; ++r) chosen[order[r]] = 1;
  }

  void take_worst(const double* scores, int n, std::uint8_t* chosen) {
    for (int i = 0; i < models_; ++i) key_[i] = -scores[i];
    take(sorted_by(key_.data()), n, chosen);
  }

  // Chooses n of the unchosen models uniformly: a partial Fisher–Yates shuffle.
  void draw_rest(int n, std::uint8_t* chosen) {
    int left = 0;
    for (int i = 0; i < models_; ++i) {  // branch-free: choices are unpredictable
      urn_[left] = i;
      left += chosen[i] == 0;
    }
    for (int d = 0; d < n; ++d) {
      const auto pick = d + random_.below(left - d);
      std::swap(urn_[d], urn_[pick]);
      chosen[urn_[d]] = 1;
    }
  }

  // The models sorted by falling key, ties by rising index. Insertion sort, as the list is almost sorted.
  const std::vector<int>& sorted_by(const double* key) {
    for (int r = 1; r < models_; ++r) {
      const int i = by_score_[r];
      int s = r;
      for (; s > 0 && before(key, i, by_score_[s - 1]); --s) by_score_[s] = by_score_[s - 1];
      by_score_[s] = i;
    }
    return by_score_;
  }
  static bool before(const double* key, int a, int b) { return key[a] > key[b] || (key[a] == key[b] && a < b); }

  // Algorithm 1 of the paper, with line 7 corrected (a_l = 0). The score of the best unchosen model only falls. The
  // models within ζ of this score are thus a growing prefix of the sorted list, marked by one bit per cost rank.
  void zeta(double zeta, const double* scores, int k, std::uint8_t* chosen) {
    const std::vector<int>& order = sorted_by(scores);
    std::fill(eligible_.begin(), eligible_.end(), std::uint64_t{0});
    int entered = 0;
    int best = 0;  // position in `order` of the best unchosen model
    for (int n = 0; n < k; ++n) {
      while (chosen[order[best]]) ++best;
      const int j = order[best];
      const double bar = (1 - zeta) * scores[j];
      for (; entered < models_ && scores[order[entered]] >= bar; ++entered)
        if (!chosen[order[entered]]) mark(cost_rank_[order[entered]]);
      mark(cost_rank_[j]);  // (1 − ζ)·L > L for a negative score L
      const int cheapest = by_cost_[first_marked()];
      const int i = costs_[cheapest] < costs_[j] ? cheapest : j;
      chosen[i] = 1;
      unmark(cost_rank_[i]);
    }
  }
  void mark(int rank) { eligible_[rank / 64] |= std::uint64_t{1} << (rank % 64); }
  void unmark(int rank) { eligible_[rank / 64] &= ~(std::uint64_t{1} << (rank % 64)); }
  int first_marked() const {
    std::size_t word = 0;
    while (eligible_[word] == 0) ++word;
    return static_cast<int>(word) * 64 + std::countr_zero(eligible_[word]);
  }

  void reward(double weight, const double* scores, int k, std::uint8_t* chosen) {
    for (int i = 0; i < models_; ++i) key_[i] = scores[i] + weight * (1 - costs_[i]);
    take(sorted_by(key_.data()), k, chosen);
  }

  // Greedy by L/γ, or the best single model if its score exceeds the sum of the greedy choice.
  void budget(double share, const double* scores, int k, std::uint8_t* chosen) {
    const double budget = share * (1 + 1e-12);  // so that rounding does not reject the last model that fits
    for (int i = 0; i < models_; ++i) key_[i] = scores[i] / std::max(costs_[i], 1e-300);
    double spent = 0, gained = 0;
    int taken = 0;
    for (int i : sorted_by(key_.data())) {
      if (taken == k) break;
      if (spent + costs_[i] > budget) continue;
      spent += costs_[i];
      gained += scores[i];
      chosen[i] = 1;
      ++taken;
    }
    int single = -1;
    for (int i = 0; i < models_; ++i)
      if (costs_[i] <= budget && (single < 0 || scores[i] > scores[single])) single = i;
    if (single >= 0 && scores[single] > gained) {
      std::fill(chosen, chosen + models_, std::uint8_t{0});
      chosen[single] = 1;
    }
  }

  Policy policy_;
  int k_;
  Random random_;
  int models_ = 0;
  bool explored_ = false;
  std::vector<double> costs_;
  std::vector<int> by_score_, by_cost_, by_cost_down_, cost_rank_, urn_;
  std::vector<double> key_;
  std::vector<std::uint64_t> eligible_;
  Account account_;
};

}  // namespace heros
