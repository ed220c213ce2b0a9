"""Heros: order of a step, Python and compiled code, single instances and blocks, state, errors."""

from __future__ import annotations

import copy
import pickle
import re
import threading
from dataclasses import replace
from operator import attrgetter

import numpy as np
import pytest

import heros
import reference
from heros import (
    DataError,
    Feature,
    Heros,
    HerosError,
    ParameterError,
    Schema,
    policies,
    pools,
    scores,
    streams,
)
from heros._base.registry import parts
from heros.ensemble.heros import ELSEWHERE

SMALL = pools.MLPGrid(hidden=[4, 16, 64], learning_rates=[0.05, 0.005])  # 12 models
K = 5
MANY = 10_000  # instances of the longest test with --all; fewer for the pools of other files
NUMERIC = False  # whether the target is numeric: test_regression_contract.py runs these tests for regression
EVERY_POLICY = [
    policies.Random(),
    policies.PerformBest(),
    policies.PerformWorst(),
    policies.Cheapest(),
    policies.Expensive(),
    policies.Cand(),
    policies.CandAsPublished(),
    policies.Zeta(0.05),
    policies.Explore(policies.Zeta(0.05), 0.2),
    policies.Explore(policies.PerformBest(), 0.1),
    policies.Reward(1.0),
    policies.Budget(0.3),
    policies.Everything(),
    policies.MLCB(0.2, 0.999),
    policies.Surprise(policies.Cand(), 0.7, 0.2),
    policies.Surprise(policies.Zeta(0.05)),
]
EVERY_POLICY += [kind() for kind in parts("policy").values() if kind not in map(type, EVERY_POLICY)]


class InPython:
    """A policy that the core does not know, which chooses like a built-in policy."""

    def __repr__(self):  # the name of a test must be the same in all processes
        return type(self).__name__

    def __init__(self, policy):
        self.policy = reference.stateful(policy)
        if hasattr(self.policy, "update"):
            self.update = self.policy.update

    def choose(self, scores, costs, k, rng):
        return self.policy.choose(scores, costs, k, rng)


def in_python(policy):
    """Return the policy in Python; the policy does not decide whether an instance is trained on at all."""
    if isinstance(policy, policies.Surprise):
        return replace(policy, policy=InPython(policy.policy))
    return InPython(policy)


