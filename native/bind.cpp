// The Python face of the core: one bind function per part, each in its own file.
#include "bind.hpp"

NB_MODULE(_core, m) {
  m.doc() = "The compiled core of HEROS. Private: use the classes of the heros package.";
  heros::bind_hoeffding(m);
}
