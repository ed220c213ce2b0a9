#include "bind/bind.hpp"
#include "bind/arrays.hpp"
#include "core/scores.hpp"

namespace heros {

namespace {

Scores make_scores(const std::string& kind, int models, double parameter, bool restart) {
  expect(models >= 0, "a number of models");
  if (kind == "adwin") return {ScoreKind::adwin, models, parameter, restart};
  if (kind == "cumulative") return {ScoreKind::cumulative, models, parameter, restart};
  if (kind == "window") return {ScoreKind::window, models, parameter, restart};
  if (kind == "fading") return {ScoreKind::fading, models, parameter, restart};
  throw nb::value_error("no such score");
}

}  // namespace

void bind_score(nb::module_& m) {
  nb::class_<Scores>(m, "Scores")
      .def("__init__",
           [](Scores* self, const std::string& kind, int models, double parameter, bool restart) {
             new (self) Scores(make_scores(kind, models, parameter, restart));
           },
           nb::arg("kind"), nb::arg("models"), nb::arg("parameter"), nb::arg("restart") = false)
      .def("update",
           [](Scores& self, const In1<double>& outcomes) {
             expect(outcomes.size() == static_cast<std::size_t>(self.models()), "one outcome per model");
             for (std::size_t i = 0; i < outcomes.size(); ++i)
               if (!(outcomes.data()[i] >= 0 && outcomes.data()[i] <= 1))
                 throw DataFault("An outcome must be in [0, 1]. Got " + std::to_string(outcomes.data()[i]) + " instead.");
             self.update(outcomes.data());
           },
           nb::arg("outcomes"))
      .def_prop_ro("values", [](const Scores& self) { return to_array(self.values()); })
      .def("state", &export_state<Scores>)
      .def("restore", &import_state<Scores>, nb::arg("state"));
}

}  // namespace heros
