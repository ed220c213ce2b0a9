// How NumPy arrays come in and go out.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <vector>

#include "bind_state.hpp"
#include "random.hpp"

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
  return Random(static_cast<BitGen*>(PyCapsule_GetPointer(capsule.ptr(), "BitGenerator")));
}

inline void expect(bool holds, const char* what) {
  if (!holds) throw nb::value_error(what);
}

}  // namespace heros
