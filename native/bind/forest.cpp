#include "bind/bind.hpp"
#include "bind/arrays.hpp"
#include "pools/forest/pool.hpp"

namespace heros {

void bind_forest(nb::module_& m) {
  nb::class_<ForestSettings>(m, "ForestSettings")
      .def("__init__",
           [](ForestSettings* self, const TreeSettings& tree, std::int32_t trees, double features, bool per_leaf,
              bool random_cuts, double bagging, double warning, double drift) {
             new (self) ForestSettings{tree, trees, features, per_leaf, bagging, warning, drift};
             self->tree.search.quick = true;
             self->tree.search.random_cuts = random_cuts;
           },
           nb::arg("tree"), nb::arg("trees"), nb::arg("features"), nb::arg("per_leaf"), nb::arg("random_cuts"),
           nb::arg("bagging"), nb::arg("warning"), nb::arg("drift"));

  nb::class_<ForestPool, Pool> pool(m, "ForestPool");
  bind_least_bytes(pool);
  pool.def("__init__",
           [](ForestPool* self, const std::vector<ForestSettings>& settings, const std::vector<std::uint64_t>& seeds) {
             expect(settings.size() == seeds.size(), "a seed for every forest");
             new (self) ForestPool(settings, seeds);
           },
           nb::arg("settings"), nb::arg("seeds"))
      .def("grow",
           [](ForestPool& self, const In1<std::int32_t>& values, int classes) {
             expect_growth(self, values, classes);
             writable(self).grow(to_vector(values), classes);
           },
           nb::arg("values"), nb::arg("classes"))
      .def_prop_ro("bytes",
                   [](const ForestPool& self) {
                     std::vector<std::int64_t> bytes;
                     for (int i = 0; i < readable(self).models(); ++i) bytes.push_back(self.forest(i).summary().bytes);
                     return to_array(bytes);
                   })
      .def("summary",
           [](const ForestPool& self, int i) {
             expect(i >= 0 && i < self.models(), "no such model");
             const ForestSummary s = readable(self).forest(i).summary();
             return std::make_tuple(s.background, s.nodes, s.leaves, s.active, s.depth, s.bytes, s.warnings, s.replaced);
           })
      .def("tree",
           [](const ForestPool& self, int i, int t) {
             expect(i >= 0 && i < self.models() && t >= 0 && t < self.forest(i).settings().trees, "no such tree");
             const ForestTree& tree = readable(self).forest(i).tree(t);
             PoolState state{{}, self.outputs(), {tree.arrays()}};
             return std::make_tuple(to_array(tree.columns()), export_state(state));
           })
      .def("state",
           [](const ForestPool& self) {
             ForestPoolState state = readable(self).state();
             return export_state(state);
           })
      .def("restore",
           [](ForestPool& self, nb::dict arrays) {
             ForestPoolState state = self.state();
             import_state(state, std::move(arrays));
             require(self.outputs() == 0 || (state.values == self.values() && state.classes == self.outputs()),
                     "models for the same instances");
             writable(self).restore(state);
           },
           nb::arg("state"));
}

}  // namespace heros
