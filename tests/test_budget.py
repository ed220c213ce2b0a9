"""A budget: the cost stays within it by a simulated clock, models pause and resume, and state is saved."""

from __future__ import annotations

import copy
import json
import pickle
import warnings

import numpy as np
import pytest
from typer.testing import CliRunner

from heros import DataError, Heros, ParameterError, evaluate, meters, policies, pools, streams
from heros.cli import app
from heros.ensemble import dial
from heros.ensemble.budget import SpendingLimit
from heros.ensemble.dial import Clock, Dial
from heros.ensemble.keyed import Keyed
from heros.ensemble.late import LateLabels
from test_ensemble import equal_state

STREAM = streams.Agrawal(function=2)
SCHEMA = STREAM.schema
PRICES = np.array([1.0, 2.0, 4.0, 20.0])  # microseconds of an evaluation, and of a training step


def pool():
    """Return four models in three parts; the forest is the most expensive model."""
    return pools.Join(
        pools.NaiveBayes([{}]),
        pools.MLP([{"hidden": 8}, {"hidden": 16}]),
        pools.Forest([{"trees": 3}]),
        costs=[1, 2, 4, 20],
    )


class Simulated(Clock):
    """A clock that gives each model a fixed cost, independent of the machine."""

    part = np.array([0, 1, 1, 2])

    def __init__(self, prices=PRICES):
        self.prices, self.time = np.asarray(prices, dtype=np.float64), 0.0

    def spent(self, step):
        return 1e-6 * np.array([step.looked @ self.prices, step.trained @ self.prices])

    def parts(self, step):
        each = np.array([step.looked * self.prices, step.trained * self.prices])
        return np.stack(
            [each[:, self.part == p].sum(axis=1) for p in range(4)], axis=1
        )  # part 3 has no models

    def now(self):
        return self.time


def budgeted(budget, clock=None, **settings):
    settings = {"policy": policies.Everything(), "seed": 3, "schema": SCHEMA, **settings}
    model = Heros(pool(), budget=budget, **settings)
    model.dial.clock = Simulated() if clock is None else clock
    return model


def data(n, seed=1):
    stream = streams.Agrawal(function=2, seed=seed)
    return stream.draw(n)


def cost(model, since=0.0, instances=0):
    """Return the microseconds per instance by the simulated clock, without the first instances."""
    total = 1e6 * model.dial.clock.spent(model._learner.step).sum()
    return (total - since) / (model.instances - instances)


@pytest.mark.parametrize("asked", [3.0, 5.0, 9.0, 20.0, 30.0])
def test_the_cost_stays_inside_the_budget(asked):
    model = budgeted(f"{asked} us").learn(*data(20_000))
    assert 0.4 * asked < cost(model) < 1.05 * asked  # less, if the next model would exceed the budget
    assert model.dial.as_dict()["asked"] == f"{asked} us"
    assert float(model.dial.used.split()[0]) == pytest.approx(cost(model), rel=0.05)


def test_models_that_the_budget_cannot_feed_sleep():
    model = budgeted("10 us").learn(*data(10_000))
    assert model.asleep.tolist()[3]
    looked = model.evaluated
    assert looked[0] == 10_000
    assert looked[3] < 1000  # never, except at the start
    assert model.trained[3] <= looked[3]
    forest = copy.deepcopy(model.bound.state())
    model.learn(*data(200, seed=2))
    after = model.bound.state()
    assert all(np.array_equal(after[name], forest[name]) for name in forest if name.startswith("2_"))


def test_there_is_room_for_all_where_the_budget_is_wide():
    X, y = data(3000)
    model = budgeted("1 ms").learn(X, y)
    free = Heros(pool(), policies.Everything(), 4, seed=3, schema=SCHEMA).learn(X, y)
    assert not model.asleep.any()
    assert model.dial.effort == 1
    assert np.array_equal(model.predict_proba(X[:50]), free.predict_proba(X[:50]))


def test_sleeping_models_wake_when_the_machine_becomes_faster():
    clock = Simulated()
    model = budgeted("26 us", clock).learn(*data(5000))
    assert model.asleep[3]
    model.dial.clock = Faster(clock.spent(model._learner.step), model._learner.step)
    model.learn(*data(20_000, seed=2))
    assert not model.asleep[3]


