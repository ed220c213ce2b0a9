// Bindings of pools of forests.
#include "bind/bind.hpp"
#include "bind/arrays.hpp"
#include "pools/forest/pool.hpp"

namespace heros {

const FamilyBinding binding("forest", [](nb::module_& m) {
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
             expect(settings.size() == seeds.size(), "there must be one seed per forest");
             new (self) ForestPool(settings, seeds);
           },
           nb::arg("settings"), nb::arg("seeds"))
      .def("grow",
           [](ForestPool& self, const In1<std::int32_t>& values, int classes) {
             const auto pool = writable(self);
             expect_growth(*pool, values, classes);
             pool->grow(to_vector(values), classes);
           },
           nb::arg("values"), nb::arg("classes"))
      .def_prop_ro("bytes",
                   [](const ForestPool& self) {
                     std::vector<std::int64_t> bytes;
                     const auto pool = readable(self);
                     for (int i = 0; i < pool->models(); ++i) bytes.push_back(pool->forest(i).summary().bytes);
                     return to_array(bytes);
                   })
      .def("summary",
           [](const ForestPool& self, int i) {
             const auto pool = readable(self);
             expect(i >= 0 && i < pool->models(), "there is no model with this index");
             const ForestSummary s = pool->forest(i).summary();
             return std::make_tuple(s.background, s.nodes, s.leaves, s.active, s.depth, s.bytes, s.warnings, s.replaced);
           })
      .def("tree",
           [](const ForestPool& self, int i, int t) {
             const auto pool = readable(self);
             expect(i >= 0 && i < pool->models() && t >= 0 && t < pool->forest(i).settings().trees,
                    "there is no tree with this index");
             const ForestTree& tree = pool->forest(i).tree(t);
             const PoolState state{{}, pool->outputs(), {tree.arrays()}};
             return std::make_tuple(to_array(tree.columns()), export_state(state));
           })
      .def("state", [](const ForestPool& self) { return export_state(readable(self)->state()); })
      .def("restore",
           [](ForestPool& self, nb::dict arrays) {
             const auto pool = writable(self);
             ForestPoolState state = pool->state();
             import_state(state, std::move(arrays));
             require(pool->outputs() == 0 || (state.values == pool->values() && state.classes == pool->outputs()),
                     "the state must have the schema of the pool");
             pool->restore(state);
           },
           nb::arg("state"));
});

}  // namespace heros
