// The sweep of sweep.hpp for 64-bit ARM. NEON's registers hold a quarter of the data that sweep_impl.hpp keeps in
// registers, so the structure differs. Sums over hidden units and slopes stay in the first-level cache. A row is
// processed in groups of 16 units. Adam's weights follow one group behind the moments, so that no step waits for a
// square root.
#include "pools/mlp/sweep.hpp"

#if defined(__aarch64__)

#include <algorithm>

#include "pools/mlp/simd_neon.hpp"

namespace heros::neon {
namespace {

constexpr int kGroup = Floats::lanes;
constexpr float kTiny = 1e-36F;  // keeps the root of an untrained row above 0, as its ε is 0, too

struct Constants {
  float rate, output_rate;
  Same epsilon, beta1, take1, beta2, take2;
  explicit Constants(const Sweep& s)
      : rate(s.rate), output_rate(s.pair ? 2 * s.rate : s.rate), epsilon(broadcast(s.epsilon)),
        beta1(broadcast(s.beta1)), take1(broadcast(s.take1)), beta2(broadcast(s.beta2)), take2(broadcast(s.take2)) {}
};

// A gradient is an outer product u·x. The optimiser's work on u alone is done once per block: SGD needs rate·u; Adam
// needs (1 − β1)·u for m and (1 − β2)·u² for v.
struct alignas(64) Slopes {
  float first[kUnits], second[kUnits];
  void set(int unit, const Floats& u, bool adam, float rate, const Constants& c) {
    store(first + unit, (adam ? c.take1 : broadcast(rate)) * u);
    if (adam) store(second + unit, c.take2 * u * u);
  }
};

// A row of one block: its weights, and for Adam m; v is `size` floats further.
struct Row {
  float* weights;
  float* moments;
};

enum class Sum { nothing, before, after };  // what a pass sums: nothing, the old weights, or the new weights

// Adam's step of a row of N groups, where x is the gradient's factor. Adds `times` the weights to `sums`. The weights
// follow one group behind the moments, while the square roots are computed.
template <int N, Sum kind>
[[gnu::always_inline]] inline void adam_step(Row row, const Slopes& slopes, float x, float times, float* sums, Same rate,
                                             const Constants& c) {
  constexpr int size = N * kGroup;
  const Same now = broadcast(x), squared = now * now, factor = broadcast(times);
  const auto begin = [&](int u, Floats& m) __attribute__((always_inline)) {
    m = fma(load(slopes.first + u), now, c.beta1 * load(row.moments + u));
    const Floats v = fma(c.beta2, load(row.moments + size + u), load(slopes.second + u) * squared);
    store(row.moments + u, m);
    store(row.moments + size + u, v);
    return root(v);
  };
  const auto take = [&](int u, const Floats& m, const Floats& root_of_v) __attribute__((always_inline)) {
    const Floats before = load(row.weights + u), after = fnma(rate, over(m, root_of_v + c.epsilon), before);
    store(row.weights + u, after);
    if constexpr (kind == Sum::before) store(sums + u, fma(factor, before, load(sums + u)));
    if constexpr (kind == Sum::after) store(sums + u, fma(factor, after, load(sums + u)));
  };
  Floats m;
  Floats waiting = begin(0, m);
  for (int u = kGroup; u < size; u += kGroup) {
    Floats m_ahead;
    const Floats ahead = begin(u, m_ahead);
    take(u - kGroup, m, waiting);
    waiting = ahead, m = m_ahead;
  }
  take(size - kGroup, m, waiting);
}

// The weights of a row whose input was inactive. If `keep`, they are stored in `row` with the moments, else in
// `scratch`.
template <int N>
[[gnu::noinline]] const float* caught_up(Row row, const CatchUp& lag, bool keep, float* scratch) {
  constexpr int size = N * kGroup;
  const Same epsilon = broadcast(lag.epsilon), drift = broadcast(lag.drift);
  const Same keep_m = broadcast(lag.keep_m), keep_v = broadcast(lag.keep_v), tiny = broadcast(kTiny);
  float* out = keep ? row.weights : scratch;
  const auto take = [&](int u, const Floats& root_of_v) {
    const Floats m = load(row.moments + u);
    store(out + u, fnma(drift, over(m, root_of_v + epsilon), load(row.weights + u)));
    if (keep) store(row.moments + u, m * keep_m);
  };
  const auto begin = [&](int u) {
    const Floats v = load(row.moments + size + u);
    if (keep) store(row.moments + size + u, v * keep_v);
    return root(v + tiny);
  };
  Floats waiting = begin(0);
  for (int u = kGroup; u < size; u += kGroup) {
    const Floats ahead = begin(u);
    take(u - kGroup, waiting);
    waiting = ahead;
  }
  take(size - kGroup, waiting);
  return out;
}

// A block of N groups of units.
template <int N, bool Adam>
struct Block {
  static constexpr int size = N * kGroup;

