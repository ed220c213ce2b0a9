// The pass of mlp_sweep.hpp, written once and compiled for every instruction set.
#pragma once

#include "mlp_sweep.hpp"
#include "simd.hpp"

namespace heros::HEROS_ISA {
namespace {

template <int V>
struct Unit {  // the V vectors that hold one row of a block
  Floats part[V];
};

template <int V>
inline Unit<V> load_row(const float* p) {
  Unit<V> row;
  for (int i = 0; i < V; ++i) row.part[i] = load(p + i * Floats::lanes);
  return row;
}

struct AdamConstants {
  Floats rate, epsilon, take1, beta2, take2;
  explicit AdamConstants(const Sweep& s)
      : rate(broadcast(s.rate)), epsilon(broadcast(s.epsilon)), take1(broadcast(1 - s.beta1)),
        beta2(broadcast(s.beta2)), take2(broadcast(1 - s.beta2)) {}
};

// One vector of weights takes a gradient step; returns the new weights. `size`: floats in the row's w.
template <bool Adam>
inline Floats step(float* p, int size, Floats gradient, const AdamConstants& c) {
  Floats w = load(p);
  if constexpr (Adam) {
    Floats m = load(p + size), v = load(p + 2 * size);
    m = fma(c.take1, gradient - m, m);
    v = fma(c.take2 * gradient, gradient, c.beta2 * v);
    w = fnma(c.rate, over_root(m, v, c.epsilon), w);
    store(p + size, m);
    store(p + 2 * size, v);
  } else {
    w = fnma(c.rate, gradient, w);
  }
  store(p, w);
  return w;
}

// The weights of a row whose input was inactive for a while; written back if `keep`.
inline Floats caught_up(float* p, int size, const CatchUp& lag, bool keep) {
  const Floats m = load(p + size), v = load(p + 2 * size);
  const Floats w = fnma(broadcast(lag.drift), over_root(m, v, broadcast(lag.epsilon)), load(p));
  if (keep) {
    store(p, w);
    store(p + size, m * broadcast(lag.keep_m));
    store(p + 2 * size, v * broadcast(lag.keep_v));
  }
  return w;
}

template <int V, bool Adam>
struct Block {
  static constexpr int kSize = V * Floats::lanes;
  static constexpr int kStride = kSize * (Adam ? 3 : 1);

  const Sweep& s;
  const AdamConstants& constants;
  float* base;
  float* activations;

  float* output_row(int c) const { return base + c * kStride; }
  float* bias_row() const { return base + s.classes * kStride; }
  float* input_row(int input) const { return base + (s.classes + 1 + input) * kStride; }

  // Trains the output rows; returns the gradient at the hidden units.
  Unit<V> backward() const {
    const Unit<V> active = load_row<V>(activations);
    Unit<V> back;
    for (int i = 0; i < V; ++i) back.part[i] = broadcast(0);
    for (int c = 0; c < s.classes; ++c) {
      const Floats error = broadcast(s.errors[c]);
      for (int i = 0; i < V; ++i) {
        float* p = output_row(c) + i * Floats::lanes;
        back.part[i] = fma(error, load(p), back.part[i]);
        step<Adam>(p, kSize, error * active.part[i], constants);
      }
    }
    for (int i = 0; i < V; ++i) back.part[i] = where_positive(active.part[i], back.part[i]);
    return back;
  }

  // Trains the bias and the rows of `now` and sums up the hidden units of `next` on the way. The order of
  // the sum is that of the rows whatever is trained: a fused pass equals two separate ones bit for bit.
  template <bool Train, bool Evaluate>
  void inputs(const Unit<V>& back, Unit<V>& next) const {
    for (int i = 0; i < V; ++i) {
      float* p = bias_row() + i * Floats::lanes;
      next.part[i] = Train ? step<Adam>(p, kSize, back.part[i], constants) : load(p);
    }
    for (int r = 0; r < s.n_rows; ++r) {
      const SweepRow& row = s.rows[r];
      float* p = input_row(row.input);
      const Floats now = broadcast(row.now), x = broadcast(row.next);
      const bool lags = Adam && Evaluate && s.catch_up[r].due;
      for (int i = 0; i < V; ++i, p += Floats::lanes) {
        Floats w;
        if (Train && row.in_now) w = step<Adam>(p, kSize, back.part[i] * now, constants);
        else if (lags) w = caught_up(p, kSize, s.catch_up[r], s.keep);
        else w = load(p);
        if (Evaluate && row.in_next) next.part[i] = fma(x, w, next.part[i]);
      }
    }
  }

  void outputs(const Unit<V>& next, Floats* sums) const {
    Unit<V> active;
    for (int i = 0; i < V; ++i) {
      active.part[i] = relu(next.part[i]);
      store(activations + i * Floats::lanes, active.part[i]);
    }
    for (int c = 0; c < s.classes; ++c) {
      Floats sum = sums[c];
      for (int i = 0; i < V; ++i) sum = fma(active.part[i], load(output_row(c) + i * Floats::lanes), sum);
      sums[c] = sum;
    }
  }

  void run(Floats* sums) const {
    Unit<V> next;
    if (s.train) {
      const Unit<V> back = backward();
      if (s.evaluate) inputs<true, true>(back, next);
      else inputs<true, false>(back, next);
    } else {
      inputs<false, true>(Unit<V>{}, next);
    }
    if (s.evaluate) outputs(next, sums);
  }
};

template <int W, bool Adam>  // W: width of the block in units of kLanes
float* run_block(const Sweep& s, const AdamConstants& constants, float* base, float* activations, Floats* sums) {
  using B = Block<W * kLanes / Floats::lanes, Adam>;
  B{s, constants, base, activations}.run(sums);
  return base + std::size_t(s.classes + 1 + s.capacity) * B::kStride;
}

template <bool Adam>
void sweep_model(const Sweep& s, Floats* sums) {
  const AdamConstants constants(s);
  const int padded = (s.classes + kLanes - 1) / kLanes * kLanes;
  if (s.train)
    for (int c = 0; c < padded; c += Floats::lanes)
      step<Adam>(s.output_bias + c, padded, load(s.errors + c), constants);
  float* base = s.weights;
  int unit = 0;
  for (; unit + kUnits <= s.units; unit += kUnits)
    base = run_block<4, Adam>(s, constants, base, s.activations + unit, sums);
  switch ((s.units - unit) / kLanes) {
    case 1: run_block<1, Adam>(s, constants, base, s.activations + unit, sums); break;
    case 2: run_block<2, Adam>(s, constants, base, s.activations + unit, sums); break;
    case 3: run_block<3, Adam>(s, constants, base, s.activations + unit, sums); break;
    default: break;
  }
}

}  // namespace

void sweep(const Sweep& s) {
  constexpr int kOnStack = 64;
  Floats on_stack[kOnStack];
  Floats* sums = s.classes <= kOnStack ? on_stack : new Floats[s.classes];
  for (int c = 0; c < s.classes; ++c) sums[c] = broadcast(0);
  if (s.adam) sweep_model<true>(s, sums);
  else sweep_model<false>(s, sums);
  if (s.evaluate)
    for (int c = 0; c < s.classes; ++c) s.logits[c] = s.output_bias[c] + sum(sums[c]);
  if (sums != on_stack) delete[] sums;
}

}  // namespace heros::HEROS_ISA
