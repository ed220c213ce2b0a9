// A pool of multilayer perceptrons with different widths, optimisers and learning rates. Each has one hidden layer with
// ReLU. The loss is softmax cross-entropy; for a numeric target, the output is linear with squared or Huber loss.
// Results equal PyTorch's up to float rounding.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <vector>

#include "pools/mlp/adam.hpp"
#include "core/aligned.hpp"
#include "core/encode.hpp"
#include "pools/mlp/isa.hpp"
#include "pools/mlp/look_state.hpp"
#include "pools/mlp/memory.hpp"
#include "pools/mlp/plan.hpp"
#include "core/pool.hpp"
#include "core/random.hpp"
#include "core/state.hpp"
#include "core/target.hpp"
#include "pools/loss.hpp"

namespace heros {

class MlpPool final : public Pool {
 public:
  MlpPool(std::vector<std::int32_t> hidden, std::vector<std::uint8_t> adam, std::vector<double> rate, double divisor,
          const std::string& isa, bool numeric = false, std::vector<Loss> loss = {})
      : memory_(std::move(hidden), std::move(adam)), rate_(std::move(rate)), encoder_(divisor), numeric_(numeric),
        loss_(std::move(loss)), isa_(find_isa(isa)), steps_(models()), looks_(models()) {}

  int models() const override { return memory_.models(); }
  int features() const override { return encoder_.features(); }
  int outputs() const override { return classes(); }
  int classes() const { return memory_.classes(); }
  int inputs() const { return encoder_.inputs(); }
  bool numeric() const { return numeric_; }
  const TargetScale& scale() const { return scale_; }
  int hidden(int i) const { return memory_.hidden(i); }
  const std::vector<std::int32_t>& values() const { return encoder_.values(); }
  const std::vector<std::int64_t>& steps() const { return steps_; }

  // Adapts the pool to an extended schema. New weights are drawn as in a new layer of PyTorch: uniform in ±1/√fan_in.
  // If memory is short, the pool stays unchanged, as nothing is allocated after memory_.grow.
  void grow(const std::vector<std::int32_t>& values, int classes, Random random) {
    const int old_inputs = inputs(), old_classes = this->classes();
    Encoder encoder = encoder_;
    encoder.grow(values);
    looks_.forget();
    make_place(classes);
    memory_.grow(encoder, classes, old_inputs);
    encoder_ = std::move(encoder);
    for (int i = 0; i < models(); ++i) initialise(i, old_inputs, old_classes, random);
  }

  void look(const double* x, const std::uint8_t* watched, PhaseClock& clock) override {
    looks_.ahead().close();  // an interrupted block may have left results of an evaluation ahead
    looks_.go_to(x, encoder_);
    clock.lap(Phase::encode);
    const FlushDenormals guard;
    plan_.assign(encoder_, {}, looks_.inputs());
    for (int i = 0; i < models(); ++i) {
      if (!looks(watched, i) || looks_[i] >= Seen::ahead) continue;
      if (looks_[i] == Seen::nothing || !is_caught_up(i, plan_.rows)) sweep_model(i, Pass::look, plan_);
      looks_.note(i, Seen::kept);
    }
    clock.lap(Phase::evaluate);
  }

  double outcome(int i, double target) const override { return favoured(i) == target ? 1.0 : 0.0; }
  bool sound(int i) const override {
    return numeric_ ? std::fabs(logits(i)[0]) <= static_cast<float>(kSoundest) : favoured(i) >= 0;
  }
  // A diverged model is not trained, as its weights would become infinite or NaN.
  bool trainable(int i) const override { return !numeric_ || looks_[i] == Seen::nothing || sound(i); }
  bool all_trainable() const override { return !numeric_; }

  void output(int i, double* out) const override {
    if (numeric_) {
      *out = scale_.unscaled(double{logits(i)[0]});
      return;
    }
    if (!sound(i)) {
      std::fill_n(out, classes(), 1.0 / classes());
      return;
    }
    const float* z = logits(i);
    if (memory_.paired()) {
      out[0] = 1 / (1 + std::exp(double(z[0])));
      out[1] = 1 / (1 + std::exp(-double(z[0])));
      return;
    }
    const double top = *std::max_element(z, z + classes());
    double total = 0;
    for (int c = 0; c < classes(); ++c) total += out[c] = std::exp(double(z[c]) - top);
    for (int c = 0; c < classes(); ++c) out[c] /= total;
  }

