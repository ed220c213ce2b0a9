#include "bind/bind.hpp"
#include "bind/arrays.hpp"
#include "pools/hoeffding/pool.hpp"

namespace heros {

namespace {

Criterion criterion_named(const std::string& name) {
  if (name == "information_gain") return Criterion::information_gain;
  if (name == "gini") return Criterion::gini;
  throw nb::value_error("no such split criterion");
}

LeafPrediction prediction_named(const std::string& name) {
  if (name == "majority") return LeafPrediction::majority;
  if (name == "naive_bayes") return LeafPrediction::naive_bayes;
  if (name == "adaptive") return LeafPrediction::adaptive;
  throw nb::value_error("no such leaf prediction");
}

}  // namespace

void bind_hoeffding(nb::module_& m) {
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
  // What `node_test` and `node_link` of a state hold.
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
             expect_growth(self, values, classes);
             writable(self).grow(to_vector(values), classes);
           },
           nb::arg("values"), nb::arg("classes"))
      .def_prop_ro("bytes",
                   [](const HoeffdingPool& self) {
                     std::vector<std::int64_t> bytes;
                     for (int i = 0; i < readable(self).models(); ++i) bytes.push_back(self.bytes(i));
                     return to_array(bytes);
                   })
      .def("summary",
           [](const HoeffdingPool& self, int i) {
             expect(i >= 0 && i < self.models(), "no such model");
             const TreeSummary s = readable(self).summary(i);
             return std::make_tuple(s.nodes, s.leaves, s.active, s.depth, s.bytes);
           })
      .def("state",
           [](const HoeffdingPool& self) {
             PoolState state = readable(self).state(0, self.models());
             return export_state(state);
           })
      .def("tree_state",
           [](const HoeffdingPool& self, int i) {
             expect(i >= 0 && i < self.models(), "no such model");
             PoolState state = readable(self).state(i, 1);
             return export_state(state);
           })
      .def("restore",
           [](HoeffdingPool& self, nb::dict arrays) {
             PoolState state;
             import_state(state, std::move(arrays));
             require(self.outputs() == 0 || (state.values == self.values() && state.classes == self.outputs()),
                     "models for the same instances");
             writable(self).restore(state);
           },
           nb::arg("state"));
}

}  // namespace heros
