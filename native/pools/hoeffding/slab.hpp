// An array of records of one size, addressed by index. Each record has some doubles and some integers. Freed records
// are reused, so a tree within its byte limit stays within that memory.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "core/state.hpp"

namespace heros {

// Resizes to n elements with a small reserve. Doubling the capacity would use up to twice the memory that the tree
// accounts for.
template <class T>
void make_size(std::vector<T>& values, std::size_t n) {
  if (n > values.capacity()) values.reserve(n + n / 8);
  values.resize(n);
}

class Slab {
 public:
  Slab() = default;
  Slab(int reals, int ints) : n_reals_(reals), n_ints_(ints) {}

  // Takes over existing memory. Throws std::invalid_argument if the parts do not fit together.
  Slab(int reals, int ints, std::vector<double> all_reals, std::vector<std::int32_t> all_ints,
       std::vector<std::int32_t> all_free)
      : n_reals_(reals), n_ints_(ints), reals_(std::move(all_reals)), ints_(std::move(all_ints)),
        free_(std::move(all_free)) {
    require(ints > 0 && ints_.size() % ints == 0, "a record is incomplete");
    size_ = static_cast<int>(ints_.size() / ints);
    require(reals_.size() == std::size_t(size_) * reals, "the parts of the records have different lengths");
    std::vector<std::uint8_t> seen(size_);
    for (const std::int32_t i : free_) require(i >= 0 && i < size_ && !seen[i]++,
                                               "a free record does not exist or is listed twice");
  }

  double* reals(int i) { return reals_.data() + std::size_t(i) * n_reals_; }
  const double* reals(int i) const { return reals_.data() + std::size_t(i) * n_reals_; }
  std::int32_t* ints(int i) { return ints_.data() + std::size_t(i) * n_ints_; }
  const std::int32_t* ints(int i) const { return ints_.data() + std::size_t(i) * n_ints_; }

  int size() const { return size_; }  // number of records, including free ones
  int used() const { return size_ - static_cast<int>(free_.size()); }

  // Returns a record of zeros.
  int take() {
    if (!free_.empty()) {
      const int i = free_.back();
      free_.pop_back();
      std::fill_n(reals(i), n_reals_, 0.0);
      std::fill_n(ints(i), n_ints_, 0);
      return i;
    }
    make_size(reals_, std::size_t(size_ + 1) * n_reals_);
    make_size(ints_, std::size_t(size_ + 1) * n_ints_);
    return size_++;
  }
  void give_back(int i) { free_.push_back(i); }

  // The whole memory, for the state of a tree (state.hpp).
  const std::vector<double>& all_reals() const { return reals_; }
  const std::vector<std::int32_t>& all_ints() const { return ints_; }
  const std::vector<std::int32_t>& all_free() const { return free_; }

  std::vector<std::uint8_t> in_use() const {
    std::vector<std::uint8_t> used(size_, 1);
    for (const std::int32_t i : free_) used[i] = 0;
    return used;
  }

 private:
  int n_reals_ = 0, n_ints_ = 0, size_ = 0;
  std::vector<double> reals_;
  std::vector<std::int32_t> ints_, free_;
};

}  // namespace heros
