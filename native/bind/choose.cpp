#include "bind/bind.hpp"
#include "bind/arrays.hpp"
#include "core/choose.hpp"

namespace heros {

namespace {

Policy make_policy(const std::string& name, double parameter, const std::shared_ptr<Policy>& inner) {
  using Kind = Policy::Kind;
  static const std::pair<const char*, Kind> kinds[] = {
      {"random", Kind::random},       {"perform_best", Kind::perform_best},
      {"perform_worst", Kind::perform_worst}, {"cheapest", Kind::cheapest},
      {"expensive", Kind::expensive}, {"cand", Kind::cand},
      {"cand_as_published", Kind::cand_as_published}, {"zeta", Kind::zeta},
      {"explore", Kind::explore},     {"reward", Kind::reward},
      {"budget", Kind::budget},       {"everything", Kind::everything},
  };
  for (const auto& [kind_name, kind] : kinds)
    if (name == kind_name) {
      expect(kind != Kind::explore || inner != nullptr, "explore needs a policy to explore around");
      return {kind, parameter, inner};
    }
  throw nb::value_error("no such policy");
}

nb::object choose(const Policy& policy, const In1<double>& scores, const In1<double>& costs, int k,
                  const nb::capsule& bits) {
  const auto models = static_cast<int>(scores.size());
  expect(costs.size() == scores.size(), "scores and costs must have one length");
  expect(k >= 1 && k <= models, "k must be in [1, M]");
  Chooser chooser;
  chooser.set_costs(costs.data(), models);
  auto random = random_from(bits);
  bool* mask = new bool[models];
  nb::capsule owner(mask, [](void* p) noexcept { delete[] static_cast<bool*>(p); });
  static_assert(sizeof(bool) == sizeof(std::uint8_t));
  chooser.choose(policy, scores.data(), k, random, reinterpret_cast<std::uint8_t*>(mask));
  return nb::cast(nb::ndarray<nb::numpy, bool, nb::ndim<1>>(mask, {static_cast<std::size_t>(models)}, owner));
}

}  // namespace

void bind_choose(nb::module_& m) {
  nb::class_<Policy>(m, "Policy")
      .def("__init__",
           [](Policy* self, const std::string& name, double parameter, std::shared_ptr<Policy> inner) {
             new (self) Policy(make_policy(name, parameter, inner));
           },
           nb::arg("name"), nb::arg("parameter") = 0.0, nb::arg("inner") = nb::none());
  m.def("choose", &choose, nb::arg("policy"), nb::arg("scores"), nb::arg("costs"), nb::arg("k"), nb::arg("bits"));
}

}  // namespace heros
