#include <nanobind/stl/optional.h>

#include <memory>
#include <optional>

#include "bind/bind.hpp"
#include "bind/arrays.hpp"
#include "bind/calls.hpp"
#include "core/check.hpp"
#include "core/step.hpp"

namespace heros {

namespace {

// A step with its Python objects. The garbage collector visits them here, as a policy may refer to the model that owns
// it. The lock of the step's pool protects the step and these objects.
class BoundStep {
 public:
  BoundStep(std::shared_ptr<Pool> pool, std::shared_ptr<Task> task, nb::object scores, nb::object policy, int k,
            nb::object bits, std::vector<double> costs, Answer answer, Watch watch, std::int64_t burst,
            std::int64_t warmup, std::optional<Surprise> surprise)
      : bits_(std::move(bits)) {
    const auto models = static_cast<std::size_t>(pool->models());
    std::shared_ptr<Scores> native;
    if (nb::try_cast(scores, means_) && means_ != nullptr) native = means_;
    else native = calls_ = std::make_shared<ScoreCalls>(std::move(scores), pool->models());
    expect(costs.size() == models && native->values().size() == models,
           "there must be one cost and one score per model");
    expect(all_of(costs, amount), "costs must be 0 or more");
    step_ = std::make_unique<Step>(std::move(pool), std::move(task), std::move(native),
                                   chooser(std::move(policy), k, static_cast<int>(models)), std::move(costs), answer,
                                   watch, burst, warmup);
    step_->set_surprise(surprise, random());
  }
  BoundStep(const BoundStep&) = delete;
  BoundStep& operator=(const BoundStep&) = delete;

  // Lock the step for reading or for changes. Python code called during a run may read the step.
  Held<Step, PoolReading> readable() { return {*step_, PoolReading(step_->pool())}; }
  Held<Step, PoolWorking> writable() { return {*step_, PoolWorking(step_->pool(), true)}; }
  // Whether the step calls Python code, so that Python's lock stays held during a run.
  bool locked() const { return policy_ != nullptr || calls_ != nullptr; }

  void set_policy(nb::object policy, int k, nb::object bits, std::int64_t watch, std::optional<Surprise> surprise) {
    const auto step = writable();
    expect((watch == Watch::kAll) == step->all_look() && watch >= Watch::kTrained, "watch must match the step");
    step->set_watch({watch});
    bits_ = std::move(bits);
    step->set_chooser(chooser(std::move(policy), k, step->models()));
    step->set_surprise(surprise, random());
  }

  void set_surprise(std::optional<Surprise> surprise) { step_->set_surprise(surprise, random()); }

