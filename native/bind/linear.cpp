// Bindings of pools of linear models.
#include "bind/bind.hpp"
#include "bind/arrays.hpp"
#include "pools/linear/pool.hpp"

namespace heros {

namespace {

Optimizer optimizer_named(const std::string& name) {
  if (name == "sgd") return Optimizer::sgd;
  if (name == "adam") return Optimizer::adam;
  if (name == "ftrl") return Optimizer::ftrl;
  if (name == "pa") return Optimizer::pa;
  throw nb::value_error("unknown optimizer");
}

}  // namespace

const FamilyBinding binding("linear", [](nb::module_& m) {
  nb::class_<LinearSettings>(m, "LinearSettings")
      .def("__init__",
           [](LinearSettings* self, const std::string& optimizer, double learning_rate, double l1, double l2,
              const std::string& loss, double epsilon) {
             new (self) LinearSettings{optimizer_named(optimizer), learning_rate, l1, l2,
                                       named(kLossNames, loss, "unknown loss"), epsilon};
           },
           nb::arg("optimizer"), nb::arg("learning_rate"), nb::arg("l1"), nb::arg("l2"), nb::arg("loss") = "squared",
           nb::arg("epsilon") = 0.0);

  nb::class_<LinearPool, Pool> pool(m, "LinearPool");
  pool.def("__init__",
           [](LinearPool* self, const std::vector<LinearSettings>& settings, double divisor, std::int32_t own_values,
              std::int32_t hashed_to, bool numeric) {
             expect(own_values >= 3 && hashed_to >= 1, "own_values must be 3 or more, and hashed_to 1 or more");
             new (self) LinearPool(settings, divisor, own_values, hashed_to, numeric);
           },
           nb::arg("settings"), nb::arg("divisor"), nb::arg("own_values"), nb::arg("hashed_to"),
           nb::arg("numeric") = false)
      .def("grow",
           [](LinearPool& self, const In1<std::int32_t>& values, int classes) {
             const auto pool = writable(self);
             expect_growth(*pool, values, classes);
             expect(!pool->numeric() || classes == 1, "a numeric target has exactly one output");
             pool->grow(to_vector(values), classes);
           },
           nb::arg("values"), nb::arg("classes"))
      .def_static("numbers", [](const std::string& optimizer) { return planes(optimizer_named(optimizer)); },
                  nb::arg("optimizer"), "Numbers kept per weight, itself included.")
      .def_prop_ro("inputs", [](const LinearPool& self) { return readable(self)->inputs(); })
      .def_prop_ro("rows", [](const LinearPool& self) { return readable(self)->rows(); })
      .def_prop_ro("steps", [](const LinearPool& self) { return to_array(readable(self)->steps()); })
      .def("read_weights",
           [](const LinearPool& self, int i, Out2<double> out) {
             const auto pool = readable(self);
             expect(i >= 0 && i < pool->models(), "there is no model with this index");
             expect(out.shape(0) == static_cast<std::size_t>(pool->rows()) &&
                        out.shape(1) == static_cast<std::size_t>(pool->outputs()),
                    "the weights have the wrong shape");
             pool->read_weights(i, out.data());
           });
  bind_state(pool);
});

}  // namespace heros
