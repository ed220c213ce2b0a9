// Which calls from Python may read a pool, and which may change it.
#pragma once

#include <nanobind/nanobind.h>

#include <chrono>
#include <list>
#include <thread>

#include "core/guard.hpp"
#include "core/pool.hpp"

namespace heros {

// Gives other threads time to finish what they read. They may need Python's lock for it.
inline void let_others_finish() noexcept {
  const nanobind::gil_scoped_release others;
  std::this_thread::sleep_for(std::chrono::microseconds(20));
}

// Reads a pool and its parts as long as it lives.
class PoolReading {
 public:
  explicit PoolReading(const Pool& pool)
      : own_(pool.guard(), "The models are at work: they can be looked at when the block is done.") {
    for (const auto& part : pool.parts()) parts_.emplace_back(*part);
  }

 private:
  Reading own_;
  std::list<PoolReading> parts_;
};

// Changes a pool and its parts, or works with them, as long as it lives. open: Python that is called in between, on the
// same thread, may read them.
class PoolWorking {
 public:
  PoolWorking(const Pool& pool, bool open)
      : own_(pool.guard(), open, "The models are at work: they can be changed when the step is done.", let_others_finish) {
    for (const auto& part : pool.parts()) parts_.emplace_back(*part, open);
  }

 private:
  Working own_;
  std::list<PoolWorking> parts_;
};

// An object that may be used as long as this lives.
template <class Object, class Lock>
struct Held {
  Object& object;
  Lock lock;
  Object* operator->() const { return &object; }
  Object& operator*() const { return object; }
};

// A pool to read: readable(pool)->steps().
template <class Kind>
Held<Kind, PoolReading> readable(Kind& pool) {
  return {pool, PoolReading(pool)};
}
// A pool to change.
template <class Kind>
Held<Kind, PoolWorking> writable(Kind& pool) {
  return {pool, PoolWorking(pool, false)};
}

}  // namespace heros
