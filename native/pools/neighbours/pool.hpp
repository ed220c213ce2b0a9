// A pool of nearest-neighbour models. Models search their k nearest rows in windows of different lengths, over one
// shared store of rows and in one pass.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "core/moments.hpp"
#include "core/pool.hpp"
#include "core/scores.hpp"
#include "core/state.hpp"
#include "core/target.hpp"
#include "pools/looks.hpp"
#include "pools/neighbours/search.hpp"
#include "pools/neighbours/state.hpp"
#include "pools/neighbours/store.hpp"

namespace heros {

struct NeighbourSettings {
  std::int64_t window;
  std::int32_t k;
  bool by_distance;  // weight of a neighbour: 1/(distance + ε); otherwise 1
};

class NeighboursPool final : public LookingPool {
 public:
  static constexpr double kEpsilon = 1e-3;    // standard deviations
  static constexpr double kSmoothing = 0.01;  // prior weight of every class
  static constexpr std::int64_t kQuick = 1000;  // windows up to this length are fast to search

  // delta: ADWIN's δ for shortening windows; 0 turns this off. numeric: whether the target is a number; a model then
  // predicts the mean of its neighbours' targets.
  NeighboursPool(std::vector<NeighbourSettings> settings, std::int64_t max_bytes, double delta, bool numeric = false)
      : settings_(std::move(settings)), max_bytes_(max_bytes), delta_(delta), numeric_(numeric), forgotten_(settings_.size()),
        hits_(models(), delta > 0 ? delta : 1, false) {
    for (const NeighbourSettings& s : settings_) longest_ = std::max(longest_, s.window);
  }

  bool always_learns(int) const override { return true; }
  bool asked_last(int i) const override { return settings_[i].window > kQuick; }
  void set_expected(bool expected, bool) override { expected_ = expected; }
  int models() const override { return static_cast<int>(settings_.size()); }
  int features() const override { return static_cast<int>(layout_.values.size()); }
  int outputs() const override { return classes_; }

  // The lowest byte limit for a schema: one block of rows.
  std::int64_t least_bytes(int /*i*/, const std::vector<std::int32_t>& values, int /*classes*/) const {
    return RowLayout(values).block_bytes();
  }
  // Adapts the pool to an extended schema. values[f]: the number of values of feature f, 0 if it is numeric.
  void grow(const std::vector<std::int32_t>& values, int classes) {
    const RowLayout layout(values);
    if (const std::int64_t least = least_bytes(0, values, classes); max_bytes_ < least)
      throw std::invalid_argument("The rows need " + std::to_string(least) +
                                  " bytes or more with this schema; the byte limit must not be lower.");
    if (classes_ > 0 && layout.same_columns(layout_)) {  // if only values or classes were added, the rows stay in place
      Looks looks;
      looks.resize(models(), features(), classes);
      layout_ = layout, classes_ = classes, looks_ = std::move(looks);
      return;
    }
    NeighboursState state = this->state();
    widen(state, values);
    state.classes = classes;
    state.moments.grow(values.size());
    adopt(state);
  }

  void look(const double* x, const std::uint8_t* watched, PhaseClock& clock) override {
    look_at(x);
    clock.lap(Phase::encode);
    search(watched);
    clock.lap(Phase::evaluate);
  }

  // All models share the rows: a row is stored if any model is chosen. Each model shortens only its own window.
  void train(const double* x, double target, const std::uint8_t* chosen, PhaseClock& clock) override {
    look_at(x);
    for (const std::int32_t f : layout_.number)
      if (!std::isnan(x[f])) moments_.learn(f, x[f]);
    if (numeric_) scale_.learn(target);
    if (std::any_of(chosen, chosen + models(), [](std::uint8_t flag) { return flag != 0; })) {
      if (delta_ > 0) note_hits(target, chosen);
      for (std::int32_t e = 0; e < instance_weight_.times; ++e) store_.add(row_, target);
      added_ += instance_weight_.times;
    }
    looks_.forget();
    clock.lap(Phase::train);
  }

  void answer(int i, const double* x, double* out) override {
    look_at(x);
    if (!looks_.fresh(i)) {
      wishes_.assign(1, wish(i));
      fulfil();
    }
    looks_.output(i, out);
  }

  const std::vector<std::int32_t>& values() const { return layout_.values; }
  bool numeric() const { return numeric_; }
  std::int64_t width(int i) const {  // the current width of the window
    return std::min({store_.size(), settings_[i].window, added_ - forgotten_[i]});
  }
  std::int64_t most(int i) const { return std::min(store_.room(), settings_[i].window); }
  std::int64_t bytes() const { return store_.bytes(); }