  bool weighs() const override { return true; }
  void weigh(const Weight& weight) override { instance_weight_ = weight; }

  void train(const double* x, double target, const std::uint8_t* chosen, PhaseClock& clock) override {
    begin_training(x, target, chosen);
    const FlushDenormals guard;
    for (int i = 0; i < models(); ++i)
      if (chosen[i]) sweep_model(i, Pass::train, plan_, target);
    looks_.forget();
    clock.lap(Phase::train);
  }

  // Trains and evaluates in one pass over the memory of the models. Such a pass does not show the time of the
  // evaluation alone. One step in kSample therefore makes two passes, which are timed; the result is the same.
  void train_and_look(const double* x, double target, const std::uint8_t* chosen, const double* next,
                      const std::uint8_t* watched, std::int64_t left, PhaseClock& clock) override {
    if (++fused_steps_ % kSample == 1) return sample_step(x, target, chosen, next, watched, clock);
    if (numeric_ && changes_unit(target)) {
      train(x, target, chosen, clock);
      return look(next, watched, clock);
    }
    if (numeric_) scale_.learn(target);
    encoder_.learn(x);
    looks_.go_on(next, left, chosen, watched == nullptr, encoder_);
    fused_plan_.assign(encoder_, looks_.inputs_before(), looks_.inputs());
    plan_.assign(encoder_, {}, looks_.inputs());
    if (watched != nullptr) train_plan_.assign(encoder_, looks_.inputs_before(), {});
    clock.lap(Phase::encode);
    const FlushDenormals guard;
    finish_looks(chosen, looks_.inputs_before());
    // Alternates the direction: the models used last in the previous step are still in the cache.
    upwards_ = !upwards_;
    for (const bool trained : {upwards_, !upwards_}) {
      for (int n = 0; n < models(); ++n) {
        const int i = upwards_ ? n : models() - 1 - n;
        if ((chosen[i] != 0) != trained) continue;
        if (trained && looks(watched, i)) sweep_model(i, Pass::train_and_look, fused_plan_, target);
        else if (trained) sweep_model(i, Pass::train, train_plan_, target);
        else if (watched == nullptr) look_at_rest(i);
        else if (watched[i]) sweep_model(i, Pass::look, plan_);
        else looks_.note(i, Seen::nothing);
      }
      if (trained) clock.lap_split(Phase::evaluate, evaluate_share(), Phase::train);
      else clock.lap(Phase::evaluate);
    }
  }

  void answer(int i, const double* x, double* out) override {
    looks_.go_to(x, encoder_);
    if (looks_[i] == Seen::nothing) {
      const FlushDenormals guard;
      plan_.assign(encoder_, {}, looks_.inputs());
      sweep_model(i, Pass::glimpse, plan_);
    }
    output(i, out);
  }

  // The weights of model i in PyTorch's layout, caught up: w1 (hidden, inputs), b1 (hidden), w2 (classes, hidden), b2
  // (classes). Writing weights resets the moments.
  void read_weights(int i, float* w1, float* b1, float* w2, float* b2) const {
    MlpPool copy = *this;
    copy.catch_up_all(i);
    copy.each_hidden_weight(i, w1, b1, [](float& ours, float& theirs) { theirs = ours; });
    for (int c = 0; c < classes(); ++c) {
      for (int u = 0; u < hidden(i); ++u) w2[std::size_t(c) * hidden(i) + u] = copy.memory_.output(i, c, u);
      b2[c] = copy.memory_.output(i, c, hidden(i));
    }
  }
  void write_weights(int i, float* w1, float* b1, float* w2, float* b2) {
    memory_.clear(i);
    steps_[i] = 0;
    each_hidden_weight(i, w1, b1, [](float& ours, float& theirs) { ours = theirs; });
    for (int c = 0; c < classes(); ++c) {
      for (int u = 0; u < hidden(i); ++u) memory_.set_output(i, c, u, 0, w2[std::size_t(c) * hidden(i) + u]);
      memory_.set_output(i, c, hidden(i), 0, b2[c]);
    }
    looks_.forget();
  }

