// Declares the bind function of each part.
#pragma once

#include <nanobind/nanobind.h>

namespace heros {

namespace nb = nanobind;

void bind_choose(nb::module_& m);
void bind_score(nb::module_& m);
void bind_drift(nb::module_& m);
void bind_mlp(nb::module_& m);
void bind_hoeffding(nb::module_& m);
void bind_forest(nb::module_& m);
void bind_boosted(nb::module_& m);
void bind_retrained(nb::module_& m);
void bind_neighbours(nb::module_& m);
void bind_linear(nb::module_& m);
void bind_bayes(nb::module_& m);
void bind_labels(nb::module_& m);
void bind_regression(nb::module_& m);
void bind_members(nb::module_& m);
void bind_joined(nb::module_& m);
void bind_step(nb::module_& m);
void bind_streams(nb::module_& m);

}  // namespace heros
