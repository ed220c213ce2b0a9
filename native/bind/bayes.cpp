// Bindings of naive Bayes pools.
#include "bind/bind.hpp"
#include "bind/arrays.hpp"
#include "pools/bayes/pool.hpp"

namespace heros {

const FamilyBinding binding("bayes", [](nb::module_& m) {
  nb::class_<BayesSettings>(m, "BayesSettings")
      .def("__init__",
           [](BayesSettings* self, double fading, double smoothing, double variance_prior) {
             expect(fading >= 0.5 && fading <= 1 && smoothing > 0 && variance_prior >= 0,
                    "fading must be in [0.5, 1], smoothing above 0 and variance_prior 0 or more");
             new (self) BayesSettings{fading, smoothing, variance_prior};
           },
           nb::arg("fading"), nb::arg("smoothing"), nb::arg("variance_prior"));

  nb::class_<BayesPool, Pool> pool(m, "BayesPool");
  pool.def(nb::init<std::vector<BayesSettings>>(), nb::arg("settings"))
      .def("grow",
           [](BayesPool& self, const In1<std::int32_t>& values, int classes) {
             const auto pool = writable(self);
             expect_growth(*pool, values, classes);
             pool->grow(to_vector(values), classes);
           },
           nb::arg("values"), nb::arg("classes"));
  bind_state(pool);
});

}  // namespace heros