def drifting(n, seed=1):
    before, after = streams.Agrawal(function=2, seed=seed), streams.Agrawal(function=4, seed=seed)
    if NUMERIC:
        before, after = before.with_target("hvalue"), after.with_target("hvalue")
    return streams.Drift(before, after, position=n // 2, width=1).take(n)


def schema_of(features, classes):
    return Schema.of(features, None if NUMERIC else classes)


def data(n):
    return drifting(n).draw(n)


def same(a, b):
    return all(np.array_equal(getattr(a, name), getattr(b, name)) for name in a.__slots__)


def learnt(model):
    return [model.bound.state(), model._learner.step.state(), model.rng.bit_generator.state]


def equal_state(a, b):
    (pa, ea, ra), (pb, eb, rb) = learnt(a), learnt(b)
    timeless = {name for name in ea if name != "cpu"}
    return (
        ra == rb
        and all(np.array_equal(pa[name], pb[name], equal_nan=True) for name in pa)
        and all(np.array_equal(ea[name], eb[name]) for name in timeless)
    )


@pytest.mark.matrix
@pytest.mark.parametrize("policy", EVERY_POLICY, ids=str)
def test_a_policy_in_python_equals_the_compiled_one(policy, thorough):
    """Identical decisions and identical probabilities for the same seed, on 10,000 instances with --all."""
    X, y = data(MANY if thorough else 2000)
    schema = drifting(10).schema
    k = SMALL.n_models if isinstance(policy, policies.Everything) else K
    built_in = Heros(SMALL, policy, k, seed=3, schema=schema)
    own = Heros(SMALL, in_python(policy), k, seed=3, schema=schema)
    assert same(built_in.test_then_train(X, y), own.test_then_train(X, y))
    assert equal_state(own, built_in)  # the Python policy keeps its own account


@pytest.mark.parametrize("answer", ["best", "average", "weighted"])
def test_the_step(answer):
    """The loop in plain Python with the pool's parts: order, ties, warm-up, scores, costs, rewards."""
    X, y = data(400)
    schema = drifting(10).schema
    zeta = 0.05
    model = Heros(SMALL, policies.Zeta(zeta), K, answer=answer, warmup=20, seed=5, schema=schema)
    block = model.test_then_train(X, y)

    values = [len(f.values or ()) for f in schema.features]
    fresh = Heros(SMALL, k=K, seed=5, schema=schema)
    members = [
        reference.Perceptron(fresh.bound.weights(i), c["optimizer"], c["learning_rate"])
        for i, c in enumerate(SMALL.configurations)
    ]
    windows, L, gamma = [reference.Adwin() for _ in members], np.zeros(len(members)), model.costs
    agree, trained = 0, np.zeros(len(members), dtype=int)
    for t in range(len(X)):
        x = reference.encode(values, X[:t], X[t])
        p = np.array([member.forward(x) for member in members])
        if answer == "best":
            expected = p[int(np.argmax(L))]
            agree += block.answered[t] == int(np.argmax(L))
        else:
            weights = L if answer == "weighted" and L.any() else np.ones(len(L))
            expected = weights @ p / weights.sum()
            agree += block.answered[t] == -1
        if agree == t + 1:  # float32 and float64 may differ at a tie; up to there they agree
            np.testing.assert_allclose(block.probabilities[t], expected, atol=5e-3)
        L = np.array([w.update(float(q.argmax() == y[t])) for w, q in zip(windows, p, strict=True)])
        chosen = np.ones(len(L), dtype=bool) if t < 20 else reference.zeta(L, gamma, K, zeta)
        assert np.array_equal(chosen, block.chosen[t]), t
        assert block.spent[t] == pytest.approx(gamma[chosen].sum())
        assert block.reward[t] == pytest.approx((L + 1 - gamma)[chosen].sum())
        trained += chosen
        for member, is_chosen in zip(members, chosen, strict=True):
            if is_chosen:
                member.train(x, y[t])
    assert agree > 0.97 * len(X)
    assert np.array_equal(model.trained, trained)
    np.testing.assert_allclose(model.invested, trained * gamma)
    np.testing.assert_allclose(model.scores, L, atol=0.02)


@pytest.mark.parametrize("answer", ["best", "average"])
def test_one_at_a_time_equals_the_block(answer):
    """predict_proba then learn, with other predictions in between, equals test_then_train."""
    X, y = data(1500)
    schema = drifting(10).schema
    policy = policies.Explore(policies.Zeta(0.05), 0.2)
    whole = Heros(SMALL, policy, K, answer=answer, seed=7, schema=schema)
    block = whole.test_then_train(X, y)
    single = Heros(SMALL, policy, K, answer=answer, seed=7, schema=schema)
    for t in range(len(X)):
        if t % 3 == 0:
            single.answers(X[: 1 + t % 5])  # predictions change nothing
        p = single.answers(X[t])
        if t % 7 == 0:
            single.predict(X[t - 1])
        assert np.array_equal(p, block.probabilities[t]), t
        single.learn(X[t], y[t])
    assert equal_state(whole, single)


def test_warmup_trains_everything():
    X, y = data(300)
    block = Heros(
        SMALL, policies.Cheapest(), 1, warmup=123, seed=1, schema=drifting(10).schema
    ).test_then_train(X, y)
    assert block.chosen.sum(axis=1).tolist() == [12] * 123 + [1] * 177


def test_the_first_answer_is_the_first_models():
    """Before training, all scores are 0: ties go to the lowest index."""
    X, y = data(2)
    assert Heros(SMALL, seed=1, schema=drifting(10).schema).test_then_train(X, y).answered[0] == 0


@pytest.mark.matrix
@pytest.mark.parametrize(
    "copying",
    [lambda m: pickle.loads(pickle.dumps(m)), copy.deepcopy, copy.copy],
    ids=["pickle", "deepcopy", "copy"],
)
@pytest.mark.parametrize(
    "score", [scores.Adwin(), scores.Window(100), scores.Fading(), scores.Cumulative()], ids=repr
)
def test_a_copy_in_mid_stream_continues_bit_for_bit(copying, score):
    X, y = data(2000)
    model = Heros(
        SMALL, policies.Explore(policies.Cand(), 0.2), K, score=score, seed=2, schema=drifting(10).schema
    )
    model.learn(X[:777], y[:777])
    twin = copying(model)
    assert equal_state(model, twin)
    a, b = model.test_then_train(X[777:], y[777:]), twin.test_then_train(X[777:], y[777:])
    assert same(a, b)
    assert equal_state(model, twin)
    assert twin.instances == 2000


def test_a_copy_is_independent_and_an_unbound_one_can_be_copied():
    X, y = data(200)
    model = pickle.loads(pickle.dumps(Heros(SMALL, k=K, seed=2))).bind(drifting(10).schema)
    twin = copy.deepcopy(model)
    model.learn(X, y)
    assert twin.instances == 0
    assert twin.learn(X, y).scores.tolist() == model.scores.tolist()


def test_a_seed_fixes_everything_and_another_changes_it():
    X, y = data(500)

    def run(seed):
        model = Heros(SMALL, policies.Random(), K, seed=seed, schema=drifting(10).schema)
        return model.test_then_train(X, y)

    assert same(run(1), run(1))
    assert not np.array_equal(run(1).probabilities, run(2).probabilities)


def test_missing_values_are_taken_where_the_schema_has_them():
    features = (Feature("a", missing=True), Feature("b", ("x", "y", "z"), missing=True))
    model = Heros(SMALL, k=K, seed=1, schema=schema_of(features, ("no", "yes")))
    X = np.array([[1.0, 0], [np.nan, 1], [3.0, np.nan], [np.nan, np.nan]] * 20)
    block = model.test_then_train(X, [0, 1, 0, 1] * 20)
    assert np.isfinite(block.probabilities).all()


def test_growing_in_mid_stream():
    model = Heros(SMALL, k=K, seed=1, schema=schema_of(["a"], ["no", "yes"]))
    model.learn(np.arange(50.0)[:, None], np.arange(50) % 2)
    model.bind(schema_of(["a", ("b", "x", "y", "z")], ["no", "yes", "maybe"]))
    block = model.test_then_train(np.column_stack([np.arange(60.0), np.arange(60) % 3]), np.arange(60) % 3)
    assert block.outputs.shape == (60, 4 if NUMERIC else 3)
    assert np.isfinite(block.outputs).all()
    assert model.instances == 110
    with pytest.raises(ParameterError, match="must be an extension of"):
        model.bind(schema_of(["a"], ["no", "yes"]))


def test_two_threads_are_kept_apart():
    """A clear error instead of a race condition: the core runs without Python's lock."""
    entered, leave = threading.Event(), threading.Event()

    class Slow:
        def choose(self, scores, costs, k, rng):
            entered.set()
            assert leave.wait(30)
            return np.zeros(len(scores), dtype=bool)

    X, y = data(3)
    model = Heros(SMALL, Slow(), K, warmup=0, seed=1, schema=drifting(10).schema)
    state = model.bound.state()
    worker = threading.Thread(target=model.learn, args=(X, y))
    worker.start()
    assert entered.wait(30)
    for attempt in (
        lambda: model.answers(X[0]),
        lambda: model.learn(X, y),
        lambda: pickle.dumps(model),
    ):
        with pytest.raises(HerosError, match="already in use by another thread or by its own policy"):
            attempt()
    for look in (model.bound.state, lambda: model._learner.step.scores):
        with pytest.raises(HerosError, match="read them after the current block"):
            look()
    with pytest.raises(HerosError, match="change them after the current step"):
        model.bound.restore(state)
    leave.set()
    worker.join()
    assert model.instances == 3
    assert np.isfinite(model.answers(X[0])).all()


def test_looking_at_models_that_are_at_work_is_refused_not_a_race():
    X, y = data(6000)
    model = Heros(SMALL, k=K, seed=1, schema=drifting(10).schema)
    worker = threading.Thread(target=model.learn, args=(X, y))
    worker.start()
    while worker.is_alive():
        for look in (lambda: model.bound.weights(0), model.bound.state):
            try:
                look()
            except HerosError as error:
                assert "read them after the current block" in str(error)  # noqa: PT017
    assert model.instances == 6000


def test_exporting_a_state_does_not_change_it():
    X, y = data(400)
    exported, left_alone = (Heros(SMALL, k=K, seed=1, schema=drifting(10).schema) for _ in range(2))
    for start in range(0, 400, 37):
        part = slice(start, start + 37)
        exported.learn(X[part], y[part])
        left_alone.learn(X[part], y[part])
        for export in (exported.bound.state, exported._learner.step.state):
            once, twice = export(), export()
            assert once.keys() == twice.keys()
            assert all(once[name].tobytes() == twice[name].tobytes() for name in once)
    assert equal_state(exported, left_alone)


@pytest.mark.matrix(most=2)
def test_several_heros_run_side_by_side():
    X, y = data(3000)
    models = [Heros(SMALL, k=K, seed=1, schema=drifting(10).schema) for _ in range(4)]
    workers = [threading.Thread(target=model.learn, args=(X, y)) for model in models]
    [worker.start() for worker in workers]
    [worker.join() for worker in workers]
    alone = Heros(SMALL, k=K, seed=1, schema=drifting(10).schema).learn(X, y)
    assert all(equal_state(model, alone) for model in models)


class Broken:
    """A policy that returns a given value, or raises it."""

    def __init__(self, result):
        self.result = result

    def choose(self, scores, costs, k, rng):
        if isinstance(self.result, Exception):
            raise self.result
        return self.result

    def __repr__(self):
        return "Broken()"


@pytest.mark.parametrize(
    ("result", "error", "message"),
    [
        (
            np.ones(12, dtype=bool),
            ParameterError,
            "The policy Broken() must choose at most 5 models. Got 12 instead.",
        ),
        (
            np.ones(3, dtype=bool),
            ParameterError,
            "The policy Broken() must return a boolean mask of 12 models. Got",
        ),
        (np.arange(12), ParameterError, "The policy Broken() must return a boolean mask of 12 models. Got"),
        (None, ParameterError, "The policy Broken() must return a boolean mask of 12 models. Got array(None"),
        (KeyError("mine"), KeyError, "mine"),
    ],
)
def test_a_policy_that_misbehaves_is_named_and_what_came_before_is_kept(result, error, message):
    X, y = data(30)
    model = Heros(SMALL, Broken(result), K, warmup=10, seed=1, schema=drifting(10).schema)
    with pytest.raises(error) as caught:
        model.learn(X, y)
    assert message in str(caught.value)
    assert model.instances == 11
    assert model.cpu_seconds["evaluate"] > 0
    nothing = Heros(SMALL, Broken(np.zeros(12, dtype=bool)), K, warmup=10, seed=1, schema=drifting(10).schema)
    nothing.learn(X[:11], y[:11])  # as if the failed instance had not been used for training
    assert equal_state(model, nothing)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Heros(SMALL, k=13), "The 'k' parameter of Heros must be a whole number in [1, 12]. Got 13 instead."),
        (lambda: Heros(SMALL, k=0), "The 'k' parameter of Heros must be a whole number in [1, 12]. Got 0 instead."),
        (lambda: Heros(SMALL, k=2.5), "The 'k' parameter of Heros must be a whole number in [1, 12]. Got 2.5 instead."),
        (lambda: Heros(SMALL, warmup=-1), "The 'warmup' parameter of Heros must be a whole number >= 0. Got -1 instead."),
        (lambda: Heros(SMALL, answer="vote"), "The 'answer' parameter of Heros must be 'best', 'average', 'weighted', 'stack', 'top:5', a heros.Top or a heros.Stack. Got 'vote' instead."),
        (lambda: Heros([1, 2]), "The 'pool' parameter of Heros must be a pool, e.g. heros.pools.MLPGrid(). Got [1, 2] instead."),
        (lambda: Heros("forest"), "The 'pool' parameter of Heros must be a pool, e.g. heros.pools.ForestGrid(). Got 'forest' instead."),
        (lambda: Heros("Linear"), "The 'pool' parameter of Heros must be a pool, e.g. heros.pools.LinearGrid(). Got 'Linear' instead."),
        (lambda: Heros(SMALL, "zeto"), "The 'policy' parameter of Heros must be one of budget, cand, cand-as-published, cheapest, everything, expensive, mlcb, perform-best, perform-worst, random, reward, zeta. Got 'zeto' instead. Did you mean 'zeta'?"),
        (lambda: Heros(SMALL, "zeta:x"), "The 'policy' parameter of Heros must be a name with numbers, e.g. zeta:0.05@0.2. Got 'zeta:x' instead."),
        (lambda: Heros(SMALL, 0.5), "The 'policy' parameter of Heros must be a policy (an object with a 'choose' method). Got 0.5 instead."),
        (lambda: Heros(SMALL, score="adwin"), "The 'score' parameter of Heros must be a score, e.g. heros.scores.Adwin(). Got 'adwin' instead."),
        (lambda: Heros(SMALL, seed=-1), "The 'seed' parameter of Heros must be a whole number >= 0. Got -1 instead."),
    ],
)  # fmt: skip
def test_parameter_errors(make, message):
    with pytest.raises(ParameterError) as error:
        make()
    assert str(error.value) == message


