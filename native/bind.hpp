#pragma once

#include <nanobind/nanobind.h>

namespace heros {

namespace nb = nanobind;

void bind_streams(nb::module_& m);

}  // namespace heros