  template <class Archive>
  void fields(Archive& a) {
    a("steps", steps_);
    memory_.fields(a);
    encoder_.fields(a);
    Prefixed<Archive> scale{a, "target_"};
    if (numeric_) scale_.fields(scale);
  }
  void check() {
    encoder_.check();
    scale_.check();
    require(!numeric_ || classes() <= 1, "a numeric target has exactly one output");
    require(steps_.size() == std::size_t(models()) && all_of(steps_, countable),
            "there must be one number of steps per model");
    memory_.check(encoder_, steps_);
    make_place(classes());
    looks_.forget();
  }

 private:
  enum class Pass { train, look, train_and_look, glimpse };
  static constexpr std::int64_t kSample = 256;

  // The class with the highest logit (ties: the lowest), or -1 if a logit is not finite.
  int favoured(int i) const {
    const float* z = logits(i);
    if (memory_.paired()) return std::isfinite(z[0]) ? z[0] > 0 : -1;
    int best = 0;
    bool finite = std::isfinite(z[0]);
    for (int c = 1; c < classes(); ++c) {
      finite = finite && std::isfinite(z[c]);
      if (z[c] > z[best]) best = c;
    }
    return finite ? best : -1;
  }

  float* logits(int i) { return &logits_[std::size_t(i) * MlpMemory::padded(classes())]; }
  const float* logits(int i) const { return &logits_[std::size_t(i) * MlpMemory::padded(classes())]; }

  // Allocates the results of evaluations. The arrays may be larger than the classes need.
  void make_place(int classes) {
    unit_offset_.assign(1, 0);
    for (int i = 0; i < models(); ++i) unit_offset_.push_back(unit_offset_.back() + memory_.units(i));
    assign_zeros(activations_, unit_offset_.back());
    assign_zeros(logits_, std::size_t(models()) * MlpMemory::padded(classes));
    looks_.ahead().make_place(models(), MlpMemory::padded(classes));
    assign_zeros(errors_, MlpMemory::padded(classes));
  }

  void initialise(int i, int old_inputs, int old_classes, Random& random) {
    const double hidden_bound = 1 / std::sqrt(std::max(inputs(), 1)), output_bound = 1 / std::sqrt(hidden(i));
    const auto draw = [&](double bound) { return static_cast<float>(bound * (2 * random.uniform() - 1)); };
    for (int input = old_inputs; input < inputs(); ++input) {
      memory_.touched(i)[input] = steps_[i];
      for (int u = 0; u < hidden(i); ++u) memory_.input_at(encoder_, i, input, u) = draw(hidden_bound);
    }
    for (int u = 0; u < hidden(i) && old_classes == 0; ++u) memory_.hidden_bias_at(i, u) = draw(hidden_bound);
    for (int c = old_classes; c < classes(); ++c)
      for (int u = 0; u <= hidden(i); ++u) memory_.set_output(i, c, u, 0, draw(output_bound));
  }

  // Evaluates a model that is not trained in this step. Logits from an evaluation ahead are used if known; they come
  // without activations.
  void look_at_rest(int i) {
    Ahead& ahead = looks_.ahead();
    if (ahead.wanted(i) && is_caught_up(i, ahead.rows())) {
      isa_.get().look_ahead(sweep_of(i), ahead.look(i));
      ahead.cover(i);
    }
    if (!ahead.covers(i)) return sweep_model(i, Pass::look, plan_);
    ahead.read(i, memory_.outputs(), logits(i));
    looks_.note(i, Seen::ahead);
  }
  // Completes the evaluation of chosen models. A model evaluated ahead lacks the activations; a model that was not
  // evaluated lacks the logits, too.
  void finish_looks(const std::uint8_t* chosen, const Inputs& seen) {
    bool any = false;  // branch-free: choices are unpredictable
    for (int i = 0; i < models(); ++i) any |= (chosen[i] != 0) & (looks_[i] != Seen::kept);
    if (!any) return;
    again_plan_.assign(encoder_, {}, seen);
    for (int i = 0; i < models(); ++i)
      if (chosen[i] && looks_[i] != Seen::kept) sweep_model(i, Pass::look, again_plan_);
  }

