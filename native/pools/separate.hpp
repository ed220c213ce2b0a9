// A pool of independent models that share only the schema.
//
// A Model has grow(values, classes), expect_room(values, classes), look(x, out), train(x, target, weight),
// fields(archive) and check(values, classes). kLooksFirst: training needs an evaluation of the same instance.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/pool.hpp"
#include "core/state.hpp"
#include "core/target.hpp"
#include "pools/looks.hpp"

namespace heros {

template <class Model>
class SeparatePool final : public AskingPool {
 public:
  SeparatePool(std::vector<Model> models, bool numeric) : numeric_(numeric), models_(std::move(models)) {}

  bool always_learns(int) const override {
    if constexpr (requires { Model::kAlwaysLearns; }) return Model::kAlwaysLearns;
    return false;
  }

  void set_expected(bool expected, bool steady) override {
    if constexpr (requires(Model model) { model.set_expected(expected, steady); })
      for (Model& model : models_) model.set_expected(expected, steady);
  }

  int models() const override { return static_cast<int>(models_.size()); }
  int features() const override { return static_cast<int>(values_.size()); }
  int outputs() const override { return classes_; }
  const std::vector<std::int32_t>& values() const { return values_; }
  bool numeric() const { return numeric_; }
  const Model& model(int i) const { return models_[i]; }
  std::int64_t least_bytes(int i, const std::vector<std::int32_t>& values, int classes) const {
    return models_[i].least_bytes(values, classes);
  }

  // Adapts the pool to an extended schema. values[f]: the number of values of feature f, 0 if it is numeric. If memory
  // is short, the pool stays unchanged.
  void grow(const std::vector<std::int32_t>& values, int classes) {
    for (const Model& model : models_) model.expect_room(values, classes);
    SeparatePool grown = *this;
    for (Model& model : grown.models_) model.grow(values, classes);
    grown.values_ = values, grown.classes_ = classes;
    grown.make_place();
    *this = std::move(grown);
  }

  void train(const double* x, double target, const std::uint8_t* chosen, PhaseClock& clock) override {
    if (Model::kLooksFirst) look(x, chosen, clock);  // does nothing for models already evaluated on x
    for (int i = 0; i < models(); ++i)
      if (chosen[i]) models_[i].train(x, target, instance_weight_.value);
    looks_.forget();
    clock.lap(Phase::train);
  }

  template <class Archive>
  void fields(Archive& a) {
    a("values", values_), a("classes", classes_);
    for (std::size_t i = 0; i < models_.size(); ++i) {
      Prefixed<Archive> own{a, "model_" + std::to_string(i) + "_"};
      models_[i].fields(own);
    }
  }
  void check() {
    require(classes_ >= 0 && (!numeric_ || classes_ <= 1) && all_of(values_, [](std::int32_t n) { return n >= 0; }),
            "invalid schema");
    expect_countable(values_, classes_);
    for (Model& model : models_) model.check(values_, classes_);
    make_place();
  }

 private:
  void make_place() { looks_.resize(models(), features(), classes_); }
  void ask(int i, const double* x) override {
    models_[i].look(x, looks_.of(i));
    if (numeric_) looks_.take(i, TargetScale::kLargest);
    else looks_.take(i);
  }

  bool numeric_;
  std::vector<Model> models_;
  std::vector<std::int32_t> values_;
  std::int32_t classes_ = 0;
};

}  // namespace heros
