// Bindings of nearest-neighbour pools.
#include "bind/bind.hpp"
#include "bind/arrays.hpp"
#include "pools/neighbours/pool.hpp"

namespace heros {

namespace {

NeighboursPool make_pool(const In1<std::int64_t>& window, const In1<std::int32_t>& k,
                         const In1<std::uint8_t>& by_distance, std::int64_t max_bytes, double delta, bool numeric) {
  expect(window.size() == k.size() && window.size() == by_distance.size(), "there must be one entry per model");
  std::vector<NeighbourSettings> settings;
  for (std::size_t i = 0; i < window.size(); ++i) {
    expect(window.data()[i] >= 1 && k.data()[i] >= 1, "windows and numbers of neighbours must be 1 or more");
    settings.push_back({window.data()[i], k.data()[i], by_distance.data()[i] != 0});
  }
  return {std::move(settings), max_bytes, delta, numeric};
}

}  // namespace

const FamilyBinding binding("neighbours", [](nb::module_& m) {
  nb::class_<NeighboursPool, Pool> pool(m, "NeighboursPool");
  bind_least_bytes(pool);
  pool.def("__init__",
           [](NeighboursPool* self, const In1<std::int64_t>& window, const In1<std::int32_t>& k,
              const In1<std::uint8_t>& by_distance, std::int64_t max_bytes, double delta, bool numeric) {
             new (self) NeighboursPool(make_pool(window, k, by_distance, max_bytes, delta, numeric));
           },
           nb::arg("window"), nb::arg("k"), nb::arg("by_distance"), nb::arg("max_bytes"), nb::arg("delta"),
           nb::arg("numeric") = false)
      .def("grow",
           [](NeighboursPool& self, const In1<std::int32_t>& values, int classes) {
             const auto pool = writable(self);
             expect_growth(*pool, values, classes);
             expect(!pool->numeric() || classes == 1, "a numeric target has exactly one output");
             pool->grow(to_vector(values), classes);
           },
           nb::arg("values"), nb::arg("classes"))
      .def_prop_ro("bytes", [](const NeighboursPool& self) { return readable(self)->bytes(); })
      .def("windows",
           [](const NeighboursPool& self) {
             std::vector<std::int64_t> now, most;
             const auto pool = readable(self);
             for (int i = 0; i < pool->models(); ++i) now.push_back(pool->width(i)), most.push_back(pool->most(i));
             return std::make_tuple(to_array(now), to_array(most));
           })
      .def("state", [](const NeighboursPool& self) { return export_state(readable(self)->state()); })
      .def("restore",
           [](NeighboursPool& self, nb::dict arrays) {
             const auto pool = writable(self);
             NeighboursState state = pool->blank_state();
             import_state(state, std::move(arrays));
             require(pool->outputs() == 0 || (state.values == pool->values() && state.classes == pool->outputs()),
                     "the state must have the schema of the pool");
             pool->restore(state);
           },
           nb::arg("state"));
});

}  // namespace heros
