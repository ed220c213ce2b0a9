// Bindings of joined pools.
#include "bind/arrays.hpp"
#include "bind/bind.hpp"
#include "core/prices.hpp"
#include "pools/joined.hpp"

namespace heros {

void bind_joined(nb::module_& m) {
  nb::class_<JoinedPool, Pool>(m, "JoinedPool")
      .def("__init__",
           [](JoinedPool* self, std::vector<std::shared_ptr<Pool>> parts) {
             expect(!parts.empty(), "at least one pool");
             for (const auto& part : parts) expect(part != nullptr, "pools");
             new (self) JoinedPool(std::move(parts));
           },
           nb::arg("parts"));

  m.def("measured_prices",
        [](Pool& pool, const In2<double>& X, const In1<double>& targets) {
          const PoolWorking work(pool, true);
          expect(X.shape(0) >= 2 && X.shape(1) == static_cast<std::size_t>(pool.features()) &&
                     targets.size() == X.shape(0),
                 "a block of another shape");
          const Prices prices = measured_prices(pool, X.data(), targets.data(), static_cast<std::int64_t>(X.shape(0)));
          return std::make_tuple(to_array(prices.look), to_array(prices.train));
        },
        nb::arg("pool"), nb::arg("X"), nb::arg("targets"));
}

}  // namespace heros