  nb::dict state() {
    const auto step = readable();
    StateWriter writer;
    write_fields(step->ledger(), writer);
    if (means_ != nullptr) write_fields(*means_, writer);
    write_fields(step->answer(), writer);
    if (const Account* account = step->account()) write_fields(*account, writer);
    Prefixed<StateWriter> own{writer, "burst_"};
    if (step->burst().on()) write_fields(step->burst(), own);
    Prefixed<StateWriter> changed{writer, "changes_"};
    write_fields(step->changes(), changed);
    Prefixed<StateWriter> lost{writer, "lost_"};
    if (step->surprise()) write_fields(step->recent_loss(), lost);
    Prefixed<StateWriter> target{writer, "target_"};
    if (const Regression* task = regression()) write_fields(*task, target);
    Prefixed<StateWriter> inside{writer, "sets_"};
    if (const PredictionSets* known = sets()) write_fields(*known, inside);
    Prefixed<StateWriter> inputs{writer, "inputs_"}, targets{writer, "targets_"};
    if (step->inputs().on()) write_fields(step->inputs(), inputs);
    if (step->targets().on()) write_fields(step->targets(), targets);
    return writer.take();
  }
  // If the state does not fit, nothing changes. A score written in Python has already restored its own state.
  void restore(nb::dict state) {
    const auto step = writable();
    StateReader reader(std::move(state));
    Ledger ledger = step->ledger();
    ledger.fields(reader);
    ledger.check(step->models(), step->all_look());
    Answer answer = step->answer();
    answer.fields(reader);
    answer.check(step->models());
    Account account;
    if (step->account() != nullptr) {
      account = *step->account();
      account.fields(reader);
      account.check(step->models());
    }
    Burst burst = step->burst();
    Prefixed<StateReader> own{reader, "burst_"};
    if (burst.on()) burst.fields(own), burst.check();
    Changes changes = step->changes();
    Prefixed<StateReader> changed{reader, "changes_"};
    changes.fields(changed), changes.check();
    RecentLoss recent_loss;
    Prefixed<StateReader> lost{reader, "lost_"};
    if (step->surprise()) recent_loss.fields(lost), recent_loss.check();
    std::optional<Regression> task;
    Prefixed<StateReader> target{reader, "target_"};
    if (regression() != nullptr) task = *regression(), task->fields(target), task->check();
    PredictionSets inside;
    Prefixed<StateReader> known{reader, "sets_"};
    if (sets() != nullptr) inside = *sets(), inside.fields(known), inside.check();
    Ranges inputs = step->inputs(), targets = step->targets();
    Prefixed<StateReader> of_inputs{reader, "inputs_"}, of_targets{reader, "targets_"};
    if (inputs.on()) inputs.fields(of_inputs), inputs.check();
    if (targets.on()) targets.fields(of_targets), targets.check();
    if (means_ != nullptr) {
      MeanScores means = *means_;
      means.fields(reader);
      means.check(step->all_look());
      *means_ = std::move(means);
    } else {
      calls_->read();
    }
    if (task) *regression() = std::move(*task);
    if (sets() != nullptr) *sets() = std::move(inside);
    step->burst() = std::move(burst);
    step->changes() = std::move(changes);
    step->recent_loss() = recent_loss;
    step->inputs() = std::move(inputs);
    step->targets() = std::move(targets);
    if (step->account() != nullptr) *step->account() = std::move(account);
    step->set_ledger(std::move(ledger));
    step->set_answer(std::move(answer));
  }

  // The prediction sets, or nullptr if they are off.
  PredictionSets* sets() {
    auto* task = dynamic_cast<Classification*>(&step_->task());
    return task != nullptr && task->sets().on() ? &task->sets() : nullptr;
  }

  template <class Visit>
  int each_object(Visit visit) {
    if (const int stop = visit(bits_)) return stop;
    if (policy_ != nullptr)
      if (const int stop = visit(policy_->policy())) return stop;
    return calls_ == nullptr ? 0 : visit(calls_->score());
  }

 private:
  Regression* regression() { return dynamic_cast<Regression*>(&step_->task()); }

  Random random() const { return random_from(nb::cast<nb::capsule>(bits_.attr("capsule"))); }
  std::unique_ptr<Chooser> chooser(nb::object policy, int k, int models) {
    expect(k >= 1 && k <= models, "k must be in [1, M]");
    if (nb::isinstance<Policy>(policy)) {
      auto compiled = std::make_unique<PolicyChooser>(nb::cast<Policy>(policy), k, random());
      policy_ = nullptr;
      return compiled;
    }
    auto calls = std::make_unique<PolicyCalls>(std::move(policy), k);
    policy_ = calls.get();
    return calls;
  }

