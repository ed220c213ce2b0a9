"""A pace: k follows what instances cost, by a clock of the test's; what was chosen is kept, and can be replayed."""

from __future__ import annotations

import copy
import pickle
import warnings

import numpy as np
import pytest

from heros import Heros, evaluate, policies, pools, streams
from heros.ensemble import pacing
from heros.errors import DataError, HerosError, ParameterError
from heros.policies import Cand, Explore, Within, Zeta
from heros.policies.pace import STRETCH, Pace
from member_cases import Majority, Nearest
from test_ensemble import SMALL, InPython, data, drifting, equal_state, same

MODELS = pools.Models([Majority(0.9), Nearest(0), Nearest(1), Nearest(2), Nearest(4)], costs=[1] * 5)


@pytest.fixture
def clock(monkeypatch):
    """A step takes 10 µs and 4 µs more for every model that is trained; so much slower, if told to be."""

    def seconds(step):
        return 1e-6 * (10 * step.instances + 4 * int(step.trained.sum())) * seconds.slower

    seconds.slower = 1.0
    monkeypatch.setattr(pacing, "seconds_of", seconds)
    return seconds


def paced(budget=30.0, policy=None, k=10, pool=SMALL, **settings):
    policy = policies.Random() if policy is None else policy
    settings = {"watch": "trained", "warmup": 0, "seed": 3, "schema": drifting(10).schema, **settings}
    return Heros(pool, Within(policy, microseconds=budget), k, **settings)


def test_the_cost_stays_inside_the_budget(clock):
    X, y = data(6000)
    model = paced(30.0).learn(X, y)  # 10 + 4·5 = 30
    assert model.pace.ks[0] == 10  # nothing is known yet
    assert set(model.pace.ks[15:]) <= {4, 5}
    np.testing.assert_allclose(model.pace.costs, 10.0 + 4 * model.pace.ks[:-1])
    assert (
        26 <= 1e6 * clock(model._learner.step) / model.instances <= 30.0 * 1.01
    )  # what was too much is paid back
    rich = paced(1000.0).learn(X[:2000], y[:2000])
    assert set(rich.pace.ks) == {10}  # never more than the ensemble's k


def test_it_follows_a_machine_that_becomes_slower(clock):
    X, y = data(6000)
    model = paced(30.0).learn(X[:3000], y[:3000])
    before = 1e6 * clock(model._learner.step)
    rest = Heros(SMALL, policies.Random(), 10, seed=3, schema=drifting(10).schema)
    assert model.pace.k in {4, 5}
    clock.slower = 2.0
    model.pace._start = (
        model.pace._start[0],
        2 * before,
        model.pace._start[2],
    )  # as if it had been slow before
    model.learn(X[3000:], y[3000:])
    assert set(model.pace.ks[-5:]) == {1}  # 2·(10 + 4) = 28
    assert rest.pace is None