class Faster(Simulated):
    """A machine that becomes twice as fast."""

    def __init__(self, before, step):
        super().__init__(PRICES / 2)
        self.before, self.then = before, super().spent(step)

    def spent(self, step):
        return self.before + super().spent(step) - self.then


def test_a_sleeping_model_is_tried_when_the_awake_ones_get_worse():
    one = Dial(SpendingLimit.of("10 us"), [1, 1, 1], ["a", "b", "c"])
    everyone = np.ones(3, dtype=bool)
    one.prices.note(everyone, np.array([1.2e-5, 1.2e-5]), np.ones((2, 4)) * [1, 1, 1, 0], np.ones(3))
    one.trust[:] = 1e6
    one._choose(np.array([0.9, 0.9, 0.5]), 1.5e-5)  # two models fit into the budget
    assert one.awake.tolist() == [True, True, False]
    one._choose(np.array([0.9, 0.6, 0.5]), 1.5e-5)
    assert one.awake.tolist() == [True, True, False]
    one._choose(np.array([0.55, 0.6, 0.5]), 1.5e-5)  # the best model has become worse: another model is tried
    assert one.awake.tolist() == [False, True, True]


def test_the_floor_is_named_with_its_figure():
    model = budgeted("500 ns")
    with pytest.warns(RuntimeWarning) as caught:
        model.learn(*data(4000))
    assert len(caught) == 1
    text = str(caught[0].message)
    assert text.startswith(
        "The 'budget' parameter of Heros is 500 ns, but the cheapest model alone (naive Bayes) takes "
    )
    assert model.asleep.tolist() == [False, True, True, True]
    told = model.dial.as_dict()
    assert (
        1000 <= float(told["floor"].split()[0]) <= 1200
    )  # evaluated on all instances, trained on one in ten
    assert 1000 <= float(text.partition(" takes ")[2].split()[0]) <= 1200


@pytest.mark.parametrize("how", ["pickle", "deepcopy", "file"])
@pytest.mark.parametrize("at", [1130, 2000])
def test_copies_and_files_go_on_as_if_nothing_had_happened(how, at, tmp_path):
    X, y = data(5000)
    whole = budgeted("10 us", answer=None).learn(X, y)
    model = budgeted("10 us").learn(X[:at], y[:at])
    if how == "file":
        model.save(tmp_path / "model")
        again = Heros.load(tmp_path / "model")
        again.dial.clock = Simulated()
    else:
        again = copy.deepcopy(model) if how == "deepcopy" else pickle.loads(pickle.dumps(model))
    assert again.budget == "10 us"
    assert again.asleep.tolist() == model.asleep.tolist()
    assert np.array_equal(again.predict_proba(X[:20]), model.predict_proba(X[:20]))
    again.learn(X[at:], y[at:])
    assert again.dial.as_dict() == whole.dial.as_dict()
    assert again.asleep.tolist() == whole.asleep.tolist()
    assert np.array_equal(again.predict_proba(X[:20]), whole.predict_proba(X[:20]))


def test_a_run_that_goes_on_from_a_checkpoint_keeps_its_budget(tmp_path, monkeypatch):
    monkeypatch.setattr(dial, "Clock", Simulated)

    def made():
        return budgeted("9 us", schema=None)

    whole, model = made(), made()
    run = evaluate(whole, streams.Agrawal(function=2).take(5000))
    kept = {"checkpoint": tmp_path, "every": 1000}
    evaluate(made(), streams.Agrawal(function=2).take(2500), **kept)
    again = evaluate(model, streams.Agrawal(function=2).take(5000), **kept, resume=True)
    assert model.dial.as_dict() == whole.dial.as_dict()
    assert again.settings["dial"] == run.settings["dial"] == whole.dial.as_dict()
    assert "limit 9 us" in str(run)


def test_blocks_may_be_cut_anyhow():
    X, y = data(3000)
    whole, pieces = budgeted("9 us").learn(X, y), budgeted("9 us")
    for start in range(0, 3000, 70):
        pieces.learn(X[start : start + 70], y[start : start + 70])
    assert equal_state(whole, pieces)
    assert whole.dial.as_dict() == pieces.dial.as_dict()