  nb::object bits_;
  std::shared_ptr<MeanScores> means_;  // one of means_ and calls_ is set
  std::shared_ptr<ScoreCalls> calls_;
  std::unique_ptr<Step> step_;
  PolicyCalls* policy_ = nullptr;  // the policy, if it is written in Python; owned by the step
};

int traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  if (!nb::inst_ready(self)) return 0;
  return nb::inst_ptr<BoundStep>(self)->each_object([&](nb::object& object) -> int {
    Py_VISIT(object.ptr());
    return 0;
  });
}
int clear(PyObject* self) {
  return nb::inst_ptr<BoundStep>(self)->each_object([](nb::object& object) {
    object.reset();
    return 0;
  });
}
PyType_Slot slots[] = {{Py_tp_traverse, reinterpret_cast<void*>(&traverse)},
                       {Py_tp_clear, reinterpret_cast<void*>(&clear)},
                       {0, nullptr}};

void expect_instances(const Step& step, const In2<double>& X) {
  expect(step.outputs() > 0, "the models must be bound to a schema");
  expect(X.shape(1) == static_cast<std::size_t>(step.features()), "the instances have the wrong shape");
}

void expect_delays(const In1<std::int64_t>& delays, std::size_t n) {
  expect(delays.size() == n && all_of(to_vector(delays), countable),
         "there must be one delay of 0 or more per instance");
}

// The results of a block (BlockRecord): outputs, answered, chosen, spent, reward.
using Block = std::tuple<Array<double, 2>, Array<std::int32_t, 1>, Array<bool, 2>, Array<double, 1>, Array<double, 1>>;
Block run(BoundStep& self, const In2<double>& X, const In1<double>& targets,
          const std::optional<In1<double>>& weights, const std::optional<In1<std::int32_t>>& times,
          const std::optional<In1<std::int64_t>>& delays) {
  const auto held = self.writable();
  Step& step = *held;
  const std::size_t n = X.shape(0), width = step.width(), models = step.models();
  expect_instances(step, X);
  expect(targets.size() == n, "there must be one target per instance");
  for (std::size_t t = 0; t < n; ++t)
    expect(step.task().fits(targets.data()[t], step.outputs()), "a target is invalid");
  std::vector<Weight> counting;
  if (weights) {
    expect(step.pool().weighs(), "the models must support weights");
    expect(times && weights->size() == n && times->size() == n, "there must be one weight per instance");
    for (std::size_t t = 0; t < n; ++t) counting.push_back({weights->data()[t], times->data()[t]});
    expect(all_of(counting, [](const Weight& w) { return amount(w.value) && w.times >= 0; }),
           "weights must be 0 or more");
  }
  if (delays) expect_delays(*delays, n);
  static_assert(sizeof(bool) == sizeof(std::uint8_t));
  NewArray<double, 2> said({n, width});
  NewArray<std::int32_t, 1> answered({n});
  NewArray<bool, 2> chosen({n, models});
  NewArray<double, 1> spent({n}), reward({n});
  const BlockRecord record{said.data(), answered.data(), reinterpret_cast<std::uint8_t*>(chosen.data()), spent.data(),
                           reward.data()};
  {
    std::optional<nb::gil_scoped_release> release;
    if (!self.locked()) release.emplace();
    step.run(X.data(), targets.data(), static_cast<std::int64_t>(n), record, weights ? counting.data() : nullptr,
             delays ? delays->data() : nullptr);
  }
  return {said.array(), answered.array(), chosen.array(), spent.array(), reward.array()};
}

Array<double, 2> predict(BoundStep& self, const In2<double>& X, const std::optional<In1<std::int64_t>>& delays) {
  const auto held = self.writable();
  Step& step = *held;
  expect_instances(step, X);
  if (delays) expect_delays(*delays, X.shape(0));
  const std::size_t n = X.shape(0), width = step.width();
  NewArray<double, 2> out({n, width});
  {
    const nb::gil_scoped_release release;
    for (std::size_t t = 0; t < n; ++t)
      step.predict(X.data() + t * X.shape(1), out.data() + t * width, delays ? delays->data()[t] : 0);
  }
  return out.array();
}

}  // namespace

