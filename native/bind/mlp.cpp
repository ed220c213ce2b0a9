// Bindings of pools of perceptrons.
#include "bind/bind.hpp"
#include "bind/arrays.hpp"
#include "pools/mlp/pool.hpp"

namespace heros {

namespace {

struct WeightArrays {  // the weights of one model, in PyTorch's layout
  Out2<float> w1;
  Out1<float> b1;
  Out2<float> w2;
  Out1<float> b2;
};

void expect_fit(const MlpPool& pool, int i, const WeightArrays& a) {
  const auto inputs = static_cast<std::size_t>(pool.inputs()), classes = static_cast<std::size_t>(pool.classes());
  expect(i >= 0 && i < pool.models(), "there is no model with this index");
  const std::size_t hidden = a.b1.size();
  expect(hidden == static_cast<std::size_t>(pool.hidden(i)) && a.w1.shape(0) == hidden && a.w1.shape(1) == inputs &&
             a.w2.shape(0) == classes && a.w2.shape(1) == hidden && a.b2.size() == classes,
         "the weights have the wrong shape");
}

}  // namespace

const FamilyBinding binding("mlp", [](nb::module_& m) {
  m.def("adam_lag", [](std::int64_t from, std::int64_t to, double rate) {
    expect(0 <= from && from <= to, "0 <= from <= to must hold");
    const CatchUp lag = Adam::tables().between(from, to, rate);
    return std::make_tuple(lag.drift, lag.epsilon, lag.keep_m, lag.keep_v);
  });

  nb::class_<MlpPool, Pool> pool(m, "MlpPool");
  pool.def("__init__",
           [](MlpPool* self, const In1<std::int32_t>& hidden, const In1<std::uint8_t>& adam, const In1<double>& rate,
              double divisor, const std::string& isa, bool numeric, const std::vector<std::string>& losses) {
             expect(hidden.size() == adam.size() && hidden.size() == rate.size(), "there must be one entry per model");
             expect(!numeric || losses.size() == hidden.size(), "there must be one loss per model");
             std::vector<Loss> loss;
             for (const std::string& name : losses) loss.push_back(named(kLossNames, name, "unknown loss"));
             new (self) MlpPool(to_vector(hidden), to_vector(adam), to_vector(rate), divisor, isa, numeric, loss);
           },
           nb::arg("hidden"), nb::arg("adam"), nb::arg("rate"), nb::arg("divisor"), nb::arg("isa"),
           nb::arg("numeric") = false, nb::arg("losses") = std::vector<std::string>{})
      .def("grow",
           [](MlpPool& self, const In1<std::int32_t>& values, int classes, const nb::object& bits) {
             const auto pool = writable(self);
             expect_growth(*pool, values, classes);
             expect(!pool->numeric() || classes == 1, "a numeric target has exactly one output");
             pool->grow(to_vector(values), classes, random_from(bits));
           },
           nb::arg("values"), nb::arg("classes"), nb::arg("bits"))
      .def_prop_ro("inputs", [](const MlpPool& self) { return readable(self)->inputs(); })
      .def_prop_ro("steps", [](const MlpPool& self) { return to_array(readable(self)->steps()); })
      .def("read_weights",
           [](const MlpPool& self, int i, Out2<float> w1, Out1<float> b1, Out2<float> w2, Out1<float> b2) {
             const auto pool = readable(self);
             expect_fit(*pool, i, {w1, b1, w2, b2});
             pool->read_weights(i, w1.data(), b1.data(), w2.data(), b2.data());
           })
      .def("write_weights",
           [](MlpPool& self, int i, Out2<float> w1, Out1<float> b1, Out2<float> w2, Out1<float> b2) {
             const auto pool = writable(self);
             expect_fit(*pool, i, {w1, b1, w2, b2});
             pool->write_weights(i, w1.data(), b1.data(), w2.data(), b2.data());
           });
  bind_state(pool);

  m.def("isas", [] {
    std::vector<std::string> names;
    for (const Isa& isa : available_isas()) names.push_back(isa.name);
    return names;
  });
});

}  // namespace heros
