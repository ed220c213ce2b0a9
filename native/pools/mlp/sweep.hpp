// A sweep: one pass over the memory of one model. This file defines its arguments and the memory layout.
//
// A model with H hidden units is padded to a multiple of 16 (units beyond H are zero and stay zero). It is processed in
// blocks of up to 64 units. There are two kinds of rows:
//
// Dense rows are used at every step: one row of output weights per class, the bias row, and one row per scaled input.
// (Two classes share one row of output weights: see `pair`.) A block holds their weights, row by row, followed for Adam
// by their moments, row by row, m then v. The backward pass for an instance and the forward pass for the next thus read
// a block once, while it is in the first-level cache. A model that is only evaluated does not read moments.
//
// Sparse rows belong to one-hot categories, few of which are active. Each is contiguous over all units: the weights,
// then for every 64 units m and v. Rows are long enough for the hardware to prefetch from the outer cache.
#pragma once

#include <cstddef>
#include <cstdint>

namespace heros {

inline constexpr int kLanes = 16;  // units are padded to a multiple of this, in every instruction set
inline constexpr int kUnits = 64;  // units in a block
inline constexpr int kAhead = 4;   // instances evaluated ahead

// An input that is active in the instance to train on (`now`), the instance to evaluate (`next`), or both.
struct SweepRow {
  std::int32_t input;
  std::int32_t slot = 0;  // its index among dense or sparse rows
  bool sparse = false;
  bool in_now = false, in_next = false;
  float now = 0, next = 0;
};

// An input that is active in some of the next kAhead instances.
struct AheadRow {
  std::int32_t input;
  std::int32_t slot = 0;
  bool sparse = false;
  bool active[kAhead] = {};
  float value[kAhead] = {};
};

// Adam changes a weight even when its input is inactive. Such a row is updated in closed form when the input becomes
// active again:
// w −= drift·m/(√v + ε), m *= keep_m, v *= keep_v.
struct CatchUp {
  bool due = false;
  float drift = 0, epsilon = 0, keep_m = 1, keep_v = 1;
};

struct Sweep {
  float* dense;              // blocks of (outputs + 1 + dense_rows) rows
  float* sparse;             // rows, sparse_stride floats apart
  float* activations;        // (units), after the ReLU: read for `now`, written for `next`
  float* output_bias;        // (padded outputs), followed for Adam by m and v
  float* logits;             // (padded outputs), written for `next`
  const float* errors;       // (padded outputs), ∂loss/∂logit of `now`
  const SweepRow* rows;
  const CatchUp* catch_up;   // per row, Adam only
  std::size_t sparse_stride;
  int n_rows;
  int units;                 // padded hidden
  int outputs;               // rows of output weights
  int dense_rows;            // number of scaled inputs for which a block has room
  bool adam;
  bool pair;                 // the single output row is class 1 minus class 0: its steps are twice as large
  bool train, evaluate;      // whether to train on `now`, and to evaluate `next`
  bool keep;                 // store caught-up rows (false: the evaluation changes nothing)
  float rate;                // learning rate; for Adam times √(1 − β2^t)/(1 − β1^t)
  float epsilon;             // Adam's ε times √(1 − β2^t)
  float beta1, beta2;
  float take1, take2;        // 1 − β1 and 1 − β2, each rounded once
};

// Evaluation on the next kAhead instances, for a model that is not trained and whose rows are caught up. Every weight
// is read once for all instances. The logits equal those of separate sweeps bit for bit.
struct LookAhead {
  const AheadRow* rows;
  int n_rows;
  float* logits;             // logits of the first instance; the others follow, `stride` floats apart
  std::size_t stride;
};

using SweepFunction = void (*)(const Sweep&);
using AheadFunction = void (*)(const Sweep&, const LookAhead&);

namespace avx512 {
void sweep(const Sweep&);
void look_ahead(const Sweep&, const LookAhead&);
}  // namespace avx512
namespace avx2 {
void sweep(const Sweep&);
void look_ahead(const Sweep&, const LookAhead&);
}  // namespace avx2
namespace neon {
void sweep(const Sweep&);
void look_ahead(const Sweep&, const LookAhead&);
}  // namespace neon
namespace baseline {
void sweep(const Sweep&);
void look_ahead(const Sweep&, const LookAhead&);
}  // namespace baseline

}  // namespace heros
