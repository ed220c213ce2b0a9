// Tests of the kernels, for every instruction set of this machine or emulator, against slow versions in double
// precision. Also tests platform.hpp. No Python: it is compiled for other processors too (`make cross`).
#include <cmath>
#include <cstdio>
#include <cstring>
#include <new>
#include <random>
#include <string>
#include <vector>

// Includes the whole core and all pools: each header must compile everywhere.
#include "core/step.hpp"
#include "pools/bayes/pool.hpp"
#include "pools/boosted/pool.hpp"
#include "pools/forest/pool.hpp"
#include "pools/hoeffding/pool.hpp"
#include "pools/joined.hpp"
#include "pools/linear/pool.hpp"
#include "pools/mlp/pool.hpp"
#include "pools/neighbours/pool.hpp"
#include "pools/retrained/pool.hpp"
#include "streams/agrawal.hpp"
#include "streams/drift.hpp"
#include "streams/led.hpp"
#include "streams/rbf.hpp"

using namespace heros;

namespace {

int failures = 0;
std::string what;  // the name of the current test

void expect_that(bool holds, const std::string& text) {
  if (holds) return;
  if (++failures <= 20) std::printf("FAILED  %s: %s\n", what.c_str(), text.c_str());
}
void expect_near(double got, double wanted, const std::string& text) {
  const bool is_near = std::fabs(got - wanted) <= 3e-5 + 2e-4 * std::fabs(wanted);  // sums of up to 200 floats
  expect_that(is_near, text + ": got " + std::to_string(got) + ", wanted " + std::to_string(wanted));
}

std::mt19937_64 generator(1);
double uniform(double low, double high) { return std::uniform_real_distribution<double>(low, high)(generator); }

// One model in the layout of sweep.hpp. A dense row is an output, the bias or a scaled input, in this order.
struct Model {
  int units, outputs, dense_inputs, categories;
  bool adam;
  AlignedFloats dense, sparse, activations, output_bias, logits, errors;

  int parts() const { return adam ? 3 : 1; }
  int rows() const { return outputs + 1 + dense_inputs; }
  int padded() const { return (outputs + kLanes - 1) / kLanes * kLanes; }
  std::size_t stride() const { return std::size_t(units) * parts() + kLanes; }

  Model(int units_, int outputs_, int dense_inputs_, int categories_, bool adam_)
      : units(units_), outputs(outputs_), dense_inputs(dense_inputs_), categories(categories_), adam(adam_) {
    dense.resize(std::size_t(units) * parts() * rows());
    sparse.resize(stride() * categories);
    activations.resize(units);
    output_bias.resize(3 * padded());
    logits.resize(padded()), errors.resize(padded());
    for (int row = 0; row < rows(); ++row) fill([&](int u, int part) -> float& { return dense_at(row, u, part); });
    for (int row = 0; row < categories; ++row) fill([&](int u, int part) -> float& { return sparse_at(row, u, part); });
    for (int o = 0; o < outputs; ++o) {
      for (int part = 0; part < parts(); ++part) output_bias[part * padded() + o] = start(part);
      errors[o] = static_cast<float>(uniform(-1, 1));
    }
    for (float& a : activations) a = static_cast<float>(std::max(0.0, uniform(-1, 1)));
  }

  static float start(int part) {
    const double x = uniform(-1, 1);
    return static_cast<float>(part == 0 ? x : part == 1 ? 0.1 * x : x < -0.9 ? 0 : x * x);  // v may be 0
  }
  template <class At>
  void fill(At at) {
    for (int u = 0; u < units; ++u) {
      for (int part = 0; part < parts(); ++part) at(u, part) = start(part);
      if (adam && at(u, 2) == 0) at(u, 1) = 0;
    }
  }
  static int block(int u) { return u / kUnits * kUnits; }
  int width(int u) const { return std::min(kUnits, units - block(u)); }
  float& dense_at(int row, int u, int part) {
    const std::size_t base = std::size_t(block(u)) * parts() * rows();
    const std::size_t line = part == 0 ? row : rows() + 2 * std::size_t(row) + part - 1;
    return dense[base + line * width(u) + u % kUnits];
  }
  float& sparse_at(int row, int u, int part) {
    const std::size_t run = stride() * row;
    if (part == 0) return sparse[run + u];
    return sparse[run + units + 2 * std::size_t(block(u)) + (part - 1) * std::size_t(width(u)) + u % kUnits];
  }
  float& input_at(const SweepRow& row, int u, int part) {
    return row.sparse ? sparse_at(row.slot, u, part) : dense_at(outputs + 1 + row.slot, u, part);
  }
};

struct Case {
  std::vector<SweepRow> rows;
  std::vector<CatchUp> lags;
  Sweep sweep{};

