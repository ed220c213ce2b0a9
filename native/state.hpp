// The whole state of a native object as named arrays. A class lists its members once,
//
//   template <class Archive> void fields(Archive& a) { a("steps", steps_); a("weights", weights_); }
//
// and the bindings (bind_state.hpp) turn that list into a dict of NumPy arrays and back. After an
// import the class's `check()` must throw std::invalid_argument if the arrays do not fit together.
#pragma once

#include <stdexcept>
#include <string>

namespace heros {

inline void require(bool holds, const char* what) {
  if (!holds) throw std::invalid_argument(std::string("The state does not fit: ") + what + ".");
}

}  // namespace heros
