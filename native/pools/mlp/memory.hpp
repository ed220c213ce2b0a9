// The weights and moments of a pool of perceptrons: their positions (the layout of sweep.hpp), and how they move when
// the pool grows.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "core/aligned.hpp"
#include "core/encode.hpp"
#include "pools/mlp/sweep.hpp"
#include "core/state.hpp"

namespace heros {

class MlpMemory {
 public:
  MlpMemory(std::vector<std::int32_t> hidden, std::vector<std::uint8_t> adam)
      : hidden_(std::move(hidden)), adam_(std::move(adam)) {}

  int models() const { return static_cast<int>(hidden_.size()); }
  int hidden(int i) const { return hidden_[i]; }
  bool adam(int i) const { return adam_[i] != 0; }
  int classes() const { return classes_; }
  int dense_room() const { return dense_room_; }

  // Units and classes are padded to whole vectors.
  static int padded(int n) { return (n + kLanes - 1) / kLanes * kLanes; }
  int units(int i) const { return padded(hidden_[i]); }

  // Two classes need one row of output weights, w1 − w0. Their gradients are negatives of each other, so only the
  // difference matters.
  bool paired() const { return classes_ == 2; }
  int outputs() const { return paired() ? 1 : classes_; }

  // The start of each part of model i.
  float* dense(int i) { return &weights_[offset_[i]]; }
  float* sparse(int i) { return dense(i) + dense_size(i); }
  float* output_bias(int i) { return &bias_at(i, 0, 0); }
  // Per input: the step up to which its row is caught up.
  std::int64_t* touched(int i) { return touched_.data() + std::size_t(i) * room(); }
  // Sparse rows have a cache line between them, so that rows whose size is a power of two do not share the same cache
  // sets.
  std::size_t sparse_stride(int i) const { return std::size_t(units(i)) * parts(i) + kLanes; }

  // Part 0 is the weight, 1 and 2 are Adam's m and v. The output weight of unit hidden(i) is the bias. A pair of output
  // weights stores its initial values; the current values follow from the difference.
  int parts(int i) const { return adam_[i] ? 3 : 1; }
  float& input_at(const Encoder& encoder, int i, int input, int unit, int part = 0) {
    const int slot = encoder.slot(input);
    if (!encoder.is_category(input)) return dense_at(i, outputs() + 1 + slot, unit, part);
    const std::size_t run = offset_[i] + dense_size(i) + slot * sparse_stride(i);
    if (part == 0) return weights_[run + unit];
    const std::size_t moments = run + units(i) + 2 * std::size_t(block_start(unit));
    return weights_[moments + (part - 1) * block_width(i, unit) + unit % kUnits];
  }
  float& hidden_bias_at(int i, int unit, int part = 0) { return dense_at(i, outputs(), unit, part); }
  float output(int i, int c, int unit, int part = 0) {
    if (!paired()) return output_row(i, c, unit, part);
    const float pair = output_row(i, 0, unit, part), *w = start(i, unit);
    const float sign = c == 1 ? 1.0F : -1.0F, apart = w[1] - w[0];
    if (part > 0) return part == 1 ? sign * pair : pair;
    return pair == apart || !std::isfinite(apart) ? w[c] : w[c] + sign * ((pair - apart) / 2);
  }
  // Setting one weight of a pair resets the other weight to its initial value. Set both weights unless the other is
  // still at its initial value.
  void set_output(int i, int c, int unit, int part, float value) {
    if (!paired()) {
      output_row(i, c, unit, part) = value;
    } else if (part == 0) {
      float* w = start(i, unit);
      w[c] = value;
      output_row(i, 0, unit, 0) = w[1] - w[0];
    } else if (c == 1) {  // class 0 has −m and the same v
      output_row(i, 0, unit, part) = value;
    }
  }
  void clear(int i) {
    std::fill_n(dense(i), model_size(i), 0.0F);
    std::fill_n(output_bias(i), 3 * padded(classes_), 0.0F);
    std::fill_n(touched(i), room(), std::int64_t{0});
  }

  // Makes room for the encoder's inputs and the classes, and moves the weights of the first `inputs` inputs. If memory
  // is short, nothing changes. The room grows in large steps, so that new categories rarely move the whole pool.
  void grow(const Encoder& encoder, int classes, int inputs) {
    const int dense = encoder.scaled_inputs(), sparse = encoder.inputs() - dense;
    if (dense > dense_room_ || sparse > sparse_room_ || classes > classes_)
      repack(encoder, room_for(dense, dense_room_), room_for(sparse, sparse_room_), classes, inputs);
  }

  template <class Archive>
  void fields(Archive& a) {
    a("classes", classes_), a("dense_room", dense_room_), a("sparse_room", sparse_room_);
    a("weights", weights_), a("output_bias", output_bias_), a("touched", touched_);
    a.optional("output_start", output_start_);
  }
  void check(const Encoder& encoder, const std::vector<std::int64_t>& steps) {
    require(classes_ >= 0 && dense_room_ >= encoder.scaled_inputs() &&
                sparse_room_ >= encoder.inputs() - encoder.scaled_inputs(),
            "there is not enough room for the inputs");
    require(fits(), "there must be weights for each model");  // before any use
    find_offsets();
    for (int i = 0; i < models(); ++i)
      require(std::all_of(touched(i), touched(i) + room(), [&](auto t) { return t >= 0 && t <= steps[i]; }),
              "a row was touched after the last step");
  }

