"""Retrained boosted trees: slow version, classes and numbers, bins, growth, byte limit, weights, state."""

from __future__ import annotations

import numpy as np
import pytest

from heros import Feature, Heros, ParameterError, Schema, evaluate, policies, pools, streams
from reference_retrained import Retrained
from tree_cases import Steps, random_case

PLAIN = {
    "window": 200,
    "every": 100,
    "spread": 30,
    "trees": 3,
    "leaves": 6,
    "learning_rate": 0.3,
    "bins": 16,
    "min_leaf": 5,
    "shrinkage": 1.0,
}


def schema_of(values, classes):
    kinds = [None if n == 0 else tuple(map(str, range(n))) for n in values]
    features = tuple(Feature(f"f{i}", kind, missing=True) for i, kind in enumerate(kinds))
    return Schema(features, tuple(map(str, range(classes))))


def alone(configuration, schema):
    return pools.Retrained([configuration]).bind(schema, np.random.default_rng(1))


def single(configuration, schema):
    return Heros(pools.Retrained([configuration]), policies.Everything(), 1, seed=1, schema=schema, warmup=0)


@pytest.mark.matrix(most=4)
@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize(
    "more",
    [
        {},
        {"spread": 1, "shrinkage": 0.0},
        {"spread": 100, "bins": 4, "min_leaf": 1},
        {"trees": 6, "most_trees": 8},
    ],
    ids=str,
)
def test_equal_to_the_slow_twin(seed, more):
    case = random_case(seed, 450)
    configuration = PLAIN | more
    bound = alone(configuration, schema_of(case.values, case.classes))
    twin = Retrained(case.values, case.classes, **configuration)
    found = Steps(bound.native).run(case.X, case.y)
    for t, (x, y) in enumerate(zip(case.X, case.y, strict=True)):
        np.testing.assert_allclose(found[t], twin.predict(x), atol=1e-6)
        twin.learn(x, y)
    assert bound.stats()[0].trainings == 5


def test_equal_to_the_slow_twin_with_many_values():
    rng = np.random.default_rng(1)
    X = np.column_stack([rng.integers(0, 300, 700), rng.integers(0, 12, 700), rng.normal(size=700)]).astype(
        float
    )
    y = ((X[:, 1] % 3 == 0) ^ (X[:, 0] % 2 == 0) & (rng.random(700) < 0.3)).astype(int)
    configuration = PLAIN | {"window": 500}
    twin = Retrained([300, 12, 0], 2, **configuration)
    found = Steps(alone(configuration, schema_of([300, 12, 0], 2)).native).run(X, y)
    for t, (x, target) in enumerate(zip(X, y, strict=True)):
        np.testing.assert_allclose(found[t], twin.predict(x), atol=1e-6)
        twin.learn(x, target)
    assert ((found[300:, 1] > 0.5) == y[300:]).mean() > 0.75


def test_equal_to_the_slow_twin_where_old_values_are_known_by_their_bins_alone():
    """A window larger than the number of exactly stored values, and drifting features."""
    rng = np.random.default_rng(1)
    n = 2600
    X = np.column_stack([np.arange(n), rng.normal(np.arange(n) / 500), rng.normal(size=n)]).astype(float)
    X[rng.random(n) < 0.1, 1] = np.nan
    y = (X[:, 2] + np.sin(X[:, 0] / 200) + rng.normal(0, 0.3, n) > 0).astype(int)
    configuration = PLAIN | {"window": 1500, "every": 400, "trees": 2, "spread": 7}
    twin = Retrained([0, 0, 0], 2, **configuration)
    bound = alone(configuration, schema_of([0, 0, 0], 2))
    found = Steps(bound.native).run(X, y)
    for t, (x, target) in enumerate(zip(X, y, strict=True)):
        np.testing.assert_allclose(found[t], twin.predict(x), atol=1e-6)
        twin.learn(x, target)
    edges = np.split(bound.state()["model_0_edges"], np.cumsum(bound.state()["model_0_edges_sizes"])[:-1])
    for feature, own in zip(twin.features, edges, strict=True):
        np.testing.assert_array_equal(feature.edges, own)


