// Who looks at an instance: a mask for the pool, a list for whoever has something to do for each of them. A mask that
// changes from instance to instance has no pattern: asking it for every model costs a wrong guess for every other one,
// which is more than the work itself.
#pragma once

#include <cstdint>
#include <numeric>
#include <vector>

namespace heros {

class Lookers {
 public:
  // At first all of them.
  explicit Lookers(int models) : models_(models), who_(models) { take_all(); }

  // Those that the mask names, a byte per model, 0 or 1; without a mask all. The mask is kept by whoever gave it.
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
  std::vector<int> who_;  // the first `count_`, by rising index
  int count_ = 0;
};

}  // namespace heros
