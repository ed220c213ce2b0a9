#pragma once

#include <nanobind/nanobind.h>

namespace heros {

namespace nb = nanobind;

}  // namespace heros
