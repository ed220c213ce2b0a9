// A pool of multinomial logistic regressions with different optimisers and learning rates, one instance at a time.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/pool.hpp"
#include "core/state.hpp"
#include "pools/linear/inputs.hpp"
#include "pools/linear/step.hpp"
#include "pools/looks.hpp"

namespace heros {

class LinearPool final : public Pool {
 public:
  LinearPool(std::vector<LinearSettings> settings, double divisor, std::int32_t own, std::int32_t shared)
      : settings_(std::move(settings)), inputs_(divisor, own, shared), steps_(settings_.size()) {}

  int models() const override { return static_cast<int>(settings_.size()); }
  int features() const override { return inputs_.features(); }
  int outputs() const override { return classes_; }
  int inputs() const { return inputs_.inputs(); }
  const std::vector<std::int32_t>& values() const { return inputs_.values(); }
  const std::vector<std::int64_t>& steps() const { return steps_; }

  // Fits the pool to a schema that extends the one it knows (at first: nothing). New weights are zero.
  void grow(const std::vector<std::int32_t>& values, int classes) {
    LinearPool grown = *this;
    grown.inputs_.grow(values);
    grown.classes_ = classes;
    grown.lay_out();
    for (int i = 0; i < models(); ++i) copy_model(i, grown);
    *this = std::move(grown);
  }

  void look(const double* x, const std::uint8_t* watched, PhaseClock& clock) override {
    look_at(x);
    clock.lap(Phase::encode);
    for (int i = 0; i < models(); ++i)
      if (looks(watched, i) && !looks_.fresh(i)) ask(i);
    clock.lap(Phase::evaluate);
  }

  double outcome(int i, double target) const override { return looks_.outcome(i, target); }
  bool sound(int i) const override { return looks_.sound(i); }
  void output(int i, double* out) const override { looks_.output(i, out); }

  void train(const double* x, double target, const std::uint8_t* chosen, PhaseClock& clock) override {
    look(x, chosen, clock);  // for nothing if they have looked at x
    for (int i = 0; i < models(); ++i)
      if (chosen[i]) step(i, static_cast<int>(target));
    inputs_.learn(x);
    looks_.forget();
    clock.lap(Phase::train);
  }

  void answer(int i, const double* x, double* out) override {
    look_at(x);
    if (!looks_.fresh(i)) ask(i);
    looks_.output(i, out);
  }

  // The weights of model i (rows, classes) as they are now, the bias in the first row.
  void read_weights(int i, double* out) const {
    const LinearStep step(settings_[i], classes_);
    std::fill_n(out, std::size_t(inputs_.rows()) * classes_, 0.0);
    for (int r = 0; r < inputs_.rows(); ++r, out += classes_)
      step.add(row(i, r), 1, touched(i, r), steps_[i], out);
  }
  int rows() const { return inputs_.rows(); }

  template <class Archive>
  void fields(Archive& a) {
    a("classes", classes_), a("steps", steps_), a("weights", weights_), a("touched", touched_);
    inputs_.fields(a);
  }
  void check() {
    inputs_.check();
    require(classes_ >= 0 && steps_.size() == settings_.size() && all_of(steps_, countable), "steps of every model");
    expect_countable(inputs_.values(), classes_);
    require(find_places() && weights_.size() == row_places_.back() && touched_.size() == touched_places_.back(),
            "weights of every input and class");
    for (int i = 0; i < models(); ++i)
      for (std::size_t t = touched_places_[i]; t < touched_places_[i + 1]; ++t)
        require(touched_[t] >= 0 && touched_[t] <= steps_[i], "rows touched in the past");
    looks_.resize(models(), features(), classes_);
  }

 private:
  std::size_t stride(int i) const { return std::size_t(planes(settings_[i].optimizer)) * classes_; }
  double* row(int i, int r) { return weights_.data() + row_places_[i] + std::size_t(r) * stride(i); }
  const double* row(int i, int r) const { return weights_.data() + row_places_[i] + std::size_t(r) * stride(i); }

  // The step at which a row was last touched; of a model whose rows do not drift every row counts as up to date.
  std::int64_t touched(int i, int r) const {
    return drifts(settings_[i]) ? touched_[touched_places_[i] + r] : steps_[i];
  }

  // Where the models' rows begin. False if there are more of them than can be counted.
  bool find_places() {
    row_places_.assign(1, 0), touched_places_.assign(1, 0);
    const auto rows = static_cast<std::size_t>(inputs_.rows());
    for (int i = 0; i < models(); ++i) {
      row_places_.push_back(row_places_.back() + rows * stride(i));
      touched_places_.push_back(touched_places_.back() + (drifts(settings_[i]) ? rows : 0));
    }
    return rows * std::size_t(classes_) < (std::size_t{1} << 40) && settings_.size() < (std::size_t{1} << 20);
  }
  void lay_out() {
    require(find_places(), "weights that can be counted");
    weights_.assign(row_places_.back(), 0);
    touched_.assign(touched_places_.back(), 0);
    looks_.resize(models(), features(), classes_);
  }
  void copy_model(int i, LinearPool& grown) const {
    if (drifts(settings_[i]))
      std::fill_n(grown.touched_.begin() + static_cast<std::ptrdiff_t>(grown.touched_places_[i]), grown.rows(), steps_[i]);
    for (int r = 0; classes_ > 0 && r < rows(); ++r) {
      const int now = grown.inputs_.row_now(r, inputs_);
      for (int p = 0; p < planes(settings_[i].optimizer); ++p)
        std::copy_n(row(i, r) + std::size_t(p) * classes_, classes_,
                    grown.row(i, now) + std::size_t(p) * grown.classes_);
      if (drifts(settings_[i])) grown.touched_[grown.touched_places_[i] + now] = touched(i, r);
    }
  }

  void look_at(const double* x) {
    if (!looks_.at(x)) inputs_.encode(x, active_);
  }

  void ask(int i) {
    const LinearStep step(settings_[i], classes_);
    double* p = looks_.of(i);
    std::fill_n(p, classes_, 0.0);
    for (const ActiveRow& active : active_)
      step.add(row(i, active.row), active.value, touched(i, active.row), steps_[i], p);
    const double top = *std::max_element(p, p + classes_);
    double total = 0;
    for (int c = 0; c < classes_; ++c) total += p[c] = std::exp(p[c] - top);
    for (int c = 0; c < classes_; ++c) p[c] /= total;
    looks_.take(i);
  }

  // A model that has diverged stays as it is.
  void step(int i, int y) {
    if (!looks_.sound(i)) return;
    const LinearStep step(settings_[i], classes_);
    errors_.resize(classes_);
    looks_.output(i, errors_.data());
    errors_[y] -= 1;
    ++steps_[i];
    for (const ActiveRow& active : active_) {
      double* w = row(i, active.row);
      if (drifts(settings_[i])) {
        std::int64_t& last = touched_[touched_places_[i] + active.row];
        step.catch_up(w, last, steps_[i] - 1);
        last = steps_[i];
      }
      step.train(w, errors_.data(), active.value, steps_[i], active.row == 0);
    }
  }

  std::vector<LinearSettings> settings_;
  LinearInputs inputs_;
  std::int32_t classes_ = 0;
  std::vector<std::int64_t> steps_;                         // training steps of each model
  std::vector<double> weights_;                             // model after model, row after row
  std::vector<std::int64_t> touched_;                       // per row of the models whose rows drift
  std::vector<std::size_t> row_places_, touched_places_;  // where a model's begin
  Looks looks_;
  std::vector<ActiveRow> active_;  // of the instance looked at
  std::vector<double> errors_;
};

}  // namespace heros
