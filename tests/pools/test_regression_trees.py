"""Hoeffding trees for regression: splits reduce variance, limits are kept, and results are close to River's."""

from __future__ import annotations

import numpy as np
import pytest

from heros import DataError, Feature, Heros, ParameterError, Schema, policies, pools, streams
from reference_regression_trees import RegressionTree


def alone(configuration, schema):
    pool = pools.RegressionTrees([configuration])
    return Heros(pool, policies.Everything(), 1, seed=1, schema=schema, warmup=0)


def rmse(said, y):
    return float(np.sqrt(np.mean((said - y) ** 2)))


def test_a_step_is_found_among_numbers_and_names():
    rng = np.random.default_rng(1)
    schema = Schema.of(["a", ("c", "p", "q", "r"), "b"])
    X = np.column_stack([rng.normal(size=4000), rng.integers(0, 3, 4000), rng.normal(size=4000)])
    y = 1e6 + np.where(X[:, 1] == 2, 50.0, np.where(X[:, 0] > 0.5, 10.0, 0.0))
    model = alone({"prediction": "mean"}, schema).learn(X, y)
    asked = np.array([[-1.0, 0, 0], [2.0, 1, 0], [0.0, 2, 0]])
    np.testing.assert_allclose(model.predict(asked), 1e6 + np.array([0.0, 10.0, 50.0]), atol=1.0)
    assert model.bound.stats()[0].leaves >= 3


@pytest.mark.parametrize("make", [streams.Friedman, streams.Hyperplane, streams.Wave])
@pytest.mark.parametrize(("ours", "theirs"), [("mean", "mean"), ("adaptive", "adaptive")])
def test_as_good_as_rivers(make, ours, theirs):
    """River's model with the same settings; its binning of numbers and its leaf models differ."""
    tree = pytest.importorskip("river.tree")
    X, y = make().draw(3000)
    said = (
        alone({"prediction": ours, "max_bytes": 1 << 24}, make().schema).test_then_train(X, y).outputs[:, 0]
    )
    river = tree.HoeffdingTreeRegressor(leaf_prediction=theirs, grace_period=200, delta=1e-7, tau=0.05)
    answers = []
    for x, target in zip(X.tolist(), y.tolist(), strict=True):
        named = dict(enumerate(x))
        answers.append(river.predict_one(named))
        river.learn_one(named, target)
    assert rmse(said[1:], y[1:]) < 1.1 * rmse(np.array(answers)[1:], y[1:])


@pytest.mark.parametrize("limit", [200, 3_000, 20_000, 60_000])
def test_the_byte_limit_binds(limit):
    X, y = streams.Friedman().draw(5000)
    model = alone(
        {"max_bytes": limit, "grace_period": 20, "split_confidence": 0.5}, streams.Friedman().schema
    )
    for start in range(0, 5000, 500):
        model.learn(X[start : start + 500], y[start : start + 500])
        assert model.bound.stats()[0].bytes <= limit
    free = alone({"grace_period": 20, "split_confidence": 0.5}, streams.Friedman().schema).learn(X, y)
    assert free.bound.stats()[0].bytes > 60_000


def test_odd_numbers_and_missing_values():
    schema = Schema.of([Feature("a", missing=True), Feature("c", ("p", "q"), missing=True)])
    model = alone({"grace_period": 5, "split_confidence": 0.5}, schema)
    rng = np.random.default_rng(1)
    values = [0.0, 1e308, -1e308, 5e-324, 1e12, np.nan, 3.0]
    X = np.column_stack([rng.choice(values, 600), rng.choice([0, 1, np.nan], 600)])
    block = model.test_then_train(X, rng.choice([1e12, -1e-12, 0.0], 600))
    assert np.isfinite(block.outputs).all()
    state = model.bound.state()
    model.bound.restore(state)
    for name in ("ints", "reals", "weights", "observers", "nodes", "observed"):
        broken = {**state, name: state[name][:-1]}
        with pytest.raises(DataError):
            model.bound.restore(broken)


def test_settings():
    with pytest.raises(ParameterError, match=r"must be 'mean', 'linear' or 'adaptive'. Got 'median' instead"):
        pools.RegressionTrees([{"prediction": "median"}])
    with pytest.raises(ParameterError, match=r"must be at least 96 for 1 features and a numeric target"):
        Heros(pools.RegressionTrees([{"max_bytes": 50}]), schema=Schema.of(["a"]))
    with pytest.raises(
        ParameterError, match=r"must be a schema with a number as target. Got classes instead"
    ):
        Heros(pools.RegressionTrees([{}]), schema=Schema.of(["a"], ["no", "yes"]))


VALUES = (0, 3, 0, 5, 0)
MIXED = Schema.of(
    [Feature(f"f{i}", tuple(map(str, range(n))) if n else None, missing=True) for i, n in enumerate(VALUES)]
)
EAGER = {"grace_period": 40, "split_confidence": 0.05, "max_bytes": 1 << 20}


def made(seed, n, offset=1000.0):
    """Numbers and names, some missing, one number of another scale and one with few distinct values."""
    rng = np.random.default_rng(seed)
    X = np.column_stack(
        [
            rng.normal(size=n),
            rng.integers(0, 3, n),
            1e4 * rng.uniform(size=n),
            rng.integers(0, 5, n),
            rng.choice([0.0, 0.5, 2.0], n),
        ]
    )
    y = (
        offset
        + 20 * np.abs(X[:, 0])
        + 15 * (X[:, 1] == 1)
        + 3e-3 * X[:, 2] * (X[:, 3] > 2)
        + rng.normal(size=n)
    )
    X[rng.random(X.shape) < 0.05] = np.nan
    return X, y


@pytest.mark.matrix
@pytest.mark.parametrize("prediction", ["mean", "linear", "adaptive"])
@pytest.mark.parametrize(
    ("seed", "n", "more", "weighted"),
    [
        (1, 2000, {}, False),
        (2, 1000, {"grace_period": 150, "split_confidence": 1e-5}, False),
        (3, 600, {"max_depth": 2}, True),
        (4, 600, {"max_bytes": 9_000}, True),
    ],
)
def test_equal_to_the_slow_twin(prediction, seed, n, more, weighted):
    settings = pools.RegressionTrees([EAGER | more | {"prediction": prediction}]).configurations[0]
    X, y = made(seed, n, offset=[0.0, 1000.0][seed % 2])
    weights = np.random.default_rng(seed).choice([0.25, 1.0, 3.0], n) if weighted else None
    model = alone(settings, MIXED)
    found = model.test_then_train(X, y, sample_weight=weights).outputs[:, 0]
    twin, said = RegressionTree(VALUES, **settings), []
    for t in range(n):
        said.append(twin.predict(X[t]))
        twin.learn(X[t], y[t], 1.0 if weights is None else weights[t])
    state = model.bound.state()
    ints, reals = state["ints"].reshape(-1, 4), state["reals"].reshape(-1, 8)
    splits = [(int(one[0]), float(real[0])) for one, real in zip(ints, reals, strict=True) if one[0] >= 0]
    theirs = [(node.feature, node.cut) for node in twin.nodes if node.children]
    assert [feature for feature, _ in splits] == [feature for feature, _ in theirs]
    assert [cut for _, cut in splits] == pytest.approx([cut for _, cut in theirs], rel=1e-12)
    assert len(splits) >= 3
    np.testing.assert_allclose(found[1:], said[1:], rtol=1e-7, atol=1e-7)  # the first prediction is 0
    assert model.bound.stats()[0].bytes == twin.bytes
    if "max_bytes" in more:
        assert any(node.observers is None and not node.children for node in twin.nodes)  # some had to stop
