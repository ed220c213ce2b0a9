// One pass over one model's memory: what it is told, and where it finds things.
//
// A model with H hidden units is padded to a multiple of 16 (units beyond H are zero and stay zero) and
// swept in blocks of up to 64 units. Rows are of two kinds:
//
// Dense rows are used at every step: one row of output weights per class, the bias row, one row per scaled
// input. (Two classes share one row of output weights: see `pair`.) A block holds their weights, row after row,
// and behind them for Adam their moments, row by row, m then v. So the backward pass for an instance and the
// forward pass for the next run through a block once, while it is in the first-level cache, and a model that is
// only evaluated does not touch moments.
//
// Sparse rows are one-hot categories: few of many are active. Each is one run of memory over all units: the
// weights, then for every 64 units m and v. Runs are long enough for the hardware to fetch ahead from the
// outer cache.
#pragma once

#include <cstddef>
#include <cstdint>

namespace heros {

inline constexpr int kLanes = 16;  // units are padded to a multiple of this, in every instruction set
inline constexpr int kUnits = 64;  // units in a block
inline constexpr int kAhead = 4;   // instances a look ahead takes

// An input that is active in the instance trained on (`now`), the one evaluated (`next`), or both.
struct SweepRow {
  std::int32_t input;
  std::int32_t slot = 0;  // its row among the dense or the sparse ones
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

// Adam moves a weight even when its input is inactive. Such a row is left alone until the input becomes
// active again, then caught up in closed form:
// w −= drift·m/(√v + ε), m *= keep_m, v *= keep_v.
struct CatchUp {
  bool due = false;
  float drift = 0, epsilon = 0, keep_m = 1, keep_v = 1;
};

struct Sweep {
  float* dense;              // blocks of (outputs + 1 + dense_rows) rows
  float* sparse;             // rows, sparse_stride floats apart
  float* activations;        // (units), after the ReLU: read for `now`, written for `next`
  float* output_bias;        // (padded outputs), for Adam m and v behind it
  float* logits;             // (padded outputs), written for `next`
  const float* errors;       // (padded outputs), ∂loss/∂logit of `now`
  const SweepRow* rows;
  const CatchUp* catch_up;   // per row, Adam only
  std::size_t sparse_stride;
  int n_rows;
  int units;                 // padded hidden
  int outputs;               // rows of output weights
  int dense_rows;            // scaled inputs a block has room for
  bool adam;
  bool pair;                 // the one output row is that of class 1 minus that of class 0: it moves twice as far
  bool train, evaluate;      // what to do
  bool keep;                 // write caught-up rows back (false: a look that changes nothing)
  float rate;                // SGD: the learning rate; Adam: it, times √(1 − β2^t)/(1 − β1^t)
  float epsilon;             // Adam's ε times √(1 − β2^t)
  float beta1, beta2;
  float take1, take2;        // 1 − β1 and 1 − β2, each rounded once
};

// A look at the next kAhead instances, for a model that is not trained and whose rows need no catching up: every
// weight is read once for all of them. Their logits are those of as many sweeps, bit for bit.
struct LookAhead {
  const AheadRow* rows;
  int n_rows;
  float* logits;             // of the first; those of the others follow, `stride` floats apart
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
