// The Python module of the core. Each part has a bind function in its own file.
#include "bind/bind.hpp"

#include <exception>
#include <string>

#include "core/platform.hpp"
#include "core/state.hpp"

namespace {

// Translates exceptions of the core to exceptions of the package.
void translate(const std::exception_ptr& thrown, void*) {
  const char* name = nullptr;
  std::string text;
  try {
    std::rethrow_exception(thrown);
  } catch (const heros::DataFault& fault) {
    name = "DataError", text = fault.what();
  } catch (const heros::AtWork& fault) {
    name = "HerosError", text = fault.what();
  }
  PyErr_SetString(nanobind::module_::import_("heros").attr(name).ptr(), text.c_str());
}

}  // namespace

NB_MODULE(_core, m) {
  nanobind::register_exception_translator(&translate);
  // Objects held by a traceback at exit would be reported as leaks.
  nanobind::set_leak_warnings(false);
  m.doc() = "The compiled core of HEROS. Private: use the classes of the heros package.";
  heros::bind_choose(m);
  heros::bind_score(m);
  heros::bind_drift(m);
  heros::bind_pool(m);
  for (const auto& [family, bind] : heros::FamilyBinding::all()) bind(m);
  heros::bind_members(m);
  heros::bind_step(m);
  heros::bind_streams(m);
  m.def("commit", [] { return HEROS_COMMIT; });  // the commit of the sources; empty if git does not know it
  m.def("give_back_memory", [] {
    const nanobind::gil_scoped_release others;
    heros::give_back_memory();
  });
}