  const Sweep& s;
  const Constants& c;
  float* base;
  int unit;  // the first unit of the block

  int dense_rows() const { return s.outputs + 1 + s.dense_rows; }
  Row dense(int row) const {
    return {base + std::size_t(row) * size, base + (dense_rows() + 2 * std::size_t(row)) * size};
  }
  Row bias() const { return dense(s.outputs); }
  template <class AnyRow>
  Row input(const AnyRow& row) const {
    if (!row.sparse) return dense(s.outputs + 1 + row.slot);
    float* run = s.sparse + row.slot * s.sparse_stride;
    return {run + unit, run + s.units + 2 * unit};
  }
  float* activations() const { return s.activations + unit; }
  float* end() const { return base + std::size_t(dense_rows()) * size * (Adam ? 3 : 1); }

  // Trains the output rows; computes the slope at the hidden units.
  void backward(Slopes& slopes) const {
    alignas(64) float back[kUnits] = {};
    for (int u = 0; u < size; u += kGroup) slopes.set(u, load(activations() + u), Adam, c.output_rate, c);
    if constexpr (Adam) {
      for (int o = 0; o < s.outputs; ++o)
        adam_step<N, Sum::before>(dense(o), slopes, s.errors[o], s.errors[o], back, broadcast(c.output_rate), c);
    } else {
      for (int o = 0; o < s.outputs; ++o) {
        const Same error = broadcast(s.errors[o]);
        float* weights = dense(o).weights;
        for (int u = 0; u < size; u += kGroup) {
          const Floats w = load(weights + u);
          store(back + u, fma(error, w, load(back + u)));
          store(weights + u, fnma(load(slopes.first + u), error, w));
        }
      }
    }
    for (int u = 0; u < size; u += kGroup)
      slopes.set(u, where_positive(load(activations() + u), load(back + u)), Adam, c.rate, c);
  }

  // Trains the bias and the rows of `now`, and sums the hidden units of `next`. The order of the sum is the same with
  // and without training, so a fused pass equals two separate passes bit for bit.
  template <bool Evaluate>
  void train_adam(const Slopes& slopes, float* next) const {
    const Same rate = broadcast(c.rate);
    adam_step<N, Sum::after>(bias(), slopes, 1, 1, next, rate, c);
    for (int r = 0; r < s.n_rows; ++r) {
      const SweepRow& row = s.rows[r];
      if (row.in_now && row.in_next && Evaluate)
        adam_step<N, Sum::after>(input(row), slopes, row.now, row.next, next, rate, c);
      else if (row.in_now)
        adam_step<N, Sum::nothing>(input(row), slopes, row.now, 0, next, rate, c);
      else if (Evaluate)
        add(weights_of(r, next + kUnits), row.next, next);
    }
  }
  // The weights of row r for an evaluation.
  const float* weights_of(int r, float* scratch) const {
    const Row row = input(s.rows[r]);
    return Adam && s.catch_up[r].due ? caught_up<N>(row, s.catch_up[r], s.keep, scratch) : row.weights;
  }
  void add(const float* weights, float x, float* next) const {
    for (int u = 0; u < size; u += kGroup) store(next + u, fma(broadcast(x), load(weights + u), load(next + u)));
  }

