// Bindings of pools of boosted trees.
#include "bind/bind.hpp"
#include "bind/arrays.hpp"
#include "pools/boosted/pool.hpp"

namespace heros {

const FamilyBinding binding("boosted", [](nb::module_& m) {
  nb::class_<BoostedSettings>(m, "BoostedSettings")
      .def("__init__",
           [](BoostedSettings* self, std::int32_t rounds, double learning_rate, double features, std::int64_t grace_period,
              double split_confidence, double tie_threshold, std::int32_t max_depth, double shrinkage, double horizon,
              std::int64_t max_bytes) {
             expect(rounds >= 1 && amount(learning_rate) && features > 0 && features <= 1 && grace_period >= 1 &&
                        split_confidence > 0 && split_confidence < 1 && amount(tie_threshold) && amount(shrinkage) &&
                        shrinkage > 0 && (horizon == 0 || horizon >= 1) && max_bytes >= 1,
                    "invalid settings of a boosted model");
             new (self) BoostedSettings{max_bytes, rounds, learning_rate, features, grace_period, split_confidence,
                                        tie_threshold, max_depth, shrinkage, horizon};
           },
           nb::arg("rounds"), nb::arg("learning_rate"), nb::arg("features"), nb::arg("grace_period"),
           nb::arg("split_confidence"), nb::arg("tie_threshold"), nb::arg("max_depth"), nb::arg("shrinkage"),
           nb::arg("horizon"), nb::arg("max_bytes"));

  nb::class_<BoostedPool, Pool> pool(m, "BoostedPool");
  pool.def("__init__",
           [](BoostedPool* self, const std::vector<BoostedSettings>& settings, bool numeric,
              const std::vector<std::uint64_t>& seeds) {
             expect(settings.size() == seeds.size(), "there must be one seed per model");
             new (self) BoostedPool(boosted_pool(settings, numeric, seeds));
           },
           nb::arg("settings"), nb::arg("numeric"), nb::arg("seeds"))
      .def("grow",
           [](BoostedPool& self, const In1<std::int32_t>& values, int classes) {
             const auto pool = writable(self);
             expect_growth(*pool, values, classes);
             expect(!pool->numeric() || classes == 1, "a numeric target has exactly one output");
             pool->grow(to_vector(values), classes);
           },
           nb::arg("values"), nb::arg("classes"))
      .def("summary",
           [](const BoostedPool& self, int i) {
             const auto pool = readable(self);
             expect(i >= 0 && i < pool->models(), "there is no model with this index");
             const GradientTree::Summary s = pool->model(i).summary();
             return std::make_tuple(s.nodes, s.leaves, s.active, s.depth, s.bytes);
           })
      .def("gains",
           [](const BoostedPool& self, int i) {
             const auto pool = readable(self);
             expect(i >= 0 && i < pool->models(), "there is no model with this index");
             return to_array(pool->model(i).gains(pool->features()));
           });
  bind_least_bytes(pool);
  bind_state(pool);
});

}  // namespace heros
