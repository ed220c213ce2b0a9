#include <bit>
#include <cmath>
#include <cstdint>
#include <string>

#include "bind/bind.hpp"
#include "bind/arrays.hpp"
#include "drift/detectors.hpp"
#include "drift/kswin.hpp"

namespace heros {

namespace {

void expect_finite_at(double x, std::size_t at) {
  if (!std::isfinite(x))
    throw DataFault("Value " + std::to_string(at) + " of a detector must be a finite number. Got " +
                    std::to_string(x) + " instead.");
}

// Checks n numbers at once. The exponent bits of infinity and NaN are all ones, so adding 1 to them carries into the
// sign bit.
void expect_finite(const double* x, std::size_t n) {
  constexpr std::uint64_t exponent = 0x7ff0000000000000, one = 0x0010000000000000;
  std::uint64_t carried = 0;
  for (std::size_t t = 0; t < n; ++t) carried |= (std::bit_cast<std::uint64_t>(x[t]) & exponent) + one;
  if (carried >> 63)
    for (std::size_t t = 0; t < n; ++t) expect_finite_at(x[t], t);
}

// Processes some of n numbers and returns how many: several if the detector supports it, else one.
template <class Detector>
std::int64_t take(Detector& detector, const double* x, std::int64_t n) {
  if constexpr (requires { detector.take(x, n); }) return detector.take(x, n);
  detector.update(*x);
  return 1;
}

// Binds the methods that all detectors have.
template <class Detector>
nb::class_<Detector> bind_detector(nb::module_& m, const char* name) {
  return nb::class_<Detector>(m, name)
      .def("update",
           [](Detector& self, double x) {
             expect_finite_at(x, 0);
             return self.update(x);
           },
           nb::arg("x"))
      .def("positions",
           [](Detector& self, const In1<double>& values) {
             expect_finite(values.data(), values.size());
             std::vector<std::int64_t> changes;
             const auto n = static_cast<std::int64_t>(values.size());
             for (std::int64_t t = 0; t < n;) {
               t += take(self, values.data() + t, n - t);
               if (self.changed()) changes.push_back(t - 1);
             }
             return to_array(changes);
           },
           nb::arg("values"))
      .def_prop_ro("drift_detected", [](const Detector& self) { return self.changed(); })
      .def_prop_ro("n_detections", [](const Detector& self) { return self.detections(); })
      .def_prop_ro("width", [](const Detector& self) { return self.width(); })
      .def("state", &export_state<Detector>)
      .def("restore", &import_state<Detector>, nb::arg("state"));
}

}  // namespace

void bind_drift(nb::module_& m) {
  bind_detector<AdwinDetector>(m, "AdwinDetector")
      .def("__init__",
           [](AdwinDetector* self, double delta, int clock, int buckets, int minimum, int grace) {
             expect(delta > 0 && clock >= 1 && buckets >= 1 && minimum >= 1 && grace >= 0, "invalid settings of ADWIN");
             new (self) AdwinDetector(delta, {buckets, clock, grace, minimum});
           },
           nb::arg("delta"), nb::arg("clock"), nb::arg("max_buckets"), nb::arg("min_window_length"),
           nb::arg("grace_period"))
      .def_prop_ro("estimation", &AdwinDetector::mean)
      .def_prop_ro("variance", &AdwinDetector::variance);
  bind_detector<PageHinkley>(m, "PageHinkleyDetector")
      .def("__init__",
           [](PageHinkley* self, std::int64_t least, double delta, double threshold, double keep, const std::string& mode) {
             new (self) PageHinkley(least, delta, threshold, keep, named(PageHinkley::kModes, mode, "unknown mode"));
           },
           nb::arg("min_instances"), nb::arg("delta"), nb::arg("threshold"), nb::arg("alpha"), nb::arg("mode"))
      .def_prop_ro("estimation", &PageHinkley::mean);
  bind_detector<Kswin>(m, "KswinDetector")
      .def("__init__",
           [](Kswin* self, double alpha, int window, int latest, const In1<std::uint32_t>& random) {
             expect(latest >= 1 && window >= 2 * latest && random.size() == Mersenne::kWords + 1,
                    "invalid settings of KSWIN");
             new (self) Kswin(alpha, window, latest, to_vector(random));
           },
           nb::arg("alpha"), nb::arg("window_size"), nb::arg("stat_size"), nb::arg("random"))
      .def_prop_ro("p_value", &Kswin::chance);
}

}  // namespace heros