def numbers(n, seed=3):
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.normal(size=n), rng.integers(0, 3, n), rng.uniform(size=n)])
    y = 1000 + 50 * np.sin(2 * X[:, 0]) + 30 * (X[:, 1] == 1) + rng.normal(size=n)
    X[rng.random(X.shape) < 0.05] = np.nan
    return X, y


@pytest.mark.parametrize("numeric", [False, True], ids=["classes", "numbers"])
def test_restarts_at_a_change_as_the_slow_twin_does(numeric):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(1800, 3))
    y = np.where(np.arange(1800) < 900, X[:, 0], X[:, 1] - X[:, 0]) * 3
    y = y + rng.normal(0, 0.3, len(y)) if numeric else (y > 0).astype(int)
    configuration = PLAIN | {"window": 1500, "every": 300, "trees": 10, "drift": 0.01}
    names = ["a", "b", "c"]
    schema = Schema.of(names) if numeric else Schema.of(names, classes=["no", "yes"])
    model = single(configuration, schema)
    twin = Retrained([0, 0, 0], 1 if numeric else 2, numeric=numeric, **configuration)
    found, starts = model.test_then_train(X, y).probabilities, set()
    for t, (x, target) in enumerate(zip(X, y, strict=True)):
        said = twin.predict(x)
        np.testing.assert_allclose(found[t, : len(said)], said, rtol=1e-7, atol=1e-6)
        twin.learn(x, target)
        starts.add(twin.start)
    assert any(850 <= start <= 1000 for start in starts)
    assert model.bound.stats()[0].instances == min(1500, 1800 - twin.start)


def test_after_a_change_a_window_that_restarts_is_better():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(6000, 4))
    y = ((X[:, 0] > 0) ^ (X[:, 1] > 0) ^ (np.arange(6000) >= 3000)).astype(int)
    schema = Schema.of(["a", "b", "c", "d"], classes=["no", "yes"])
    right = {}
    for drift in (None, 0.001):
        found = single({"window": 6000, "drift": drift}, schema).test_then_train(X, y)
        right[drift] = (found.probabilities.argmax(1) == y)[4000:].mean()
    assert right[0.001] > 0.95
    assert right[0.001] > right[None] + 0.05


NUMBERS = Schema.of(
    [Feature("a", missing=True), Feature("b", ("x", "y", "z"), missing=True), Feature("c", missing=True)]
)


@pytest.mark.parametrize("weighted", [False, True])
def test_equal_to_the_slow_twin_for_a_number(weighted):
    X, y = numbers(600)
    weights = np.random.default_rng(1).uniform(0.2, 3, len(y)) if weighted else np.ones(len(y))
    found = single(PLAIN, NUMBERS).test_then_train(X, y, sample_weight=weights if weighted else None)
    twin = Retrained([0, 3, 0], 1, numeric=True, **PLAIN)
    for t, (x, target) in enumerate(zip(X, y, strict=True)):
        np.testing.assert_allclose(found.probabilities[t, 0], twin.predict(x)[0], rtol=1e-7)
        twin.learn(x, target, weights[t])


def test_a_weight_counts_as_much_as_the_derivatives_it_weighs():
    case = random_case(2, 300)
    twin = Retrained(case.values, case.classes, **PLAIN)
    weights = np.random.default_rng(1).uniform(0.2, 3, len(case.y))
    model = single(PLAIN, schema_of(case.values, case.classes))
    found = model.test_then_train(case.X, case.y, sample_weight=weights).probabilities
    for t, (x, y) in enumerate(zip(case.X, case.y, strict=True)):
        np.testing.assert_allclose(found[t], twin.predict(x), atol=1e-6)
        twin.learn(x, y, weights[t])


