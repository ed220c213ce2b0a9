// Bindings of pools of Hoeffding trees.
#include "bind/bind.hpp"
#include "bind/arrays.hpp"
#include "pools/hoeffding/pool.hpp"

namespace heros {

namespace {

Criterion criterion_named(const std::string& name) {
  if (name == "information_gain") return Criterion::information_gain;
  if (name == "gini") return Criterion::gini;
  throw nb::value_error("unknown split criterion");
}

LeafPrediction prediction_named(const std::string& name) {
  if (name == "majority") return LeafPrediction::majority;
  if (name == "naive_bayes") return LeafPrediction::naive_bayes;
  if (name == "adaptive") return LeafPrediction::adaptive;
  throw nb::value_error("unknown leaf prediction");
}

}  // namespace

const FamilyBinding binding("hoeffding", [](nb::module_& m) {
  nb::class_<TreeSettings>(m, "TreeSettings")
      .def("__init__",
           [](TreeSettings* self, std::int64_t max_bytes, std::int32_t grace_period, double split_confidence,
              double tie_threshold, const std::string& criterion, const std::string& prediction, bool binary_splits,
              std::int32_t max_depth, bool on_change) {
             new (self) TreeSettings{max_bytes, grace_period, split_confidence, tie_threshold,
                                     criterion_named(criterion), prediction_named(prediction), binary_splits,
                                     max_depth, on_change};
           },
           nb::arg("max_bytes"), nb::arg("grace_period"), nb::arg("split_confidence"), nb::arg("tie_threshold"),
           nb::arg("criterion"), nb::arg("prediction"), nb::arg("binary_splits"), nb::arg("max_depth"),
           nb::arg("on_change") = false);

  nb::class_<HoeffdingPool, Pool> pool(m, "HoeffdingPool");
  // Values of `node_test` and `node_link` in a state.
  pool.attr("LEAF") = Node::kLeaf;
  pool.attr("ABSENT") = Node::kAbsent;
  pool.attr("INACTIVE") = Node::kInactive;
  pool.attr("AT_MOST") = static_cast<int>(Test::at_most);
  pool.attr("EACH_VALUE") = static_cast<int>(Test::each_value);
  pool.attr("EQUALS") = static_cast<int>(Test::equals);
  bind_least_bytes(pool);
  pool.def(nb::init<std::vector<TreeSettings>>(), nb::arg("settings"))
      .def("grow",
           [](HoeffdingPool& self, const In1<std::int32_t>& values, int classes) {
             const auto pool = writable(self);
             expect_growth(*pool, values, classes);
             pool->grow(to_vector(values), classes);
           },
           nb::arg("values"), nb::arg("classes"))
      .def_prop_ro("bytes",
                   [](const HoeffdingPool& self) {
                     std::vector<std::int64_t> bytes;
                     const auto pool = readable(self);
                     for (int i = 0; i < pool->models(); ++i) bytes.push_back(pool->bytes(i));
                     return to_array(bytes);
                   })
      .def("summary",
           [](const HoeffdingPool& self, int i) {
             const auto pool = readable(self);
             expect(i >= 0 && i < pool->models(), "there is no model with this index");
             const TreeSummary s = pool->summary(i);
             return std::make_tuple(s.nodes, s.leaves, s.active, s.depth, s.bytes);
           })
      .def("state",
           [](const HoeffdingPool& self) {
             const auto pool = readable(self);
             return export_state(pool->state(0, pool->models()));
           })
      .def("tree_state",
           [](const HoeffdingPool& self, int i) {
             const auto pool = readable(self);
             expect(i >= 0 && i < pool->models(), "there is no model with this index");
             return export_state(pool->state(i, 1));
           })
      .def("restore",
           [](HoeffdingPool& self, nb::dict arrays) {
             PoolState state;
             import_state(state, std::move(arrays));
             const auto pool = writable(self);
             require(pool->outputs() == 0 || (state.values == pool->values() && state.classes == pool->outputs()),
                     "the state must have the schema of the pool");
             pool->restore(state);
           },
           nb::arg("state"));
});

}  // namespace heros
