// The layout of a tree's statistics for a schema: which features are numeric or nominal, and where their statistics
// are. All trees of a pool share one layout.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

namespace heros {

// log(n) for counts. Small counts, which are the most frequent, use a table, which is faster and gives the same result.
class LogTable {
 public:
  LogTable() : logs_(kSize) {
    for (std::size_t n = 0; n < kSize; ++n) logs_[n] = std::log(static_cast<double>(n));
  }
  double operator()(std::int32_t n) const {
    const auto i = static_cast<std::size_t>(n);
    return i < kSize ? logs_[i] : std::log(static_cast<double>(n));
  }

 private:
  static constexpr std::size_t kSize = 1 << 14;
  std::vector<double> logs_;
};

inline const LogTable& log_table() {
  static const LogTable table;
  return table;
}

// The numeric statistics of one class at one leaf are five rows of doubles (mean, precision, spread, low, high) and one
// of counts. The nominal statistics are a divisor per feature and a count per value.
struct TreeLayout {
  std::vector<std::int32_t> values;    // per feature: number of values, 0 if numeric
  int classes = 0;
  std::vector<std::int32_t> numeric;   // the numeric features, in order
  std::vector<std::int32_t> nominal;   // the nominal features, in order
  std::vector<std::int32_t> position;  // per feature: its index among features of its kind
  std::vector<std::int32_t> slot;      // per nominal feature: start of its value counts
  std::vector<std::int32_t> usual;     // the slots of code 0 of features with two values (see TreeInstance)
  int slots = 0;
  int watch = 0;                       // doubles per leaf for the detection of change

  TreeLayout() = default;
  TreeLayout(std::vector<std::int32_t> values_per_feature, int n_classes, int watch_reals = 0)
      : values(std::move(values_per_feature)), classes(n_classes), watch(watch_reals) {
    for (std::size_t f = 0; f < values.size(); ++f) {
      std::vector<std::int32_t>& kind = values[f] > 0 ? nominal : numeric;
      position.push_back(static_cast<std::int32_t>(kind.size()));
      kind.push_back(static_cast<std::int32_t>(f));
      if (values[f] == 2) usual.push_back(slots);
      if (values[f] > 0) slot.push_back(slots), slots += values[f];
    }
  }

  int features() const { return static_cast<int>(values.size()); }
  int numbers() const { return static_cast<int>(numeric.size()); }
  int codes() const { return static_cast<int>(nominal.size()); }

  int block_reals() const { return 5 * numbers(); }
  int block_ints() const { return numbers() + codes() + slots; }
  int leaf_reals() const { return 2 + 2 * classes + watch; }
  int leaf_ints() const { return 1 + classes; }

  // Sizes counted by the byte limit of a tree.
  std::int64_t block_bytes() const { return std::int64_t{8} * block_reals() + std::int64_t{4} * block_ints(); }
  std::int64_t leaf_bytes() const { return std::int64_t{8} * leaf_reals() + std::int64_t{4} * leaf_ints(); }
  std::int64_t node_bytes() const { return 16 + 4 + std::int64_t{8} * classes; }
};

// An instance as the trees read it, prepared once for the whole pool. Features with two values are often columns of a
// one-hot code and mostly 0. Each class therefore stores the sum of the logarithms for the case that all these features
// are 0 (LogBase). An instance lists its differences from this sum.
struct TreeInstance {
  std::vector<double> x;                   // the original values
  std::vector<double> numbers;             // the numeric values
  std::vector<std::int32_t> slots;         // per nominal feature: the slot of its value, -1 if missing
  std::vector<std::int32_t> plus, minus;  // the slots whose logarithms are added, and subtracted
  bool missing = false;                    // whether any value is missing

  void assign(const double* row, const TreeLayout& layout) {
    x.assign(row, row + layout.features());
    prepare(layout);
  }
  // Prepares an instance for a tree that uses only some columns of a row.
  void gather(const double* row, const std::vector<std::int32_t>& columns, const TreeLayout& layout) {
    x.resize(columns.size());
    for (std::size_t j = 0; j < columns.size(); ++j) x[j] = row[columns[j]];
    prepare(layout);
  }

 private:
  void prepare(const TreeLayout& layout) {
    numbers.resize(layout.numeric.size());
    slots.resize(layout.nominal.size());
    plus.clear(), minus.clear();
    missing = false;
    for (std::size_t j = 0; j < numbers.size(); ++j) {
      numbers[j] = x[layout.numeric[j]];
      missing |= std::isnan(numbers[j]);
    }
    for (std::size_t j = 0; j < slots.size(); ++j) {
      const double code = x[layout.nominal[j]];
      slots[j] = std::isnan(code) ? -1 : layout.slot[j] + static_cast<std::int32_t>(code);
      missing |= std::isnan(code);
      const bool usual = layout.values[layout.nominal[j]] == 2;
      if (usual && code == 0) continue;
      plus.push_back(slots[j]);
      if (usual) minus.push_back(layout.slot[j]);
    }
  }
};

}  // namespace heros
