// A pool of multilayer perceptrons (one hidden layer, ReLU, softmax cross-entropy, one instance at a time)
// with different widths, optimisers and learning rates. Equal to PyTorch up to float rounding.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <vector>

#include "adam.hpp"
#include "aligned.hpp"
#include "encode.hpp"
#include "isa.hpp"
#include "pool.hpp"
#include "random.hpp"
#include "state.hpp"

namespace heros {

class MlpPool final : public Pool {
 public:
  MlpPool(std::vector<std::int32_t> hidden, std::vector<std::uint8_t> adam, std::vector<double> rate, bool scale,
          const std::string& isa)
      : hidden_(std::move(hidden)), adam_(std::move(adam)), rate_(std::move(rate)), encoder_(scale),
        sweep_(find_isa(isa).sweep), steps_(hidden_.size()), fresh_(hidden_.size()) {}

  int models() const override { return static_cast<int>(hidden_.size()); }
  int features() const override { return encoder_.features(); }
  int classes() const override { return classes_; }
  int inputs() const { return encoder_.inputs(); }
  int hidden(int i) const { return hidden_[i]; }
  const std::vector<std::int32_t>& values() const { return encoder_.values(); }
  const std::vector<std::int64_t>& steps() const { return steps_; }

  // Fits the pool to a schema that extends the one it knows (at first: nothing). New weights are drawn as
  // PyTorch does for a new layer: uniform in ±1/√fan_in.
  void grow(const std::vector<std::int32_t>& values, int classes, Random random) {
    const int old_inputs = inputs(), old_classes = classes_;
    Encoder encoder = encoder_;
    encoder.grow(values);
    const int dense = encoder.scaled_inputs(), sparse = encoder.inputs() - dense;
    if (dense > dense_room_ || sparse > sparse_room_ || classes > classes_)
      repack(std::move(encoder), room_for(dense, dense_room_), room_for(sparse, sparse_room_), classes, old_inputs);
    else encoder_ = std::move(encoder);
    for (int i = 0; i < models(); ++i) initialise(i, old_inputs, old_classes, random);
    forget_evaluation();
  }

  void evaluate(const double* x, PhaseClock& clock) override {
    look_at(x);
    clock.lap(Phase::encode);
    const FlushDenormals guard;
    plan_.assign(encoder_, {}, seen_);
    for (int i = 0; i < models(); ++i) {
      if (!fresh_[i] || lags_behind(i)) sweep_model(i, Task::evaluate, plan_);
    }
    std::fill(fresh_.begin(), fresh_.end(), std::uint8_t{1});
    clock.lap(Phase::evaluate);
  }

  int vote(int i) const override {
    const float* z = logits(i);
    if (paired()) return std::isfinite(z[0]) ? z[0] > 0 : -1;
    int best = 0;
    bool finite = std::isfinite(z[0]);
    for (int c = 1; c < classes_; ++c) {
      finite = finite && std::isfinite(z[c]);
      if (z[c] > z[best]) best = c;
    }
    return finite ? best : -1;
  }

  void probabilities(int i, double* out) const override {
    if (vote(i) < 0) {
      std::fill_n(out, classes_, 1.0 / classes_);
      return;
    }
    const float* z = logits(i);
    if (paired()) {
      out[0] = 1 / (1 + std::exp(double(z[0])));
      out[1] = 1 / (1 + std::exp(-double(z[0])));
      return;
    }
    const double top = *std::max_element(z, z + classes_);
    double total = 0;
    for (int c = 0; c < classes_; ++c) total += out[c] = std::exp(double(z[c]) - top);
    for (int c = 0; c < classes_; ++c) out[c] /= total;
  }

  void train(const double* x, int y, const std::uint8_t* chosen, PhaseClock& clock) override {
    const FlushDenormals guard;
    plan_.assign(encoder_, seen_, {});
    for (int i = 0; i < models(); ++i)
      if (chosen[i]) sweep_model(i, Task::train, plan_, y);
    encoder_.learn(x);
    forget_evaluation();
    clock.lap(Phase::train);
  }

