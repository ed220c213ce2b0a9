#pragma once

#include <nanobind/nanobind.h>

namespace heros {

namespace nb = nanobind;

void bind_hoeffding(nb::module_& m);

}  // namespace heros
