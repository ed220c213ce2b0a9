// Tests of threads that read, change and train the same objects. ThreadSanitizer reports data races; without it, the
// states are compared with those of a single thread.
#include <atomic>
#include <cstdio>
#include <thread>
#include <vector>

#include "core/scores.hpp"
#include "kinds.hpp"
#include "pools/boosted/pool.hpp"
#include "pools/regression/pool.hpp"

using namespace heros;

namespace {

bool well = true;
void expect(bool holds, const std::string& what) {
  if (holds) return;
  std::printf("FAILED  %s\n", what.c_str());
  well = false;
}

void yield() { std::this_thread::yield(); }

template <class Lock, class... Settings>
bool refused(const Guard& guard, Settings... settings) {
  try {
    const Lock lock(guard, settings...);
    return false;
  } catch (const AtWork&) {
    return true;
  }
}
bool read_refused(const Guard& guard) { return refused<Reading>(guard, "busy"); }
bool work_refused(const Guard& guard) { return refused<Working>(guard, false, "busy", yield); }

template <class Act>
auto in_another_thread(Act act) {
  decltype(act()) found{};
  std::thread([&] { found = act(); }).join();
  return found;
}

void rules() {
  const Guard guard;
  {
    const Working work(guard, true, "busy", yield);
    expect(!read_refused(guard), "work that is open can be read by its own thread");
    expect(!read_refused(guard), "and again");
    expect(work_refused(guard), "nobody works twice");
    expect(in_another_thread([&] { return read_refused(guard) && work_refused(guard); }), "others are kept out");
    const Guard copy = guard;
    expect(!read_refused(copy) && !work_refused(copy), "a copy is idle");
    Guard assigned;
    assigned = guard;
    expect(!work_refused(assigned), "assigning does not make an object busy");
  }
  {
    const Working work(guard, false, "busy", yield);
    expect(read_refused(guard), "work that is not open is read by nobody");
    Guard idle;
    const_cast<Guard&>(guard) = idle;
    expect(in_another_thread([&] { return work_refused(guard); }), "assigning does not make an object idle");
  }
  {
    const Reading one(guard, "busy"), two(guard, "busy");
    expect(in_another_thread([&] { return !read_refused(guard); }), "many read");
    expect(work_refused(guard), "a thread that reads does not wait for itself");
  }
  expect(!work_refused(guard), "idle in the end");
}

// One thread works while others read: the worker is never refused, and readers see only complete changes.
void readers_never_stop_the_worker() {
  const Guard guard;
  long first = 0, second = 0;
  std::atomic<bool> done = false;
  std::atomic<long> torn = 0, read = 0;
  const auto reads = [&] {
    while (!done) {
      try {
        const Reading reading(guard, "busy");
        if (first != second) ++torn;
        ++read;
      } catch (const AtWork&) {
      }
    }
  };
  std::vector<std::thread> readers;
  for (int i = 0; i < 3; ++i) readers.emplace_back(reads);
  long turned_away = 0;
  for (int i = 0; i < 3000 || (read == 0 && i < 3'000'000); ++i) {
    try {
      const Working work(guard, false, "busy", yield);
      ++first;
      ++second;
    } catch (const AtWork&) {
      ++turned_away;
    }
    if (i % 100 == 0) yield();
  }
  done = true;
  for (std::thread& reader : readers) reader.join();
  expect(turned_away == 0 && torn == 0 && read > 0, "readers make a worker wait, not fail");
}

// Several threads work: at most one at a time is let in.
void workers_take_turns() {
  const Guard guard;
  long count = 0;
  std::atomic<long> entered = 0;
  std::vector<std::thread> workers;
  for (int i = 0; i < 4; ++i)
    workers.emplace_back([&] {
      for (int n = 0; n < 3000; ++n) try {
          const Working work(guard, n % 2 == 0, "busy", yield);
          ++count;
          ++entered;
        } catch (const AtWork&) {
        }
    });
  for (std::thread& worker : workers) worker.join();
  expect(count == entered && count > 0, "nothing is lost between workers");
}

// Retries until no other thread works with the pool.
template <class Act>
void work_with(const Pool& pool, Act act) {
  while (true) try {
      const Working work(pool.guard(), true, "busy", yield);
      return act();
    } catch (const AtWork&) {
      yield();
    }
}

// Two threads export at the same time: both only read, and get equal states.
template <class Export>
bool exports_at_once(Export exported) {
  std::atomic<int> ready = 0;
  const auto together = [&] {
    ++ready;
    while (ready < 2) yield();
    return exported();
  };
  std::string one, two;
  std::thread first([&] { one = together(); }), second([&] { two = together(); });
  first.join(), second.join();
  return one == two;
}

std::unique_ptr<Pool> young(const Kind& kind, int classes) {
  generator.seed(5);
  std::unique_ptr<Pool> pool = kind.make();
  kind.grow(*pool, {0, 3}, classes);
  return pool;
}

// A pool that is trained while other threads export and predict ends in the same state as one trained alone.
void pool_among_threads(const Kind& kind, int classes) {
  constexpr int kSteps = 150;
  const std::unique_ptr<Pool> alone = young(kind, classes), pool = young(kind, classes);
  std::vector<double> wanted, found;
  for (int t = 0; t < kSteps; ++t)
    for (const double y : lived(*alone, 1, t)) wanted.push_back(y);
  std::atomic<bool> done = false;
  std::atomic<long> exports = 0;
  std::vector<std::thread> others;
  for (int i = 0; i < 2; ++i)
    others.emplace_back([&] {
      while (!done) {
        try {
          const Reading reading(pool->guard(), "busy");
          kind.state(*pool);
          ++exports;
        } catch (const AtWork&) {
        }
        yield();
      }
    });
  others.emplace_back([&] {
    const std::vector<double> x{0.2, 1};
    std::vector<double> out(pool->outputs());
    while (!done) work_with(*pool, [&] { pool->answer(0, x.data(), out.data()); });
  });
  for (int t = 0; t < kSteps || exports == 0; ++t) {
    if (t >= kSteps) {
      yield();
      continue;
    }
    work_with(*pool, [&] {
      for (const double y : lived(*pool, 1, t)) found.push_back(y);
    });
  }
  done = true;
  for (std::thread& other : others) other.join();
  expect(exports_at_once([&] { return kind.state(*pool); }), kind.name + ": two exports are the same");
  expect(found == wanted && kind.state(*pool) == kind.state(*alone), kind.name + ": the same as alone");
  std::printf("%-20s %ld exports\n", kind.name.c_str(), exports.load());
}

// The same test for scores. ADWIN queues outcomes, and an export must not move them.
void scores_among_threads(const std::string& name, MeanScores::Kind kind, double parameter) {
  MeanScores alone(kind, 3, parameter, false), scores(kind, 3, parameter, false);
  Lookers lookers(3);
  for (int t = 0; t < 300; ++t) {
    const std::vector<double> outcomes{t % 2 ? 1.0 : 0.0, t > 150 ? 1.0 : 0.0, 0.5};
    lookers.take(nullptr);
    alone.update(outcomes.data(), lookers), scores.update(outcomes.data(), lookers);
    if (t % 10 != 3) continue;
    expect(exports_at_once([&] { return bytes_of(scores); }), name + ": two exports are the same");
  }
  expect(scores.values() == alone.values() && bytes_of(scores) == bytes_of(alone), name + ": the same as alone");
}

}  // namespace

