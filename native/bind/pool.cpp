// Bindings of the base class of pools, of joined pools, and of the encoding of instances.
#include "bind/arrays.hpp"
#include "bind/bind.hpp"
#include "core/encode.hpp"
#include "core/prices.hpp"
#include "pools/joined.hpp"

namespace heros {

void bind_pool(nb::module_& m) {
  nb::class_<Pool>(m, "Pool")
      .def_prop_ro("models", [](const Pool& self) { return readable(self)->models(); })
      .def_prop_ro("features", [](const Pool& self) { return readable(self)->features(); })
      .def_prop_ro("outputs", [](const Pool& self) { return readable(self)->outputs(); });

  nb::class_<Encoder>(m, "Encoder")
      .def(nb::init<double>(), nb::arg("divisor"))
      .def("grow", [](Encoder& self, const In1<std::int32_t>& values) {
             expect_countable(to_vector(values), 0);
             self.grow(to_vector(values));
           }, nb::lock_self())
      .def_prop_ro("inputs", &Encoder::inputs, nb::lock_self())
      .def("encode",
           [](const Encoder& self, const In1<double>& x) {
             expect(x.size() == static_cast<std::size_t>(self.features()), "the instance has the wrong shape");
             Inputs inputs;
             self.encode(x.data(), inputs);
             return std::make_tuple(to_array(inputs.index), to_array(inputs.value));
           }, nb::lock_self())
      .def("learn", [](Encoder& self, const In1<double>& x) {
        expect(x.size() == static_cast<std::size_t>(self.features()), "the instance has the wrong shape");
        self.learn(x.data());
      }, nb::lock_self());

  nb::class_<JoinedPool, Pool>(m, "JoinedPool")
      .def("__init__",
           [](JoinedPool* self, std::vector<std::shared_ptr<Pool>> parts) {
             expect(!parts.empty(), "there must be at least one pool");
             for (const auto& part : parts) expect(part != nullptr, "pools");
             new (self) JoinedPool(std::move(parts));
           },
           nb::arg("parts"));

  m.def("measured_prices",
        [](Pool& pool, const In2<double>& X, const In1<double>& targets) {
          const PoolWorking work(pool, true);
          expect(X.shape(0) >= 2 && X.shape(1) == static_cast<std::size_t>(pool.features()) &&
                     targets.size() == X.shape(0),
                 "the block has the wrong shape");
          const Prices prices = measured_prices(pool, X.data(), targets.data(), static_cast<std::int64_t>(X.shape(0)));
          return std::make_tuple(to_array(prices.look), to_array(prices.train));
        },
        nb::arg("pool"), nb::arg("X"), nb::arg("targets"));
}

}  // namespace heros
