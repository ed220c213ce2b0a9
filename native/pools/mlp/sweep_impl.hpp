// The sweep of sweep.hpp, compiled for every instruction set except NEON.
#pragma once

#include "pools/mlp/sweep.hpp"
#include "pools/mlp/simd.hpp"

namespace heros::HEROS_ISA {
namespace {

constexpr float kTiny = 1e-36F;
constexpr int kAheadVectors = Floats::lanes == 16 ? 4 : 2;  // times kAhead instances: as many as fit the registers

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

struct Constants {
  Floats rate, output_rate, twice_epsilon, beta1, take1, beta2, take2, tiny;
  explicit Constants(const Sweep& s)
      : rate(broadcast(s.adam ? 2 * s.rate : s.rate)), output_rate(s.pair ? rate + rate : rate),
        twice_epsilon(broadcast(2 * s.epsilon)), beta1(broadcast(s.beta1)), take1(broadcast(s.take1)),
        beta2(broadcast(s.beta2)), take2(broadcast(s.take2)), tiny(broadcast(kTiny)) {}
};

// A gradient is an outer product u·x. The optimiser's work on u alone is done once per block, not once per row: SGD
// needs rate·u; Adam needs (1 − β1)·u for m and (1 − β2)·u² for v.
template <bool Adam>
struct Slope {
  Floats first, second;
  Slope() = default;
  Slope(Floats u, Floats rate, const Constants& c) : first((Adam ? c.take1 : rate) * u), second(c.take2 * u * u) {}
};

// The start of a row of one block: its weights, and for Adam m; v is `size` floats further.
struct Row {
  float* weights;
  float* moments;
};

// A gradient step of one vector of weights; returns the new weights. x and xx: the factor x of the gradient and its
// square. kTiny keeps v above 0, where 1/√v is not finite.
template <bool Adam>
inline Floats step(Row row, int at, int size, const Slope<Adam>& slope, Floats x, Floats xx, Floats rate,
                   const Constants& c) {
  Floats w = load(row.weights + at);
  if constexpr (Adam) {
    const Floats m = fma(slope.first, x, c.beta1 * load(row.moments + at));
    const Floats v = fma(c.beta2, load(row.moments + size + at), fma(slope.second, xx, c.tiny));
    w = fnma(rate, half_over_root(m, v, c.twice_epsilon), w);
    store(row.moments + at, m);
    store(row.moments + size + at, v);
  } else {
    w = fnma(slope.first, x, w);
  }
  store(row.weights + at, w);
  return w;
}

// The weights of a row whose input was inactive. If `keep`, they are stored with the moments.
inline Floats caught_up(Row row, int at, int size, const CatchUp& lag, bool keep) {
  const Floats m = load(row.moments + at), v = load(row.moments + size + at);
  const Floats half = half_over_root(m, v + broadcast(kTiny), broadcast(2 * lag.epsilon));
  const Floats w = fnma(broadcast(2 * lag.drift), half, load(row.weights + at));
  if (keep) {
    store(row.weights + at, w);
    store(row.moments + at, m * broadcast(lag.keep_m));
    store(row.moments + size + at, v * broadcast(lag.keep_v));
  }
  return w;
}

template <int V, bool Adam>
struct Block {
  static constexpr int kSize = V * Floats::lanes;
  static constexpr int kParts = Adam ? 3 : 1;

  const Sweep& s;
  const Constants& constants;
  float* base;
  int unit;  // the first unit of the block

  int dense_rows() const { return s.outputs + 1 + s.dense_rows; }
  Row dense(int row) const { return {base + row * kSize, base + (dense_rows() + 2 * row) * kSize}; }
  Row output(int c) const { return dense(c); }
  Row bias() const { return dense(s.outputs); }
  template <class AnyRow>
  Row input(const AnyRow& row) const {
    if (!row.sparse) return dense(s.outputs + 1 + row.slot);
    float* run = s.sparse + row.slot * s.sparse_stride;
    return {run + unit, run + s.units + 2 * unit};
  }