  void begin_training(const double* x, double target, const std::uint8_t* chosen) {
    encoder_.learn(x);  // before denormals are flushed, which would change its doubles
    const TargetScale::Unit before = scale_.unit();
    const bool other_unit = numeric_ && scale_.learn(target);
    const FlushDenormals guard;
    finish_looks(chosen, looks_.inputs());
    plan_.assign(encoder_, looks_.inputs(), {});
    if (other_unit) rescale({before, scale_.unit()});
  }

  // Whether this target will change the unit in which targets are learnt.
  bool changes_unit(double target) const {
    TargetScale scale = scale_;
    return scale.learn(target);
  }
  // Converts output weights, their moments and the last outputs to another unit. Predictions stay the same.
  void rescale(const Rescaling& to) {
    const auto factor = static_cast<float>(to.factor), shift = static_cast<float>(to.shift);
    for (int i = 0; i < models(); ++i) {
      for (int u = 0; u <= hidden(i); ++u) {
        const float now = factor * memory_.output(i, 0, u);
        memory_.set_output(i, 0, u, 0, u == hidden(i) ? now + shift : now);
        for (int part = 1; part < memory_.parts(i); ++part)
          memory_.set_output(i, 0, u, part, (part == 1 ? factor : factor * factor) * memory_.output(i, 0, u, part));
      }
      logits(i)[0] = factor * logits(i)[0] + shift;
    }
  }

  void sample_step(const double* x, double target, const std::uint8_t* chosen, const double* next,
                   const std::uint8_t* watched, PhaseClock& clock) {
    const auto fused = [&](int i) { return chosen[i] && looks(watched, i); };
    const auto sweep_those = [&](auto those, Pass pass, Phase phase) {
      const FlushDenormals guard;
      const auto before = clock.ticks(phase);
      for (int i = 0; i < models(); ++i)
        if (those(i)) sweep_model(i, pass, plan_, target);
      clock.lap(phase);
      return static_cast<double>(clock.ticks(phase) - before);
    };
    begin_training(x, target, chosen);
    sampled_train_ += sweep_those(fused, Pass::train, Phase::train);
    sweep_those([&](int i) { return chosen[i] && !fused(i); }, Pass::train, Phase::train);
    looks_.forget();
    looks_.go_to(next, encoder_);
    plan_.assign(encoder_, {}, looks_.inputs());
    clock.lap(Phase::encode);
    sampled_evaluate_ += sweep_those(fused, Pass::look, Phase::evaluate);
    sweep_those([&](int i) { return !chosen[i] && looks(watched, i); }, Pass::look, Phase::evaluate);
  }
  double evaluate_share() const {
    const double sum = sampled_evaluate_ + sampled_train_;
    return sum > 0 ? sampled_evaluate_ / sum : 0;
  }

  // The arguments of a sweep over model i.
  Sweep sweep_of(int i) {
    Sweep s{};
    s.adam = memory_.adam(i);
    s.dense = memory_.dense(i);
    s.sparse = memory_.sparse(i);
    s.sparse_stride = memory_.sparse_stride(i);
    s.activations = &activations_[unit_offset_[i]];
    s.output_bias = memory_.output_bias(i);
    s.logits = logits(i);
    s.errors = errors_.data();
    s.units = memory_.units(i);
    s.outputs = memory_.outputs();
    s.pair = memory_.paired();
    s.dense_rows = memory_.dense_room();
    s.rate = static_cast<float>(rate_[i]);
    return s;
  }
  void sweep_model(int i, Pass pass, const Plan& plan, double target = 0) {
    Sweep s = sweep_of(i);
    s.train = pass == Pass::train || pass == Pass::train_and_look;
    s.evaluate = pass != Pass::train;
    s.keep = pass != Pass::glimpse;
    s.rows = plan.rows.data();
    s.n_rows = static_cast<int>(plan.rows.size());
    if (s.train) {
      if (numeric_) errors_[0] = error_of(i, target);
      else softmax_errors(i, static_cast<int>(target));
      if (instance_weight_.value != 1)
        for (float& error : errors_) error *= static_cast<float>(instance_weight_.value);
      ++steps_[i];
    }
    if (s.adam) prepare_adam(i, plan, s);
    isa_.get().sweep(s);
    looks_.note(i, !s.evaluate ? Seen::nothing : s.keep ? Seen::kept : Seen::glimpsed);
  }