def test_bins_follow_a_feature_that_drifts_and_stay_where_it_does_not():
    rng = np.random.default_rng(1)
    n = 6000
    X = np.column_stack([rng.normal(size=n) + np.where(np.arange(n) < 3000, 0, 1000), rng.normal(size=n)])
    y = (X[:, 0] - np.where(np.arange(n) < 3000, 0, 1000) > 0).astype(int)
    model = single({"window": 1000, "every": 250, "spread": 50}, Schema.of(["a", "b"], classes=["no", "yes"]))
    model.learn(X[:2999], y[:2999])
    before = np.split(model.bound.state()["model_0_edges"], [model.bound.state()["model_0_edges_sizes"][0]])
    found = model.test_then_train(X[2999:], y[2999:]).probabilities
    after = np.split(model.bound.state()["model_0_edges"], [model.bound.state()["model_0_edges_sizes"][0]])
    assert before[0].max() < 10
    assert (after[0] > 990).mean() > 0.8
    assert np.array_equal(before[1], after[1])
    assert (found[-1000:].argmax(1) == y[-1000:]).mean() > 0.97


def test_a_class_that_comes_later_changes_nothing_between_the_first_two():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(800, 3))
    model = single(PLAIN, Schema.of(["a", "b", "c"], classes=["no", "yes"]))
    model.learn(X, (X[:, 0] > 0).astype(int))
    before = model.predict_proba(X[:50])
    model.bind(Schema.of(["a", "b", "c"], classes=["no", "yes", "maybe"]))
    after = model.predict_proba(X[:50])
    np.testing.assert_allclose(after[:, 1] / after[:, 0], before[:, 1] / before[:, 0], rtol=1e-9)
    assert 0 < after[:, 2].max() < 0.02
    more = rng.normal(size=(800, 3))
    y = np.where(more[:, 1] > 0.5, 2, (more[:, 0] > 0).astype(int))
    found = model.test_then_train(more, y).probabilities
    assert (found[-200:].argmax(1) == y[-200:]).mean() > 0.8


def test_a_training_goes_on_while_the_schema_grows():
    """With a new value every few instances, trainings still end and use the new features."""
    rng = np.random.default_rng(1)
    words = ["w0"]
    model = single(PLAIN | {"spread": 50}, Schema.of(["a", Feature("word", ("w0",))], classes=["no", "yes"]))
    for t in range(120):
        words.append(f"w{t + 1}")
        new = [Feature("late", missing=True)] if t > 30 else []
        schema = Schema.of(["a", Feature("word", tuple(words)), *new], classes=["no", "yes"])
        model.bind(schema)
        X = np.column_stack([rng.normal(size=10), rng.integers(0, len(words), 10), rng.normal(size=10)])
        y = (X[:, 2 if new else 0] > 0).astype(int)
        model.learn(X[:, : len(schema.features)], y)
    assert model.bound.stats()[0].trainings == 12
    assert max(model.bound.gains(0), key=model.bound.gains(0).get) == "late"


@pytest.mark.parametrize("max_bytes", [70_000, 100_000, 400_000])
def test_the_byte_limit_is_never_crossed(max_bytes):
    case = random_case(1, 1500)
    bound = alone(PLAIN | {"max_bytes": max_bytes, "window": 1000}, schema_of(case.values, case.classes))
    steps = Steps(bound.native)
    for t in range(0, 1500, 10):
        steps.run(case.X[t : t + 10], case.y[t : t + 10])
        assert bound.stats()[0].bytes <= max_bytes
    assert (bound.stats()[0].window < 1000) == (max_bytes < 400_000)
    assert bound.stats()[0].instances == bound.stats()[0].window


def test_a_window_that_gets_shorter_as_the_schema_grows():
    model = single(PLAIN | {"max_bytes": 50_000, "window": 1000}, Schema.of(["a"], classes=["no", "yes"]))
    rng = np.random.default_rng(1)
    X = rng.normal(size=(700, 1))
    model.learn(X, (X[:, 0] > 0).astype(int))
    before = model.bound.stats()[0].window
    more = [Feature(f"f{i}", tuple("abcdef"), missing=True) for i in range(20)]
    model.bind(Schema.of(["a", *more], classes=["no", "yes"]))
    wide = np.column_stack([rng.normal(size=700), np.full((700, 20), np.nan)])
    model.learn(wide, (wide[:, 0] > 0).astype(int))
    assert model.bound.stats()[0].window < before
    assert model.bound.stats()[0].bytes <= 50_000


