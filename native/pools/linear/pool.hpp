// A pool of linear models with different optimisers and learning rates: multinomial logistic regression, or linear
// regression.
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

class LinearPool final : public LookingPool {
 public:
  // numeric: whether the target is a number; models learn it in the unit of its running scale.
  LinearPool(std::vector<LinearSettings> settings, double divisor, std::int32_t own, std::int32_t shared,
             bool numeric = false)
      : settings_(std::move(settings)), inputs_(divisor, own, shared), numeric_(numeric), steps_(settings_.size()) {}

  int models() const override { return static_cast<int>(settings_.size()); }
  int features() const override { return inputs_.features(); }
  int outputs() const override { return classes_; }
  int inputs() const { return inputs_.inputs(); }
  bool numeric() const { return numeric_; }
  const TargetScale& scale() const { return scale_; }
  const std::vector<std::int32_t>& values() const { return inputs_.values(); }
  const std::vector<std::int64_t>& steps() const { return steps_; }

  // Adapts the pool to an extended schema. New weights are zero.
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

  void output(int i, double* out) const override {
    looks_.output(i, out);
    if (numeric_) *out = scale_.unscaled(*out);
  }

  void train(const double* x, double target, const std::uint8_t* chosen, PhaseClock& clock) override {
    if (numeric_) note_target(target);
    look(x, chosen, clock);  // does nothing for models already evaluated on x
    for (int i = 0; i < models(); ++i)
      if (chosen[i]) step(i, target);
    inputs_.learn(x);
    looks_.forget();
    clock.lap(Phase::train);
  }

  void answer(int i, const double* x, double* out) override {
    look_at(x);
    if (!looks_.fresh(i)) ask(i);
    output(i, out);
  }

  // Writes the current weights of model i (rows, classes); the bias is the first row.
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
    Prefixed<Archive> target{a, "target_"};
    if (numeric_) scale_.fields(target);
  }
  void check() {
    inputs_.check();
    scale_.check();
    require(!numeric_ || classes_ <= 1, "a numeric target has exactly one output");
    require(classes_ >= 0 && steps_.size() == settings_.size() && all_of(steps_, countable),
            "there must be one number of steps per model");
    expect_countable(inputs_.values(), classes_);
    require(find_places() && weights_.size() == row_places_.back() && touched_.size() == touched_places_.back(),
            "there must be one weight per input and class");
    for (int i = 0; i < models(); ++i)
      for (std::size_t t = touched_places_[i]; t < touched_places_[i + 1]; ++t)
        require(touched_[t] >= 0 && touched_[t] <= steps_[i], "a row was touched after the last step");
    looks_.resize(models(), features(), classes_);
  }

 private:
  std::size_t stride(int i) const { return std::size_t(planes(settings_[i].optimizer)) * classes_; }
  double* row(int i, int r) { return weights_.data() + row_places_[i] + std::size_t(r) * stride(i); }
  const double* row(int i, int r) const { return weights_.data() + row_places_[i] + std::size_t(r) * stride(i); }

  // The step at which a row was last updated. Rows that do not drift are always up to date.
  std::int64_t touched(int i, int r) const {
    return drifts(settings_[i]) ? touched_[touched_places_[i] + r] : steps_[i];
  }

  // Computes the start of each model's rows. False if there are too many rows.
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
    require(find_places(), "there are too many weights");
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
    if (numeric_) return looks_.take(i, kSoundest);
    const double top = *std::max_element(p, p + classes_);
    double total = 0;
    for (int c = 0; c < classes_; ++c) total += p[c] = std::exp(p[c] - top);
    for (int c = 0; c < classes_; ++c) p[c] /= total;
    looks_.take(i);
  }

  // Trains model i, unless it has diverged.
  void step(int i, double target) {
    if (!looks_.sound(i)) return;
    const LinearStep step(settings_[i], classes_);
    errors_.resize(classes_);
    looks_.output(i, errors_.data());
    if (numeric_) errors_[0] = slope_of(i, errors_[0] - scale_.scaled(target));
    else errors_[static_cast<std::size_t>(target)] -= 1;
    for (double& error : errors_) error *= instance_weight_.value;
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

  // The step size of model i for an error: the derivative of its loss. A passive-aggressive model (PA-I) goes as far as
  // needed, limited by its rate.
  double slope_of(int i, double error) const {
    const LinearSettings& s = settings_[i];
    if (s.optimizer != Optimizer::pa) return slope(s.loss, error);
    double squares = 0;
    for (const ActiveRow& active : active_) squares += active.value * active.value;
    return std::copysign(std::min(s.rate, std::max(0.0, std::fabs(error) - s.epsilon) / squares), error);
  }

  // Adds the target to its scale. If the unit changes, all weights are converted and the last evaluation is discarded.
  void note_target(double target) {
    const TargetScale::Unit before = scale_.unit();
    if (!scale_.learn(target)) return;
    const Rescaling to(before, scale_.unit());
    for (int i = 0; i < models(); ++i) {
      const LinearStep step(settings_[i], classes_);
      for (int r = 0; r < rows(); ++r) {
        if (drifts(settings_[i])) {
          std::int64_t& last = touched_[touched_places_[i] + r];
          step.catch_up(row(i, r), last, steps_[i]);
          last = steps_[i];
        }
        step.rescale(row(i, r), to, r == 0);
      }
    }
    looks_.forget();
  }

  std::vector<LinearSettings> settings_;
  LinearInputs inputs_;
  bool numeric_;
  TargetScale scale_;
  std::int32_t classes_ = 0;  // 1 if the target is a number
  std::vector<std::int64_t> steps_;                         // training steps of each model
  std::vector<double> weights_;                             // by model, then by row
  std::vector<std::int64_t> touched_;                       // per row of the models with drifting rows
  std::vector<std::size_t> row_places_, touched_places_;  // start of each model's part
  std::vector<ActiveRow> active_;  // rows of the evaluated instance
  std::vector<double> errors_;
};

}  // namespace heros
