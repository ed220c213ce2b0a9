// Finds the nearest rows in several windows in one pass, from the newest row to the oldest. One list holds the nearest
// rows so far. At the end of each window, the list holds the nearest rows of that window.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include "pools/neighbours/distances.hpp"
#include "pools/neighbours/store.hpp"

namespace heros {

// A model's request: its k nearest rows among the newest `width` rows.
struct Wish {
  std::int64_t width;
  int k, model;
};

struct Neighbour {
  float square;       // the squared distance
  std::int64_t slot;  // the slot of the row in the store
};

class NeighbourSearch {
 public:
  // Serves the requests with found(model, neighbours, count): nearest first, ties newest first. The requests are sorted
  // by width. No window may be wider than the store.
  template <class Found>
  void run(const RowStore& store, const Row& row, std::vector<Wish>& wishes, Found found) {
    std::sort(wishes.begin(), wishes.end(), [](const Wish& a, const Wish& b) { return a.width < b.width; });
    prepare(store, row);
    std::int64_t age = 0, slot = store.slot_of(0), measured = -1;
    for (std::size_t w = 0; w < wishes.size(); ++w) {
      keep_most(wishes, w);
      while (age < wishes[w].width) {  // a block, or its part within the ring and the window
        const std::int64_t rows = std::min(slot % kRows + 1, wishes[w].width - age);
        if (measured != slot / kRows) measure(store, row, measured = slot / kRows);
        if (near_) take(row, slot, static_cast<int>(rows));
        age += rows, slot -= rows;
        if (slot < 0) slot += store.room();
      }
      found(wishes[w].model, nearest_.data(), std::min(wishes[w].k, static_cast<int>(nearest_.size())));
    }
  }

 private:
  static constexpr float kNone = std::numeric_limits<float>::infinity();
  static constexpr int kFewRows = 4;  // up to this many near rows of a block are measured one by one

  void prepare(const RowStore& store, const Row& row) {
    nearest_.clear();
    float half_norm = 0;
    for (const float x : row.numbers) half_norm += x * x / 2;
    slack_ = neighbours::rough_slack(store.numbers(), store.fews() + store.manys()) - half_norm;
    factor_ = 0.5F + static_cast<float>(store.numbers() + 4) / (1 << 23);
  }

  // Limits the list to the largest k of this window and of wider windows.
  void keep_most(const std::vector<Wish>& wishes, std::size_t from) {
    most_ = 0;
    for (std::size_t w = from; w < wishes.size(); ++w) most_ = std::max(most_, std::size_t(wishes[w].k));
    nearest_.resize(std::min(nearest_.size(), most_));
    set_bound();
  }
  void set_bound() {
    bound_ = nearest_.size() < most_ ? kNone : nearest_.back().square;
    rough_bound_ = bound_ * factor_ + slack_;
  }

  // Measures the distances of a block, approximately if that is sufficient. `near_` is false if no row is near enough.
  void measure(const RowStore& store, const Row& row, std::int64_t block) {
    floats_ = store.floats_of(block);
    std::fill_n(squares_, kRows, 0.0F);
    if (store.fews() + store.manys() > 0) {
      neighbours::add_mismatches(store.bytes_of(block), row.fews.data(), store.fews(), squares_);
      neighbours::add_mismatches(floats_ + store.numbers() * kRows, row.manys.data(), store.manys(), squares_);
      near_ = neighbours::lowest(squares_) < bound_;
      if (!near_) return;  // no need to read the numbers
    }
    near_ = exact_ = true;
    if (store.numbers() == 0) return;
    if (bound_ == kNone) return measure_exactly(row);
    neighbours::rough(floats_, row.numbers.data(), store.numbers(), store.half_norms_of(block), squares_, rough_);
    near_ = neighbours::lowest(rough_) < rough_bound_;
    exact_ = false;
    asked_ = 0;
  }
  void measure_exactly(const Row& row) {
    neighbours::add_squares(floats_, row.numbers.data(), static_cast<int>(row.numbers.size()), squares_);
    exact_ = true;
  }

  // Adds near rows of the measured block, from this slot down.
  void take(const Row& row, std::int64_t slot, int rows) {
    const std::int64_t first = slot / kRows * kRows;
    const int from = static_cast<int>(slot - first), end = from - rows;
    const float* lanes = exact_ ? squares_ : rough_;
    const float bound = exact_ ? bound_ : rough_bound_;
    // Branch-free, as near rows are unpredictable: first a byte per row, then only the groups of eight rows that
    // contain a near row.
    alignas(64) std::uint8_t is_near[kRows];
    for (int r = 0; r < kRows; ++r) is_near[r] = lanes[r] < bound;
    int found[kRows], n = 0;
    for (int eight = from / 8; eight >= (end + 1) / 8; --eight) {
      std::uint64_t any;
      std::memcpy(&any, is_near + 8 * eight, 8);
      if (any == 0) continue;
      for (int r = std::min(8 * eight + 7, from); r >= std::max(8 * eight, end + 1); --r) found[n] = r, n += is_near[r];
    }
    if (!exact_ && n > kFewRows) measure_exactly(row);
    for (int j = 0; j < n; ++j) {
      const int r = found[j];
      const int numbers = exact_ ? 0 : static_cast<int>(row.numbers.size());
      const float square = squares_[r] + neighbours::square_of(floats_, row.numbers.data(), numbers, r);
      if (square < bound_) insert({square, first + r});
    }
  }

  void insert(Neighbour found) {
    if (nearest_.size() < most_) nearest_.push_back(found);
    std::size_t at = nearest_.size() - 1;
    for (; at > 0 && found.square < nearest_[at - 1].square; --at) nearest_[at] = nearest_[at - 1];
    nearest_[at] = found;
    set_bound();
  }

  std::vector<Neighbour> nearest_;  // the nearest rows so far, sorted
  std::size_t most_ = 0;            // the maximum length of nearest_
  float bound_ = kNone;             // only rows below this squared distance are added
  float rough_bound_ = kNone, slack_ = 0, factor_ = 0.5F;

  // Results for the measured block.
  alignas(64) float squares_[kRows] = {}, rough_[kRows] = {};  // squares_: only mismatches unless exact_
  const float* floats_ = nullptr;
  bool near_ = false, exact_ = false;
  int asked_ = 0;
};

}  // namespace heros
