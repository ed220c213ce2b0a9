// The whole state of a native object as named arrays. A class lists its members in one function:
//
//   template <class Archive> void fields(Archive& a) { a("steps", steps_); a("weights", weights_); }
//
// The bindings (bind/state.hpp) convert these members to a dict of NumPy arrays and back. `fields` changes members only
// if `Archive::kReads` is true; an export changes nothing. A vector listed with `a.optional(...)` is omitted while it
// is empty. After an import, `check()` must throw a DataFault if the arrays do not fit together. Any state that passes
// the check must be safe to use, as states may come from untrusted files.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

namespace heros {

// Invalid data from outside: a DataError in Python.
struct DataFault : std::invalid_argument {
  using std::invalid_argument::invalid_argument;
};
// The object is in use by another thread, or by the step that called the policy: a HerosError in Python.
struct AtWork : std::runtime_error {
  using std::runtime_error::runtime_error;
};

inline void require(bool holds, const char* what) {
  if (!holds) throw DataFault(std::string("The state does not fit: ") + what + ".");
}

// Whether a count is valid (with room for increments), and whether an amount is valid.
inline bool countable(std::int64_t n) { return n >= 0 && n <= INT64_MAX / 2; }
inline bool amount(double x) { return std::isfinite(x) && x >= 0; }

// Exports an object through its `fields`. A writing archive changes nothing, so several threads may export one object
// at once.
template <class Object, class Writer>
void write_fields(const Object& object, Writer& writer) {
  static_assert(!Writer::kReads);
  const_cast<Object&>(object).fields(writer);
}

// Adds a prefix to the names of a part's fields, so that parts may use the same names.
template <class Archive>
struct Prefixed {
  static constexpr bool kReads = Archive::kReads;
  Archive& archive;
  std::string prefix;
  template <class T>
  void operator()(const char* name, T& value) {
    archive((prefix + name).c_str(), value);
  }
};

template <class T, class Rule>
bool all_of(const std::vector<T>& values, Rule rule) {
  return std::all_of(values.begin(), values.end(), rule);
}

// Stores one array of every tree (or other object) as one concatenated array and the length of each.
template <class Archive, class Tree, class Owner, class T>
void joined(Archive& a, const std::string& name, std::vector<Tree>& trees, std::vector<T> Owner::*part) {
  std::vector<T> all;
  std::vector<std::int64_t> sizes;
  for (Tree& tree : trees) {
    all.insert(all.end(), (tree.*part).begin(), (tree.*part).end());
    sizes.push_back(static_cast<std::int64_t>((tree.*part).size()));
  }
  a(name.c_str(), all), a((name + "_sizes").c_str(), sizes);
  if (!Archive::kReads) return;
  trees.resize(sizes.size());
  std::int64_t at = 0;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    require(sizes[i] >= 0 && sizes[i] <= static_cast<std::int64_t>(all.size()) - at, "sizes");
    (trees[i].*part).assign(all.begin() + at, all.begin() + at + sizes[i]);
    at += sizes[i];
  }
  require(at == static_cast<std::int64_t>(all.size()), "sizes");
}

}  // namespace heros