  // In one pass over the memory of the chosen models. How much of that pass is evaluation cannot be seen
  // from outside, so one step in kSample is made in two passes and timed; the result is the same.
  void train_and_evaluate(const double* x, int y, const std::uint8_t* chosen, const double* next,
                          PhaseClock& clock) override {
    if (++fused_steps_ % kSample == 1) return sample_step(x, y, chosen, next, clock);
    encoder_.learn(x);
    std::swap(look_, seen_);
    encoder_.encode(next, seen_);
    remember(next);
    fused_plan_.assign(encoder_, look_, seen_);
    plan_.assign(encoder_, {}, seen_);
    clock.lap(Phase::encode);
    const FlushDenormals guard;
    // Back and forth: what the last step used last is still in the cache, so this step uses it first.
    upwards_ = !upwards_;
    for (const bool trained : {upwards_, !upwards_}) {
      for (int n = 0; n < models(); ++n) {
        const int i = upwards_ ? n : models() - 1 - n;
        if ((chosen[i] != 0) != trained) continue;
        if (trained) sweep_model(i, Task::train_and_evaluate, fused_plan_, y);
        else sweep_model(i, Task::evaluate, plan_);
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
    for (int c = 0; c < classes_; ++c) {
      for (int u = 0; u < hidden_[i]; ++u) w2[std::size_t(c) * hidden_[i] + u] = copy.output(i, c, u, 0);
      b2[c] = copy.output(i, c, hidden_[i], 0);
    }
  }
  void write_weights(int i, float* w1, float* b1, float* w2, float* b2) {
    zero(i);
    each_hidden_weight(i, w1, b1, [](float& ours, float& theirs) { ours = theirs; });
    for (int u = 0; u < hidden_[i]; ++u)
      set_outputs(i, u, 0, [&](int c) { return w2[std::size_t(c) * hidden_[i] + u]; });
    set_outputs(i, hidden_[i], 0, [&](int c) { return b2[c]; });
    forget_evaluation();
  }

  template <class Archive>
  void fields(Archive& a) {
    a("classes", classes_), a("dense_room", dense_room_), a("sparse_room", sparse_room_), a("steps", steps_);
    a("weights", weights_), a("output_bias", output_bias_), a("touched", touched_);
    a.added("output_start", output_start_);
    encoder_.fields(a);
  }
  void check() {
    encoder_.check();
    require(classes_ >= 0 && dense_room_ >= encoder_.scaled_inputs() &&
                sparse_room_ >= inputs() - encoder_.scaled_inputs(),
            "room for every input");
    require(steps_.size() == hidden_.size() && all_of(steps_, countable), "steps of every model");
    separate_ = classes_ == 2 && output_start_.empty();  // a state of an earlier version
    require(fits(), "weights for every model");          // before memory is taken for them
    const AlignedFloats weights = std::move(weights_), bias = std::move(output_bias_);
    const std::vector<float> start = std::move(output_start_);
    const std::vector<std::int64_t> touched = std::move(touched_);
    lay_out();
    for (int i = 0; i < models(); ++i)
      for (int r = 0; r < room(); ++r) {
        const std::int64_t t = touched[std::size_t(i) * room() + r];
        require(t >= 0 && t <= steps_[i], "rows touched at a step that was made");
      }
    weights_ = weights, output_bias_ = bias, touched_ = touched, output_start_ = start;
    if (separate_) {
      MlpPool old = *this;
      separate_ = false;
      lay_out();
      take_over(old, inputs());
    }
    forget_evaluation();
  }

 private:
  enum class Task { train, evaluate, train_and_evaluate, look };
  static constexpr std::int64_t kSample = 256;

  // The active inputs of the instance trained on and of the one evaluated, merged.
  struct Plan {
    std::vector<SweepRow> rows;

    void assign(const Encoder& encoder, const Inputs& now, const Inputs& next) {
      constexpr std::int32_t kEnd = std::numeric_limits<std::int32_t>::max();
      rows.clear();
      for (int a = 0, b = 0; a < now.size() || b < next.size();) {
        const std::int32_t i = a < now.size() ? now.index[a] : kEnd, j = b < next.size() ? next.index[b] : kEnd;
        SweepRow row{std::min(i, j)};
        row.slot = encoder.slot(row.input);
        row.sparse = encoder.is_category(row.input);
        row.in_now = i <= j, row.in_next = j <= i;
        if (row.in_now) row.now = now.value[a++];
        if (row.in_next) row.next = next.value[b++];
        rows.push_back(row);
      }
    }
  };

  static int padded(int n) { return (n + kLanes - 1) / kLanes * kLanes; }
  int parts(int i) const { return adam_[i] ? 3 : 1; }  // w, or w, m and v
  int room() const { return dense_room_ + sparse_room_; }
  // Two classes need one row of output weights, w1 − w0: their gradients are each other's negative, so w0 and w1 go
  // the same way in opposite directions and only their difference counts.
  bool paired() const { return classes_ == 2 && !separate_; }
  int outputs() const { return paired() ? 1 : classes_; }
  // A model's memory: the blocks of dense rows, then the sparse rows. These are set apart by a cache line,
  // so that rows of a power of two do not all fall into the same sets of the cache.
  std::size_t dense_size(int i) const {
    return std::size_t(padded(hidden_[i])) * parts(i) * (outputs() + 1 + dense_room_);
  }
  std::size_t sparse_stride(int i) const { return std::size_t(padded(hidden_[i])) * parts(i) + kLanes; }
  std::size_t model_size(int i) const { return dense_size(i) + sparse_stride(i) * sparse_room_; }

  // Room grows in strides, so that a stream with ever new categories does not move the pool every time.
  static int room_for(int wanted, int room) {
    if (wanted <= room) return room;
    return room == 0 ? wanted : std::max(wanted, room + room / 2);
  }
  float* logits(int i) { return &logits_[std::size_t(i) * padded(classes_)]; }
  const float* logits(int i) const { return &logits_[std::size_t(i) * padded(classes_)]; }
  std::int64_t* touched(int i) { return &touched_[std::size_t(i) * room()]; }

  // Whether the arrays are as large as the classes, the room and the models' widths ask for.
  bool fits() const {
    const std::size_t m = hidden_.size(), c = std::size_t(classes_) + kLanes - 1;
    if (m == 0 || touched_.size() / m != std::size_t(dense_room_) + std::size_t(sparse_room_) ||
        touched_.size() % m != 0 || output_bias_.size() != m * 3 * (c / kLanes * kLanes))
      return false;
    std::size_t size = 0, start = 0;
    for (int i = 0; i < models(); ++i) {
      size += model_size(i);
      start += paired() ? 2 * (std::size_t(hidden_[i]) + 1) : 0;
    }
    return weights_.size() == size && output_start_.size() == start;
  }

  // Offsets and zeroed memory for the present classes and room.
  void lay_out() {
    offset_.assign(1, 0);
    unit_offset_.assign(1, 0);
    start_offset_.assign(1, 0);
    for (int i = 0; i < models(); ++i) {
      offset_.push_back(offset_.back() + model_size(i));
      unit_offset_.push_back(unit_offset_.back() + padded(hidden_[i]));
      start_offset_.push_back(start_offset_.back() + 2 * (std::size_t(hidden_[i]) + 1));
    }
    output_start_.assign(paired() ? start_offset_.back() : 0, 0);
    weights_.assign(offset_.back(), 0);
    activations_.assign(unit_offset_.back(), 0);
    output_bias_.assign(std::size_t(models()) * 3 * padded(classes_), 0);
    logits_.assign(std::size_t(models()) * padded(classes_), 0);
    errors_.assign(padded(classes_), 0);
    touched_.assign(std::size_t(models()) * room(), 0);
  }

  // The float of hidden unit `unit`, part 0 (w), 1 (m) or 2 (v), of model i, in a dense row (the classes,
  // the bias, the scaled inputs) or in the row of an input: the layout of mlp_sweep.hpp.
  float& dense_at(int i, int row, int unit, int part = 0) {
    const int rows = outputs() + 1 + dense_room_;
    const std::size_t base = offset_[i] + std::size_t(block_start(unit)) * parts(i) * rows;
    const std::size_t line = part == 0 ? row : rows + 2 * std::size_t(row) + (part - 1);
    return weights_[base + line * block_width(i, unit) + unit % kUnits];
  }
  float& input_at(int i, int input, int unit, int part = 0) {
    const int slot = encoder_.slot(input);
    if (!encoder_.is_category(input)) return dense_at(i, outputs() + 1 + slot, unit, part);
    const std::size_t run = offset_[i] + dense_size(i) + slot * sparse_stride(i);
    if (part == 0) return weights_[run + unit];
    const std::size_t moments = run + padded(hidden_[i]) + 2 * std::size_t(block_start(unit));
    return weights_[moments + (part - 1) * block_width(i, unit) + unit % kUnits];
  }
  static int block_start(int unit) { return unit / kUnits * kUnits; }
  int block_width(int i, int unit) const { return std::min(kUnits, padded(hidden_[i]) - block_start(unit)); }
  float& bias_at(int i, int c, int part = 0) {
    return output_bias_[(std::size_t(i) * 3 + part) * padded(classes_) + c];
  }
  float& hidden_bias_at(int i, int unit, int part = 0) { return dense_at(i, outputs(), unit, part); }

  // An output weight (unit hidden_[i]: the bias) of class c, whether it is kept as such or as part of a pair. A pair
  // remembers what its two weights were when they were set: what they are now follows from the difference.
  float& kept(int i, int row, int unit, int part) {
    return unit < hidden_[i] ? dense_at(i, row, unit, part) : bias_at(i, row, part);
  }
  float* start(int i, int unit) { return &output_start_[start_offset_[i] + 2 * std::size_t(unit)]; }
  float output(int i, int c, int unit, int part) {
    if (!paired()) return kept(i, c, unit, part);
    const float pair = kept(i, 0, unit, part), *w = start(i, unit);
    const float sign = c == 1 ? 1.0F : -1.0F;
    if (part == 0) return w[c] + sign * ((pair - (w[1] - w[0])) / 2);
    return part == 1 ? sign * pair : pair;
  }
  template <class Value>
  void set_outputs(int i, int unit, int part, Value value) {
    if (!paired()) {
      for (int c = 0; c < classes_; ++c) kept(i, c, unit, part) = value(c);
    } else if (part == 0) {
      float* w = start(i, unit);
      w[0] = value(0), w[1] = value(1);
      kept(i, 0, unit, 0) = w[1] - w[0];
    } else {
      kept(i, 0, unit, part) = value(1);
    }
  }

  // Moves every weight and moment into memory laid out for more inputs or classes. If there is not enough of
  // it, the pool stays as it is.
  void repack(Encoder encoder, int dense_room, int sparse_room, int classes, int old_inputs) {
    MlpPool old = *this;
    dense_room_ = dense_room, sparse_room_ = sparse_room, classes_ = classes;
    try {
      lay_out();
    } catch (...) {
      *this = std::move(old);
      throw;
    }
    encoder_ = std::move(encoder);
    take_over(old, old_inputs);
  }
  void take_over(MlpPool& old, int old_inputs) {
    const bool same_outputs = classes_ == old.classes_ && paired() == old.paired();
    if (same_outputs) output_start_ = old.output_start_;
    for (int i = 0; i < models(); ++i) {
      std::copy_n(old.touched_.data() + std::size_t(i) * old.room(), old_inputs, touched(i));
      for (int part = 0; part < parts(i) && old.classes_ > 0; ++part) {
        for (int u = 0; u <= hidden_[i]; ++u) {
          if (same_outputs)
            for (int row = 0; row < outputs(); ++row) kept(i, row, u, part) = old.kept(i, row, u, part);
          else
            set_outputs(i, u, part, [&](int c) { return c < old.classes_ ? old.output(i, c, u, part) : 0.0F; });
        }
        for (int u = 0; u < hidden_[i]; ++u) {
          hidden_bias_at(i, u, part) = old.hidden_bias_at(i, u, part);
          for (int input = 0; input < old_inputs; ++input)
            input_at(i, input, u, part) = old.input_at(i, input, u, part);
        }
      }
    }
  }

  void initialise(int i, int old_inputs, int old_classes, Random& random) {
    const double hidden_bound = 1 / std::sqrt(std::max(inputs(), 1)), output_bound = 1 / std::sqrt(hidden_[i]);
    const auto draw = [&](double bound) { return static_cast<float>(bound * (2 * random.uniform() - 1)); };
    for (int input = old_inputs; input < inputs(); ++input) {
      touched(i)[input] = steps_[i];
      for (int u = 0; u < hidden_[i]; ++u) input_at(i, input, u) = draw(hidden_bound);
    }
    for (int u = 0; u < hidden_[i] && old_classes == 0; ++u) hidden_bias_at(i, u) = draw(hidden_bound);
    const std::size_t units = std::size_t(hidden_[i]) + 1;
    std::vector<float> fresh;  // (new classes, units and the bias)
    for (std::size_t n = units * (classes_ - old_classes); n > 0; --n) fresh.push_back(draw(output_bound));
    for (int u = 0; u <= hidden_[i] && !fresh.empty(); ++u)
      set_outputs(i, u, 0, [&](int c) {
        return c < old_classes ? output(i, c, u, 0) : fresh[units * (c - old_classes) + u];
      });
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

  void sweep_model(int i, Task task, const Plan& plan, int y = 0) {
    Sweep s{};
    s.train = task == Task::train || task == Task::train_and_evaluate;
    s.evaluate = task != Task::train;
    s.keep = task != Task::look;
    s.adam = adam_[i] != 0;
    s.dense = &weights_[offset_[i]];
    s.sparse = s.dense + dense_size(i);
    s.sparse_stride = sparse_stride(i);
    s.activations = &activations_[unit_offset_[i]];
    s.output_bias = &output_bias_[std::size_t(i) * 3 * padded(classes_)];
    s.logits = logits(i);
    s.errors = errors_.data();
    s.rows = plan.rows.data();
    s.n_rows = static_cast<int>(plan.rows.size());
    s.units = padded(hidden_[i]);
    s.outputs = outputs();
    s.pair = paired();
    s.dense_rows = dense_room_;
    s.rate = static_cast<float>(rate_[i]);
    if (s.train) {
      softmax_errors(i, y);
      ++steps_[i];
    }
    if (s.adam) prepare_adam(i, plan, s);
    sweep_(s);
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
    std::int64_t* last = touched(i);
    for (std::size_t r = 0; r < plan.rows.size(); ++r) {
      const SweepRow& row = plan.rows[r];
      lags_[r].due = false;
      if (!(train && row.in_now) && last[row.input] != steps_[i])
        lags_[r] = adam_tables_.get().between(last[row.input], steps_[i], rate_[i]);
      if (keep) last[row.input] = steps_[i];
    }
  }

  // Whether a row of the instance at hand was caught up by a look only, which keeps nothing.
  bool lags_behind(int i) {
    return adam_[i] && std::any_of(plan_.rows.begin(), plan_.rows.end(), [&](const SweepRow& row) {
             return touched(i)[row.input] != steps_[i];
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
    if (paired()) {
      errors_[0] = y == 1 ? -1 / (1 + std::exp(z[0])) : 1 / (1 + std::exp(-z[0]));
      return;
    }
    const float top = *std::max_element(z, z + classes_);
    float total = 0;
    for (int c = 0; c < classes_; ++c) total += errors_[c] = std::exp(z[c] - top);
    for (int c = 0; c < classes_; ++c) errors_[c] /= total;
    errors_[y] -= 1;
  }

  template <class Copy>
  void each_hidden_weight(int i, float* w1, float* b1, Copy copy) {
    for (int u = 0; u < hidden_[i]; ++u) {
      for (int input = 0; input < inputs(); ++input)
        copy(input_at(i, input, u), w1[std::size_t(u) * inputs() + input]);
      copy(hidden_bias_at(i, u), b1[u]);
    }
  }

  void zero(int i) {
    std::fill(&weights_[offset_[i]], &weights_[offset_[i]] + model_size(i), 0.0F);
    std::fill_n(&bias_at(i, 0), 3 * padded(classes_), 0.0F);
    std::fill_n(touched(i), room(), std::int64_t{0});
    steps_[i] = 0;
  }

  std::vector<std::int32_t> hidden_;
  std::vector<std::uint8_t> adam_;
  std::vector<double> rate_;
  Encoder encoder_;
  SweepFunction sweep_;
  std::reference_wrapper<const Adam> adam_tables_ = Adam::tables();

  std::int32_t classes_ = 0, dense_room_ = 0, sparse_room_ = 0;
  std::vector<std::int64_t> steps_;                // training steps of each model
  AlignedFloats weights_, output_bias_;
  std::vector<float> output_start_;                // two classes: the weights that a pair began with
  bool separate_ = false;                          // keep both rows of two classes, as earlier versions did
  std::vector<std::int64_t> touched_;              // (M, room): the step up to which a row is caught up
  std::vector<std::size_t> offset_, unit_offset_, start_offset_;  // where a model's part of the arrays begins

  // Of the last look: the instance, its inputs, and for which models activations and logits are valid.
  std::vector<double> seen_x_;
  Inputs seen_, look_;
  bool any_fresh_ = false;
  std::vector<std::uint8_t> fresh_;
  AlignedFloats activations_, logits_, errors_;
  Plan plan_, fused_plan_;
  std::vector<CatchUp> lags_;

  bool upwards_ = false;
  std::int64_t fused_steps_ = 0;
  double sampled_train_ = 0, sampled_evaluate_ = 0;
};

}  // namespace heros
