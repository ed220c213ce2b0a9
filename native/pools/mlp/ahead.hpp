// Evaluates long-idle models on the next kAhead instances in one pass over their weights. If a policy rarely trains
// large models, the pool then does not read their weights at every instance. Results do not change.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "core/aligned.hpp"
#include "core/encode.hpp"
#include "pools/mlp/sweep.hpp"

namespace heros {

class Ahead {
 public:
  // A model idle for this many steps is expected to stay idle. If it is chosen, it must be evaluated again, as this
  // pass stores no activations for training.
  static constexpr std::int64_t kLongRest = kAhead;
  static constexpr int kOneIn = 8;  // evaluation ahead is worthwhile if at least one in kOneIn models is idle

  // outputs: the number of floats for the logits of a model; it may be larger than needed.
  void make_place(int models, int outputs) {
    close();
    rest_.resize(models);
    assign_zeros(covered_, models);
    assign_zeros(logits_, std::size_t(models) * kAhead * outputs);
  }
  void close() { at_ = kAhead; }

  // Counts the idle steps of each model. Results of chosen models become invalid.
  void note(const std::uint8_t* chosen) {
    long_rests_ = 0;
    for (std::size_t i = 0; i < rest_.size(); ++i) {
      rest_[i] = chosen[i] ? 0 : rest_[i] + 1;
      covered_[i] = covered_[i] && !chosen[i];
      long_rests_ += rest_[i] >= kLongRest;
    }
  }

  // Goes to the next instance, the first of `left` rows X, and returns its inputs. If no inputs are prepared, it
  // prepares the next kAhead instances if that is worthwhile.
  void advance(Encoder& encoder, const double* X, std::int64_t left, Inputs& seen) {
    if (at_ + 1 < kAhead) {
      ++at_;
    } else {
      close();
      if (left < kAhead || long_rests_ * kOneIn < static_cast<int>(rest_.size())) return encoder.encode(X, seen);
      encoder.encode_ahead(X, inputs_);
      merge(encoder);
      std::fill(covered_.begin(), covered_.end(), std::uint8_t{0});
      at_ = 0;
    }
    std::swap(seen, inputs_[at_]);  // merged into rows_, so not needed here again
  }

  // Whether model i should be evaluated ahead now, and whether its logits for the current instance are known.
  bool wanted(int i) const { return at_ == 0 && rest_[i] >= kLongRest; }
  bool covers(int i) const { return at_ < kAhead && covered_[i]; }
  const std::vector<AheadRow>& rows() const { return rows_; }
  LookAhead look(int i) { return {rows_.data(), static_cast<int>(rows_.size()), logits_at(i, 0), stride()}; }
  void cover(int i) { covered_[i] = 1; }
  void read(int i, int outputs, float* logits) { std::copy_n(logits_at(i, at_), outputs, logits); }

 private:
  // Computed from the allocated size, so that the result is correct even if an allocation failed.
  std::size_t stride() const { return logits_.size() / (rest_.size() * kAhead); }
  float* logits_at(int i, int instance) { return &logits_[(std::size_t(i) * kAhead + instance) * stride()]; }

  // Merges the active inputs of the instances.
  void merge(const Encoder& encoder) {
    constexpr std::int32_t kEnd = std::numeric_limits<std::int32_t>::max();
    std::array<int, kAhead> at{};
    const auto input = [&](int j) { return at[j] < inputs_[j].size() ? inputs_[j].index[at[j]] : kEnd; };
    rows_.clear();
    while (true) {
      AheadRow row{kEnd};
      for (int j = 0; j < kAhead; ++j) row.input = std::min(row.input, input(j));
      if (row.input == kEnd) return;
      row.slot = encoder.slot(row.input);
      row.sparse = encoder.is_category(row.input);
      for (int j = 0; j < kAhead; ++j) {
        row.active[j] = input(j) == row.input;
        if (row.active[j]) row.value[j] = inputs_[j].value[at[j]++];
      }
      rows_.push_back(row);
    }
  }

  std::vector<std::int64_t> rest_;  // idle steps of each model
  int long_rests_ = 0;
  int at_ = kAhead;  // index of the current instance among the instances evaluated ahead; kAhead if there are none
  std::array<Inputs, kAhead> inputs_;
  std::vector<AheadRow> rows_;
  std::vector<std::uint8_t> covered_;  // models evaluated on these instances
  AlignedFloats logits_;               // (M, kAhead, stride)
};

}  // namespace heros
