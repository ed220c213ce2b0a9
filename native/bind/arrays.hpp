// Conversion of NumPy arrays from and to Python, and checks of arguments.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <array>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <vector>

#include "bind/access.hpp"
#include "bind/state.hpp"
#include "core/pool.hpp"
#include "core/random.hpp"

namespace heros {

template <class T>
using In1 = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using In2 = nb::ndarray<const T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
template <class T>
using Out1 = nb::ndarray<T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using Out2 = nb::ndarray<T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

template <class T>
std::vector<T> to_vector(const In1<T>& array) {
  return {array.data(), array.data() + array.size()};
}

template <class T, class A>
Array<T, 1> to_array(const std::vector<T, A>& values) {
  return to_array(values.data(), values.size());
}

// An array of zeros that the core fills without Python's lock, and that Python then owns.
template <class T, std::size_t D>
class NewArray {
 public:
  explicit NewArray(const std::array<std::size_t, D>& shape) : shape_(shape) {
    std::size_t n = 1;
    for (const std::size_t extent : shape) n *= extent;
    data_ = std::unique_ptr<T[]>(new T[n > 0 ? n : 1]());
  }
  T* data() { return data_.get(); }
  Array<T, D> array() {
    nb::capsule owner(data_.get(), [](void* p) noexcept { delete[] static_cast<T*>(p); });
    return Array<T, D>({data_.release(), D, shape_.data(), owner});
  }

 private:
  std::array<std::size_t, D> shape_;
  std::unique_ptr<T[]> data_;
};

// The generator behind `numpy.random.Generator.bit_generator.capsule`.
inline Random random_from(const nb::object& capsule) {
  void* bits = PyCapsule_GetPointer(capsule.ptr(), "BitGenerator");
  if (bits == nullptr) throw nb::python_error();
  return Random(static_cast<BitGen*>(bits));
}

inline void expect(bool holds, const char* what) {
  if (!holds) throw nb::value_error(what);
}

// Returns the kind with this name from a table of names and kinds.
template <class Table>
auto named(const Table& table, const std::string& name, const char* otherwise) {
  for (const auto& [known, kind] : table)
    if (name == known) return kind;
  throw nb::value_error(otherwise);
}

// Checks that a schema only grows: no fewer features, values or classes, and no feature of another type.
template <class Pool>
void expect_growth(const Pool& pool, const In1<std::int32_t>& values, int classes) {
  const std::vector<std::int32_t>& known = pool.values();
  bool grows = values.size() >= known.size() && classes >= pool.outputs();
  for (std::size_t f = 0; grows && f < known.size(); ++f)
    grows = values.data()[f] >= known[f] && (values.data()[f] == 0) == (known[f] == 0);
  for (std::size_t f = 0; grows && f < values.size(); ++f) grows = values.data()[f] >= 0;
  expect(grows, "the schema of a pool can only grow");
  expect_countable(to_vector(values), classes);
}

// Binds `least_bytes` of a pool with memory limits: the lowest limit at which model i fits the schema.
template <class Class>
void bind_least_bytes(Class& pool) {
  using Kind = typename Class::Type;
  pool.def("least_bytes",
           [](const Kind& self, int i, const In1<std::int32_t>& values, int classes) {
             const auto pool = readable(self);
             expect(i >= 0 && i < pool->models(), "there is no model with this index");
             expect_growth(*pool, values, classes);
             return pool->least_bytes(i, to_vector(values), classes);
           },
           nb::arg("i"), nb::arg("values"), nb::arg("classes"));
}

// Binds `state` and `restore` of a pool that has `fields` (core/state.hpp).
template <class Kind>
void bind_state(nb::class_<Kind, Pool>& pool) {
  pool.def("state", [](const Kind& self) { return export_state(*readable(self)); })
      .def("restore",
           [](Kind& self, nb::dict state) {
             const auto pool = writable(self);
             Kind fresh = *pool;
             import_state(fresh, std::move(state));
             require(pool->outputs() == 0 || (fresh.values() == pool->values() && fresh.outputs() == pool->outputs()),
                     "the state must have the schema of the pool");
             *pool = std::move(fresh);
           },
           nb::arg("state"));
}

}  // namespace heros
