// Several pools joined into one. The models of the first part come first, then the models of the next part.
#pragma once

#include <algorithm>
#include <cstdint>
#include <exception>
#include <memory>
#include <utility>
#include <vector>

#include "core/pool.hpp"

namespace heros {

// Each part makes its own passes over memory, so fused passes and evaluation ahead still work.
class JoinedPool final : public Pool {
 public:
  explicit JoinedPool(std::vector<std::shared_ptr<Pool>> parts) : parts_(std::move(parts)) {
    for (const auto& part : parts_) {
      first_.push_back(models());
      for (int i = 0; i < part->models(); ++i) place_.push_back({part.get(), i});
    }
  }

  int models() const override { return static_cast<int>(place_.size()); }
  int features() const override { return parts_.front()->features(); }
  int outputs() const override { return parts_.front()->outputs(); }
  std::vector<std::shared_ptr<Pool>> parts() const override { return parts_; }

  void look(const double* x, const std::uint8_t* watched, PhaseClock& clock) override {
    each(
        clock,
        [&](std::size_t p, bool) {
          if (someone_looks(p, watched)) parts_[p]->look(x, lookers_of(p, watched), clock);
        },
        false);
  }

  // A part without awake models is not called.
  void set_awake(const std::uint8_t* awake) override {
    asleep_.assign(parts_.size(), 0);
    ticks_.resize(2 * (parts_.size() + 1));
    for (std::size_t p = 0; p < parts_.size(); ++p) {
      const std::uint8_t* own = awake + first_[p];
      asleep_[p] = std::none_of(own, own + parts_[p]->models(), [](std::uint8_t flag) { return flag != 0; });
      parts_[p]->set_awake(own);
    }
  }
  std::vector<std::int64_t> ticks() const override { return ticks_; }

  double outcome(int i, double target) const override { return place_[i].pool->outcome(place_[i].model, target); }
  bool sound(int i) const override { return place_[i].pool->sound(place_[i].model); }
  void output(int i, double* out) const override { place_[i].pool->output(place_[i].model, out); }
  bool trainable(int i) const override { return place_[i].pool->trainable(place_[i].model); }
  bool all_trainable() const override {
    return std::all_of(parts_.begin(), parts_.end(), [](const auto& part) { return part->all_trainable(); });
  }
  bool always_learns(int i) const override { return place_[i].pool->always_learns(place_[i].model); }
  bool asked_last(int i) const override { return place_[i].pool->asked_last(place_[i].model); }
  void answer(int i, const double* x, double* out) override { place_[i].pool->answer(place_[i].model, x, out); }

  bool weighs() const override {
    return std::all_of(parts_.begin(), parts_.end(), [](const auto& part) { return part->weighs(); });
  }
  void weigh(const Weight& weight) override {
    for (const auto& part : parts_) part->weigh(weight);
  }

  void set_delay(std::int64_t labels) override {
    for (const auto& part : parts_) part->set_delay(labels);
  }
  void set_expected(bool expected, bool steady) override {
    for (const auto& part : parts_) part->set_expected(expected, steady);
  }

  void train(const double* x, double target, const std::uint8_t* chosen, PhaseClock& clock) override {
    each(clock, [&](std::size_t p, bool) { parts_[p]->train(x, target, of(p, chosen), clock); });
  }

  void train_and_look(const double* x, double target, const std::uint8_t* chosen, const double* next,
                      const std::uint8_t* watched, std::int64_t left, PhaseClock& clock) override {
    each(clock, [&](std::size_t p, bool thrown) {
      if (thrown) parts_[p]->train(x, target, of(p, chosen), clock);
      else parts_[p]->train_and_look(x, target, of(p, chosen), next, lookers_of(p, watched), left, clock);
    });
  }

 private:
  struct Place {
    Pool* pool;
    int model;
  };

  const std::uint8_t* of(std::size_t p, const std::uint8_t* mask) const {
    return mask == nullptr ? nullptr : mask + first_[p];
  }

  // A part without models to evaluate is not called, so that its earlier evaluation of x stays.
  bool someone_looks(std::size_t p, const std::uint8_t* watched) const {
    const std::uint8_t* own = of(p, watched);
    return own == nullptr || std::any_of(own, own + parts_[p]->models(), [](std::uint8_t flag) { return flag != 0; });
  }

  // Returns nullptr if all models of the part are evaluated: the part may then evaluate ahead.
  const std::uint8_t* lookers_of(std::size_t p, const std::uint8_t* watched) const {
    const std::uint8_t* own = of(p, watched);
    if (own == nullptr || std::all_of(own, own + parts_[p]->models(), [](std::uint8_t flag) { return flag != 0; }))
      return nullptr;
    return own;
  }

  // Calls every part. If one throws while training (a model written in Python), the other parts are still trained, so
  // that all parts have the same instances. The exception is then passed on.
  template <class Work>
  void each(const PhaseClock& clock, Work work, bool all_of_them = true) {
    std::exception_ptr thrown;
    std::int64_t all = ticks_.empty() ? 0 : clock.total(), training = clock.ticks(Phase::train);
    if (!ticks_.empty()) ticks_[parts_.size()] += all < seen_ ? all : all - seen_;  // a new block has a new clock
    for (std::size_t p = 0; p < parts_.size(); ++p) {
      if (!asleep_.empty() && asleep_[p]) continue;
      try {
        work(p, thrown != nullptr);
      } catch (...) {
        if (!all_of_them) throw;
        if (thrown == nullptr) thrown = std::current_exception();
      }
      if (ticks_.empty()) continue;
      const std::int64_t all_now = clock.total(), training_now = clock.ticks(Phase::train);
      ticks_[p] += all_now - all - (training_now - training);
      ticks_[parts_.size() + 1 + p] += training_now - training;
      all = all_now, training = training_now;
    }
    seen_ = all;
    if (thrown != nullptr) std::rethrow_exception(thrown);
  }

  std::vector<std::shared_ptr<Pool>> parts_;
  std::vector<int> first_;     // the first model of each part
  std::vector<Place> place_;  // part and index of each model
  std::vector<std::uint8_t> asleep_;  // parts without awake models; empty before `set_awake`
  std::vector<std::int64_t> ticks_;   // time per part and for the rest of a step: without training, then training
  std::int64_t seen_ = 0;             // the clock's total at the end of the last call
};

}  // namespace heros