@pytest.mark.parametrize("name", ELSEWHERE)
def test_an_attribute_of_another_library_is_an_error_that_names_ours(name):
    model = Heros(SMALL, schema=SCHEMA)
    with pytest.raises(AttributeError) as error:
        getattr(model, name)
    assert str(error.value).startswith(f"Heros has no attribute {name!r}")
    named = re.findall(r"(?:call|read) ([\w.]*\w)", str(error.value))
    assert len(named) == 1
    assert not hasattr(model, name)
    assert name not in dir(model)
    for ours in named:
        attrgetter(ours.removeprefix("heros."))(heros if ours.startswith("heros.") else model)
    with pytest.raises(
        HerosError, match=r"not a method\. To measure a model, use heros\.evaluate\(model, stream\)"
    ):
        model.score([[1.0]], [0])


def test_a_policy_may_be_written_as_on_the_command_line():
    model = Heros(SMALL, "zeta:0.1@0.2")
    assert model.policy == policies.Explore(policies.Zeta(0.1), 0.2)
    model.policy = "cheapest"
    assert model.policy == policies.Cheapest()
    assert Heros(policy="zeta").policy == policies.Zeta(0.05)


SCHEMA = Schema.of(["age", ("colour", "red", "green", "blue")], ["no", "yes"])
GOOD = [[30.0, 0.0], [40.0, 2.0]]


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        ([[30.0], [40.0]], [0, 1], "X must have 2 features. Got 1 instead."),
        ([[[1.0]]], [0], "X must have one row per instance. Got an array with 3 dimensions instead."),
        ([[30.0, 0], [np.nan, 2]], [0, 1], "Column 'age' (0) of row 1 must be a finite number (to allow missing values, set missing=True in the feature). Got nan instead."),
        ([[30.0, 0], [np.inf, 2]], [0, 1], "Column 'age' (0) of row 1 must be a finite number. Got inf instead."),
        ([[30.0, 3], [40.0, 2]], [0, 1], "Column 'colour' (1) of row 0 must be the code of one of its values, in [0, 2]. Got 3 instead."),
        ([[30.0, 0.5], [40.0, 2]], [0, 1], "Column 'colour' (1) of row 0 must be the code of one of its values, in [0, 2]. Got 0.5 instead."),
        ([[30.0, -1], [40.0, 2]], [0, 1], "Column 'colour' (1) of row 0 must be the code of one of its values, in [0, 2]. Got -1 instead."),
        ([["a", "b"]], [0], "X must be an array of numbers (nominal values as codes). Got an array of <U1 instead."),
        (GOOD, [0, np.nan], "The label of row 1 must be a class index in [0, 1]. Got nan instead."),
        (GOOD, [0, 2], "The label of row 1 must be a class index in [0, 1]. Got 2 instead."),
        (GOOD, [-1, 1], "The label of row 0 must be a class index in [0, 1]. Got -1 instead."),
        (GOOD, [0, 0.5], "The label of row 1 must be a class index in [0, 1]. Got 0.5 instead."),
        (GOOD, [0], "y must have one label per instance (2). Got shape (1,) instead."),
        (GOOD, ["no", "hm"], "The label of row 1 must be one of the classes 'no', 'yes'. Got 'hm' instead."),
        (GOOD, [b"no", b"yes"], "y must hold class indices. Got an array of |S3 instead."),
        ([[30.0], [40.0, 2.0]], [0, 1], "X must be an array of numbers (nominal values as codes). The error was: setting an array element with a sequence. The requested array has an inhomogeneous shape after 1 dimensions. The detected shape was (2,) + inhomogeneous part."),
    ],
)  # fmt: skip
def test_bad_data_is_named_and_changes_nothing(X, y, message):
    model = Heros(SMALL, k=K, seed=1, schema=SCHEMA)
    model.learn(GOOD * 60, [0, 1] * 60)
    before = copy.deepcopy(model)
    for attempt in (model.learn, model.test_then_train):
        with pytest.raises(DataError) as error:
            attempt(X, y)
        assert str(error.value) == message
    assert equal_state(model, before)