  // Trains the output rows; computes the slope at the hidden units.
  void backward(Slope<Adam> (&slope)[V]) const {
    const Unit<V> active = load_row<V>(s.activations + unit);
    Unit<V> back;
    for (int i = 0; i < V; ++i) {
      back.part[i] = broadcast(0);
      slope[i] = Slope<Adam>(active.part[i], constants.output_rate, constants);
    }
    for (int c = 0; c < s.outputs; ++c) {
      const Floats error = broadcast(s.errors[c]), squared = error * error;
      const Row row = output(c);
      for (int i = 0; i < V; ++i) {
        back.part[i] = fma(error, load(row.weights + i * Floats::lanes), back.part[i]);
        step<Adam>(row, i * Floats::lanes, kSize, slope[i], error, squared, constants.output_rate, constants);
      }
    }
    for (int i = 0; i < V; ++i)
      slope[i] = Slope<Adam>(where_positive(active.part[i], back.part[i]), constants.rate, constants);
  }

  // Trains the bias and the rows of `now`, and sums the hidden units of `next`. The order of the sum is the same with
  // and without training, so a fused pass equals two separate passes bit for bit.
  template <bool Train, bool Evaluate>
  void inputs(const Slope<Adam> (&slope)[V], Unit<V>& next) const {
    const Floats one = broadcast(1);
    for (int i = 0; i < V; ++i)
      next.part[i] =
          Train ? step<Adam>(bias(), i * Floats::lanes, kSize, slope[i], one, one, constants.rate, constants)
                : load(bias().weights + i * Floats::lanes);
    for (int r = 0; r < s.n_rows; ++r) {
      const SweepRow& row = s.rows[r];
      const Row memory = input(row);
      Unit<V> w;
      if (Train && row.in_now) {
        const Floats x = broadcast(row.now), xx = x * x;
        for (int i = 0; i < V; ++i)
          w.part[i] = step<Adam>(memory, i * Floats::lanes, kSize, slope[i], x, xx, constants.rate, constants);
      } else if (Adam && Evaluate && s.catch_up[r].due) {
        for (int i = 0; i < V; ++i)
          w.part[i] = caught_up(memory, i * Floats::lanes, kSize, s.catch_up[r], s.keep);
      } else {
        w = load_row<V>(memory.weights);
      }
      if (Evaluate && row.in_next)
        for (int i = 0; i < V; ++i) next.part[i] = fma(broadcast(row.next), w.part[i], next.part[i]);
    }
  }

  void outputs(const Unit<V>& next, Floats* sums) const {
    Unit<V> active;
    for (int i = 0; i < V; ++i) {
      active.part[i] = relu(next.part[i]);
      store(s.activations + unit + i * Floats::lanes, active.part[i]);
    }
    for (int c = 0; c < s.outputs; ++c) {
      const float* weights = output(c).weights;
      Floats sum = sums[c];
      for (int i = 0; i < V; ++i) sum = fma(active.part[i], load(weights + i * Floats::lanes), sum);
      sums[c] = sum;
    }
  }

  void run(Floats* sums) const {
    Unit<V> next;
    Slope<Adam> slope[V];
    if (s.train) {
      backward(slope);
      if (s.evaluate) inputs<true, true>(slope, next);
      else inputs<true, false>(slope, next);
    } else {
      inputs<false, true>(slope, next);
    }
    if (s.evaluate) outputs(next, sums);
  }

