// Converts an instance to a list of active inputs. A nominal feature with more than two values is one-hot. Any other
// feature becomes (x − mean)/(d·sd) with running moments that include the current instance. An input equal to 0
// (another category, a missing value, a constant feature) is not listed.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/moments.hpp"
#include "core/state.hpp"

namespace heros {

struct Inputs {
  std::vector<std::int32_t> index;  // ascending
  std::vector<float> value;

  int size() const { return static_cast<int>(index.size()); }
  void reserve(std::size_t n) { index.reserve(n), value.reserve(n); }
  void clear() { index.clear(), value.clear(); }
  void add(std::int32_t i, float v) { index.push_back(i), value.push_back(v); }
};

class Encoder {
 public:
  // divisor: d, the number of standard deviations that become 1; 0 leaves numbers unscaled.
  explicit Encoder(double divisor) : divisor_(divisor) {}

  int features() const { return static_cast<int>(values_.size()); }
  int inputs() const { return static_cast<int>(owner_.size()); }
  int scaled_inputs() const { return scaled_count_; }
  const std::vector<std::int32_t>& values() const { return values_; }

  // The kind of input i, one-hot or scaled, and its position among the inputs of this kind.
  bool is_category(int i) const { return code_[i] >= 0; }
  int slot(int i) const { return slot_[i]; }

  // Adapts the encoder to an extended schema: values[f] is the number of values of feature f, 0 if it is numeric. New
  // inputs are appended, so known inputs keep their numbers. Scaled inputs come first: they are active at every step
  // and lie side by side in memory. A binary feature with a third value becomes one-hot; its scaled input is never
  // active again.
  void grow(const std::vector<std::int32_t>& values) {
    const std::size_t known = values_.size();
    for (std::size_t f = known; f < values.size(); ++f)
      if (values[f] <= 2) append(f, -1);
    for (std::size_t f = 0; f < values.size(); ++f) {
      const int before = f < known && values_[f] > 2 ? values_[f] : 0;
      for (int code = before; values[f] > 2 && code < values[f]; ++code) append(f, code);
    }
    values_ = values;
    moments_.grow(values.size());
    index_inputs();
  }

  // Encodes x as if it were already part of the running moments. Does not change them.
  void encode(const double* x, Inputs& out) const {
    out.clear();
    for (int f : scaled_features_) {
      if (std::isnan(x[f])) continue;
      const auto z = static_cast<float>(divisor_ > 0 ? standardised(f, x[f]) : std::clamp(x[f], -kLargest, kLargest));
      if (z != 0) out.add(scaled_[f], z);
    }
    for (int f : one_hot_features_)
      if (!std::isnan(x[f])) out.add(category_[first_[f] + static_cast<int>(x[f])], 1.0F);
    if (!in_order_) sort(out);
  }

  // Adds x to the running moments (Welford).
  void learn(const double* x) {
    for (int f : scaled_features_)
      if (!std::isnan(x[f])) moments_.learn(f, x[f]);
  }

  // Encodes the next rows X, learning each row before the next. The moments are restored at the end. Nothing is
  // allocated in between, so nothing can throw.
  template <std::size_t N>
  void encode_ahead(const double* X, std::array<Inputs, N>& out) {
    for (Inputs& inputs : out) inputs.reserve(features());
    moments_before_ = moments_;
    for (Inputs& inputs : out) {
      encode(X, inputs);
      learn(X);
      X += features();
    }
    std::swap(moments_, moments_before_);
  }

  template <class Archive>
  void fields(Archive& a) {
    a("values", values_), a("owner", owner_), a("code", code_);
    moments_.fields(a);
  }
  void check() {
    const std::size_t f = values_.size();
    require(std::all_of(values_.begin(), values_.end(), [](auto n) { return n >= 0 && n <= kMostValues; }), "values");
    require(owner_.size() == code_.size(), "inputs");
    for (std::size_t i = 0; i < owner_.size(); ++i)
      require(owner_[i] >= 0 && std::size_t(owner_[i]) < f && code_[i] >= -1 &&
                  code_[i] < values_[owner_[i]],
              "an input belongs to no known feature");
    std::int64_t one_hot = 0;  // each value of a one-hot feature needs its own input
    for (const std::int32_t n : values_) one_hot += n > 2 ? n : 0;
    require(one_hot <= static_cast<std::int64_t>(owner_.size()), "every value must have an input");
    moments_.check(f);
    index_inputs();
    for (std::size_t g = 0; g < f; ++g) {
      const auto* codes = category_.data() + first_[g];
      require(values_[g] > 2 ? std::all_of(codes, codes + values_[g], [](auto c) { return c >= 0; })
                             : scaled_[g] >= 0,
              "every value must have an input");
    }
  }

 private:
  void append(std::size_t feature, int code) {
    owner_.push_back(static_cast<std::int32_t>(feature));
    code_.push_back(code);
  }

  // Builds the tables from feature (and value) to input.
  void index_inputs() {
    slot_.clear();
    scaled_count_ = 0;
    for (int i = 0; i < inputs(); ++i) {
      slot_.push_back(is_category(i) ? i - scaled_count_ : scaled_count_);
      scaled_count_ += !is_category(i);
    }
    first_.assign(values_.size() + 1, 0);
    for (std::size_t f = 0; f < values_.size(); ++f) first_[f + 1] = first_[f] + values_[f];
    category_.assign(first_.back(), -1);
    scaled_.assign(values_.size(), -1);
    for (int i = 0; i < inputs(); ++i)
      (code_[i] < 0 ? scaled_[owner_[i]] : category_[first_[owner_[i]] + code_[i]]) = i;
    scaled_features_.clear(), one_hot_features_.clear();
    for (int f = 0; f < features(); ++f) (values_[f] > 2 ? one_hot_features_ : scaled_features_).push_back(f);
    in_order_ = inputs_in_order();
  }

  // Whether scaled features followed by one-hot features always give ascending inputs.
  bool inputs_in_order() const {
    int last = -1;
    for (int f : scaled_features_) {
      if (scaled_[f] < last) return false;
      last = scaled_[f];
    }
    for (int f : one_hot_features_) {
      const auto* codes = category_.data() + first_[f];
      if (*std::min_element(codes, codes + values_[f]) < last) return false;
      last = *std::max_element(codes, codes + values_[f]);
    }
    return true;
  }

  double standardised(int f, double x) const {
    const auto [off, sd] = moments_.deviation(f, x);
    return sd > 0 ? off / (divisor_ * sd) : 0.0;
  }

  // Insertion sort: the list is short and almost sorted.
  static void sort(Inputs& inputs) {
    for (int i = 1; i < inputs.size(); ++i)
      for (int j = i; j > 0 && inputs.index[j] < inputs.index[j - 1]; --j) {
        std::swap(inputs.index[j], inputs.index[j - 1]);
        std::swap(inputs.value[j], inputs.value[j - 1]);
      }
  }

  static constexpr std::int32_t kMostValues = 1 << 24;
  static constexpr double kLargest = 1e15;  // a larger unscaled number would overflow Adam's v

  double divisor_;
  std::vector<std::int32_t> values_;         // per feature
  std::vector<std::int32_t> owner_, code_;   // per input: its feature, and its value or -1 if scaled
  Moments moments_, moments_before_;         // moments_before_ is used only during encode_ahead
  std::vector<std::int32_t> first_, category_, scaled_, scaled_features_, one_hot_features_;
  std::vector<std::int32_t> slot_;
  int scaled_count_ = 0;
  bool in_order_ = true;
};

}  // namespace heros
