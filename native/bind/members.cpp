// A pool of models that live in Python. The only pool with Python objects, hence among the bindings.
#include "bind/bind.hpp"
#include "bind/arrays.hpp"
#include "core/pool.hpp"

namespace heros {

namespace {

// Asks Python for what the step needs. The arrays belong to Python, which writes what the models said:
// what the step reads of them costs no call.
class ModelsPool final : public Pool {
 public:
  ModelsPool(nb::object evaluate, nb::object train, nb::object predict)
      : evaluate_(std::move(evaluate)), train_(std::move(train)), predict_(std::move(predict)) {}

  void fit(int features, Out2<double> probabilities, Out1<std::int32_t> votes, Out1<std::uint8_t> active) {
    expect(features >= 1 && votes.size() == probabilities.shape(0) && active.size() == votes.size(),
           "one row, vote and flag per model");
    features_ = features;
    probabilities_ = std::move(probabilities), votes_ = std::move(votes), active_ = std::move(active);
  }

  int models() const override { return static_cast<int>(votes_.size()); }
  int features() const override { return features_; }
  int classes() const override { return static_cast<int>(probabilities_.shape(1)); }
  bool trainable(int i) const override { return active_.data()[i] != 0; }
  int vote(int i) const override { return votes_.data()[i]; }

  void evaluate(const double* x, PhaseClock& clock) override {
    const nb::gil_scoped_acquire lock;
    evaluate_(to_array(x, features_));
    clock.lap(Phase::evaluate);
  }

  void probabilities(int i, double* out) const override {
    const double* row = probabilities_.data() + static_cast<std::size_t>(i) * probabilities_.shape(1);
    std::copy(row, row + probabilities_.shape(1), out);
  }

  void train(const double*, int y, const std::uint8_t* chosen, PhaseClock& clock) override {
    const nb::gil_scoped_acquire lock;
    train_(y, to_array(chosen, models()));
    clock.lap(Phase::train);
  }

  void predict(int i, const double* x, double* out) override {
    const nb::gil_scoped_acquire lock;
    predict_(i, to_array(x, features_));
    probabilities(i, out);
  }

 private:
  nb::object evaluate_, train_, predict_;
  int features_ = 0;
  Out2<double> probabilities_;
  Out1<std::int32_t> votes_;
  Out1<std::uint8_t> active_;
};

}  // namespace

void bind_models(nb::module_& m) {
  nb::class_<ModelsPool, Pool>(m, "ModelsPool")
      .def(nb::init<nb::object, nb::object, nb::object>(), nb::arg("evaluate"), nb::arg("train"), nb::arg("predict"))
      .def("fit",
           [](ModelsPool& self, int features, Out2<double> probabilities, Out1<std::int32_t> votes,
              Out1<std::uint8_t> active) {
             writable(self).fit(features, std::move(probabilities), std::move(votes), std::move(active));
           },
           nb::arg("features"), nb::arg("probabilities"), nb::arg("votes"), nb::arg("active"))
      .def("expect_readable", [](const ModelsPool& self) { readable(self); })
      .def("expect_writable", [](const ModelsPool& self) { writable(self); });
}

}  // namespace heros