  // Evaluates as many vectors at once as the registers hold for kAhead instances. sums[c * kAhead + j] is the sum of
  // output c and instance j.
  static constexpr int kTogether = V < kAheadVectors ? V : kAheadVectors;
  static_assert(V % kTogether == 0);
  void look_ahead(const LookAhead& ahead, Floats* sums) const {
    for (int first = 0; first < kSize; first += kTogether * Floats::lanes) look_ahead(ahead, first, sums);
  }
  void look_ahead(const LookAhead& ahead, int first, Floats* sums) const {
    Unit<kTogether> next[kAhead];
    for (auto& instance : next) instance = load_row<kTogether>(bias().weights + first);
    for (int r = 0; r < ahead.n_rows; ++r) {
      const AheadRow& row = ahead.rows[r];
      const Unit<kTogether> w = load_row<kTogether>(input(row).weights + first);
      for (int j = 0; j < kAhead; ++j)
        if (row.active[j])
          for (int i = 0; i < kTogether; ++i)
            next[j].part[i] = fma(broadcast(row.value[j]), w.part[i], next[j].part[i]);
    }
    for (auto& instance : next)
      for (Floats& part : instance.part) part = relu(part);
    for (int c = 0; c < s.outputs; ++c) {
      const Unit<kTogether> w = load_row<kTogether>(output(c).weights + first);
      for (int j = 0; j < kAhead; ++j) {
        Floats sum = sums[c * kAhead + j];
        for (int i = 0; i < kTogether; ++i) sum = fma(next[j].part[i], w.part[i], sum);
        sums[c * kAhead + j] = sum;
      }
    }
  }
};

// Does `work` on a block of W · kLanes units; returns the start of the next block.
template <int W, bool Adam, class Work>
float* on_block(const Sweep& s, const Constants& constants, float* base, int unit, Work work) {
  using B = Block<W * kLanes / Floats::lanes, Adam>;
  const B block{s, constants, base, unit};
  work(block);
  return base + std::size_t(block.dense_rows()) * B::kSize * B::kParts;
}

// Trains the output bias if required, and does `work` on every block. This is a single function because the compiler
// keeps constants in registers only if they are created in the function that loops over the blocks. With a call in
// between, a step takes 1 to 9 % longer.
template <bool Adam, class Work>
void pass_over(const Sweep& s, Work work) {
  const Constants constants(s);
  const int padded = (s.outputs + kLanes - 1) / kLanes * kLanes;
  const Row bias{s.output_bias, s.output_bias + padded};
  for (int c = 0; c < padded && s.train; c += Floats::lanes)
    step<Adam>(bias, c, padded, Slope<Adam>(load(s.errors + c), constants.output_rate, constants), broadcast(1),
               broadcast(1), constants.output_rate, constants);
  float* base = s.dense;
  int unit = 0;
  for (; unit + kUnits <= s.units; unit += kUnits) base = on_block<4, Adam>(s, constants, base, unit, work);
  switch ((s.units - unit) / kLanes) {
    case 1: on_block<1, Adam>(s, constants, base, unit, work); break;
    case 2: on_block<2, Adam>(s, constants, base, unit, work); break;
    case 3: on_block<3, Adam>(s, constants, base, unit, work); break;
    default: break;
  }
}
template <class Work>
void pass_over(const Sweep& s, Work work) {
  if (s.adam) pass_over<true>(s, work);
  else pass_over<false>(s, work);
}

// n sums, initially zero: on the stack unless n is very large.
class Sums {
 public:
  explicit Sums(int n) : heap_(n <= kOnStack ? nullptr : new Floats[n]) {
    for (int i = 0; i < n; ++i) get()[i] = broadcast(0);
  }
  Sums(const Sums&) = delete;
  Sums& operator=(const Sums&) = delete;
  ~Sums() { delete[] heap_; }
  Floats* get() { return heap_ != nullptr ? heap_ : stack_; }

 private:
  static constexpr int kOnStack = 64 * kAhead;
  Floats stack_[kOnStack];
  Floats* heap_;
};

}  // namespace

void sweep(const Sweep& s) {
  Sums sums(s.outputs);
  pass_over(s, [to = sums.get()](const auto& block) { block.run(to); });
  if (s.evaluate)
    for (int c = 0; c < s.outputs; ++c) s.logits[c] = s.output_bias[c] + sum(sums.get()[c]);
}

void look_ahead(const Sweep& s, const LookAhead& ahead) {
  Sums sums(s.outputs * kAhead);
  pass_over(s, [&ahead, to = sums.get()](const auto& block) { block.look_ahead(ahead, to); });
  for (int c = 0; c < s.outputs; ++c)
    for (int j = 0; j < kAhead; ++j)
      ahead.logits[j * ahead.stride + c] = s.output_bias[c] + sum(sums.get()[c * kAhead + j]);
}

}  // namespace heros::HEROS_ISA