int main() {
  rules();
  readers_never_stop_the_worker();
  workers_take_turns();
  for (const Kind& kind : kinds()) pool_among_threads(kind, 2);
  const BoostedSettings boosted{1 << 20, 3, 0.1, 1, 20, 0.05, 0.05, 4, 1, 0};
  const RegressionTreeSettings tree{1 << 20, 20, 0.05, 0.05, RegressionTreeSettings::Prediction::adaptive, 5};
  for (const bool numeric : {false, true})
    pool_among_threads(heros::kind<BoostedPool>(numeric ? "boosted, of numbers" : "boosted",
                                                [=] {
                                                  return std::make_unique<BoostedPool>(
                                                      boosted_pool({boosted, boosted}, numeric, {1, 2}));
                                                }),
                       numeric ? 1 : 2);
  pool_among_threads(heros::kind<RegressionTreePool>(
                         "regression trees", [=] { return std::make_unique<RegressionTreePool>(std::vector{tree, tree}); }),
                     1);
  pool_among_threads(heros::kind<LabelPool>("labels, of numbers",
                                            [] {
                                              return std::make_unique<LabelPool>(
                                                  std::vector<LabelSettings>{{1, 1, 2}, {0.99, 2, 0}}, 50, true);
                                            }),
                     1);
  scores_among_threads("adwin", MeanScores::Kind::adwin, 0.002);
  scores_among_threads("window", MeanScores::Kind::window, 50);
  scores_among_threads("fading", MeanScores::Kind::fading, 0.99);
  std::printf(well ? "threads: all well\n" : "threads: FAILED\n");
  return well ? 0 : 1;
}
