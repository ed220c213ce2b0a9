// Bindings of the synthetic streams, which generate a block at a time with the GIL released.
#include "bind/bind.hpp"
#include "bind/arrays.hpp"
#include "streams/agrawal.hpp"
#include "streams/drift.hpp"
#include "streams/led.hpp"
#include "streams/rbf.hpp"

namespace heros {

namespace {

// A generator, locked by the thread that draws from it.
template <class Generator>
struct Drawn : Generator {
  using Generator::Generator;
  Guard guard;
};

constexpr const char* kBusy = "Another thread is reading this stream. Use a copy instead.";

template <class Generator>
void fill(Drawn<Generator>& generator, Out2<double> X, Out1<std::int64_t> y) {
  expect(X.shape(1) == static_cast<std::size_t>(generator.features()) && y.shape(0) == X.shape(0),
         "The arrays to fill do not fit the stream.");
  const std::size_t n = X.shape(0);
  const std::size_t width = X.shape(1);
  double* rows = X.data();
  std::int64_t* labels = y.data();
  const Working drawing(generator.guard, false, kBusy, let_others_finish);
  const nb::gil_scoped_release release;
  for (std::size_t i = 0; i < n; ++i) labels[i] = generator.draw(rows + i * width);
}

void flip(Drawn<Drift>& drift, Out1<bool> after) {
  const std::size_t n = after.shape(0);
  bool* flags = after.data();
  const Working drawing(drift.guard, false, kBusy, let_others_finish);
  const nb::gil_scoped_release release;
  for (std::size_t i = 0; i < n; ++i) flags[i] = drift.draw();
}

// Pickling and copying use the state.
template <class Generator, class Object = Drawn<Generator>>
nb::class_<Object> bind_stateful(nb::module_& m, const char* name) {
  return nb::class_<Object>(m, name)
      .def("__getstate__",
           [](const Object& object) {
             const Reading reading(object.guard, kBusy);
             return export_state(object);
           })
      .def("__setstate__", [](Object& object, nb::dict state) {
        Object fresh;  // an invalid state creates no object
        import_state(fresh, std::move(state));
        new (&object) Object(std::move(fresh));
      });
}

}  // namespace

void bind_streams(nb::module_& m) {
  bind_stateful<Agrawal>(m, "Agrawal")
      .def(nb::init<int, std::int64_t, double, bool>())
      .def("fill", &fill<Agrawal>);
  bind_stateful<RandomRBF>(m, "RandomRBF")
      .def(nb::init<int, int, int, std::int64_t, std::int64_t, int, double>())
      .def("fill", &fill<RandomRBF>);
  bind_stateful<LED>(m, "LED").def(nb::init<int, std::int64_t, int>()).def("fill", &fill<LED>);
  bind_stateful<Drift>(m, "Drift")
      .def(nb::init<std::int64_t, std::int64_t, std::int64_t>())
      .def("fill", &flip);
}

}  // namespace heros
