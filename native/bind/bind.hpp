// Declares the bind function of each part, and collects the bind functions of the model families.
#pragma once

#include <nanobind/nanobind.h>

#include <map>
#include <string>

namespace heros {

namespace nb = nanobind;

void bind_choose(nb::module_& m);
void bind_score(nb::module_& m);
void bind_drift(nb::module_& m);
void bind_pool(nb::module_& m);  // called before the functions of the families
void bind_members(nb::module_& m);
void bind_step(nb::module_& m);
void bind_streams(nb::module_& m);

// The file of a family defines one such object at namespace scope, which adds the family's bindings to the module.
struct FamilyBinding {
  using Bind = void (*)(nb::module_&);
  using ByName = std::multimap<std::string, Bind>;  // sorted, since the linker decides the order of initialization

  FamilyBinding(const char* family, Bind bind) { all().emplace(family, bind); }

  static ByName& all() {
    static ByName bindings;
    return bindings;
  }
};

}  // namespace heros