  // Trains a row with SGD, with as many groups G at a time as the registers hold.
  template <int G, bool Evaluate>
  void train_sgd(const Slopes& slopes, int first, float* next) const {
    Floats slope[G], sum[G];
    for (int i = 0; i < G; ++i) {
      slope[i] = load(slopes.first + first + i * kGroup);
      float* weights = bias().weights + first + i * kGroup;
      sum[i] = fnma(slope[i], broadcast(1), load(weights));
      store(weights, sum[i]);
    }
    for (int r = 0; r < s.n_rows; ++r) {
      const SweepRow& row = s.rows[r];
      float* weights = input(row).weights + first;
      const Same x = broadcast(row.now), y = broadcast(row.next);
      if (!row.in_now) {
        for (int i = 0; i < G && Evaluate; ++i) sum[i] = fma(y, load(weights + i * kGroup), sum[i]);
      } else if (Evaluate && row.in_next) {
        for (int i = 0; i < G; ++i) {
          const Floats w = fnma(slope[i], x, load(weights + i * kGroup));
          store(weights + i * kGroup, w);
          sum[i] = fma(y, w, sum[i]);
        }
      } else {
        for (int i = 0; i < G; ++i) store(weights + i * kGroup, fnma(slope[i], x, load(weights + i * kGroup)));
      }
    }
    if constexpr (Evaluate)
      for (int i = 0; i < G; ++i) store(next + first + i * kGroup, sum[i]);
  }

  // Computes the hidden units of `next` without training.
  void look(float* next) const {
    Floats sum[N];
    for (int i = 0; i < N; ++i) sum[i] = load(bias().weights + i * kGroup);
    for (int r = 0; r < s.n_rows; ++r) {
      const float* weights = weights_of(r, next + kUnits);
      const Same x = broadcast(s.rows[r].next);
      for (int i = 0; i < N; ++i) sum[i] = fma(x, load(weights + i * kGroup), sum[i]);
    }
    for (int i = 0; i < N; ++i) store(next + i * kGroup, sum[i]);
  }

  // Reads the weights of one output after another and keeps its sum in a register.
  void outputs(const float* next, Quad* sums) const {
    Floats active[N];
    for (int i = 0; i < N; ++i) {
      active[i] = relu(load(next + i * kGroup));
      store(activations() + i * kGroup, active[i]);
    }
    for (int o = 0; o < s.outputs; ++o) {
      const float* weights = dense(o).weights;
      Quad sum = sums[o];
      for (int i = 0; i < N; ++i) sum = add_products(active[i], load(weights + i * kGroup), sum);
      sums[o] = sum;
    }
  }

  template <bool Evaluate>
  void train(float* next) const {
    Slopes slopes;
    backward(slopes);
    if constexpr (Adam) {
      train_adam<Evaluate>(slopes, next);
    } else {
      for (int first = 0; first + 2 * kGroup <= size; first += 2 * kGroup) train_sgd<2, Evaluate>(slopes, first, next);
      if constexpr (N % 2 == 1) train_sgd<1, Evaluate>(slopes, size - kGroup, next);
    }
  }

  void run(Quad* sums) const {
    alignas(64) float next[2 * kUnits];  // and a row of scratch memory
    if (Adam && s.train) std::fill_n(next, size, 0.0F);
    if (!s.train) look(next);
    else if (s.evaluate) train<true>(next);
    else train<false>(next);
    if (s.evaluate) outputs(next, sums);
  }

