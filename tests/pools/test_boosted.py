"""Boosted trees: slow version, classes and numbers, growth, byte limit, weights, accuracy."""

from __future__ import annotations

import numpy as np
import pytest

from heros import Feature, Heros, ParameterError, Schema, evaluate, policies, pools, streams
from reference_boosted import Boosted
from tree_cases import Steps, random_case

PLAIN = {
    "rounds": 4,
    "learning_rate": 0.3,
    "features": 1.0,
    "grace_period": 20,
    "split_confidence": 0.1,
    "tie_threshold": 0.3,
    "shrinkage": 1.0,
    "horizon": None,
    "max_bytes": 1 << 30,
}


def schema_of(values, classes):
    kinds = [None if n == 0 else tuple(map(str, range(n))) for n in values]
    features = tuple(Feature(f"f{i}", kind, missing=True) for i, kind in enumerate(kinds))
    return Schema(features, tuple(map(str, range(classes))))


def alone(configuration, schema, seed=1):
    return pools.Boosted([configuration]).bind(schema, np.random.default_rng(seed))


def columns_of(bound):
    """Return the features of each tree."""
    state = bound.state()
    ends = np.cumsum(state["model_0_columns_sizes"])[:-1]
    return [own.tolist() for own in np.split(state["model_0_columns"], ends)]


@pytest.mark.matrix
@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("more", [{}, {"horizon": 40.0}, {"features": 0.5, "shrinkage": 0.1}], ids=str)
def test_equal_to_the_slow_twin(seed, more):
    case = random_case(seed, 400)
    configuration = PLAIN | more
    bound = alone(configuration, schema_of(case.values, case.classes))
    twin = Boosted(case.values, case.classes, columns_of(bound), **configuration)
    found = Steps(bound.native).run(case.X, case.y)
    for t, (x, y) in enumerate(zip(case.X, case.y, strict=True)):
        np.testing.assert_allclose(found[t], twin.predict(x), atol=1e-9)
        twin.learn(x, y)
    assert bound.stats()[0].leaves > PLAIN["rounds"]


def numbers(n, seed=3):
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.normal(size=n), rng.integers(0, 3, n), rng.uniform(size=n)])
    y = 1000 + 50 * np.sin(2 * X[:, 0]) + 30 * (X[:, 1] == 1) + rng.normal(size=n)
    X[rng.random(X.shape) < 0.05] = np.nan
    return X, y


NUMBERS = Schema.of(
    [Feature("a", missing=True), Feature("b", ("x", "y", "z"), missing=True), Feature("c", missing=True)]
)


@pytest.mark.parametrize("horizon", [None, 100.0])
def test_equal_to_the_slow_twin_for_a_number(horizon):
    X, y = numbers(600)
    configuration = PLAIN | {"horizon": horizon}
    pool = pools.Boosted([configuration])
    model = Heros(pool, policies.Everything(), 1, seed=1, schema=NUMBERS, warmup=0)
    found = model.test_then_train(X, y)
    twin = Boosted([0, 3, 0], 1, [[0, 1, 2]] * 4, numeric=True, **configuration)
    for t, (x, target) in enumerate(zip(X, y, strict=True)):
        np.testing.assert_allclose(found.probabilities[t, 0], twin.predict(x)[0], rtol=1e-9)
        twin.learn(x, target)


def test_a_weight_counts_as_much_as_the_derivatives_it_weighs():
    case = random_case(2, 300)
    bound = alone(PLAIN, schema_of(case.values, case.classes))
    twin = Boosted(case.values, case.classes, columns_of(bound), **PLAIN)
    model = Heros(pools.Boosted([PLAIN]), policies.Everything(), 1, seed=1, schema=bound.schema, warmup=0)
    weights = np.random.default_rng(1).uniform(0.2, 3, len(case.y))
    found = model.test_then_train(case.X, case.y, sample_weight=weights).probabilities
    for t, (x, y) in enumerate(zip(case.X, case.y, strict=True)):
        np.testing.assert_allclose(found[t], twin.predict(x), atol=1e-9)
        twin.learn(x, y, weights[t])


