// Bindings of the policies.
#include <nanobind/stl/array.h>
#include <nanobind/stl/optional.h>

#include "bind/bind.hpp"
#include "bind/arrays.hpp"
#include "core/choose.hpp"

namespace heros {

namespace {

Array<bool, 1> choose(const Policy& policy, const In1<double>& scores, const In1<double>& costs, int k,
                      const nb::object& bits) {
  const auto models = static_cast<int>(scores.size());
  expect(costs.size() == scores.size(), "scores and costs must have the same length");
  expect(k >= 1 && k <= models, "k must be in [1, M]");
  PolicyChooser chooser(policy, k, random_from(bits));
  chooser.set_costs(to_vector(costs));
  NewArray<bool, 1> mask({scores.size()});
  static_assert(sizeof(bool) == sizeof(std::uint8_t));
  chooser.choose(scores.data(), reinterpret_cast<std::uint8_t*>(mask.data()));
  return mask.array();
}

}  // namespace

void bind_choose(nb::module_& m) {
  nb::class_<Policy>(m, "Policy")
      .def("__init__",
           [](Policy* self, const std::string& name, double parameter, std::shared_ptr<Policy> inner,
              const std::optional<std::array<double, 4>>& bounds) {
             const auto kind = named(Policy::kNames, name, "unknown policy");
             expect(kind != Policy::Kind::explore || inner != nullptr, "explore needs an inner policy");
             Policy policy{kind, parameter, std::move(inner)};
             if (bounds) policy.bounds = {(*bounds)[0], (*bounds)[1], (*bounds)[2], (*bounds)[3]};
             new (self) Policy(std::move(policy));
           },
           nb::arg("name"), nb::arg("parameter") = 0.0, nb::arg("inner") = nb::none(), nb::arg("bounds") = nb::none());
  m.def("choose", &choose, nb::arg("policy"), nb::arg("scores"), nb::arg("costs"), nb::arg("k"), nb::arg("bits"));
}

}  // namespace heros
