// A readers-writer lock for native objects. Python's lock is not enough: the core releases it, and a free-threaded
// Python has none.
#pragma once

#include <atomic>
#include <cstdint>

#include "core/state.hpp"

namespace heros {

// Lets several threads read an object, or one thread work with it. One word holds the state: 0 if the object is idle,
// else the number of readers or the working thread. With `open`, functions called during the work may read the object
// from the same thread. A copy of the object gets its own idle guard.
class Guard {
 public:
  enum class Entry { entered, own_work, wait, refused };

  Guard() = default;
  Guard(const Guard&) noexcept {}
  Guard& operator=(const Guard&) noexcept { return *this; }

  // Never blocks. own_work: this thread already works with the object, so it must not call `leave`.
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

  // wait: other threads read the object. New readers are refused, and the caller must retry until the result is not
  // `wait`. A thread that reads any object is refused, as it could wait for itself.
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
  static constexpr std::uintptr_t kWork = 1;    // a thread works: the other bits are its address and kOpen
  static constexpr std::uintptr_t kOpen = 2;    // the working thread may read
  static constexpr std::uintptr_t kWanted = 2;  // a thread waits to work: the other bits are the number of readers
  static constexpr std::uintptr_t kReader = 4;

  // The number of guards that this thread has entered to read. Its address identifies the thread.
  static int& reads_of_this_thread() {
    alignas(8) static thread_local int reads = 0;
    return reads;
  }
  static std::uintptr_t here() { return reinterpret_cast<std::uintptr_t>(&reads_of_this_thread()); }

  mutable std::atomic<std::uintptr_t> word_{0};
};

// Holds the read lock during its lifetime. refusal: the message of AtWork if another thread works with the object.
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

// Holds the work lock during its lifetime. Calls `wait`, which must not throw, until all readers have left.
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
