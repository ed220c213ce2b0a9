// The rows in which neighbours are searched: a ring of the newest rows, in blocks of kRows, column by column
// (distances.hpp). All models of a pool share one store.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/aligned.hpp"
#include "core/moments.hpp"
#include "pools/neighbours/distances.hpp"

namespace heros {

// The columns of a row: numbers; codes of features with few values, one byte each; codes of features with many values,
// as floats (exact up to 24 bits).
struct RowLayout {
  static constexpr std::int32_t kFew = 255;
  static constexpr std::uint8_t kMissingByte = 255;
  static constexpr float kMissing = -1;

  std::vector<std::int32_t> values;              // per feature: number of values, 0 if numeric
  std::vector<std::int32_t> number, few, many;  // the features of each kind, in order

  RowLayout() = default;
  explicit RowLayout(std::vector<std::int32_t> values_per_feature) : values(std::move(values_per_feature)) {
    for (std::size_t f = 0; f < values.size(); ++f)
      (values[f] == 0 ? number : values[f] <= kFew ? few : many).push_back(static_cast<std::int32_t>(f));
  }

  int numbers() const { return static_cast<int>(number.size()); }
  int fews() const { return static_cast<int>(few.size()); }
  int manys() const { return static_cast<int>(many.size()); }

  // Whether rows of the other layout have the same columns.
  bool same_columns(const RowLayout& other) const {
    return number == other.number && few == other.few && many == other.many;
  }

  // Bytes per block counted by the byte limit: the columns, the half norm and the target of every row.
  std::int64_t block_bytes() const {
    return kRows * (std::int64_t{4} * (numbers() + manys() + 1) + fews() + std::int64_t{8});
  }
};

// An instance in the store's format.
struct Row {
  std::vector<float> numbers, manys;
  std::vector<std::uint8_t> fews;

  void resize(const RowLayout& layout) {
    numbers.resize(layout.number.size()), manys.resize(layout.many.size()), fews.resize(layout.few.size());
  }

  // Scales numbers to standard deviations from the mean, including x itself. A missing number becomes the mean. A
  // missing nominal value counts as a separate value.
  void assign(const double* x, const RowLayout& layout, const Moments& moments) {
    for (std::size_t j = 0; j < numbers.size(); ++j) numbers[j] = scaled(layout.number[j], x, moments);
    for (std::size_t j = 0; j < fews.size(); ++j) {
      const double code = x[layout.few[j]];
      fews[j] = std::isnan(code) ? RowLayout::kMissingByte : static_cast<std::uint8_t>(code);
    }
    for (std::size_t j = 0; j < manys.size(); ++j) {
      const double code = x[layout.many[j]];
      manys[j] = std::isnan(code) ? RowLayout::kMissing : static_cast<float>(code);
    }
  }

  static float scaled(int f, const double* x, const Moments& moments) {
    if (std::isnan(x[f])) return 0;
    const auto [off, sd] = moments.deviation(f, x[f]);
    return sd > 0 ? static_cast<float>(std::clamp(off / sd, -double{kFarthest}, double{kFarthest})) : 0.0F;
  }
};

class RowStore {
 public:
  RowStore() = default;
  // Holds at most `rows` rows, in whole blocks, within max_bytes, which must hold at least one block.
  RowStore(const RowLayout& layout, std::int64_t rows, std::int64_t max_bytes)
      : numbers_(layout.numbers()), fews_(layout.fews()), manys_(layout.manys()), block_bytes_(layout.block_bytes()),
        most_blocks_(std::min((rows + kRows - 1) / kRows, max_bytes / block_bytes_)) {}

  std::int64_t room() const { return most_blocks_ * kRows; }
  std::int64_t size() const { return std::min(added_, room()); }
  std::int64_t bytes() const { return blocks_ * block_bytes_; }

  void add(const Row& row, double target) {
    const std::int64_t slot = added_ % room();
    if (slot / kRows >= blocks_) add_block();
    float* column = at(slot);
    float half_norm = 0;
    for (const float x : row.numbers) *column = x, column += kRows, half_norm += x * x / 2;
    for (const float code : row.manys) *column = code, column += kRows;
    std::uint8_t* bytes = bytes_.data() + slot / kRows * kRows * fews_ + slot % kRows;
    for (const std::uint8_t code : row.fews) *bytes = code, bytes += kRows;
    half_norms_[slot] = half_norm;
    targets_[slot] = target;
    ++added_;
  }

  // Reads the row of this age (0: the newest) and its target.
  void read(std::int64_t age, Row& row) const {
    const std::int64_t slot = slot_of(age);
    const float* column = at(slot);
    for (float& x : row.numbers) x = *column, column += kRows;
    for (float& code : row.manys) code = *column, column += kRows;
    const std::uint8_t* bytes = bytes_.data() + slot / kRows * kRows * fews_ + slot % kRows;
    for (std::uint8_t& code : row.fews) code = *bytes, bytes += kRows;
  }
  double target(std::int64_t age) const { return targets_[slot_of(age)]; }

  // For the search: slots start at the newest row, go down and wrap around.
  std::int64_t slot_of(std::int64_t age) const { return (added_ - 1 - age) % room(); }
  double target_at(std::int64_t slot) const { return targets_[slot]; }
  int numbers() const { return numbers_; }
  int fews() const { return fews_; }
  int manys() const { return manys_; }
  const float* floats_of(std::int64_t block) const { return floats_.data() + block * kRows * (numbers_ + manys_); }
  const std::uint8_t* bytes_of(std::int64_t block) const { return bytes_.data() + block * kRows * fews_; }
  const float* half_norms_of(std::int64_t block) const { return half_norms_.data() + block * kRows; }

 private:
  float* at(std::int64_t slot) {
    return floats_.data() + slot / kRows * kRows * (numbers_ + manys_) + slot % kRows;
  }
  const float* at(std::int64_t slot) const { return const_cast<RowStore*>(this)->at(slot); }

  // Memory grows with the number of rows, each time by half, up to the limit.
  void add_block() {
    ++blocks_;
    resize(floats_, kRows * (numbers_ + manys_));
    resize(bytes_, kRows * fews_);
    resize(half_norms_, kRows);
    resize(targets_, kRows);
  }
  template <class Values>
  void resize(Values& values, std::int64_t per_block) {
    const auto wanted = static_cast<std::size_t>(blocks_ * per_block);
    if (wanted > values.capacity())
      values.reserve(static_cast<std::size_t>(std::min(blocks_ + blocks_ / 2, most_blocks_) * per_block));
    values.resize(wanted);
  }

  int numbers_ = 0, fews_ = 0, manys_ = 0;
  std::int64_t block_bytes_ = 1, most_blocks_ = 1, blocks_ = 0;
  std::int64_t added_ = 0;
  AlignedFloats floats_;                                                 // (blocks, numbers + manys, kRows)
  AlignedFloats half_norms_;                                             // (blocks, kRows)
  std::vector<std::uint8_t, AlignedAllocator<std::uint8_t>> bytes_;  // (blocks, fews, kRows)
  std::vector<double> targets_;                                          // (blocks, kRows)
};

}  // namespace heros
