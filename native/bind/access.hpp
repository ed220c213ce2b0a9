// Who may look inside a pool, and who may change it. The core works on pools without Python's lock; that is a matter of
// the bindings, and pools know nothing of it.
#pragma once

#include <unordered_map>

#include "core/pool.hpp"

namespace heros {

// The pools that a step works with at this moment. Only touched with Python's lock held.
enum class AtWorkAs { stepping, stepping_unlocked };
inline std::unordered_map<const Pool*, AtWorkAs>& pools_at_work() {
  static std::unordered_map<const Pool*, AtWorkAs> pools;
  return pools;
}

template <class Refuse>
void each_at_work(const Pool& pool, Refuse refuse) {
  const auto found = pools_at_work().find(&pool);
  if (found != pools_at_work().end()) refuse(found->second);
  for (const auto& part : pool.parts()) each_at_work(*part, refuse);
}

// A pool to look at: refused while a step works with it without the lock.
template <class Kind>
Kind& readable(Kind& pool) {
  each_at_work(pool, [](AtWorkAs how) {
    if (how == AtWorkAs::stepping_unlocked)
      throw AtWork("The models are at work: they can be looked at when the block is done.");
  });
  return pool;
}
// A pool to change: refused in the middle of any step.
template <class Kind>
Kind& writable(Kind& pool) {
  readable(pool);
  each_at_work(pool, [](AtWorkAs) {
    throw AtWork("The models are at work: they can be changed when the step is done.");
  });
  return pool;
}

// Marks a pool and its parts while a step works with them. With Python's lock held others may look in between.
class Work {
 public:
  Work(const Pool& pool, bool locked) : pool_(pool) {
    mark(writable(pool), locked ? AtWorkAs::stepping : AtWorkAs::stepping_unlocked);
  }
  ~Work() { unmark(pool_); }
  Work(const Work&) = delete;
  Work& operator=(const Work&) = delete;

 private:
  static void mark(const Pool& pool, AtWorkAs how) {
    pools_at_work()[&pool] = how;
    for (const auto& part : pool.parts()) mark(*part, how);
  }
  static void unmark(const Pool& pool) {
    pools_at_work().erase(&pool);
    for (const auto& part : pool.parts()) unmark(*part);
  }
  const Pool& pool_;
};

}  // namespace heros