 private:
  int room() const { return dense_room_ + sparse_room_; }
  static int room_for(int wanted, int room) {
    if (wanted <= room) return room;
    return room == 0 ? wanted : std::max(wanted, room + room / 2);
  }
  // The memory of a model: blocks of dense rows, then sparse rows.
  int dense_rows() const { return outputs() + 1 + dense_room_; }
  std::size_t dense_size(int i) const { return std::size_t(units(i)) * parts(i) * dense_rows(); }
  std::size_t model_size(int i) const { return dense_size(i) + sparse_stride(i) * sparse_room_; }
  std::size_t start_size(int i) const { return 2 * (std::size_t(hidden_[i]) + 1); }

  // A dense row is an output, the bias of the hidden units or a scaled input, in this order.
  float& dense_at(int i, int row, int unit, int part) {
    const std::size_t base = offset_[i] + std::size_t(block_start(unit)) * parts(i) * dense_rows();
    const std::size_t line = part == 0 ? row : dense_rows() + 2 * std::size_t(row) + (part - 1);
    return weights_[base + line * block_width(i, unit) + unit % kUnits];
  }
  static int block_start(int unit) { return unit / kUnits * kUnits; }
  int block_width(int i, int unit) const { return std::min(kUnits, units(i) - block_start(unit)); }
  float& bias_at(int i, int row, int part) {
    return output_bias_[(std::size_t(i) * 3 + part) * padded(classes_) + row];
  }
  float& output_row(int i, int row, int unit, int part) {
    return unit < hidden_[i] ? dense_at(i, row, unit, part) : bias_at(i, row, part);
  }
  float* start(int i, int unit) { return &output_start_[start_offset_[i] + 2 * std::size_t(unit)]; }

  // Whether the sizes of the arrays match the classes, the room and the models' widths.
  bool fits() const {
    const std::size_t m = hidden_.size(), c = std::size_t(classes_) + kLanes - 1;
    if (m == 0 || touched_.size() / m != std::size_t(dense_room_) + std::size_t(sparse_room_) ||
        touched_.size() % m != 0 || output_bias_.size() != m * 3 * (c / kLanes * kLanes))
      return false;
    std::size_t size = 0, start = 0;
    for (int i = 0; i < models(); ++i) size += model_size(i), start += paired() ? start_size(i) : 0;
    return weights_.size() == size && output_start_.size() == start;
  }

  void find_offsets() {
    offset_.assign(1, 0), start_offset_.assign(1, 0);
    for (int i = 0; i < models(); ++i) {
      offset_.push_back(offset_.back() + model_size(i));
      start_offset_.push_back(start_offset_.back() + start_size(i));
    }
  }
  // Allocates zeros for the current classes and room.
  void lay_out() {
    find_offsets();
    weights_.assign(offset_.back(), 0);
    output_bias_.assign(std::size_t(models()) * 3 * padded(classes_), 0);
    output_start_.assign(paired() ? start_offset_.back() : 0, 0);
    touched_.assign(std::size_t(models()) * room(), 0);
  }

  void repack(const Encoder& encoder, int dense_room, int sparse_room, int classes, int inputs) {
    MlpMemory fresh(hidden_, adam_);
    fresh.dense_room_ = dense_room, fresh.sparse_room_ = sparse_room, fresh.classes_ = classes;
    fresh.lay_out();
    fresh.take_over(*this, encoder, inputs);
    *this = std::move(fresh);
  }

  // Copies the weights and moments of the first `inputs` inputs and of the old classes.
  void take_over(MlpMemory& old, const Encoder& encoder, int inputs) {
    for (int i = 0; i < models(); ++i) {
      std::copy_n(old.touched(i), inputs, touched(i));
      for (int part = 0; part < parts(i) && old.classes_ > 0; ++part) {
        for (int u = 0; u < hidden_[i]; ++u) {
          hidden_bias_at(i, u, part) = old.hidden_bias_at(i, u, part);
          for (int input = 0; input < inputs; ++input)
            input_at(encoder, i, input, u, part) = old.input_at(encoder, i, input, u, part);
        }
        for (int u = 0; u <= hidden_[i]; ++u) take_over_outputs(old, i, u, part);
      }
    }
  }
  void take_over_outputs(MlpMemory& old, int i, int unit, int part) {
    if (classes_ != old.classes_) {
      for (int c = 0; c < old.classes_; ++c) set_output(i, c, unit, part, old.output(i, c, unit, part));
      return;
    }
    for (int row = 0; row < outputs(); ++row) output_row(i, row, unit, part) = old.output_row(i, row, unit, part);
    if (paired()) std::copy_n(old.start(i, unit), 2, start(i, unit));
  }

  std::vector<std::int32_t> hidden_;
  std::vector<std::uint8_t> adam_;
  std::int32_t classes_ = 0, dense_room_ = 0, sparse_room_ = 0;
  AlignedFloats weights_, output_bias_;
  std::vector<float> output_start_;     // two classes: the initial output weights
  std::vector<std::int64_t> touched_;   // (M, room)
  std::vector<std::size_t> offset_, start_offset_;
};

}  // namespace heros
