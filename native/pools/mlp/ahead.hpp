// Models that have been at rest for long are evaluated on the next kAhead instances in one pass over their weights: a
// policy that leaves large models alone does not pay for reading them at every instance. Results do not change.
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
  // A model at rest for so long is expected to stay there. If it is chosen all the same, it has to look again: a look
  // ahead leaves no activations to train on.
  static constexpr std::int64_t kLongRest = kAhead;
  static constexpr int kOneIn = 8;  // a look is prepared if at least one model in so many rests

  // `outputs`: floats that a model's logits take. More than are needed do no harm.
  void make_place(int models, int outputs) {
    close();
    rest_.resize(models);
    assign_zeros(covered_, models);
    assign_zeros(logits_, std::size_t(models) * kAhead * outputs);
  }
  void close() { at_ = kAhead; }

  // Counts for how many steps each model has been at rest. What a chosen one saw ahead holds no more.
  void note(const std::uint8_t* chosen) {
    long_rests_ = 0;
    for (std::size_t i = 0; i < rest_.size(); ++i) {
      rest_[i] = chosen[i] ? 0 : rest_[i] + 1;
      covered_[i] = covered_[i] && !chosen[i];
      long_rests_ += rest_[i] >= kLongRest;
    }
  }

  // Goes on to the next instance, the first of `left` rows X, and gives its inputs: they are known from a look ahead,
  // or one is taken now if it pays.
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
    std::swap(seen, inputs_[at_]);  // merged into rows_, it is not needed here again
  }

  // Whether model i should look ahead now, and whether it has: then its logits for the present instance are known.
  bool wanted(int i) const { return at_ == 0 && rest_[i] >= kLongRest; }
  bool covers(int i) const { return at_ < kAhead && covered_[i]; }
  const std::vector<AheadRow>& rows() const { return rows_; }
  LookAhead look(int i) { return {rows_.data(), static_cast<int>(rows_.size()), logits_at(i, 0), stride()}; }
  void cover(int i) { covered_[i] = 1; }
  void read(int i, int outputs, float* logits) { std::copy_n(logits_at(i, at_), outputs, logits); }

 private:
  // From what there is, so that it holds if more could not be had.
  std::size_t stride() const { return logits_.size() / (rest_.size() * kAhead); }
  float* logits_at(int i, int instance) { return &logits_[(std::size_t(i) * kAhead + instance) * stride()]; }

  // The inputs that are active in any of the instances.
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

  std::vector<std::int64_t> rest_;  // steps each model has been at rest
  int long_rests_ = 0;
  int at_ = kAhead;  // which of the instances looked at is the present one; kAhead: none is
  std::array<Inputs, kAhead> inputs_;
  std::vector<AheadRow> rows_;
  std::vector<std::uint8_t> covered_;  // models that have looked at these instances
  AlignedFloats logits_;               // (M, kAhead, stride)
};

}  // namespace heros
