#include <cmath>
#include <cstring>

#include "bind/bind.hpp"
#include "bind/arrays.hpp"
#include "core/check.hpp"
#include "core/step.hpp"

namespace heros {

namespace {

Answer answer_named(const std::string& name) {
  if (name == "best") return Answer::best;
  if (name == "average") return Answer::average;
  if (name == "weighted") return Answer::weighted;
  throw nb::value_error("no such answer");
}

// An ensemble to look at, and one to change.
Ensemble& seen(Ensemble& e) {
  readable(e.pool());
  return e;
}
Ensemble& at_rest(Ensemble& e) {
  writable(e.pool());
  return e;
}

struct BlockArrays {
  Out2<double> probabilities;
  Out1<std::int32_t> answered;
  Out2<std::uint8_t> chosen;
  Out1<double> spent, reward;
};

BlockRecord checked(const Ensemble& e, const In2<double>& X, const In1<double>& targets, const BlockArrays& a) {
  const std::size_t n = X.shape(0), outputs = e.outputs(), models = e.models();
  expect(outputs > 0, "models that know their instances");
  expect(X.shape(1) == static_cast<std::size_t>(e.features()) && targets.size() == n, "a block of another shape");
  for (std::size_t t = 0; t < n; ++t)
    expect(targets.data()[t] >= 0 && targets.data()[t] < e.outputs() && targets.data()[t] == std::floor(targets.data()[t]),
           "a label outside the classes");
  expect(a.probabilities.shape(0) == n && a.probabilities.shape(1) == outputs && a.answered.size() == n &&
             a.chosen.shape(0) == n && a.chosen.shape(1) == models && a.spent.size() == n && a.reward.size() == n,
         "records of another shape");
  return {a.probabilities.data(), a.answered.data(), a.chosen.data(), a.spent.data(), a.reward.data()};
}

// Returns whether the last choice was exploration.
bool run_compiled(Ensemble& e, const In2<double>& X, const In1<double>& targets, const Policy& policy, int k,
                  const nb::capsule& bits, const BlockArrays& arrays) {
  const BlockRecord record = checked(e, X, targets, arrays);
  expect(k >= 1 && k <= e.models(), "k must be in [1, M]");
  Random random = random_from(bits);
  Chooser chooser;
  chooser.set_costs(e.costs().data(), e.models());
  const Work work(e.pool(), false);
  const nb::gil_scoped_release release;
  e.run(X.data(), targets.data(), static_cast<std::int64_t>(X.shape(0)),
        [&](const double* scores, std::uint8_t* chosen) { chooser.choose(policy, scores, k, random, chosen); },
        record);
  return chooser.explored();
}

void run_callback(Ensemble& e, const In2<double>& X, const In1<double>& targets, const nb::callable& choose,
                  const BlockArrays& arrays) {
  const BlockRecord record = checked(e, X, targets, arrays);
  const Work work(e.pool(), true);
  e.run(X.data(), targets.data(), static_cast<std::int64_t>(X.shape(0)),
        [&](const double* scores, std::uint8_t* chosen) {
          const auto mask = nb::cast<In1<bool>>(choose(to_array(scores, e.models())));
          expect(mask.size() == static_cast<std::size_t>(e.models()), "a mask with one entry per model");
          std::memcpy(chosen, mask.data(), mask.size());
        },
        record);
}

}  // namespace

void bind_step(nb::module_& m) {
  nb::class_<Ensemble>(m, "Ensemble")
      .def("__init__",
           [](Ensemble* self, std::shared_ptr<Pool> pool, const Scores& scores, const In1<double>& costs,
              const std::string& answer, std::int64_t warmup) {
             const auto models = static_cast<std::size_t>(pool->models());
             expect(costs.size() == models && scores.values().size() == models, "one cost and score per model");
             expect(all_of(to_vector(costs), amount), "costs of zero or more");
             new (self) Ensemble(std::move(pool), scores, to_vector(costs), answer_named(answer), warmup);
           },
           nb::arg("pool"), nb::arg("scores"), nb::arg("costs"), nb::arg("answer"), nb::arg("warmup"))
      .def("run",
           [](Ensemble& self, const In2<double>& X, const In1<double>& targets, const Policy& policy, int k,
              const nb::capsule& bits, Out2<double> probabilities, Out1<std::int32_t> answered,
              Out2<std::uint8_t> chosen, Out1<double> spent, Out1<double> reward) {
             return run_compiled(self, X, targets, policy, k, bits, {probabilities, answered, chosen, spent, reward});
           })
      .def("run_with",
           [](Ensemble& self, const In2<double>& X, const In1<double>& targets, const nb::callable& choose,
              Out2<double> probabilities, Out1<std::int32_t> answered, Out2<std::uint8_t> chosen, Out1<double> spent,
              Out1<double> reward) {
             run_callback(self, X, targets, choose, {probabilities, answered, chosen, spent, reward});
           })
      .def("predict",
           [](Ensemble& self, const In2<double>& X, Out2<double> out) {
             expect(self.outputs() > 0, "models that know their instances");
             expect(X.shape(1) == static_cast<std::size_t>(self.features()) && out.shape(0) == X.shape(0) &&
                        out.shape(1) == static_cast<std::size_t>(self.outputs()),
                    "instances of another shape");
             const Work work(self.pool(), false);
             const nb::gil_scoped_release release;
             for (std::size_t t = 0; t < X.shape(0); ++t)
               self.predict(X.data() + t * X.shape(1), out.data() + t * out.shape(1));
           })
      .def("set_costs",
           [](Ensemble& self, const In1<double>& costs) {
             expect(costs.size() == static_cast<std::size_t>(self.models()), "one cost per model");
             expect(all_of(to_vector(costs), amount), "costs of zero or more");
             at_rest(self).set_costs(to_vector(costs));
           })
      .def_prop_ro("instances", [](Ensemble& self) { return seen(self).instances(); })
      .def_prop_ro("costs", [](Ensemble& self) { return to_array(seen(self).costs()); })
      .def_prop_ro("scores", [](Ensemble& self) { return to_array(seen(self).scores()); })
      .def_prop_ro("trained", [](Ensemble& self) { return to_array(seen(self).trained()); })
      .def_prop_ro("invested", [](Ensemble& self) { return to_array(seen(self).invested()); })
      .def_prop_ro("diverged", [](Ensemble& self) { return to_array(seen(self).diverged()); })
      .def_prop_ro("cpu_seconds", [](Ensemble& self) { return to_array(seen(self).cpu_seconds()); })
      .def("state", [](Ensemble& self) { return export_state(seen(self)); })
      .def("restore", [](Ensemble& self, nb::dict state) { import_state(at_rest(self), std::move(state)); },
           nb::arg("state"));

  m.def("phases", [] { return std::vector<std::string>(kPhaseNames.begin(), kPhaseNames.end()); });

  m.def("first_fault",
        [](const In2<double>& X, const In1<std::int32_t>& values, const In1<std::uint8_t>& missing) {
          expect(X.shape(1) == values.size() && values.size() == missing.size(), "a block of another shape");
          const FirstFault f =
              first_fault(X.data(), static_cast<std::int64_t>(X.shape(0)), to_vector(values), to_vector(missing));
          return std::make_tuple(static_cast<int>(f.fault), f.row, f.column);
        },
        nb::arg("X"), nb::arg("values"), nb::arg("missing"));
}

}  // namespace heros
