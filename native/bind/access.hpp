// Locks a pool for calls from Python: calls that read it, and calls that change it.
#pragma once

#include <nanobind/nanobind.h>

#include <chrono>
#include <list>
#include <thread>

#include "core/guard.hpp"
#include "core/pool.hpp"

namespace heros {

// Waits for readers in other threads, which may need Python's lock to finish.
inline void let_others_finish() noexcept {
  const nanobind::gil_scoped_release others;
  std::this_thread::sleep_for(std::chrono::microseconds(20));
}

// Holds the read lock of a pool and its parts during its lifetime.
class PoolReading {
 public:
  explicit PoolReading(const Pool& pool)
      : own_(pool.guard(), "The models are in use: read them after the current block.") {
    for (const auto& part : pool.parts()) parts_.emplace_back(*part);
  }

 private:
  Reading own_;
  std::list<PoolReading> parts_;
};

// Holds the work lock of a pool and its parts during its lifetime. open: Python code called by the work, on the same
// thread, may read them.
class PoolWorking {
 public:
  PoolWorking(const Pool& pool, bool open)
      : own_(pool.guard(), open, "The models are in use: change them after the current step.", let_others_finish) {
    for (const auto& part : pool.parts()) parts_.emplace_back(*part, open);
  }

 private:
  Working own_;
  std::list<PoolWorking> parts_;
};

// An object together with the lock that protects it.
template <class Object, class Lock>
struct Held {
  Object& object;
  Lock lock;
  Object* operator->() const { return &object; }
  Object& operator*() const { return object; }
};

// Locks a pool for reading: readable(pool)->steps().
template <class Kind>
Held<Kind, PoolReading> readable(Kind& pool) {
  return {pool, PoolReading(pool)};
}
// Locks a pool for changes.
template <class Kind>
Held<Kind, PoolWorking> writable(Kind& pool) {
  return {pool, PoolWorking(pool, false)};
}

}  // namespace heros
