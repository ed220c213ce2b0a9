// Which threads may read or change an object. Python's lock cannot say so: the core works without it, and a
// free-threaded Python has none.
#pragma once

#include <atomic>
#include <cstdint>

#include "core/state.hpp"

namespace heros {

// Any number of threads read an object, or one thread works with it. One word holds all of it: 0 while the object is idle,
// else the number of readers, or the thread that works. A thread may leave its work open to itself: then functions that
// the work calls can read the object. A copy of the object has a guard of its own, which is idle.
class Guard {
 public:
  enum class Entry { entered, own_work, wait, refused };

  Guard() = default;
  Guard(const Guard&) noexcept {}
  Guard& operator=(const Guard&) noexcept { return *this; }

  // Never waits. own_work: this thread works with the object, and nothing is to be left.
  Entry enter_to_read() const {
    std::uintptr_t now = word_.load(std::memory_order_relaxed);
    do {
      if (now & kWork) return now == (here() | kWork | kOpen) ? Entry::own_work : Entry::refused;
      if (now & kWanted) return Entry::refused;
    } while (!word_.compare_exchange_weak(now, now + kReader, std::memory_order_acquire, std::memory_order_relaxed));
    ++reads_of_this_thread();
    return Entry::entered;
  }
  void leave_read() const {
    --reads_of_this_thread();
    word_.fetch_sub(kReader, std::memory_order_release);
  }

  // wait: other threads read the object. No further ones are let in, and the caller has to try again until the answer
  // is another one. A thread that itself reads something is refused instead: it could wait for itself.
  Entry enter_to_work(bool open) const {
    std::uintptr_t now = word_.load(std::memory_order_relaxed);
    while (true) {
      if (now & kWork) return Entry::refused;
      if (now >= kReader) {
        if (reads_of_this_thread() > 0) return Entry::refused;
        if (now & kWanted || word_.compare_exchange_weak(now, now | kWanted, std::memory_order_relaxed)) return Entry::wait;
      } else if (word_.compare_exchange_weak(now, here() | kWork | (open ? kOpen : 0), std::memory_order_acquire,
                                             std::memory_order_relaxed)) {
        return Entry::entered;
      }
    }
  }
  void leave_work() const { word_.store(0, std::memory_order_release); }

 private:
  static constexpr std::uintptr_t kWork = 1;    // a thread works: the rest is its address and kOpen
  static constexpr std::uintptr_t kOpen = 2;    // and may read in between
  static constexpr std::uintptr_t kWanted = 2;  // threads read, and one waits to work: the rest is their number
  static constexpr std::uintptr_t kReader = 4;

  // How many guards this thread has entered to read; where that is kept tells threads apart.
  static int& reads_of_this_thread() {
    alignas(8) static thread_local int reads = 0;
    return reads;
  }
  static std::uintptr_t here() { return reinterpret_cast<std::uintptr_t>(&reads_of_this_thread()); }

  mutable std::atomic<std::uintptr_t> word_{0};
};

// Reads an object as long as it lives. refusal: what an AtWork says if another thread works with the object.
class Reading {
 public:
  Reading(const Guard& guard, const char* refusal) : guard_(guard), entry_(guard.enter_to_read()) {
    if (entry_ == Guard::Entry::refused) throw AtWork(refusal);
  }
  ~Reading() {
    if (entry_ == Guard::Entry::entered) guard_.leave_read();
  }
  Reading(const Reading&) = delete;
  Reading& operator=(const Reading&) = delete;

 private:
  const Guard& guard_;
  Guard::Entry entry_;
};

// Works with an object as long as it lives. Readers soon leave: `wait`, which must not throw, is called until they have.
class Working {
 public:
  template <class Wait>
  Working(const Guard& guard, bool open, const char* refusal, Wait wait) : guard_(guard) {
    Guard::Entry entry = guard.enter_to_work(open);
    for (; entry == Guard::Entry::wait; entry = guard.enter_to_work(open)) wait();
    if (entry == Guard::Entry::refused) throw AtWork(refusal);
  }
  ~Working() { guard_.leave_work(); }
  Working(const Working&) = delete;
  Working& operator=(const Working&) = delete;

 private:
  const Guard& guard_;
};

}  // namespace heros
