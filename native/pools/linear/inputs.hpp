// The inputs of linear models: the inputs of the encoder, and shared inputs for features with very many values.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/encode.hpp"
#include "core/state.hpp"

namespace heros {

// An active row of weights, and the value of its input.
struct ActiveRow {
  std::int32_t row;
  double value;
};

// The rows of weights. Row 0 is the bias. The first `own` values of a nominal feature have their own inputs. A hash
// maps the others to `shared` inputs, whose rows come next if any feature needs them. The encoder's inputs come last,
// so that new inputs are appended.
class LinearInputs {
 public:
  LinearInputs(double divisor, std::int32_t own, std::int32_t shared) : own_(own), shared_(shared), encoder_(divisor) {}

  int features() const { return static_cast<int>(values_.size()); }
  int inputs() const { return encoder_.inputs(); }
  int rows() const { return 1 + hashed_rows() + encoder_.inputs(); }
  const std::vector<std::int32_t>& values() const { return values_; }

  // The row in this schema of row r of a smaller schema.
  int row_now(int r, const LinearInputs& before) const {
    return r <= before.hashed_rows() ? r : r + hashed_rows() - before.hashed_rows();
  }

  void grow(const std::vector<std::int32_t>& values) {
    values_ = values;
    encoder_.grow(clipped());
  }

  // Encodes x as if it were already part of the running moments. Does not change them.
  void encode(const double* x, std::vector<ActiveRow>& out) {
    out.assign(1, {0, 1.0});
    x_.assign(x, x + values_.size());
    for (std::size_t f = 0; hashed_rows() > 0 && f < values_.size(); ++f)
      if (values_[f] > own_ && x[f] >= own_) {
        add_shared(1 + hashed(static_cast<std::uint64_t>(f), static_cast<std::uint64_t>(x[f])), out);
        x_[f] = std::nan("");
      }
    encoder_.encode(x_.data(), active_);
    for (int j = 0; j < active_.size(); ++j)
      out.push_back({1 + hashed_rows() + active_.index[j], double{active_.value[j]}});
  }
  void learn(const double* x) { encoder_.learn(x); }  // codes beyond `own` have no moments

  template <class Archive>
  void fields(Archive& a) {
    a("values", values_);
    Prefixed<Archive> named{a, "inputs_"};
    encoder_.fields(named);
  }
  void check() {
    require(all_of(values_, [](std::int32_t n) { return n >= 0; }), "values");
    encoder_.check();
    require(encoder_.values() == clipped(), "the inputs do not fit the values");
  }

 private:
  int hashed_rows() const {
    return std::any_of(values_.begin(), values_.end(), [&](std::int32_t n) { return n > own_; }) ? shared_ : 0;
  }
  std::vector<std::int32_t> clipped() const {
    std::vector<std::int32_t> fewer = values_;
    for (std::int32_t& n : fewer) n = std::min(n, own_);
    return fewer;
  }

  // If two features share an input, their values are added.
  static void add_shared(std::int32_t row, std::vector<ActiveRow>& out) {
    for (ActiveRow& active : out)
      if (active.row == row) return void(active.value += 1);
    out.push_back({row, 1.0});
  }

  // SplitMix64's finaliser.
  std::int32_t hashed(std::uint64_t feature, std::uint64_t code) const {
    std::uint64_t h = (feature << 32) + code + 0x9E3779B97F4A7C15U;
    h = (h ^ (h >> 30)) * 0xBF58476D1CE4E5B9U;
    h = (h ^ (h >> 27)) * 0x94D049BB133111EBU;
    return static_cast<std::int32_t>((h ^ (h >> 31)) % static_cast<std::uint64_t>(shared_));
  }

  std::int32_t own_, shared_;
  std::vector<std::int32_t> values_;
  Encoder encoder_;
  std::vector<double> x_;
  Inputs active_;
};

}  // namespace heros
