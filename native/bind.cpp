// The Python face of the core: one bind function per part, each in its own file.
#include "bind.hpp"

NB_MODULE(_core, m) {
  // At the end of a process whatever a traceback still holds would be reported as a leak.
  nanobind::set_leak_warnings(false);
  m.doc() = "The compiled core of HEROS. Private: use the classes of the heros package.";
  heros::bind_choose(m);
  heros::bind_score(m);
  heros::bind_mlp(m);
  heros::bind_hoeffding(m);
  heros::bind_models(m);
  heros::bind_prequential(m);
  heros::bind_streams(m);
}
