// Converts the state of a native object to a dict of NumPy arrays, and back (core/state.hpp).
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "core/state.hpp"

namespace heros {

namespace nb = nanobind;

// A NumPy array returned to Python. Its type and number of dimensions appear in _core.pyi.
template <class T, std::size_t D>
struct Array {
  using Shape = nb::ndarray<nb::numpy, T, nb::ndim<D>>;
  explicit Array(const Shape& made) : object(nb::cast(made)) {}
  nb::object object;
};

// Copies `data` to a NumPy array that owns the copy.
template <class T>
Array<T, 1> to_array(const T* data, std::size_t n) {
  T* copy = new T[n > 0 ? n : 1];
  std::copy(data, data + n, copy);
  nb::capsule owner(copy, [](void* p) noexcept { delete[] static_cast<T*>(p); });
  return Array<T, 1>({copy, {n}, owner});
}

class StateWriter {
 public:
  static constexpr bool kReads = false;
  template <class T, class A>
  void operator()(const char* name, const std::vector<T, A>& values) {
    static_assert(std::is_arithmetic_v<T>);
    dict_[name] = to_array(values.data(), values.size()).object;
  }
  template <class T>
    requires std::is_arithmetic_v<T>
  void operator()(const char* name, const T& value) {
    dict_[name] = to_array(&value, 1).object;
  }
  template <class T, class A>
  void optional(const char* name, const std::vector<T, A>& values) {
    if (!values.empty()) (*this)(name, values);
  }
  nb::dict take() { return std::move(dict_); }

 private:
  nb::dict dict_;
};

class StateReader {
 public:
  static constexpr bool kReads = true;
  explicit StateReader(nb::dict dict) : dict_(std::move(dict)) {}

  template <class T, class A>
  void operator()(const char* name, std::vector<T, A>& values) {
    const auto array = fetch<T>(name);
    values.assign(array.data(), array.data() + array.size());
  }
  template <class T>
    requires std::is_arithmetic_v<T>
  void operator()(const char* name, T& value) {
    const auto array = fetch<T>(name);
    require(array.size() == 1, name);
    value = *array.data();
  }
  template <class T, class A>
  void optional(const char* name, std::vector<T, A>& values) {
    if (dict_.contains(name)) (*this)(name, values);
    else values.clear();
  }

 private:
  template <class T>
  nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu> fetch(const char* name) {
    require(dict_.contains(name), name);
    // Some NumPy scalars (a date) offer a buffer that makes nanobind abort the process.
    require(nb::isinstance(dict_[name], nb::module_::import_("numpy").attr("ndarray")), name);
    nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu> array;
    require(nb::try_cast(dict_[name], array, false), name);
    require(reinterpret_cast<std::uintptr_t>(array.data()) % alignof(T) == 0, name);
    return array;
  }
  nb::dict dict_;
};

template <class Object>
nb::dict export_state(const Object& object) {
  StateWriter writer;
  write_fields(object, writer);
  return writer.take();
}

template <class Object>
void import_state(Object& object, nb::dict state) {
  Object fresh = object;  // if the state does not fit, the object stays unchanged
  StateReader reader(std::move(state));
  fresh.fields(reader);
  fresh.check();
  object = std::move(fresh);
}

}  // namespace heros

template <class T, std::size_t D>
struct nanobind::detail::type_caster<heros::Array<T, D>> {
  using Array = heros::Array<T, D>;
  static constexpr auto Name = make_caster<typename Array::Shape>::Name;
  template <class>
  using Cast = Array;
  static handle from_cpp(const Array& array, rv_policy, cleanup_list*) noexcept { return array.object.inc_ref(); }
};