  void prepare_adam(int i, const Plan& plan, Sweep& s) {
    s.beta1 = static_cast<float>(Adam::kBeta1);
    s.beta2 = static_cast<float>(Adam::kBeta2);
    s.take1 = static_cast<float>(1 - Adam::kBeta1);
    s.take2 = static_cast<float>(1 - Adam::kBeta2);
    if (s.train) {
      s.rate = static_cast<float>(rate_[i] * adam_tables_.get().rate_factor(steps_[i]));
      s.epsilon = static_cast<float>(adam_tables_.get().epsilon(steps_[i]));
    }
    note_lags(i, plan, s.train, s.keep);
    s.catch_up = lags_.data();
  }

  // Finds the rows to catch up to the model's current step. Rows of `now` are trained in this step; the evaluation
  // before this step has caught them up.
  void note_lags(int i, const Plan& plan, bool train, bool keep) {
    lags_.resize(plan.rows.size());
    std::int64_t* last = memory_.touched(i);
    for (std::size_t r = 0; r < plan.rows.size(); ++r) {
      const SweepRow& row = plan.rows[r];
      lags_[r].due = false;
      if (!(train && row.in_now) && last[row.input] != steps_[i])
        lags_[r] = adam_tables_.get().between(last[row.input], steps_[i], rate_[i]);
      if (keep) last[row.input] = steps_[i];
    }
  }

  template <class Rows>
  bool is_caught_up(int i, const Rows& rows) {
    return !memory_.adam(i) || std::all_of(rows.begin(), rows.end(), [&](const auto& row) {
      return memory_.touched(i)[row.input] == steps_[i];
    });
  }
  void catch_up_all(int i) {
    Inputs all;
    for (int input = 0; input < inputs(); ++input) all.add(input, 1);
    const FlushDenormals guard;
    plan_.assign(encoder_, {}, all);
    sweep_model(i, Pass::look, plan_);
  }

  float error_of(int i, double target) const {
    return static_cast<float>(slope(loss_[i], double{logits(i)[0]} - scale_.scaled(target)));
  }

  // ∂loss/∂logits = softmax − one-hot(y), for the instance evaluated last.
  void softmax_errors(int i, int y) {
    const float* z = logits(i);
    if (memory_.paired()) {
      errors_[0] = y == 1 ? -1 / (1 + std::exp(z[0])) : 1 / (1 + std::exp(-z[0]));
      return;
    }
    const float top = *std::max_element(z, z + classes());
    float total = 0;
    for (int c = 0; c < classes(); ++c) total += errors_[c] = std::exp(z[c] - top);
    for (int c = 0; c < classes(); ++c) errors_[c] /= total;
    errors_[y] -= 1;
  }

  template <class Copy>
  void each_hidden_weight(int i, float* w1, float* b1, Copy copy) {
    for (int u = 0; u < hidden(i); ++u) {
      for (int input = 0; input < inputs(); ++input)
        copy(memory_.input_at(encoder_, i, input, u), w1[std::size_t(u) * inputs() + input]);
      copy(memory_.hidden_bias_at(i, u), b1[u]);
    }
  }

  MlpMemory memory_;
  std::vector<double> rate_;
  Encoder encoder_;
  bool numeric_;  // the target is a number; the single output is in the unit of its scale
  TargetScale scale_;
  std::vector<Loss> loss_;
  std::reference_wrapper<const Isa> isa_;
  std::reference_wrapper<const Adam> adam_tables_ = Adam::tables();

  std::vector<std::int64_t> steps_;  // training steps of each model

  LookState looks_;
  AlignedFloats activations_, logits_, errors_;
  std::vector<std::size_t> unit_offset_;  // start of a model's activations
  Plan plan_, fused_plan_, train_plan_, again_plan_;
  std::vector<CatchUp> lags_;

  bool upwards_ = false;
  std::int64_t fused_steps_ = 0;
  double sampled_train_ = 0, sampled_evaluate_ = 0;
  Weight instance_weight_;  // the weight of the next training instance
};

}  // namespace heros
