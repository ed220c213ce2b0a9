// The models to evaluate on an instance: a mask for the pool, and a list of indices for loops. A loop over the mask
// would mispredict a branch for about every second model, which costs more than the work itself.
#pragma once

#include <cstdint>
#include <numeric>
#include <vector>

namespace heros {

class Lookers {
 public:
  // All models are evaluated until `take` is called.
  explicit Lookers(int models) : models_(models), who_(models) { take_all(); }

  // Takes a mask with one byte per model, 0 or 1; nullptr means all models. The caller keeps the mask alive.
  void take(const std::uint8_t* mask) {
    if (mask == nullptr) return take_all();
    mask_ = mask;
    int count = 0;
    for (int i = 0; i < models_; ++i) {
      who_[count] = i;
      count += mask[i] != 0;
    }
    count_ = count;
  }

  const std::uint8_t* mask() const { return mask_; }
  bool all() const { return mask_ == nullptr; }
  bool has(int i) const { return mask_ == nullptr || mask_[i] != 0; }
  const int* begin() const { return who_.data(); }
  const int* end() const { return who_.data() + count_; }

 private:
  void take_all() {
    mask_ = nullptr, count_ = models_;
    std::iota(who_.begin(), who_.end(), 0);
  }

  int models_;
  const std::uint8_t* mask_ = nullptr;
  std::vector<int> who_;  // the first `count_` are valid, ascending
  int count_ = 0;
};

}  // namespace heros