  // Evaluates 16 units on kAhead instances. sums[o * kAhead + j] is the sum of output o and instance j.
  void look_ahead(const LookAhead& ahead, Quad* sums) const {
    for (int u = 0; u < size; u += kGroup) look_ahead(ahead, u, sums);
  }
  void look_ahead(const LookAhead& ahead, int u, Quad* sums) const {
    static_assert(kAhead == 4);
    Floats p = load(bias().weights + u), q = p, r = p, t = p;
    for (int n = 0; n < ahead.n_rows; ++n) {
      const AheadRow& row = ahead.rows[n];
      const Floats w = load(input(row).weights + u);
      if (row.active[0]) p = fma(broadcast(row.value[0]), w, p);
      if (row.active[1]) q = fma(broadcast(row.value[1]), w, q);
      if (row.active[2]) r = fma(broadcast(row.value[2]), w, r);
      if (row.active[3]) t = fma(broadcast(row.value[3]), w, t);
    }
    p = relu(p), q = relu(q), r = relu(r), t = relu(t);
    for (int o = 0; o < s.outputs; ++o) {
      const Floats w = load(dense(o).weights + u);
      Quad* sum = sums + o * kAhead;
      sum[0] = add_products(p, w, sum[0]), sum[1] = add_products(q, w, sum[1]);
      sum[2] = add_products(r, w, sum[2]), sum[3] = add_products(t, w, sum[3]);
    }
  }
};

template <bool Adam>
void train_output_bias(const Sweep& s, const Constants& c) {
  const int padded = (s.outputs + kLanes - 1) / kLanes * kLanes;
  for (int o = 0; o < padded; o += kGroup) {
    Slopes slopes;
    slopes.set(0, load(s.errors + o), Adam, c.output_rate, c);
    float* bias = s.output_bias + o;
    if constexpr (Adam) {
      const Floats m = fma(load(slopes.first), broadcast(1), c.beta1 * load(bias + padded));
      const Floats v = fma(c.beta2, load(bias + 2 * padded), load(slopes.second));
      store(bias, fnma(broadcast(c.output_rate), over(m, root(v) + c.epsilon), load(bias)));
      store(bias + padded, m);
      store(bias + 2 * padded, v);
    } else {
      store(bias, fnma(load(slopes.first), broadcast(1), load(bias)));
    }
  }
}

// Does `work` on a block; returns the start of the next block.
template <int N, bool Adam, class Work>
float* on_block(const Sweep& s, const Constants& c, float* base, int unit, Work work) {
  const Block<N, Adam> block{s, c, base, unit};
  work(block);
  return block.end();
}

template <bool Adam, class Work>
void pass_over(const Sweep& s, Work work) {
  const Constants c(s);
  if (s.train) train_output_bias<Adam>(s, c);
  float* base = s.dense;
  int unit = 0;
  for (; unit + kUnits <= s.units; unit += kUnits) base = on_block<4, Adam>(s, c, base, unit, work);
  switch ((s.units - unit) / kGroup) {
    case 1: on_block<1, Adam>(s, c, base, unit, work); break;
    case 2: on_block<2, Adam>(s, c, base, unit, work); break;
    case 3: on_block<3, Adam>(s, c, base, unit, work); break;
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
  explicit Sums(int n) : heap_(n <= kOnStack ? nullptr : new Quad[n]) { std::fill_n(get(), n, vdupq_n_f32(0)); }
  Sums(const Sums&) = delete;
  Sums& operator=(const Sums&) = delete;
  ~Sums() { delete[] heap_; }
  Quad* get() { return heap_ != nullptr ? heap_ : stack_; }

 private:
  static constexpr int kOnStack = 64 * kAhead;
  Quad stack_[kOnStack];
  Quad* heap_;
};

}  // namespace

void sweep(const Sweep& s) {
  Sums sums(s.outputs);
  pass_over(s, [to = sums.get()](const auto& block) { block.run(to); });
  if (s.evaluate)
    for (int o = 0; o < s.outputs; ++o) s.logits[o] = s.output_bias[o] + vaddvq_f32(sums.get()[o]);
}

void look_ahead(const Sweep& s, const LookAhead& ahead) {
  Sums sums(s.outputs * kAhead);
  pass_over(s, [&ahead, to = sums.get()](const auto& block) { block.look_ahead(ahead, to); });
  for (int o = 0; o < s.outputs; ++o)
    for (int j = 0; j < kAhead; ++j)
      ahead.logits[j * ahead.stride + o] = s.output_bias[o] + vaddvq_f32(sums.get()[o * kAhead + j]);
}

}  // namespace heros::neon

#endif
