// A pool of models written in Python. The code is in this directory because no other pool holds Python objects.
#include "bind/bind.hpp"
#include "bind/arrays.hpp"
#include "core/pool.hpp"

namespace heros {

namespace {

// Calls Python to evaluate and to train. Python writes the results to arrays that it owns, so that the step reads them
// without a call.
class MembersPool final : public Pool {
 public:
  MembersPool(nb::object look, nb::object train, nb::object answer)
      : look_(std::move(look)), train_(std::move(train)), answer_(std::move(answer)) {}

  void fit(int features, Out2<double> outputs, Out1<std::int32_t> favoured, Out1<std::uint8_t> active) {
    expect(features >= 1 && favoured.size() == outputs.shape(0) && active.size() == favoured.size(),
           "there must be one row, class and flag per model");
    features_ = features;
    outputs_ = std::move(outputs), favoured_ = std::move(favoured), active_ = std::move(active);
  }

  int models() const override { return static_cast<int>(favoured_.size()); }
  int features() const override { return features_; }
  int outputs() const override { return static_cast<int>(outputs_.shape(1)); }
  bool trainable(int i) const override { return active_.data()[i] != 0; }
  bool all_trainable() const override { return false; }
  double outcome(int i, double target) const override { return favoured_.data()[i] == target ? 1.0 : 0.0; }
  bool sound(int i) const override { return favoured_.data()[i] >= 0; }

  void look(const double* x, const std::uint8_t* watched, PhaseClock& clock) override {
    const nb::gil_scoped_acquire lock;
    look_(to_array(x, features_), watched == nullptr ? nb::none() : to_array(watched, models()).object);
    clock.lap(Phase::evaluate);
  }

  void output(int i, double* out) const override {
    const double* row = outputs_.data() + static_cast<std::size_t>(i) * outputs_.shape(1);
    std::copy(row, row + outputs_.shape(1), out);
  }

  void train(const double*, double target, const std::uint8_t* chosen, PhaseClock& clock) override {
    const nb::gil_scoped_acquire lock;
    train_(target, to_array(chosen, models()));
    clock.lap(Phase::train);
  }

  void answer(int i, const double* x, double* out) override {
    const nb::gil_scoped_acquire lock;
    answer_(i, to_array(x, features_));
    output(i, out);
  }

 private:
  nb::object look_, train_, answer_;
  int features_ = 0;
  Out2<double> outputs_;
  Out1<std::int32_t> favoured_;  // the predicted class of each model; -1 if its output is not finite
  Out1<std::uint8_t> active_;    // models that have not been disabled
};

}  // namespace

void bind_members(nb::module_& m) {
  nb::class_<MembersPool, Pool>(m, "MembersPool")
      .def(nb::init<nb::object, nb::object, nb::object>(), nb::arg("look"), nb::arg("train"), nb::arg("answer"))
      .def("fit",
           [](MembersPool& self, int features, Out2<double> outputs, Out1<std::int32_t> favoured,
              Out1<std::uint8_t> active) {
             writable(self)->fit(features, std::move(outputs), std::move(favoured), std::move(active));
           },
           nb::arg("features"), nb::arg("outputs"), nb::arg("favoured"), nb::arg("active"))
      .def("expect_readable", [](const MembersPool& self) { readable(self); })
      .def("expect_writable", [](const MembersPool& self) { writable(self); });
}

}  // namespace heros
