// Bindings of pools of regression trees.
#include "bind/bind.hpp"
#include "bind/arrays.hpp"
#include "pools/regression/pool.hpp"

namespace heros {

namespace {

constexpr std::pair<const char*, RegressionTreeSettings::Prediction> kPredictions[] = {
    {"mean", RegressionTreeSettings::Prediction::mean},
    {"linear", RegressionTreeSettings::Prediction::linear},
    {"adaptive", RegressionTreeSettings::Prediction::adaptive}};

}  // namespace

const FamilyBinding binding("regression", [](nb::module_& m) {
  nb::class_<RegressionTreeSettings>(m, "RegressionTreeSettings")
      .def("__init__",
           [](RegressionTreeSettings* self, std::int64_t max_bytes, std::int64_t grace_period, double split_confidence,
              double tie_threshold, const std::string& prediction, std::int32_t max_depth) {
             expect(max_bytes >= 1 && grace_period >= 1 && split_confidence > 0 && split_confidence < 1 &&
                        amount(tie_threshold),
                    "invalid settings of a tree");
             new (self) RegressionTreeSettings{max_bytes, grace_period, split_confidence, tie_threshold,
                                               named(kPredictions, prediction, "unknown prediction method"), max_depth};
           },
           nb::arg("max_bytes"), nb::arg("grace_period"), nb::arg("split_confidence"), nb::arg("tie_threshold"),
           nb::arg("prediction"), nb::arg("max_depth"));

  nb::class_<RegressionTreePool, Pool> pool(m, "RegressionTreePool");
  pool.def(nb::init<std::vector<RegressionTreeSettings>>(), nb::arg("settings"))
      .def("grow",
           [](RegressionTreePool& self, const In1<std::int32_t>& values, int classes) {
             const auto pool = writable(self);
             expect_growth(*pool, values, classes);
             expect(classes == 1, "a numeric target has exactly one output");
             pool->grow(to_vector(values));
           },
           nb::arg("values"), nb::arg("classes"))
      .def("summary",
           [](const RegressionTreePool& self, int i) {
             const auto pool = readable(self);
             expect(i >= 0 && i < pool->models(), "there is no model with this index");
             const RegressionTree::Summary s = pool->summary(i);
             return std::make_tuple(s.nodes, s.leaves, s.active, s.depth, s.bytes);
           });
  bind_least_bytes(pool);
  bind_state(pool);
});

}  // namespace heros