def test_a_heros_without_a_schema_says_so():
    with pytest.raises(HerosError, match=r"has not been trained yet\. Call learn.*dictionaries"):
        Heros(SMALL).predict_proba([1.0])
    with pytest.raises(HerosError, match="has not been trained yet"):
        _ = Heros(SMALL).scores


def test_arrays_of_any_layout_are_taken():
    X, y = data(64)
    expected = Heros(SMALL, seed=1, schema=drifting(10).schema).test_then_train(X, y).probabilities
    read_only = X.copy()
    read_only.setflags(write=False)
    for other in (np.asfortranarray(X), np.repeat(X, 2, axis=0)[::2], read_only, X.tolist()):
        model = Heros(SMALL, seed=1, schema=drifting(10).schema)
        given = y.astype(object if NUMERIC else np.int8)
        assert np.array_equal(model.test_then_train(other, given).probabilities, expected)


@pytest.mark.parametrize("pool", [SMALL, pools.Hoeffding([{}] * 12)], ids=["mlp", "trees"])
def test_a_nominal_feature_without_values_yet(pool):
    """The kind of a feature never changes: values may appear later, and until then it is always missing."""
    empty = Schema((Feature("c", (), missing=True), Feature("a")), ("no", "yes"))
    model = Heros(pool, k=K, seed=1, schema=empty)
    model.learn([[np.nan, float(t)] for t in range(300)], np.arange(300) % 2)
    with pytest.raises(
        DataError, match=r"Column 'c' \(0\) of row 0 must be missing \(NaN\), because the feature has no"
    ):
        model.learn([0.0, 1.0], 0)
    model.bind(Schema((Feature("c", ("p", "q", "r"), missing=True), Feature("a")), ("no", "yes")))
    model.learn([[t % 3, float(t)] for t in range(600)], np.arange(600) % 2)
    assert np.isfinite(model.predict_proba([[2.0, 5.0], [np.nan, 1.0]])).all()


