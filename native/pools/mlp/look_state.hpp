// The state of a pool's evaluation of the last instance.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "core/encode.hpp"
#include "pools/last_instance.hpp"
#include "pools/mlp/ahead.hpp"

namespace heros {

// The extent to which a model has been evaluated on the instance.
enum class Seen : std::uint8_t {
  nothing,
  glimpsed,  // logits, for a prediction; the rows that Adam caught up are not stored
  ahead,     // logits, from a pass over several instances, which stores no activations
  kept,      // logits and activations
};

class LookState {
 public:
  explicit LookState(int models) : seen_(models) {}

  Seen operator[](int i) const { return seen_[i]; }
  void note(int i, Seen seen) { seen_[i] = seen; }

  // The inputs of the instance and of the previous instance, on which a fused step trains.
  const Inputs& inputs() const { return inputs_; }
  const Inputs& inputs_before() const { return before_; }
  Ahead& ahead() { return ahead_; }

  // Goes to x, unless x is already the current instance (training after a prediction).
  void go_to(const double* x, Encoder& encoder) {
    if (last_.is(x)) return;
    encoder.encode(x, inputs_);
    std::fill(seen_.begin(), seen_.end(), Seen::nothing);
    last_.set(x, encoder.features());
  }
  // Goes to the next instance while the models still train on the current one. The evaluation of the current instance
  // stays valid until then. Evaluating `left` rows ahead pays only if all models are evaluated.
  void go_on(const double* next, std::int64_t left, const std::uint8_t* chosen, bool all_look, Encoder& encoder) {
    std::swap(before_, inputs_);
    if (all_look) {
      ahead_.note(chosen);
      ahead_.advance(encoder, next, left, inputs_);
    } else {
      ahead_.close();
      encoder.encode(next, inputs_);
    }
    last_.set(next, encoder.features());
  }
  // Discards the evaluation.
  void forget() {
    last_.forget();
    std::fill(seen_.begin(), seen_.end(), Seen::nothing);
    ahead_.close();
  }

 private:
  LastInstance last_;
  Inputs inputs_, before_;
  std::vector<Seen> seen_;
  Ahead ahead_;
};

}  // namespace heros
