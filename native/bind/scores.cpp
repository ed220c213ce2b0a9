// Bindings of the scores.
#include <nanobind/stl/optional.h>

#include <optional>

#include "bind/bind.hpp"
#include "bind/arrays.hpp"
#include "core/scores.hpp"

namespace heros {

void bind_score(nb::module_& m) {
  nb::class_<MeanScores>(m, "Scores")
      .def("__init__",
           [](MeanScores* self, const std::string& kind, int models, double parameter, bool restart) {
             expect(models >= 0, "the number of models must be 0 or more");
             new (self) MeanScores(named(MeanScores::kNames, kind, "unknown score"), models, parameter, restart);
           },
           nb::arg("kind"), nb::arg("models"), nb::arg("parameter"), nb::arg("restart") = false)
      .def("update",
           [](MeanScores& self, const In1<double>& outcomes, const std::optional<In1<bool>>& looked) {
             const auto models = static_cast<std::size_t>(self.models());
             expect(outcomes.size() == models && (!looked || looked->size() == models),
                    "there must be one outcome per model");
             const auto* mask = looked ? reinterpret_cast<const std::uint8_t*>(looked->data()) : nullptr;
             Lookers lookers(self.models());
             lookers.take(mask);
             for (const int i : lookers)
               if (!(outcomes.data()[i] >= 0 && outcomes.data()[i] <= 1))
                 throw DataFault("An outcome must be in [0, 1]. Got " + std::to_string(outcomes.data()[i]) + " instead.");
             self.update(outcomes.data(), lookers);
           },
           nb::lock_self(), nb::arg("outcomes"), nb::arg("looked") = nb::none())
      .def_prop_ro("values", [](const MeanScores& self) { return to_array(self.values()); }, nb::lock_self())
      .def("state", &export_state<MeanScores>, nb::lock_self())
      .def("restore", &import_state<MeanScores>, nb::lock_self(), nb::arg("state"));
}

}  // namespace heros