@pytest.mark.parametrize("pool", [SMALL, pools.Hoeffding([{}] * 12)], ids=["mlp", "trees"])
def test_models_take_their_state_back_and_refuse_another_schemas(pool):
    X, y = data(500)
    model = Heros(pool, k=K, seed=1, schema=drifting(10).schema)
    model.learn(X[:300], y[:300])
    state, before = model.bound.state(), model.predict_proba(X)
    model.learn(X[300:], y[300:])
    assert not np.array_equal(model.predict_proba(X), before)
    best = model.best
    model.bound.restore(state)
    assert np.array_equal(model.bound.state()["values"], state["values"])
    again = Heros(pool, k=K, seed=1, schema=drifting(10).schema)
    again.learn(X[:300], y[:300])
    if again.best == best:
        assert np.array_equal(model.predict_proba(X), before)
    other = Heros(pool, k=K, seed=1, schema=Schema.of(["a", ("c", *map(str, range(50)))], ["no", "yes"]))
    with pytest.raises(ParameterError, match="must be the state of a pool with the same features"):
        other.bound.restore(state)


def test_numbers_at_the_end_of_the_range_do_not_ruin_the_models():
    for scale in (True, False):
        pool = pools.MLP([{"hidden": 16}] * 4, scale=scale)
        model = Heros(pool, k=4, seed=1, schema=Schema.of(["a", "b"], ["no", "yes"]))
        for value in (1e39, -1e308, 1e308, 1.0):
            model.learn([value, 0.5], 0)
        assert not model.diverged.any()