@pytest.mark.parametrize("pool", [SMALL, MODELS], ids=["mlp", "models"])
@pytest.mark.parametrize("policy", [Explore(Zeta(0.05), 0.2), InPython(Cand()), policies.MLCB(0.3)], ids=str)
def test_replaying_its_choices_gives_the_same_model_bit_for_bit(pool, policy):
    """By the real clock, whatever it says."""
    X, y = data(1500)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # this machine may be too slow
        measured = paced(15.0, copy.deepcopy(policy), 4, pool, warmup=100)
        block = measured.test_then_train(X, y)
        within = Within(copy.deepcopy(policy), microseconds=15.0, replay=measured.pace.ks)
        settings = {"watch": "trained", "warmup": 100, "seed": 3, "schema": drifting(10).schema}
        again = Heros(pool, within, 4, **settings)
        for start in range(0, 1500, 70):  # however blocks are cut
            again.learn(X[start : start + 70], y[start : start + 70])
    assert again.pace.ks.tolist() == measured.pace.ks.tolist()
    assert len(measured.pace.ks) == -(-1500 // STRETCH)
    assert np.array_equal(again.scores, measured.scores)
    assert np.array_equal(again.trained, measured.trained)
    if pool is SMALL:
        assert equal_state(again, measured)
    ks = np.repeat(measured.pace.ks, STRETCH)[:1500]
    assert (block.chosen.sum(axis=1)[100:] == ks[100:]).all()


def test_a_wide_enough_pace_is_the_policy_alone(clock):
    X, y = data(900)
    policy = Explore(Zeta(0.05), 0.2)
    alone = Heros(SMALL, policy, 5, watch="trained", warmup=0, seed=3, schema=drifting(10).schema)
    assert same(paced(1e6, policy, 5).test_then_train(X, y), alone.test_then_train(X, y))


@pytest.mark.parametrize("how", ["pickle", "deepcopy", "file"])
def test_copies_and_files_keep_it_in_mid_stretch(clock, how, tmp_path):
    X, y = data(3000)
    whole = paced(33.0).learn(X, y)
    model = paced(33.0).learn(X[:1130], y[:1130])
    if how == "file":
        model.save(tmp_path / "model")
        again = Heros.load(tmp_path / "model")
    else:
        again = copy.deepcopy(model) if how == "deepcopy" else pickle.loads(pickle.dumps(model))
    assert again.policy == model.policy
    again.learn(X[1130:], y[1130:])
    assert again.pace.ks.tolist() == whole.pace.ks.tolist()
    assert again.pace.costs.tolist() == whole.pace.costs.tolist()
    assert equal_state(again, whole)


def test_a_run_that_goes_on_from_a_checkpoint_ends_the_same(clock, tmp_path):
    def made():
        return paced(33.0, Explore(Zeta(0.05), 0.2), schema=None)

    whole = made()
    evaluate(whole, streams.Agrawal(function=2).take(3000))
    kept = {"checkpoint": tmp_path, "every": 700}
    evaluate(made(), streams.Agrawal(function=2).take(1500), **kept)
    model = made()
    evaluate(model, streams.Agrawal(function=2).take(3000), **kept, resume=True)
    assert model.pace.ks.tolist() == whole.pace.ks.tolist()
    assert set(model.pace.ks) != {10}
    assert equal_state(model, whole)


def test_a_budget_that_cannot_be_met_is_a_warning_with_both_figures(clock):
    X, y = data(2000)
    model = paced(12.0, k=3)
    with pytest.warns(RuntimeWarning) as caught:
        model.learn(X, y)
    assert [str(w.message) for w in caught] == [
        "The 'microseconds' parameter of Within is 12, but an instance takes 14 even with k = 1."
    ]
    assert model.instances == 2000


def test_a_budget_in_joules_is_read_from_a_meter():
    X, y = data(1000)
    policy = Within(policies.Random(), joules=1e3, meter="cpu")
    model = Heros(SMALL, policy, 3, seed=1, schema=drifting(1).schema).learn(X, y)
    assert (model.pace.costs > 0).all()
    assert set(model.pace.ks) == {3}
    scarce = Within(policies.Random(), joules=1e-12, meter="cpu")
    poor = Heros(SMALL, scarce, 3, warmup=0, seed=1, schema=drifting(1).schema)
    with pytest.warns(
        RuntimeWarning, match="The 'joules' parameter of Within is 1e-12, but an instance takes"
    ):
        poor.learn(X, y)
    unread = Within(policies.Random(), joules=1.0, meter="abacus")
    with pytest.raises(HerosError):
        Heros(SMALL, unread)


def test_it_explains_itself_with_the_k_it_chose(clock):
    X, y = data(3000)
    model = paced(30.0, Explore(Zeta(0.05), 0.0), watch=8).learn(X, y)
    explanation = model.explain_choice()
    assert len(explanation) == model.pace.k < 10
    assert explanation.rule.startswith("Zeta(0.05) chose")


def test_another_k_or_policy_in_mid_stream(clock):
    X, y = data(3000)
    model = paced(1000.0).learn(X[:1000], y[:1000])
    model.k = 4
    model.learn(X[1000:2000], y[1000:2000])
    assert set(model.pace.ks[5:]) == {4}
    model.policy = policies.Random()
    assert model.pace is None
    assert set(model.test_then_train(X[2000:], y[2000:]).chosen.sum(axis=1)) == {4}


def test_a_broken_state_is_refused():
    pace = Pace(Within(Cand(), microseconds=10), models=5)
    pace.begin(0, 0.0, 0, most=3)
    good = pace.state()
    for broken in (
        {}, good | {"ks": np.array([6])}, good | {"ks": np.array([0.5])}, good | {"numbers": np.zeros(3)},
        good | {"costs": np.ones(2)}, good | {"costs": np.array([np.nan])},
    ):  # fmt: skip
        with pytest.raises(DataError, match=r"state of a pace|of a pace must be finite"):
            Pace(Within(Cand(), microseconds=10), models=5).restore(broken)
    Pace(Within(Cand(), microseconds=10), models=5).restore(good)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Within(Cand()), "The 'microseconds' parameter of Within must be given, or 'joules' instead. Got (None, None) instead."),
        (lambda: Within(Cand(), 1.0, 1.0), "The 'microseconds' parameter of Within must be given, or 'joules' instead. Got (1.0, 1.0) instead."),
        (lambda: Within(Cand(), 0), "The 'microseconds' parameter of Within must be a number > 0. Got 0 instead."),
        (lambda: Within(Cand(), joules=-1), "The 'joules' parameter of Within must be a number >= 0. Got -1 instead."),
        (lambda: Within(Cand(), 1.0, replay=[3, 0]), "The 'replay' parameter of Within must be a whole number >= 1. Got 0 instead."),
        (lambda: Within(Cand(), 1.0, replay=3), "The 'replay' parameter of Within must be a list of values of k. Got 3 instead."),
        (lambda: Within(policies.Everything(), 1.0), "The 'policy' parameter of Within must be a policy that uses k. Got Everything() instead."),
        (lambda: Within(Within(Cand(), 1.0), 1.0), "The 'policy' parameter of Within must be a policy without another Within. Got Within(policy=Cand(), microseconds=1.0, joules=None, meter='rapl', replay=()) instead."),
        (lambda: Explore(Within(Cand(), 1.0), 0.1), "The 'policy' parameter of Explore must be a policy without a Within, which must be outside. Got Within(policy=Cand(), microseconds=1.0, joules=None, meter='rapl', replay=()) instead."),
    ],
)  # fmt: skip
def test_errors(make, message):
    with pytest.raises(ParameterError) as error:
        make()
    assert str(error.value) == message
