// Bindings of pools of boosted trees that are retrained on a window.
#include "bind/bind.hpp"
#include "bind/arrays.hpp"
#include "pools/retrained/pool.hpp"

namespace heros {

const FamilyBinding binding("retrained", [](nb::module_& m) {
  nb::class_<RetrainedSettings>(m, "RetrainedSettings")
      .def("__init__",
           [](RetrainedSettings* self, std::int64_t window, std::int64_t every, std::int64_t spread, std::int32_t trees,
              std::int32_t leaves, double learning_rate, std::int32_t bins, std::int32_t min_leaf, double shrinkage,
              std::int32_t most_trees, double drift, std::int64_t max_bytes) {
             constexpr std::int64_t kMost = 1 << 30;
             expect(window >= 50 && window <= kMost && every >= 1 && every <= kMost && spread >= 0 && spread <= every &&
                        trees >= 1 && trees <= 1 << 16 && leaves >= 2 && leaves <= 1 << 16 && amount(learning_rate) && bins >= 2 &&
                        bins <= kMostBins && min_leaf >= 1 && min_leaf <= kMost && amount(shrinkage) && most_trees >= 0 &&
                        drift >= 0 && drift <= 1 && max_bytes >= 1,
                    "invalid settings of a retrained model");
             new (self) RetrainedSettings{window, every, spread, trees, leaves, learning_rate, bins, min_leaf, shrinkage,
                                          most_trees, drift, max_bytes};
           },
           nb::arg("window"), nb::arg("every"), nb::arg("spread"), nb::arg("trees"), nb::arg("leaves"),
           nb::arg("learning_rate"), nb::arg("bins"), nb::arg("min_leaf"), nb::arg("shrinkage"), nb::arg("most_trees"),
           nb::arg("drift"), nb::arg("max_bytes"));

  nb::class_<RetrainedPool, Pool> pool(m, "RetrainedPool");
  pool.def("__init__",
           [](RetrainedPool* self, const std::vector<RetrainedSettings>& settings, bool numeric) {
             new (self) RetrainedPool(retrained_pool(settings, numeric));
           },
           nb::arg("settings"), nb::arg("numeric"))
      .def("grow",
           [](RetrainedPool& self, const In1<std::int32_t>& values, int classes) {
             const auto pool = writable(self);
             expect_growth(*pool, values, classes);
             expect(!pool->numeric() || classes == 1, "a numeric target has exactly one output");
             pool->grow(to_vector(values), classes);
           },
           nb::arg("values"), nb::arg("classes"))
      .def("summary",
           [](const RetrainedPool& self, int i) {
             const auto pool = readable(self);
             expect(i >= 0 && i < pool->models(), "there is no model with this index");
             const Retrained::Summary s = pool->model(i).summary();
             return std::make_tuple(s.trainings, s.trees.trees, s.trees.leaves, s.trees.depth, s.instances, s.window, s.bytes);
           })
      .def("gains",
           [](const RetrainedPool& self, int i) {
             const auto pool = readable(self);
             expect(i >= 0 && i < pool->models(), "there is no model with this index");
             return to_array(pool->model(i).gains());
           });
  pool.attr("FIRST") = Retrained::kFirst;
  bind_least_bytes(pool);
  bind_state(pool);
});

}  // namespace heros