def test_a_follower_predicts_with_the_models_that_are_awake():
    X, y = data(4000)
    model = budgeted("9 us").learn(X[:1000], y[:1000])
    follower = copy.deepcopy(model)
    follower.follow(model.learn(X[1000:], y[1000:]))
    assert follower.asleep.tolist() == model.asleep.tolist()
    assert np.array_equal(follower.predict_proba(X[:20]), model.predict_proba(X[:20]))


def test_keys_and_late_labels_have_a_budget_each():
    X, y = data(1500)
    with Keyed(
        Heros(pool(), budget="9 us", seed=3, schema=SCHEMA), capacity=1
    ) as keyed:  # others are on disk
        for start in range(0, 1500, 500):
            for key in ("a", "b"):
                keyed.learn(key, X[start : start + 500], y[start : start + 500])
        assert all(keyed[key].dial.instances >= 1200 for key in ("a", "b"))
    late = LateLabels(budgeted("9 us"))
    for i in range(300):
        late.answer(i, X[i])
    for i in range(300):
        late.learn(i, int(y[i]))
    assert late.model.dial.instances >= 200


def test_inspection_says_who_sleeps():
    model = budgeted("9 us").learn(*data(5000))
    board = model.leaderboard()
    assert [row.asleep for row in sorted(board, key=lambda row: row.model)] == model.asleep.tolist()
    assert "(asleep)" in repr(board)
    n = int(model.asleep.sum())
    assert model.explain_choice().rule.endswith(f"; {n} models sleep to stay within the budget")
    assert {choice.model for choice in model.explain_choice()}.isdisjoint(
        np.flatnonzero(model.asleep).tolist()
    )


def test_a_power_is_shared_by_the_instances_that_arrive():
    """At 5 W of 10 W per core, an instance may take 5 µs at one arrival per 10 µs, and twice that at half the rate."""
    clock = Simulated()
    model = budgeted("5 W", clock)
    object.__setattr__(model.dial.budget, "watts", 10.0)
    X, y = data(30_000)
    for start in range(0, 30_000, 20):
        clock.time += 20 * (10e-6 if start < 15_000 else 20e-6)
        if start == 15_000:
            first = 1e6 * clock.spent(model._learner.step).sum()
        model.learn(X[start : start + 20], y[start : start + 20])
    assert 4.2 < first / 15_000 < 5.25
    assert 8.4 < cost(model, first, 15_000) < 10.5


@pytest.mark.parametrize("answer", ["best", "average", "weighted", "stack"])
@pytest.mark.parametrize("watch", ["all", "trained", 8])
def test_every_way_to_predict_and_to_watch_keeps_to_the_awake(answer, watch):
    from heros import Stack  # noqa: PLC0415

    chosen = Stack() if answer == "stack" else answer
    policy = policies.Explore(policies.Zeta(0.05), 0.2)
    model = budgeted("6 us", answer=chosen, watch=watch, policy=policy, k=2).learn(*data(4000))
    model.learn(*data(20, seed=5))  # the awake models are chosen at the first of these instances
    before, asleep = model.evaluated, model.asleep
    assert asleep.any()
    model.learn(*data(100, seed=6))
    assert (model.evaluated[asleep] == before[asleep]).all()
    assert np.isfinite(model.predict_proba(data(10)[0])).all()


def test_regression_has_a_budget():
    stream = streams.Friedman(seed=2)
    X, y = stream.draw(4000)
    model = Heros(budget="30 us", seed=1, schema=stream.schema)
    model.dial.clock = AllAlike()
    model.learn(X, y)
    assert 1e6 * sum(model.dial.clock.spent(model._learner.step)) / 4000 == pytest.approx(30, rel=0.1)
    assert np.isfinite(model.predict(X[:5])).all()


class AllAlike(Clock):
    """A clock by which every model takes 3 µs to evaluate and 3 µs to train."""

    def spent(self, step):
        return 3e-6 * np.array([step.looked.sum(), step.trained.sum()], dtype=np.float64)

    def parts(self, step):
        return np.zeros((2, 0))


