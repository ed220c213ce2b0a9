// Bindings of pools of models that use only earlier labels.
#include "bind/bind.hpp"
#include "bind/arrays.hpp"
#include "pools/labels/pool.hpp"

namespace heros {

const FamilyBinding binding("labels", [](nb::module_& m) {
  nb::class_<LabelSettings>(m, "LabelSettings")
      .def("__init__",
           [](LabelSettings* self, double fading, std::int32_t order, std::int32_t seasons) {
             expect(fading >= 0.5 && fading <= 1 && order >= 1 && order <= 2,
                    "fading must be in [0.5, 1], and order 1 or 2");
             expect(seasons >= 0 && seasons <= Seasons::kMost, "the number of seasons is out of range");
             new (self) LabelSettings{fading, order, seasons};
           },
           nb::arg("fading"), nb::arg("order"), nb::arg("seasons"));

  nb::class_<LabelPool, Pool> pool(m, "LabelPool");
  pool.def("__init__",
           [](LabelPool* self, std::vector<LabelSettings> settings, std::int64_t memory, bool numeric) {
             expect(memory >= 4 && memory <= 1 << 20, "memory must be in [4, 2^20]");
             new (self) LabelPool(std::move(settings), memory, numeric);
           },
           nb::arg("settings"), nb::arg("memory"), nb::arg("numeric"))
      .def("grow",
           [](LabelPool& self, const In1<std::int32_t>& values, int classes) {
             const auto pool = writable(self);
             expect_growth(*pool, values, classes);
             expect(!pool->numeric() || classes == 1, "a numeric target has exactly one output");
             pool->grow(to_vector(values), classes);
           },
           nb::arg("values"), nb::arg("classes"))
      .def("follows",
           [](const LabelPool& self, int i) {
             const auto pool = readable(self);
             expect(!pool->numeric() && i >= 0 && i < pool->models(), "there is no model with this index");
             const auto n = static_cast<std::size_t>(pool->outputs());
             NewArray<double, 2> out({n, n});
             pool->follows(i, out.data());
             return out.array();
           })
      .def("coefficients",
           [](const LabelPool& self, int i) {
             const auto pool = readable(self);
             expect(pool->numeric() && i >= 0 && i < pool->models(), "there is no model with this index");
             const Series::Inputs by = pool->coefficients(i);
             return to_array(by.data(), by.size());
           })
      .def_prop_ro("seasons",
                   [](const LabelPool& self) {
                     const auto pool = readable(self);
                     const auto& lags = pool->seasons();
                     return to_array(lags.data(), lags.size());
                   })
      .def_prop_ro("remembered", [](const LabelPool& self) { return readable(self)->remembered(); });
  bind_state(pool);
});

}  // namespace heros
