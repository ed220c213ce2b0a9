// How NumPy arrays come in and go out.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
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
nb::object to_array(const std::vector<T, A>& values) {
  return to_array(values.data(), values.size());
}

// The generator behind `numpy.random.Generator.bit_generator.capsule`.
inline Random random_from(const nb::capsule& capsule) {
  void* bits = PyCapsule_GetPointer(capsule.ptr(), "BitGenerator");
  if (bits == nullptr) throw nb::python_error();
  return Random(static_cast<BitGen*>(bits));
}

inline void expect(bool holds, const char* what) {
  if (!holds) throw nb::value_error(what);
}

// A schema only grows: no fewer features, values or classes, and no feature of another kind.
template <class Pool>
void expect_growth(const Pool& pool, const In1<std::int32_t>& values, int classes) {
  const std::vector<std::int32_t>& known = pool.values();
  bool grows = values.size() >= known.size() && classes >= pool.outputs();
  for (std::size_t f = 0; grows && f < known.size(); ++f)
    grows = values.data()[f] >= known[f] && (values.data()[f] == 0) == (known[f] == 0);
  for (std::size_t f = 0; grows && f < values.size(); ++f) grows = values.data()[f] >= 0;
  expect(grows, "a pool only grows");
  expect_countable(to_vector(values), classes);
}

}  // namespace heros