def test_a_class_that_comes_later_changes_nothing_between_the_first_two():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(800, 3))
    schema = Schema.of(["a", "b", "c"], classes=["no", "yes"])
    model = Heros(pools.Boosted([PLAIN]), policies.Everything(), 1, seed=1, schema=schema, warmup=0)
    model.learn(X, (X[:, 0] > 0).astype(int))
    before = model.predict_proba(X[:50])
    model.bind(Schema.of(["a", "b", "c"], classes=["no", "yes", "maybe"]))
    after = model.predict_proba(X[:50])
    np.testing.assert_allclose(after[:, 1] / after[:, 0], before[:, 1] / before[:, 0], rtol=1e-9)
    more = rng.normal(size=(800, 3))
    y = np.where(more[:, 1] > 0.5, 2, (more[:, 0] > 0).astype(int))
    found = model.test_then_train(more, y).probabilities
    assert (found[-200:].argmax(1) == y[-200:]).mean() > 0.8


@pytest.mark.parametrize("max_bytes", [1_000, 5_000, 60_000])
def test_the_byte_limit_is_never_crossed(max_bytes):
    case = random_case(1, 1500)
    bound = alone(PLAIN | {"max_bytes": max_bytes}, schema_of(case.values, case.classes))
    steps = Steps(bound.native)
    for t in range(0, 1500, 50):
        steps.run(case.X[t : t + 50], case.y[t : t + 50])
        assert bound.stats()[0].bytes <= max_bytes


def test_a_limit_below_one_node_per_round_is_refused():
    with pytest.raises(ParameterError, match="The 'max_bytes' parameter of Boosted must be at least 224"):
        alone(PLAIN | {"max_bytes": 200}, schema_of([0], 2))


def test_it_knows_what_it_goes_by():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(3000, 4))
    schema = Schema.of(["a", "b", "c", "d"], classes=["no", "yes"])
    bound = alone({"rounds": 10}, schema)
    Steps(bound.native).run(X, (X[:, 2] + 0.4 * X[:, 0] > 0).astype(int))
    gains = bound.gains(0)
    assert max(gains, key=gains.get) == "c"
    assert sorted(gains, key=gains.get)[-2] == "a"


def test_more_rounds_know_more():
    def accuracy(rounds):
        model = Heros(pools.Boosted([{"rounds": rounds}]), policies.Everything(), 1, seed=1, warmup=0)
        return evaluate(model, streams.Agrawal(function=2).take(6000), progress=False).accuracy

    assert accuracy(50) > accuracy(1) + 0.05


def test_a_state_comes_back_bit_for_bit():
    case = random_case(4, 600)
    bound, again = (alone(PLAIN, schema_of(case.values, case.classes), seed) for seed in (1, 2))
    Steps(bound.native).run(case.X[:300], case.y[:300])
    again.restore(bound.state())
    rest = case.X[300:], case.y[300:]
    assert np.array_equal(Steps(bound.native).run(*rest), Steps(again.native).run(*rest))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: pools.Boosted([]), "The 'configurations' parameter of Boosted must be a list of at least one model. Got [] instead."),
        (lambda: pools.Boosted([{"rounds": 0}]), "The 'rounds' parameter of Boosted must be a whole number in [1, 1000]. Got 0 instead."),
        (lambda: pools.Boosted([{"learning_rate": 0}]), "The 'learning_rate' parameter of Boosted must be in (0, 1]. Got 0 instead."),
        (lambda: pools.Boosted([{"split_confidence": 1}]), "The 'split_confidence' parameter of Boosted must be in (0, 1). Got 1 instead."),
        (lambda: pools.Boosted([{"shrinkage": -1}]), "The 'shrinkage' parameter of Boosted must be above 0. Got -1 instead."),
        (lambda: pools.Boosted([{"horizon": 0.5}]), "The 'horizon' parameter of Boosted must be in [1, 1e+12] or None. Got 0.5 instead."),
        (lambda: pools.Boosted([{}], costs="bytes"), "The 'costs' parameter of Boosted must be 'rounds', 'measured' or numbers. Got 'bytes' instead."),
    ],
)  # fmt: skip
def test_settings_are_checked(make, message):
    with pytest.raises(ParameterError) as error:
        make()
    assert str(error.value) == message
