// A pool of multilayer perceptrons (one hidden layer, ReLU, softmax cross-entropy, one instance at a time)
// with different widths, optimisers and learning rates. Equal to PyTorch up to float rounding.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <vector>

#include "pools/mlp/adam.hpp"
#include "core/aligned.hpp"
#include "core/encode.hpp"
#include "pools/mlp/isa.hpp"
#include "pools/mlp/ahead.hpp"
#include "pools/mlp/memory.hpp"
#include "pools/mlp/plan.hpp"
#include "core/pool.hpp"
#include "core/random.hpp"
#include "core/state.hpp"

namespace heros {

class MlpPool final : public Pool {
 public:
  MlpPool(std::vector<std::int32_t> hidden, std::vector<std::uint8_t> adam, std::vector<double> rate, bool scale,
          const std::string& isa)
      : memory_(std::move(hidden), std::move(adam)), rate_(std::move(rate)), encoder_(scale),
        isa_(find_isa(isa)), steps_(models()), fresh_(models()), unfinished_(models()) {}

  int models() const override { return memory_.models(); }
  int features() const override { return encoder_.features(); }
  int classes() const override { return memory_.classes(); }
  int inputs() const { return encoder_.inputs(); }
  int hidden(int i) const { return memory_.hidden(i); }
  const std::vector<std::int32_t>& values() const { return encoder_.values(); }
  const std::vector<std::int64_t>& steps() const { return steps_; }

  // Fits the pool to a schema that extends the one it knows (at first: nothing). New weights are drawn as
  // PyTorch does for a new layer: uniform in ±1/√fan_in. If there is not enough memory, the pool stays as it is:
  // nothing is allocated after memory_.grow.
  void grow(const std::vector<std::int32_t>& values, int classes, Random random) {
    const int old_inputs = inputs(), old_classes = this->classes();
    Encoder encoder = encoder_;
    encoder.grow(values);
    forget_evaluation();
    make_place(classes);
    memory_.grow(encoder, classes, old_inputs);
    encoder_ = std::move(encoder);
    for (int i = 0; i < models(); ++i) initialise(i, old_inputs, old_classes, random);
  }

  void evaluate(const double* x, PhaseClock& clock) override {
    ahead_.close();  // a block that was broken off may have left it open
    look_at(x);
    clock.lap(Phase::encode);
    const FlushDenormals guard;
    plan_.assign(encoder_, {}, seen_);
    for (int i = 0; i < models(); ++i) {
      // (A row may have been caught up by a look only, which keeps nothing.)
      if (!fresh_[i] || !is_caught_up(i, plan_.rows)) sweep_model(i, Task::evaluate, plan_);
    }
    std::fill(fresh_.begin(), fresh_.end(), std::uint8_t{1});
    clock.lap(Phase::evaluate);
  }

