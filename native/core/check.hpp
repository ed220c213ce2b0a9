// Checks instances and labels against the schema, before they change anything.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

namespace heros {

enum class Fault : int { none, infinite, missing, not_a_code };

struct FirstFault {
  Fault fault = Fault::none;
  std::int64_t row = 0, column = 0;
};

// Returns the first value of X (n rows of values.size() columns) that breaks the schema. values[f]: the number of
// values of feature f, -1 if it is numeric. missing[f]: whether the feature may be missing (NaN).
inline FirstFault first_fault(const double* X, std::int64_t n, const std::vector<std::int32_t>& values,
                              const std::vector<std::uint8_t>& missing) {
  const auto d = static_cast<std::int64_t>(values.size());
  for (std::int64_t r = 0; r < n; ++r)
    for (std::int64_t f = 0; f < d; ++f) {
      const double x = X[r * d + f];
      Fault fault = Fault::none;
      if (std::isnan(x)) fault = missing[f] ? Fault::none : Fault::missing;
      else if (std::isinf(x)) fault = Fault::infinite;
      else if (values[f] >= 0 && !(x >= 0 && x < values[f] && x == std::floor(x))) fault = Fault::not_a_code;
      if (fault != Fault::none) return {fault, r, f};
    }
  return {};
}

}  // namespace heros