  NeighboursState blank_state() const {
    NeighboursState state;
    state.numeric = numeric_;
    state.forgotten.resize(settings_.size());
    state.hits = hits_;
    return state;
  }
  NeighboursState state() const {
    NeighboursState state = blank_state();
    state.values = layout_.values, state.classes = classes_, state.moments = moments_;
    state.added = added_, state.forgotten = forgotten_, state.scale = scale_;
    Row row;
    row.resize(layout_);
    for (std::int64_t age = store_.size() - 1; age >= 0; --age) {
      store_.read(age, row);
      append_row(row, layout_, state);
      state.targets.push_back(store_.target(age));
    }
    return state;
  }
  // Imports a checked state, if it has the same models.
  void restore(const NeighboursState& state) {
    require(state.forgotten.size() == settings_.size(), "there must be one window per model");
    const RowLayout layout(state.values);
    require(layout.block_bytes() <= max_bytes_, "the rows exceed the byte limit");
    require(static_cast<std::int64_t>(state.targets.size()) <= RowStore(layout, longest_, max_bytes_).room(),
            "there are more rows than the windows hold");
    adopt(state);
  }

 private:
  // Allocates first: if memory is short, the pool stays unchanged.
  void adopt(NeighboursState state) {
    RowLayout layout(state.values);
    RowStore store(layout, longest_, max_bytes_);
    Row row;
    row.resize(layout);
    const std::size_t rows = state.targets.size(), first = rows - std::min(rows, std::size_t(store.room()));
    for (std::size_t r = first; r < rows; ++r) {
      read_row(state, r, layout, row);
      store.add(row, state.targets[r]);
    }
    Looks looks;
    looks.resize(models(), static_cast<int>(layout.values.size()), state.classes);
    layout_ = std::move(layout), store_ = std::move(store), row_ = std::move(row), looks_ = std::move(looks);
    classes_ = state.classes, moments_ = std::move(state.moments), hits_ = std::move(state.hits);
    added_ = state.added, forgotten_ = std::move(state.forgotten), scale_ = state.scale;
  }

  void look_at(const double* x) {
    if (!looks_.at(x)) row_.assign(x, layout_, moments_);
  }

  Wish wish(int i) const { return {width(i), settings_[i].k, i}; }

  // Evaluates the watched models that have not been evaluated, in one pass over their widest window.
  void search(const std::uint8_t* watched) {
    wishes_.clear();
    for (int i = 0; i < models(); ++i)
      if (looks(watched, i) && !looks_.fresh(i)) wishes_.push_back(wish(i));
    if (!wishes_.empty()) fulfil();
  }
  void fulfil() {
    search_.run(store_, row_, wishes_, [&](int i, const Neighbour* nearest, int n) {
      double* p = looks_.of(i);
      if (numeric_) {
        *p = mean_of(i, nearest, n);
        return looks_.take(i);
      }
      std::fill_n(p, classes_, kSmoothing);
      double total = kSmoothing * classes_;
      for (int j = 0; j < n; ++j) {
        const double weight = weight_of(i, nearest[j]);
        p[static_cast<int>(store_.target_at(nearest[j].slot))] += weight;
        total += weight;
      }
      for (int c = 0; c < classes_; ++c) p[c] /= total;
      looks_.take(i);
    });
  }

  double weight_of(int i, const Neighbour& neighbour) const {
    return settings_[i].by_distance ? 1 / (std::sqrt(double{neighbour.square}) + kEpsilon) : 1;
  }
  // Without neighbours, the mean of recent targets.
  double mean_of(int i, const Neighbour* nearest, int n) const {
    double sum = 0, total = 0;
    for (int j = 0; j < n; ++j) {
      const double weight = weight_of(i, nearest[j]);
      sum += weight * store_.target_at(nearest[j].slot);
      total += weight;
    }
    return n > 0 ? sum / total : scale_.mean();
  }
  double hit(int i, double target) const {
    if (!numeric_) return looks_.outcome(i, target);
    double said = 0;
    looks_.output(i, &said);
    return closeness(said - target, scale_.unit().sd);
  }

  // If the accuracy of a model falls, its window shrinks to the width of ADWIN's window. An expected instance counts as
  // correct for models that were not evaluated.
  void note_hits(double target, const std::uint8_t* chosen) {
    if (!expected_) search(chosen);  // does nothing for models already evaluated
    for (int i = 0; i < models(); ++i) {
      if (!chosen[i]) continue;
      const double before = hits_.mean(i);
      const double mean = hits_.update(i, looks_.fresh(i) ? hit(i, target) : 1.0);
      if (hits_.changed(i) && mean < before) forgotten_[i] = std::max(forgotten_[i], added_ + 1 - hits_.width(i));
    }
  }

  std::vector<NeighbourSettings> settings_;
  std::int64_t max_bytes_, longest_ = 0;
  double delta_;
  bool numeric_;
  TargetScale scale_;  // only if numeric
  RowLayout layout_;
  int classes_ = 0;  // 1 if the target is a number
  Moments moments_;
  RowStore store_;
  std::int64_t added_ = 0;                // number of rows ever added
  std::vector<std::int64_t> forgotten_;  // per model: number of oldest rows that it ignores
  Adwin hits_;                            // outcomes of each model on its training instances

  bool expected_ = false;  // whether the next training instance was expected
  Row row_;                // the evaluated instance
  NeighbourSearch search_;
  std::vector<Wish> wishes_;
};

}  // namespace heros