def test_a_limit_that_holds_no_training_is_refused():
    with pytest.raises(
        ParameterError, match=r"The 'max_bytes' parameter of Retrained must be at least \d+ for 1 features"
    ):
        alone(PLAIN | {"max_bytes": 200}, schema_of([0], 2))


def test_it_knows_what_it_goes_by():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(3000, 4))
    bound = alone({"trees": 10}, Schema.of(["a", "b", "c", "d"], classes=["no", "yes"]))
    Steps(bound.native).run(X, (X[:, 2] + 0.4 * X[:, 0] > 0).astype(int))
    gains = bound.gains(0)
    assert sorted(gains, key=gains.get)[-2:] == ["a", "c"]


def test_a_training_is_spread_over_as_many_instances_as_it_needs():
    """Short trainings end immediately; long ones are still running when the next instance is learnt."""
    X, y = streams.Agrawal().draw(200)
    schema = streams.Agrawal().schema
    few = [single(PLAIN | {"spread": spread}, schema).test_then_train(X, y) for spread in (1, None)]
    assert np.array_equal(few[0].probabilities, few[1].probabilities)
    X, y = streams.Agrawal().draw(300)
    many = single({"trees": 1000}, schema)
    done = [
        many.learn(X[a:b], y[a:b]).bound.stats()[0].trainings for a, b in ((0, 199), (199, 205), (205, 300))
    ]
    assert done == [2, 2, 3]


def test_more_trees_know_more():
    def accuracy(trees):
        model = Heros(pools.Retrained([{"trees": trees}]), policies.Everything(), 1, seed=1, warmup=0)
        return evaluate(model, streams.Agrawal(function=2).take(6000), progress=False).accuracy

    assert accuracy(30) > accuracy(1) + 0.02


@pytest.mark.parametrize("drift", [None, 0.5])
@pytest.mark.parametrize("cut", [55, 72, 103, 260, 420, 431])
def test_a_state_comes_back_bit_for_bit(cut, drift):
    """Save and load work also in the middle of a training, which is then repeated."""
    case = random_case(4, 800)
    settings = PLAIN | {"spread": 40, "drift": drift}
    bound, again = (alone(settings, schema_of(case.values, case.classes)) for _ in range(2))
    Steps(bound.native).run(case.X[:cut], case.y[:cut])
    again.restore(bound.state())
    rest = case.X[cut:], case.y[cut:]
    assert np.array_equal(Steps(bound.native).run(*rest), Steps(again.native).run(*rest))
    mine, others = bound.state(), again.state()
    assert all(np.array_equal(mine[name], others[name], equal_nan=True) for name in mine)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: pools.Retrained([]), "The 'configurations' parameter of Retrained must be a list of at least one model. Got [] instead."),
        (lambda: pools.Retrained([{"window": 49}]), "The 'window' parameter of Retrained must be a whole number in [50, 1073741824]. Got 49 instead."),
        (lambda: pools.Retrained([{"every": 100, "spread": 101}]), "The 'spread' parameter of Retrained must be a whole number in [1, 100]. Got 101 instead."),
        (lambda: pools.Retrained([{"trees": 0}]), "The 'trees' parameter of Retrained must be a whole number in [1, 1000]. Got 0 instead."),
        (lambda: pools.Retrained([{"learning_rate": 0}]), "The 'learning_rate' parameter of Retrained must be in (0, 1]. Got 0 instead."),
        (lambda: pools.Retrained([{"bins": 256}]), "The 'bins' parameter of Retrained must be a whole number in [2, 255]. Got 256 instead."),
        (lambda: pools.Retrained([{}], costs="bytes"), "The 'costs' parameter of Retrained must be 'training', 'measured' or numbers. Got 'bytes' instead."),
    ],
)  # fmt: skip
def test_settings_are_checked(make, message):
    with pytest.raises(ParameterError) as error:
        make()
    assert str(error.value) == message