  // Points the sweep to the memory of a model.
  const Sweep& on(Model& model) {
    sweep.dense = model.dense.data(), sweep.sparse = model.sparse.data();
    sweep.activations = model.activations.data(), sweep.output_bias = model.output_bias.data();
    sweep.logits = model.logits.data(), sweep.errors = model.errors.data();
    sweep.rows = rows.data(), sweep.catch_up = lags.data(), sweep.n_rows = static_cast<int>(rows.size());
    return sweep;
  }
};

Case some_case(const Model& model, bool train, bool evaluate, bool pair) {
  Case one;
  for (int i = 0; i < model.dense_inputs + model.categories; ++i) {
    SweepRow row{i};
    row.sparse = i >= model.dense_inputs;
    row.slot = row.sparse ? i - model.dense_inputs : i;
    row.in_now = train && (!evaluate || uniform(0, 1) < 0.7);
    row.in_next = evaluate && (!row.in_now || uniform(0, 1) < 0.7);
    if (row.in_now) row.now = static_cast<float>(uniform(-2, 2));
    if (row.in_next) row.next = static_cast<float>(uniform(-2, 2));
    CatchUp lag;
    if (model.adam && row.sparse && !row.in_now && uniform(0, 1) < 0.6)
      lag = {true, static_cast<float>(uniform(0, 0.1)), 1e-8F, static_cast<float>(uniform(0, 1)), 0.99F};
    one.rows.push_back(row), one.lags.push_back(lag);
  }
  Sweep& s = one.sweep;
  s.sparse_stride = model.stride(), s.units = model.units, s.outputs = model.outputs, s.dense_rows = model.dense_inputs;
  s.adam = model.adam, s.pair = pair, s.train = train, s.evaluate = evaluate, s.keep = true;
  s.rate = 0.05F, s.epsilon = 3e-9F, s.beta1 = 0.9F, s.beta2 = 0.8F, s.take1 = 0.1F, s.take2 = 0.2F;
  return one;
}

// Makes the first row to catch up an untrained one: its moments are 0, and so is ε at step 0.
void set_aside(Case& one, Model& model) {
  for (std::size_t r = 0; r < one.rows.size(); ++r) {
    if (!one.lags[r].due) continue;
    one.lags[r].epsilon = 0;
    for (int u = 0; u < model.units; ++u) model.input_at(one.rows[r], u, 1) = model.input_at(one.rows[r], u, 2) = 0;
    return;
  }
}

// A gradient step of one weight, computed slowly.
template <class At>
void slow_step(At at, bool adam, double gradient, double rate, const Sweep& s) {
  double w = at(0);
  if (!adam) {
    at(0) = static_cast<float>(w - rate * gradient);
    return;
  }
  const double m = s.beta1 * double(at(1)) + s.take1 * gradient;
  const double v = s.beta2 * double(at(2)) + s.take2 * gradient * gradient;
  at(0) = static_cast<float>(w - rate * m / (std::sqrt(v) + s.epsilon));
  at(1) = static_cast<float>(m), at(2) = static_cast<float>(v);
}

void slow_sweep(const Case& one, Model& model) {
  const Sweep& s = one.sweep;
  const double output_rate = s.pair ? 2.0 * s.rate : s.rate;
  std::vector<double> slope(model.units), next(model.units);
  for (int u = 0; u < model.units && s.train; ++u) {
    for (int o = 0; o < model.outputs; ++o) {
      slope[u] += double(model.errors[o]) * model.dense_at(o, u, 0);
      slow_step([&](int part) -> float& { return model.dense_at(o, u, part); }, s.adam,
                double(model.errors[o]) * model.activations[u], output_rate, s);
    }
    if (model.activations[u] <= 0) slope[u] = 0;
    slow_step([&](int part) -> float& { return model.dense_at(model.outputs, u, part); }, s.adam, slope[u], s.rate, s);
  }
  for (int o = 0; o < model.outputs && s.train; ++o)
    slow_step([&](int part) -> float& { return model.output_bias[part * model.padded() + o]; }, s.adam,
              model.errors[o], output_rate, s);
  for (int u = 0; u < model.units; ++u) {
    next[u] = model.dense_at(model.outputs, u, 0);
    for (std::size_t r = 0; r < one.rows.size(); ++r) {
      const SweepRow& row = one.rows[r];
      const auto at = [&](int part) -> float& { return model.input_at(row, u, part); };
      double w = at(0);
      if (row.in_now) {
        slow_step(at, s.adam, slope[u] * row.now, s.rate, s);
        w = at(0);
      } else if (one.lags[r].due) {
        const CatchUp& lag = one.lags[r];
        if (at(1) != 0) w -= lag.drift * double(at(1)) / (std::sqrt(double(at(2))) + lag.epsilon);
        if (s.keep) at(0) = static_cast<float>(w), at(1) *= lag.keep_m, at(2) *= lag.keep_v;
      }
      if (row.in_next) next[u] += double(row.next) * w;
    }
  }
  if (!s.evaluate) return;
  for (int u = 0; u < model.units; ++u) model.activations[u] = static_cast<float>(std::max(next[u], 0.0));
  for (int o = 0; o < model.outputs; ++o) {
    double sum = model.output_bias[o];
    for (int u = 0; u < model.units; ++u) sum += std::max(next[u], 0.0) * model.dense_at(o, u, 0);
    model.logits[o] = static_cast<float>(sum);
  }
}

bool same(const AlignedFloats& a, const AlignedFloats& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}
bool same(const Model& a, const Model& b) {
  return same(a.dense, b.dense) && same(a.sparse, b.sparse) && same(a.activations, b.activations) &&
         same(a.output_bias, b.output_bias) && same(a.logits, b.logits);
}
void expect_near(const AlignedFloats& got, const AlignedFloats& wanted, const std::string& name) {
  for (std::size_t i = 0; i < got.size(); ++i) expect_near(got[i], wanted[i], name + "[" + std::to_string(i) + "]");
}

int test_sweeps(const Isa& isa) {
  int cases = 0;
  for (const int units : {16, 32, 48, 64, 80, 192})
    for (const int outputs : {1, 3, 16, 70})
      for (const bool adam : {false, true})
        for (const int task : {0, 1, 2, 3}) {
          const bool train = task != 1, evaluate = task != 0, pair = outputs == 1;
          Model model(units, outputs, task == 3 ? 0 : 7, task == 3 ? 9 : 4, adam), slow = model;
          Case one = some_case(model, train, evaluate, pair);
          one.sweep.keep = train || units != 80;
          if (adam) set_aside(one, model), slow = model;
          what = isa.name + ", " + std::to_string(units) + " units, " + std::to_string(outputs) + " outputs, " +
                 (adam ? "Adam" : "SGD") + ", task " + std::to_string(task);
          isa.sweep(one.on(model));
          slow_sweep(one, slow);
          expect_near(model.dense, slow.dense, "dense"), expect_near(model.sparse, slow.sparse, "sparse");
          expect_near(model.output_bias, slow.output_bias, "output bias");
          if (evaluate) {
            expect_near(model.activations, slow.activations, "activations");
            for (int o = 0; o < outputs; ++o) expect_near(model.logits[o], slow.logits[o], "logit");
          }
          ++cases;
        }
  return cases;
}

// A fused pass equals two separate passes bit for bit. An evaluation that stores nothing equals one that stores.
int test_passes(const Isa& isa) {
  int cases = 0;
  for (const bool adam : {false, true})
    for (const int units : {16, 48, 128}) {
      what = isa.name + ", passes, " + std::to_string(units) + (adam ? " Adam" : " SGD");
      Model fused(units, 3, 5, 4, adam), apart = fused, glimpse = fused;
      Case both = some_case(fused, true, true, false), now = both, next = both;
      now.rows.clear(), now.lags.clear(), next.rows.clear(), next.lags.clear();
      for (std::size_t r = 0; r < both.rows.size(); ++r) {
        SweepRow row = both.rows[r];
        if (row.in_now) now.rows.push_back(row), now.rows.back().in_next = false, now.lags.push_back({});
        if (row.in_next) {
          next.rows.push_back(row), next.rows.back().in_now = false;
          next.lags.push_back(row.in_now ? CatchUp{} : both.lags[r]);
        }
      }
      now.sweep.evaluate = false, next.sweep.train = false;
      isa.sweep(both.on(fused));
      isa.sweep(now.on(apart)), isa.sweep(next.on(apart));
      expect_that(same(fused, apart), "a fused pass is not two separate ones");
      Case peek = next;
      peek.sweep.keep = false;
      const Model before = glimpse;
      Model kept = glimpse;
      isa.sweep(peek.on(glimpse)), isa.sweep(next.on(kept));
      expect_that(same(glimpse.dense, before.dense) && same(glimpse.sparse, before.sparse), "a glimpse changes weights");
      expect_that(same(glimpse.logits, kept.logits), "a glimpse sees something else");
      cases += 2;
    }
  return cases;
}

int test_looks_ahead(const Isa& isa) {
  int cases = 0;
  for (const int outputs : {1, 5, 70})
    for (const int units : {16, 48, 128}) {
      what = isa.name + ", looks ahead, " + std::to_string(units) + " units, " + std::to_string(outputs) + " outputs";
      Model model(units, outputs, 4, 6, false);
      Case looks[kAhead];
      std::vector<AheadRow> rows(10);
      for (Case& one : looks) one = some_case(model, false, true, false), one.rows.clear();
      for (int i = 0; i < 10; ++i) {
        rows[i].input = i, rows[i].sparse = i >= 4, rows[i].slot = i >= 4 ? i - 4 : i;
        for (int j = 0; j < kAhead; ++j) {
          rows[i].active[j] = uniform(0, 1) < 0.6;
          if (!rows[i].active[j]) continue;
          rows[i].value[j] = static_cast<float>(uniform(-2, 2));
          SweepRow row{i};
          row.slot = rows[i].slot, row.sparse = rows[i].sparse, row.in_next = true, row.next = rows[i].value[j];
          looks[j].rows.push_back(row);
        }
      }
      const std::size_t stride = model.padded();
      AlignedFloats ahead(stride * kAhead);
      isa.look_ahead(looks[0].on(model), {rows.data(), 10, ahead.data(), stride});
      for (int j = 0; j < kAhead; ++j) {
        isa.sweep(looks[j].on(model));
        expect_that(std::memcmp(&ahead[j * stride], model.logits.data(), outputs * sizeof(float)) == 0,
                    "a look ahead is not a look");
      }
      ++cases;
    }
  return cases;
}

// Pools over some steps: the instruction sets agree up to rounding, and a NaN stays within its model.
std::uint64_t next_bits(void*) { return generator(); }
std::uint32_t next_half(void*) { return static_cast<std::uint32_t>(generator() >> 32); }
double next_double(void*) { return static_cast<double>(generator() >> 11) * 0x1p-53; }

std::vector<double> outputs_of_a_pool(const std::string& isa) {
  generator.seed(7);
  BitGen bits{nullptr, next_bits, next_half, next_double, next_bits};
  MlpPool pool({16, 70, 130, 16}, {1, 0, 1, 0}, {0.005, 0.05, 0.0005, 0.01}, true, isa);
  pool.grow({0, 5, 0}, 3, Random(&bits));
  PhaseClock clock;
  std::vector<double> said, x(3), next(3), out(3);
  const std::vector<std::uint8_t> chosen{1, 1, 0, 1}, all(4, 1);
  const auto draw = [](std::vector<double>& row) { row = {uniform(-1, 1), std::floor(uniform(0, 5)), uniform(-1, 1)}; };
  draw(x);
  pool.look(x.data(), nullptr, clock);
  for (int t = 0; t < 200; ++t) {
    draw(next);
    pool.train_and_look(x.data(), std::fabs(x[0]) > 0.5 ? x[1] > 2 : 2, t % 5 ? chosen.data() : all.data(), next.data(),
                        nullptr, 1, clock);
    x = next;
    for (int i = 0; i < 4; ++i) {
      pool.output(i, out.data());
      said.insert(said.end(), out.begin(), out.end());
    }
  }
  return said;
}
void test_pools() {
  const std::vector<double> wanted = outputs_of_a_pool("baseline");
  for (const Isa& isa : available_isas()) {
    what = isa.name + ", a pool";
    const std::vector<double> got = outputs_of_a_pool(isa.name);
    for (std::size_t i = 0; i < got.size(); ++i)
      expect_that(std::fabs(got[i] - wanted[i]) < 1e-3,
                  "output " + std::to_string(i) + " is off by " + std::to_string(got[i] - wanted[i]));
  }
}

void test_neighbours() {
  what = "distances";
  constexpr int n = 9;
  alignas(64) float columns[n * kRows], numbers[n], out[kRows] = {}, rough[kRows], norms[kRows] = {}, none[kRows] = {};
  alignas(64) std::uint8_t codes[n * kRows];
  std::uint8_t mine[n];
  for (float& c : columns) c = static_cast<float>(uniform(-3, 3));
  for (float& x : numbers) x = static_cast<float>(uniform(-3, 3));
  for (std::uint8_t& c : codes) c = static_cast<std::uint8_t>(uniform(0, 3));
  for (std::uint8_t& c : mine) c = static_cast<std::uint8_t>(uniform(0, 3));
  for (int r = 0; r < kRows; ++r)
    for (int j = 0; j < n; ++j) norms[r] += columns[j * kRows + r] * columns[j * kRows + r] / 2;
  neighbours::add_squares(columns, numbers, n, out);
  neighbours::rough(columns, numbers, n, norms, none, rough);
  float counts[kRows] = {};
  alignas(64) float aligned_counts[kRows] = {};
  neighbours::add_mismatches(codes, mine, n, aligned_counts);
  double own = 0;
  for (float x : numbers) own += double(x) * x / 2;
  for (int r = 0; r < kRows; ++r) {
    double square = 0;
    for (int j = 0; j < n; ++j) {
      square += std::pow(double(columns[j * kRows + r]) - numbers[j], 2);
      counts[r] += codes[j * kRows + r] != mine[j];
    }
    expect_near(out[r], square, "squared distance");
    expect_that(out[r] == neighbours::square_of(columns, numbers, n, r), "one distance is not that of its block");
    expect_that(std::fabs(rough[r] + own - square / 2) <= neighbours::rough_slack(n, 0), "a rough distance beyond its slack");
    expect_that(aligned_counts[r] == counts[r], "mismatches");
  }
}

// Compares a tree on binned instances with sums in double precision over the same instances.
void test_retrained() {
  what = "edges";
  std::vector<ValueCount> values;
  for (int i = 0; i < 1000; ++i) values.push_back({i / 10.0, i == 500 ? 400 : 1});
  const std::vector<double> edges = edges_of(values, 16, {});
  expect_that(edges.size() == 15, "as many bins as there may be");
  std::vector<int> counts(17);
  for (const ValueCount& one : values) counts[bin_of(edges, one.value)] += static_cast<int>(one.count);
  for (int b = 1; b <= 16; ++b)
    expect_that(counts[b] == 400 || counts[b] < 100, "bin " + std::to_string(b) + " holds " + std::to_string(counts[b]));
  expect_that(bin_of(edges, -1e300) == 1 && bin_of(edges, 1e300) == 16 && bin_of({}, 0) == 1, "bins without an end");

  what = "a tree on bins";
  RetrainedSettings settings;
  settings.window = 400, settings.leaves = 6, settings.min_leaf = 10, settings.bins = 20, settings.max_bytes = 1 << 24;
  const std::vector<std::int32_t> kinds{0, 0, 3, 9, 2};
  BinnedWindow window(settings);
  window.grow(kinds, 400);
  for (int t = 0; t < 500; ++t) {  // the last feature is nearly always 0
    const double x[] = {uniform(-1, 1), t % 7 == 0 ? std::nan("") : std::floor(uniform(0, 5)), std::floor(uniform(0, 3)),
                        std::floor(uniform(0, 9)), uniform(0, 1) < 0.1 ? 1.0 : 0.0};
    window.learn(x, uniform(-1, 1) + x[0] + (x[4] == 1 ? 2 : 0), 1);
  }
  for (int f = 0; f < 5; ++f) window.fit(f);
  TreeGrower grower;
  grower.start(window, 100, 400, 5, settings);
  double first = 0;
  for (std::size_t s = 0; s < 400; ++s) first += std::fabs(window.target(s));
  for (std::size_t s = 0; s < 400; ++s)
    grower.derivatives[s] = packed(window.target(s) * kWhole / first, kWhole / 400);
  for (std::int64_t part = 0; part < TreeGrower::kParts; ++part) grower.list(window, part);
  grower.begin(first / kWhole, 400 / kWhole);
  while (grower.filling() || grower.can_split())
    if (grower.filling()) grower.fill(window);
    else grower.split(window);
  expect_that(grower.leaves().size() == 6 && grower.nodes().size() == 5, "leaves");
  std::vector<int> seen(400);
  for (const TreeGrower::Leaf& leaf : grower.leaves()) {
    double sum = 0;
    for (std::int32_t i = leaf.first; i < leaf.end; ++i) {
      const std::int32_t slot = grower.order()[i];
      sum += window.target(slot), ++seen[slot];
      bool below = leaf.below;  // the leaf must satisfy every test above it
      for (std::int32_t n = leaf.parent; n >= 0; below = grower.nodes()[n].below, n = grower.nodes()[n].parent) {
        const ByteTest& test = grower.nodes()[n].test;
        expect_that(test.below(window.row(slot)[test.feature]) == below, "an instance in a leaf of others");
      }
    }
    expect_near(grower.first_derivative(leaf), sum, "first derivatives of a leaf");
    expect_near(grower.second_derivative(leaf), leaf.size(), "second derivatives of a leaf");
    expect_that(leaf.size() >= settings.min_leaf, "instances of a leaf");
  }
  expect_that(std::count(seen.begin(), seen.end(), 1) == 400, "each instance in one leaf");
  // No threshold and no single value gives a better split than the first one.
  const auto worth = [](double g, double h) { return g * g / (h + 1); };
  double all = 0;
  for (std::size_t s = 0; s < 400; ++s) all += window.target(s);
  for (const int f : {0, 1, 2, 4})
    for (int byte = 0; byte < window.bytes_of(f); ++byte) {
      double g = 0, h = 0;
      for (std::size_t s = 0; s < 400; ++s) {
        const int own = window.row(s)[f];
        if (kinds[f] > 0 ? own == byte : own <= byte && own > 0) g += window.target(s), ++h;
      }
      if (h < settings.min_leaf || 400 - h < settings.min_leaf) continue;
      const double gain = worth(g, h) + worth(all - g, 400 - h) - worth(all, 400);
      expect_that(gain <= grower.nodes()[0].gain * (1 + 1e-6), "a better split of feature " + std::to_string(f));
    }
}

// An allocator that can fail.
bool refuse = false;
template <class T>
struct Refusing {
  using value_type = T;
  Refusing() = default;
  template <class U>
  Refusing(const Refusing<U>&) {}
  T* allocate(std::size_t n) {
    if (refuse) throw std::bad_alloc();
    return static_cast<T*>(::operator new(n * sizeof(T)));
  }
  void deallocate(T* p, std::size_t) { ::operator delete(p); }
  template <class U>
  bool operator==(const Refusing<U>&) const {
    return true;
  }
};

void test_platform() {
  what = "platform";
  const Product product = multiply(0xFFFFFFFFFFFFFFFFu, 0xFFFFFFFFFFFFFFFEu);
  expect_that(product.high == 0xFFFFFFFFFFFFFFFDu && product.low == 2, "128-bit products");
  const double before = thread_cpu_seconds();
  volatile double sink = 0;
  for (int i = 0; i < 20000000 && thread_cpu_seconds() == before; ++i) sink = sink + i;
  expect_that(thread_cpu_seconds() > before, "the CPU clock stands still");
  void* memory = aligned_memory(std::size_t{2} << 20, std::size_t{4} << 20);
  expect_that(memory != nullptr && reinterpret_cast<std::uintptr_t>(memory) % (std::size_t{2} << 20) == 0, "aligned memory");
  want_large_pages(memory, std::size_t{4} << 20);
  free_aligned(memory);

  volatile float tiny = 1e-38F, tenth = 0.01F;
  {
    const FlushDenormals guard;
    expect_that(tiny * tenth == 0, "a denormal result is not flushed");
  }
  expect_that(tiny * tenth != 0, "denormals are flushed when the guard is gone");

  std::vector<int, Refusing<int>> numbers(3, 7);
  refuse = true;
  bool thrown = false;
  try {
    assign_zeros(numbers, 1000);
  } catch (const std::bad_alloc&) {
    thrown = true;
  }
  refuse = false;
  expect_that(thrown && numbers.size() == 3 && numbers[2] == 7, "a refused vector is not what it was");
  assign_zeros(numbers, 1000);
  expect_that(numbers.size() == 1000 && numbers[2] == 0, "zeros");
}

}  // namespace

int main(int argc, char** argv) {
  test_platform();
  test_neighbours();
  test_retrained();
  for (const Isa& isa : available_isas()) {
    const FlushDenormals guard;
    const int cases = test_sweeps(isa) + test_passes(isa) + test_looks_ahead(isa);
    std::printf("%-9s %d cases\n", isa.name.c_str(), cases);
  }
  test_pools();
  for (int i = 1; i < argc; ++i) {  // instruction sets that should be tested
    bool found = false;
    for (const Isa& isa : available_isas()) found = found || isa.name == argv[i];
    if (!found) std::printf("%-9s not tested: neither this machine nor the emulator has it\n", argv[i]);
  }
  std::printf(failures == 0 ? "kernels: all well\n" : "kernels: %d failures\n", failures);
  return failures == 0 ? 0 : 1;
}
