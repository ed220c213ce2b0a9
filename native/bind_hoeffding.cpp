#include "bind.hpp"
#include "bind_state.hpp"
#include <nanobind/stl/vector.h>
#include "hoeffding.hpp"

namespace heros {

namespace {

template <class T>
using Column = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

void expect(bool holds, const char* what) {
  if (!holds) throw nb::value_error(what);
}

}  // namespace

void bind_hoeffding(nb::module_& m) {
  nb::class_<Pool>(m, "Pool");
  nb::class_<HoeffdingPool, Pool>(m, "HoeffdingPool")
      .def("__init__",
           [](HoeffdingPool* self, const Column<std::int64_t>& max_bytes, const Column<std::int32_t>& grace_period,
              const Column<double>& split_confidence, const Column<double>& tie_threshold,
              const Column<std::uint8_t>& gini, const Column<std::uint8_t>& prediction,
              const Column<std::uint8_t>& binary_splits, const Column<std::int32_t>& max_depth) {
             const std::size_t n = max_bytes.size();
             expect(grace_period.size() == n && split_confidence.size() == n && tie_threshold.size() == n &&
                        gini.size() == n && prediction.size() == n && binary_splits.size() == n &&
                        max_depth.size() == n,
                    "one entry per model");
             std::vector<TreeSettings> settings;
             for (std::size_t i = 0; i < n; ++i) {
               expect(prediction(i) < 3, "no such leaf prediction");
               settings.push_back({max_bytes(i), grace_period(i), split_confidence(i), tie_threshold(i),
                                   gini(i) ? Criterion::gini : Criterion::information_gain,
                                   static_cast<LeafPrediction>(prediction(i)), binary_splits(i) != 0, max_depth(i)});
             }
             new (self) HoeffdingPool(std::move(settings));
           },
           nb::arg("max_bytes"), nb::arg("grace_period"), nb::arg("split_confidence"), nb::arg("tie_threshold"),
           nb::arg("gini"), nb::arg("prediction"), nb::arg("binary_splits"), nb::arg("max_depth"))
      .def("grow",
           [](HoeffdingPool& self, const Column<std::int32_t>& values, int classes) {
             expect(values.size() >= static_cast<std::size_t>(self.features()) && classes >= self.classes(),
                    "a pool only grows");
             self.grow({values.data(), values.data() + values.size()}, classes);
           },
           nb::arg("values"), nb::arg("classes"))
      .def("run",
           [](HoeffdingPool& self, nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu> X,
              Column<std::int64_t> y, nb::ndarray<const std::uint8_t, nb::ndim<2>, nb::c_contig, nb::device::cpu> chosen, nb::ndarray<std::int32_t, nb::ndim<2>, nb::c_contig, nb::device::cpu> votes) {
             PhaseClock clock;
             clock.start();
             std::int64_t over = 0;
             for (std::size_t t = 0; t < X.shape(0); ++t) {
               self.evaluate(X.data() + t * X.shape(1), clock);
               for (int i = 0; i < self.models(); ++i) votes(t, i) = self.vote(i);
               self.train(X.data() + t * X.shape(1), int(y(t)), chosen.data() + t * chosen.shape(1), clock);
             }
             (void)over;
             return std::vector<double>{clock.ticks(Phase::encode) * 1e-9, clock.ticks(Phase::evaluate) * 1e-9, clock.ticks(Phase::train) * 1e-9};
           })
      .def("summary",
           [](const HoeffdingPool& self) {
             std::vector<std::int64_t> rows;  // nodes, leaves, active leaves, depth and bytes of every tree
             for (int i = 0; i < self.models(); ++i) {
               const TreeSummary s = self.summary(i);
               rows.insert(rows.end(), {s.nodes, s.leaves, s.active, s.depth, s.bytes});
             }
             return to_array(rows.data(), rows.size());
           })
      .def("state", &export_state<HoeffdingPool>)
      .def("restore", &import_state<HoeffdingPool>, nb::arg("state"));
}

}  // namespace heros