  int vote(int i) const override {
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

  void probabilities(int i, double* out) const override {
    if (vote(i) < 0) {
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

  void train(const double* x, int y, const std::uint8_t* chosen, PhaseClock& clock) override {
    encoder_.learn(x);  // before denormals are flushed: its doubles are as they are
    const FlushDenormals guard;
    finish_looks(chosen, seen_);
    plan_.assign(encoder_, seen_, {});
    for (int i = 0; i < models(); ++i)
      if (chosen[i]) sweep_model(i, Task::train, plan_, y);
    forget_evaluation();
    clock.lap(Phase::train);
  }

  // In one pass over the memory of the chosen models. How much of that pass is evaluation cannot be seen
  // from outside, so one step in kSample is made in two passes and timed; the result is the same.
  void train_and_evaluate(const double* x, int y, const std::uint8_t* chosen, const double* next, std::int64_t left,
                          PhaseClock& clock) override {
    if (++fused_steps_ % kSample == 1) return sample_step(x, y, chosen, next, clock);
    encoder_.learn(x);
    std::swap(now_, seen_);
    ahead_.note(chosen);
    ahead_.advance(encoder_, next, left, seen_);
    remember(next);
    fused_plan_.assign(encoder_, now_, seen_);
    plan_.assign(encoder_, {}, seen_);
    clock.lap(Phase::encode);
    const FlushDenormals guard;
    finish_looks(chosen, now_);
    // Back and forth: what the last step used last is still in the cache, so this step uses it first.
    upwards_ = !upwards_;
    for (const bool trained : {upwards_, !upwards_}) {
      for (int n = 0; n < models(); ++n) {
        const int i = upwards_ ? n : models() - 1 - n;
        if ((chosen[i] != 0) != trained) continue;
        if (trained) sweep_model(i, Task::train_and_evaluate, fused_plan_, y);
        else evaluate_at_rest(i);
      }
      if (trained) clock.lap_split(Phase::evaluate, evaluate_share(), Phase::train);
      else clock.lap(Phase::evaluate);
    }
    std::fill(fresh_.begin(), fresh_.end(), std::uint8_t{1});
  }

  void predict(int i, const double* x, double* out) override {
    look_at(x);
    if (!fresh_[i]) {
      const FlushDenormals guard;
      plan_.assign(encoder_, {}, seen_);
      sweep_model(i, Task::look, plan_);
      fresh_[i] = 1;
    }
    probabilities(i, out);
  }

  // The weights of model i as PyTorch lays them out: w1 (hidden, inputs), b1 (hidden), w2 (classes, hidden),
  // b2 (classes), as if every row had been caught up. Writing sets them and forgets the moments.
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
    forget_evaluation();
  }

  template <class Archive>
  void fields(Archive& a) {
    a("steps", steps_);
    memory_.fields(a);
    encoder_.fields(a);
  }
  void check() {
    encoder_.check();
    require(steps_.size() == std::size_t(models()) && all_of(steps_, countable), "steps of every model");
    memory_.check(encoder_, steps_);
    make_place(classes());
    forget_evaluation();
  }

 private:
  enum class Task { train, evaluate, train_and_evaluate, look };
  static constexpr std::int64_t kSample = 256;

  float* logits(int i) { return &logits_[std::size_t(i) * MlpMemory::padded(classes())]; }
  const float* logits(int i) const { return &logits_[std::size_t(i) * MlpMemory::padded(classes())]; }

  // For what evaluation leaves for training; more than the present classes need does no harm.
  void make_place(int classes) {
    unit_offset_.assign(1, 0);
    for (int i = 0; i < models(); ++i) unit_offset_.push_back(unit_offset_.back() + memory_.units(i));
    activations_.assign(unit_offset_.back(), 0);
    logits_.assign(std::size_t(models()) * MlpMemory::padded(classes), 0);
    ahead_.make_place(models(), MlpMemory::padded(classes));
    errors_.assign(MlpMemory::padded(classes), 0);
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

  // Encodes x unless it is what was looked at last (a prediction followed by learning from it).
  void look_at(const double* x) {
    if (seen_x_.size() == std::size_t(features()) && any_fresh_ &&
        std::memcmp(seen_x_.data(), x, seen_x_.size() * sizeof(double)) == 0)
      return;
    encoder_.encode(x, seen_);
    std::fill(fresh_.begin(), fresh_.end(), std::uint8_t{0});
    remember(x);
  }
  void remember(const double* x) {
    seen_x_.assign(x, x + features());
    any_fresh_ = true;
  }
  void forget_evaluation() {
    any_fresh_ = false;
    std::fill(fresh_.begin(), fresh_.end(), std::uint8_t{0});
    ahead_.close();
  }

  // A model that is not trained at this step: its logits may be known from a look ahead, which leaves no activations.
  void evaluate_at_rest(int i) {
    if (ahead_.wanted(i) && is_caught_up(i, ahead_.rows())) {
      isa_.get().look_ahead(sweep_of(i), ahead_.look(i));
      ahead_.cover(i);
    }
    if (!ahead_.covers(i)) return sweep_model(i, Task::evaluate, plan_);
    ahead_.read(i, memory_.outputs(), logits(i));
    unfinished_[i] = 1;
  }
  // What a look ahead left out for models that are chosen after all: their activations for the instance seen last.
  void finish_looks(const std::uint8_t* chosen, const Inputs& seen) {
    bool any = false;  // asked without branches: choices cannot be predicted
    for (int i = 0; i < models(); ++i) any |= (chosen[i] != 0) & (unfinished_[i] != 0);
    if (!any) return;
    again_plan_.assign(encoder_, {}, seen);
    for (int i = 0; i < models(); ++i)
      if (chosen[i] && unfinished_[i]) sweep_model(i, Task::evaluate, again_plan_);
  }

  void sample_step(const double* x, int y, const std::uint8_t* chosen, const double* next, PhaseClock& clock) {
    const auto trained_before = clock.ticks(Phase::train), evaluated_before = clock.ticks(Phase::evaluate);
    train(x, y, chosen, clock);
    look_at(next);
    clock.lap(Phase::encode);
    const FlushDenormals guard;
    plan_.assign(encoder_, {}, seen_);
    for (int i = 0; i < models(); ++i)
      if (chosen[i]) sweep_model(i, Task::evaluate, plan_);
    clock.lap(Phase::evaluate);
    sampled_train_ += static_cast<double>(clock.ticks(Phase::train) - trained_before);
    sampled_evaluate_ += static_cast<double>(clock.ticks(Phase::evaluate) - evaluated_before);
    for (int i = 0; i < models(); ++i)
      if (!chosen[i]) sweep_model(i, Task::evaluate, plan_);
    std::fill(fresh_.begin(), fresh_.end(), std::uint8_t{1});
    clock.lap(Phase::evaluate);
  }
  double evaluate_share() const {
    const double sum = sampled_evaluate_ + sampled_train_;
    return sum > 0 ? sampled_evaluate_ / sum : 0;
  }

  // Where a pass finds model i.
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
  void sweep_model(int i, Task task, const Plan& plan, int y = 0) {
    Sweep s = sweep_of(i);
    s.train = task == Task::train || task == Task::train_and_evaluate;
    s.evaluate = task != Task::train;
    s.keep = task != Task::look;
    s.rows = plan.rows.data();
    s.n_rows = static_cast<int>(plan.rows.size());
    if (s.train) {
      softmax_errors(i, y);
      ++steps_[i];
    }
    if (s.adam) prepare_adam(i, plan, s);
    isa_.get().sweep(s);
    unfinished_[i] = 0;
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

  // Which rows have to be caught up to the model's present step. Rows of `now` are trained at this step:
  // the evaluation before it has caught them up to the step before.
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
    sweep_model(i, Task::evaluate, plan_);
  }

  // ∂loss/∂logits = softmax − one-hot(y), for the last evaluated instance.
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
  std::reference_wrapper<const Isa> isa_;
  std::reference_wrapper<const Adam> adam_tables_ = Adam::tables();

  std::vector<std::int64_t> steps_;  // training steps of each model

  // Of the last look: the instance, its inputs (and those of the one before), and for which models logits and, unless
  // `unfinished_`, activations are valid.
  std::vector<double> seen_x_;
  Inputs seen_, now_;
  bool any_fresh_ = false;
  std::vector<std::uint8_t> fresh_;
  std::vector<std::uint8_t> unfinished_;  // activations are missing: the logits are from a look ahead
  Ahead ahead_;
  AlignedFloats activations_, logits_, errors_;
  std::vector<std::size_t> unit_offset_;  // where a model's activations begin
  Plan plan_, fused_plan_, again_plan_;
  std::vector<CatchUp> lags_;

  bool upwards_ = false;
  std::int64_t fused_steps_ = 0;
  double sampled_train_ = 0, sampled_evaluate_ = 0;
};

}  // namespace heros