def test_denormals_are_flushed_only_inside():
    """The processor's flag is restored: Python still computes with denormal numbers."""
    X, y = data(200)
    Heros(SMALL, seed=1, schema=drifting(10).schema).learn(X, y)
    assert np.float64(5e-324) * 1.0 > 0
    assert np.float32(1e-45) / np.float32(1.0) > 0


class Constant:
    """A user-defined model."""

    def __init__(self):
        self.seen = 0

    def predict_proba(self, x):
        return [1.0, self.seen]

    def learn(self, x, y):
        self.seen += 1


@pytest.mark.parametrize(
    "pool",
    [None, pools.MLPGrid(hidden=[8]), pools.Models([("own", Constant())])],
    ids=["default", "mlp", "own"],
)
def test_one_that_follows_knows_what_the_other_knows(pool):
    stream = streams.Agrawal(function=2)
    model = Heros(pool, k=1, seed=1, schema=stream.schema)
    answers = copy.deepcopy(model)
    for _ in range(2):
        X, y = stream.draw(300)
        answers.follow(model.learn(X, y))
        expected = model.predict_proba(X)
        assert np.array_equal(answers.predict_proba(X), expected)
        assert answers.leaderboard()[0] == model.leaderboard()[0]
        assert str(answers.explain_choice()) == str(model.explain_choice())
    model.learn(X, y)
    assert np.array_equal(answers.predict_proba(X), expected)


def test_one_that_follows_grows_with_the_other():
    model = Heros(k=3, seed=1, schema=Schema.of(["age"], ["no", "yes"]))
    answers = copy.deepcopy(model)
    model.bind(Schema.of(["age", "height"], ["no", "yes", "maybe"]))
    answers.follow(model)
    assert answers.predict_proba([1.0, 2.0]).shape == (3,)


def test_any_part_of_a_leaderboard_can_be_printed():
    schema = Schema.of(["a", "b"], classes=["no", "yes"])
    pool = pools.Join(pools.MLP([{"hidden": 4}, {"hidden": 8}, {"hidden": 16}]), pools.Linear([{}]))
    board = Heros(pool, k=1, seed=1, schema=schema).leaderboard()
    parts = [board[first:last] for first in range(4) for last in range(first + 1, 5)]
    assert any(len(part) > 1 and {one.configuration["family"] for one in part} == {"MLP"} for part in parts)
    for part in parts:
        assert len(str(part).splitlines()) > len(part)
