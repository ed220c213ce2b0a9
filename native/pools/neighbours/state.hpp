// The state of a pool of neighbours: rows in the order of arrival, which need not be their order in the ring.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "core/moments.hpp"
#include "core/pool.hpp"
#include "core/scores.hpp"
#include "core/state.hpp"
#include "core/target.hpp"
#include "pools/neighbours/store.hpp"

namespace heros {

struct NeighboursState {
  bool numeric = false;  // set by the pool, not part of the state
  TargetScale scale;     // used only if `numeric`
  std::vector<std::int32_t> values;
  std::int32_t classes = 0;
  Moments moments;
  std::int64_t added = 0;              // number of rows ever added
  std::vector<float> numbers;          // (rows, numeric features)
  std::vector<std::int32_t> codes;     // (rows, nominal features), -1: missing
  std::vector<double> targets;         // (rows)
  std::vector<std::int64_t> forgotten;  // per model: number of oldest rows that it ignores
  Adwin hits;

  template <class Archive>
  void fields(Archive& a) {
    a("values", values), a("classes", classes), a("added", added), a("numbers", numbers), a("codes", codes);
    a("targets", targets), a("forgotten", forgotten);
    moments.fields(a);
    Prefixed<Archive> named{a, "hits_"};
    hits.fields(named);
    Prefixed<Archive> target{a, "target_"};
    if (numeric) scale.fields(target);
  }

  // Checks everything that does not depend on the pool.
  void check() const {
    require(classes >= 0, "classes");
    require(all_of(values, [](std::int32_t n) { return n >= 0 && n <= 1 << 24; }), "values");
    expect_countable(values, classes);
    moments.check(values.size());
    hits.check();
    const RowLayout layout(values);
    const std::size_t rows = targets.size(), nominal = layout.few.size() + layout.many.size();
    require(numbers.size() == rows * layout.number.size() && codes.size() == rows * nominal,
            "all rows must have the same length");
    require(countable(added) && static_cast<std::int64_t>(rows) <= added, "there are more rows than were ever added");
    require(all_of(forgotten, [&](std::int64_t n) { return n >= 0 && n <= added; }),
            "a window must not start after the newest row");
    require(all_of(numbers, [](float x) { return std::fabs(x) <= kFarthest; }),
            "numbers must be within 6 standard deviations");
    scale.check();
    require(!numeric || classes <= 1, "a numeric target has exactly one output");
    require(all_of(targets, [&](double y) { return is_target(y); }), "targets");
    std::vector<std::int32_t> most;
    for (const std::int32_t n : values)
      if (n > 0) most.push_back(n);
    for (std::size_t i = 0; i < codes.size(); ++i)
      require(codes[i] >= -1 && codes[i] < most[i % nominal], "invalid code of a value");
  }
  bool is_target(double y) const {
    if (numeric) return std::fabs(y) <= TargetScale::kLargest;
    return y >= 0 && y < classes && y == std::floor(y);
  }
};

// Converts a row between the store's columns and the state's arrays, which keep nominal features in the schema's order.
inline void append_row(const Row& row, const RowLayout& layout, NeighboursState& state) {
  state.numbers.insert(state.numbers.end(), row.numbers.begin(), row.numbers.end());
  std::size_t few = 0, many = 0;
  for (const std::int32_t n : layout.values) {
    if (n > RowLayout::kFew) state.codes.push_back(static_cast<std::int32_t>(row.manys[many++]));
    else if (n > 0) {
      const std::uint8_t code = row.fews[few++];
      state.codes.push_back(code == RowLayout::kMissingByte ? -1 : code);
    }
  }
}
inline void read_row(const NeighboursState& state, std::size_t at, const RowLayout& layout, Row& row) {
  const float* number = state.numbers.data() + at * row.numbers.size();
  std::copy_n(number, row.numbers.size(), row.numbers.begin());
  const std::int32_t* code = state.codes.data() + at * (row.fews.size() + row.manys.size());
  std::size_t few = 0, many = 0;
  for (const std::int32_t n : layout.values) {
    if (n > RowLayout::kFew) row.manys[many++] = static_cast<float>(*code++);
    else if (n > 0) row.fews[few++] = *code < 0 ? RowLayout::kMissingByte : static_cast<std::uint8_t>(*code), ++code;
  }
}

// Extends the state to a larger schema. In new features, old rows get the mean or a missing value.
inline void widen(NeighboursState& state, const std::vector<std::int32_t>& values) {
  const auto more = [&](auto& flat, auto kind, auto filler) {
    const auto width = std::count_if(state.values.begin(), state.values.end(), kind);
    const auto wider = std::count_if(values.begin(), values.end(), kind);
    std::remove_reference_t<decltype(flat)> wide(state.targets.size() * wider, filler);
    for (std::size_t r = 0; r < state.targets.size(); ++r)
      std::copy_n(flat.begin() + static_cast<std::ptrdiff_t>(r) * width, width,
                  wide.begin() + static_cast<std::ptrdiff_t>(r) * wider);
    flat = std::move(wide);
  };
  more(state.numbers, [](std::int32_t n) { return n == 0; }, 0.0F);
  more(state.codes, [](std::int32_t n) { return n > 0; }, -1);
  state.values = values;
}

}  // namespace heros
