// A pool of boosted models with different settings.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "core/pool.hpp"
#include "core/state.hpp"
#include "core/target.hpp"
#include "pools/boosted/model.hpp"
#include "pools/looks.hpp"

namespace heros {

class BoostedPool final : public AskingPool {
 public:
  // A seed for every model.
  BoostedPool(const std::vector<BoostedSettings>& settings, bool numeric, const std::vector<std::uint64_t>& seeds)
      : numeric_(numeric) {
    for (std::size_t i = 0; i < settings.size(); ++i) boosted_.emplace_back(settings[i], numeric, seeds[i]);
  }

  int models() const override { return static_cast<int>(boosted_.size()); }
  int features() const override { return static_cast<int>(values_.size()); }
  int outputs() const override { return classes_; }
  const std::vector<std::int32_t>& values() const { return values_; }
  bool numeric() const { return numeric_; }

  // Fits the pool to a schema that extends the one it knows (at first: nothing). values[f]: how many values feature f
  // has, 0 if it is numeric. If there is not enough memory, the pool stays as it is.
  void grow(const std::vector<std::int32_t>& values, int classes) {
    for (const Boosted& model : boosted_) {
      const std::int64_t node = GradientTree::node_bytes(model.outputs_of(classes));
      if (model.settings().tree_bytes() < node)
        throw std::invalid_argument("A tree of one node needs " + std::to_string(node) +
                                    " bytes with this schema: no model may have less for its trees.");
    }
    BoostedPool grown = *this;
    for (Boosted& model : grown.boosted_) model.grow(values, classes);
    grown.values_ = values, grown.classes_ = classes;
    grown.make_place();
    *this = std::move(grown);
  }

  void train(const double* x, double target, const std::uint8_t* chosen, PhaseClock& clock) override {
    look(x, chosen, clock);  // for nothing if they have looked at x
    for (int i = 0; i < models(); ++i)
      if (chosen[i]) boosted_[i].train(x, target, instance_weight_.value);
    looks_.forget();
    clock.lap(Phase::train);
  }

  const Boosted& model(int i) const { return boosted_[i]; }

  template <class Archive>
  void fields(Archive& a) {
    a("values", values_), a("classes", classes_);
    for (std::size_t i = 0; i < boosted_.size(); ++i) {
      Prefixed<Archive> own{a, "model_" + std::to_string(i) + "_"};
      boosted_[i].fields(own);
    }
  }
  void check() {
    require(classes_ >= 0 && (!numeric_ || classes_ <= 1) && all_of(values_, [](std::int32_t n) { return n >= 0; }),
            "a schema");
    expect_countable(values_, classes_);
    for (Boosted& model : boosted_) model.check(values_, classes_);
    make_place();
  }

 private:
  void make_place() { looks_.resize(models(), features(), classes_); }
  void ask(int i, const double* x) override {
    boosted_[i].look(x, looks_.of(i));
    if (numeric_) looks_.take(i, TargetScale::kLargest);
    else looks_.take(i);
  }

  bool numeric_;
  std::vector<Boosted> boosted_;
  std::vector<std::int32_t> values_;
  std::int32_t classes_ = 0;
};

}  // namespace heros