@pytest.mark.parametrize(
    ("text", "kind", "seconds"),
    [
        ("20 us", "time", 2e-5), ("20us", "time", 2e-5), ("20 µs", "time", 2e-5), ("1.5 ms", "time", 1.5e-3),
        ("0.4 mJ", "energy", 4e-5), ("5 W", "power", 0.5), ("3600 J/h", "power", 0.1), ("1 kJ/day", "power", 1e3 / 86400 / 10),
    ],
)  # fmt: skip
def test_budgets_are_read(text, kind, seconds):
    budget = SpendingLimit.of(text, watts=10.0)
    assert (budget.kind, budget.seconds) == (kind, pytest.approx(seconds))
    assert str(budget) == text
    assert budget.shown(budget.seconds).split()[0] == f"{float(budget.shown(budget.seconds).split()[0]):.3g}"


@pytest.mark.parametrize(
    "text", ["", "20", "us", "-3 us", "0 us", "nan us", "5 W/h", "20 us/h", "1e999 s", 20, True]
)
def test_what_is_no_budget_is_refused(text):
    with pytest.raises(ParameterError) as error:
        Heros(budget=text)
    assert str(error.value) == (
        "The 'budget' parameter of Heros must be a CPU time or an energy per instance, e.g. '20 us' or '0.4 mJ', or "
        f"a power, e.g. '5 W' or '500 J/h'. Got {text!r} instead."
    )


def test_a_broken_state_is_refused():
    model = budgeted("9 us").learn(*data(1000))
    good = model.dial.state()
    for broken in (
        {}, good | {"awake": np.zeros(4)}, good | {"awake": np.full(4, 0.5)}, good | {"trust": np.zeros(3)},
        good | {"numbers": np.full_like(good["numbers"], np.nan)}, good | {"look": np.full(3, -1.0)},
        good | {"shared": np.full(3, np.inf)},
    ):  # fmt: skip
        with pytest.raises(DataError, match="The state of a budget must"):
            budgeted("9 us").dial.restore(broken)
    budgeted("9 us").dial.restore(good)


def test_the_same_budget_for_the_drop_ins():
    river, sklearn = (
        pytest.importorskip("heros.integrations.river"),
        pytest.importorskip("heros.integrations.sklearn"),
    )
    X, y = data(300)
    model = river.HerosClassifier(budget="20 us", seed=1)
    for row, label in zip(X[:300].tolist(), y.tolist(), strict=True):
        model.learn_one(dict(zip("abcdefghi", row, strict=True)), label)
    assert model.heros.budget == "20 us"
    assert model.heros.dial.instances >= 200
    assert sklearn.HerosClassifier(budget="20 us").get_params()["budget"] == "20 us"


def test_a_budget_is_part_of_the_name_of_a_run():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # this machine may be too slow
        run = evaluate(Heros(pool(), budget="20 us", seed=1), streams.load("agr_a").take(500))
    from heros.run import records  # noqa: PLC0415

    assert "-budget_20_us" in records.run_id(run)
    assert run.settings["budget"] == "20 us"


def test_the_stated_watts_of_a_core_reach_budgets_and_meters(monkeypatch):
    monkeypatch.setenv("HEROS_WATTS", "2.5")
    assert SpendingLimit.of("5 mJ").seconds == 0.002
    assert meters.Cpu().watts == 2.5
    assert meters.Cpu(watts=4).watts == 4
    for wrong in ("0", "many", "inf"):
        monkeypatch.setenv("HEROS_WATTS", wrong)
        with pytest.raises(ParameterError, match=f"'HEROS_WATTS' .* a number > 0. Got '{wrong}' instead"):
            SpendingLimit.of("5 mJ")


def test_watts_on_the_command_line_reach_a_budget():
    ran = CliRunner().invoke(
        app, ["run", "agr_a", "--n", "300", "--watts", "2", "--budget", "2 mJ", "--json"]
    )
    assert ran.exit_code == 0, ran.output
    dial = json.loads(ran.stdout)["settings"]["dial"]
    assert float(dial["used"].split()[0]) == pytest.approx(2000 * dial["seconds_per_instance"], rel=0.01)


@pytest.mark.parametrize("text", ["1e-320 ns", "1e-310 W", "1e308 kW", "1e308 kJ/h", "1e20 s"])
def test_budgets_beyond_what_can_be_counted_are_refused(text):
    with pytest.raises(ParameterError, match="at least 1e-15 and at most"):
        SpendingLimit.of(text)
