// Which instances are worth training on: what was expected is trained on only now and then.
#pragma once

namespace heros {

struct Surprise {
  double sure;    // a class that was given a higher probability was expected
  double share;   // how often the models are trained on what was expected
  double inside;  // numbers: an error below this share of the interval's half width was expected
};

}  // namespace heros