void bind_step(nb::module_& m) {
  nb::class_<Task>(m, "Task");
  nb::class_<Classification, Task>(m, "Classification")
      .def("__init__",
           [](Classification* self, double level) {
             expect(level >= 0 && level < 1, "level must be in [0, 1)");
             new (self) Classification(level);
           },
           nb::arg("level") = 0.0);
  nb::class_<Regression, Task>(m, "Regression")
      .def("__init__",
           [](Regression* self, double level) {
             expect(level > 0 && level < 1, "level must be in (0, 1)");
             new (self) Regression(level);
           },
           nb::arg("level"));

  nb::class_<Answer>(m, "Answer")
      .def("__init__",
           [](Answer* self, const std::string& kind, int n, double sharpness, const std::vector<double>& rates,
              double sure) {
             expect(n >= 1 && amount(sharpness), "n must be 1 or more, and sharpness 0 or more");
             expect(!rates.empty() && all_of(rates, [](double rate) { return amount(rate) && rate <= 1; }) &&
                        amount(sure) && sure <= 1,
                    "rates and the probability must be in [0, 1]");
             new (self) Answer(named(Answer::kNames, kind, "unknown answer"), n, sharpness, rates, sure);
           },
           nb::arg("kind"), nb::arg("n") = 1, nb::arg("sharpness") = 0.0, nb::arg("rates") = std::vector<double>{0.0},
           nb::arg("sure") = 1.0);

  nb::class_<Surprise>(m, "Surprise")
      .def("__init__",
           [](Surprise* self, double sure, double share, double inside, double steady, double after) {
             expect(sure >= 0 && sure <= 1 && share >= 0 && share <= 1 && amount(inside) && steady >= 0 && steady <= 1 &&
                        amount(after),
                    "invalid settings of Surprise");
             new (self) Surprise{sure, share, inside, steady, after};
           },
           nb::arg("sure"), nb::arg("share"), nb::arg("inside"), nb::arg("steady") = 1.0,
           nb::arg("after") = 0.0);

  const auto column = [](auto member) {
    return [member](BoundStep& self) { return to_array(self.readable()->ledger().*member); };
  };
  nb::class_<BoundStep>(m, "Step", nb::type_slots(slots))
      .def("__init__",
           [](BoundStep* self, std::shared_ptr<Pool> pool, std::shared_ptr<Task> task, nb::object scores,
              nb::object policy, int k, nb::object bits, const In1<double>& costs, const Answer& answer,
              std::int64_t watch, std::int64_t burst, std::int64_t warmup, std::optional<Surprise> surprise) {
             expect(watch >= Watch::kTrained,
                    "watch must be -1 (trained models), 0 (all models) or a number of instances");
             expect(countable(burst), "burst must be 0 or more");
             new (self) BoundStep(std::move(pool), std::move(task), std::move(scores), std::move(policy), k,
                                  std::move(bits), to_vector(costs), answer, Watch{watch}, burst, warmup, surprise);
           },
           nb::arg("pool"), nb::arg("task"), nb::arg("scores"), nb::arg("policy"), nb::arg("k"), nb::arg("bits"),
           nb::arg("costs"), nb::arg("answer"), nb::arg("watch"), nb::arg("burst"), nb::arg("warmup"),
           nb::arg("surprise") = nb::none())
      .def("run", &run, nb::arg("X"), nb::arg("targets"), nb::arg("weights") = nb::none(),
           nb::arg("times") = nb::none(), nb::arg("delays") = nb::none())
      .def_prop_ro("weighs", [](BoundStep& self) { return self.readable()->pool().weighs(); })
      .def("predict", &predict, nb::arg("X"), nb::arg("delays") = nb::none())
      .def("set_policy", &BoundStep::set_policy, nb::arg("policy"), nb::arg("k"), nb::arg("bits"),
           nb::arg("watch"), nb::arg("surprise") = nb::none())
      .def("set_k",
           [](BoundStep& self, int k) {
             const auto step = self.writable();
             expect(k >= 1 && k <= step->models(), "k must be in [1, M]");
             step->set_k(k);
           })
      .def("set_effort",
           [](BoundStep& self, const In1<std::uint8_t>& awake, std::optional<Surprise> surprise, bool restored) {
             const auto step = self.writable();
             std::vector<std::uint8_t> mask = to_vector(awake);
             expect(mask.size() == static_cast<std::size_t>(step->models()) &&
                        all_of(mask, [](std::uint8_t flag) { return flag <= 1; }) &&
                        std::find(mask.begin(), mask.end(), 1) != mask.end(),
                    "the mask must have one flag per model, and at least one awake model");
             if (restored) step->restore_awake(std::move(mask));
             else step->set_awake(std::move(mask));
             self.set_surprise(surprise);
           },
           nb::arg("awake"), nb::arg("surprise") = nb::none(), nb::arg("restored") = false)
      .def_prop_ro("part_ticks", [](BoundStep& self) { return to_array(self.readable()->pool().ticks()); })
      .def("set_costs",
           [](BoundStep& self, const In1<double>& costs) {
             const auto step = self.writable();
             expect(costs.size() == static_cast<std::size_t>(step->models()), "there must be one cost per model");
             expect(all_of(to_vector(costs), amount), "costs must be 0 or more");
             step->set_costs(to_vector(costs));
           })
      .def("set_bounded",
           [](BoundStep& self, const In1<std::uint8_t>& numeric) {
             const auto step = self.writable();
             expect(numeric.size() == static_cast<std::size_t>(step->features()),
                    "the mask must have one entry per feature");
             step->set_bounded(to_vector(numeric));
           },
           nb::arg("numeric"))
      .def_prop_ro("instances", [](BoundStep& self) { return self.readable()->ledger().instances; })
      .def_prop_ro("scores", [](BoundStep& self) { return to_array(self.readable()->scores().values()); })
      .def_prop_ro("stack", [](BoundStep& self) { return to_array(self.readable()->answer().stack.weights()); })
      .def_prop_ro("chosen_from", [](BoundStep& self) { return to_array(self.readable()->chosen_from()); })
      .def_prop_ro("bounds",
                   [](BoundStep& self) {
                     const auto step = self.readable();
                     const std::vector<double>* bounds = step->bounds();
                     return bounds == nullptr ? std::nullopt : std::optional(to_array(*bounds));
                   })
      .def_prop_ro("sets",
                   [](BoundStep& self) {  // threshold, number of instances, number of correct sets, sum of sizes
                     const auto step = self.readable();
                     const PredictionSets* sets = self.sets();
                     std::vector<double> told;
                     if (sets != nullptr)
                       told = {sets->threshold(), double(sets->instances()), double(sets->held()), sets->sizes()};
                     return to_array(told);
                   })
      .def_prop_ro("changes",
                   [](BoundStep& self) {
                     using Numbers = Array<double, 1>;
                     std::vector<std::tuple<Numbers, Numbers, Numbers>> events;
                     const auto step = self.readable();
                     for (const ChangeEvent& event : step->changes().events())
                       events.emplace_back(to_array(event.numbers), to_array(event.classes), to_array(event.scores));
                     return events;
                   })
      .def_prop_ro("last_alarm",  // the instance of the last change of the ensemble's error; 0 if there was no change
                   [](BoundStep& self) {
                     const auto step = self.readable();
                     const auto& events = step->changes().events();
                     for (auto event = events.rbegin(); event != events.rend(); ++event)
                       if (event->numbers[0] < 0) return std::int64_t(event->numbers[1]);
                     return std::int64_t{0};
                   })
      .def_prop_ro("expected", [](BoundStep& self) { return self.readable()->expected(); })
      .def_prop_ro("explored", [](BoundStep& self) { return self.readable()->explored(); })
      .def_prop_ro("costs", column(&Ledger::costs))
      .def_prop_ro("looked", [](BoundStep& self) { return to_array(self.readable()->ledger().looks_of_each()); })
      .def_prop_ro("trained", column(&Ledger::trained))
      .def_prop_ro("invested", column(&Ledger::invested))
      .def_prop_ro("diverged", column(&Ledger::diverged))
      .def_prop_ro("cpu_seconds", column(&Ledger::cpu))
      .def("state", &BoundStep::state)
      .def("restore", &BoundStep::restore, nb::arg("state"));

  m.def("phases", [] { return std::vector<std::string>(kPhaseNames.begin(), kPhaseNames.end()); });

  m.def("first_fault",
        [](const In2<double>& X, const In1<std::int32_t>& values, const In1<std::uint8_t>& missing) {
          expect(X.shape(1) == values.size() && values.size() == missing.size(), "the block has the wrong shape");
          const FirstFault f =
              first_fault(X.data(), static_cast<std::int64_t>(X.shape(0)), to_vector(values), to_vector(missing));
          return std::make_tuple(static_cast<int>(f.fault), f.row, f.column);
        },
        nb::arg("X"), nb::arg("values"), nb::arg("missing"));
}

}  // namespace heros
