"""The compiled forest equals its slow version and its own trees, and survives a state round trip."""

from __future__ import annotations

import numpy as np
import pytest

import reference_forest as reference
from heros import DataError, _core
from tree_cases import DEFAULTS as TREE
from tree_cases import Steps, random_case, tree_pool

DEFAULTS = {
    "trees": 5,
    "features": 0.6,
    "subspace": "node",
    "bagging": 6.0,
    "grace_period": 50,
    "split_confidence": 0.01,
    "tie_threshold": 0.1,
    "random_cuts": False,
    "warning": 0.2,
    "drift": 0.05,
    "max_bytes": 1 << 40,
}
SETTINGS = [
    {},
    {"subspace": "tree"},
    {"features": 1.0, "bagging": 0},
    {"random_cuts": True, "bagging": 2.5},
    {"subspace": "tree", "features": 0.3, "warning": 0},
    {"features": 0.2, "tie_threshold": 0.3, "grace_period": 20},
]


def native(case, configurations, seeds=None):
    pool = _core.ForestPool(
        [_settings({**DEFAULTS, **c}) for c in configurations],
        seeds or list(range(1, 1 + len(configurations))),
    )
    pool.grow(case.values, case.classes)
    return pool


def _settings(c):
    names = ("grace_period", "split_confidence", "tie_threshold", "max_bytes")
    tree = _core.TreeSettings(**{**TREE, "binary_splits": True, **{name: c[name] for name in names}})
    rest = {name: c[name] for name in ("trees", "random_cuts", "bagging", "warning", "drift")}
    return _core.ForestSettings(tree, features=c["features"], per_leaf=c["subspace"] == "node", **rest)


def changing(seed, n):
    """A stream whose classes swap in the middle."""
    case = random_case(seed, n)
    case.y[n // 2 :] = (case.y[n // 2 :] + 1) % case.classes
    return case


@pytest.mark.matrix(most=6)
@pytest.mark.parametrize("seed", range(12))
def test_equals_the_slow_twin(seed):
    case = changing(seed, 900)
    settings = {**DEFAULTS, **SETTINGS[seed % len(SETTINGS)]}
    pool, twin = (
        native(case, [settings], [seed]),
        reference.Forest(case.values, case.classes, seed, **settings),
    )
    expected = []
    for x, y in zip(case.X.tolist(), case.y.tolist(), strict=True):
        expected.append(twin.predict(x))
        twin.learn(x, y)
    found = Steps(pool).run(case.X, case.y)
    agree = np.isclose(found, expected, atol=1e-5).all(axis=1)
    assert agree[:300].all() or agree.mean() > 0.9  # single precision may choose another of two similar cuts
    assert agree.mean() > 0.6
    background, *_, warnings, replaced = pool.summary(0)
    if agree.all():
        assert (warnings, replaced) == (twin.warnings, twin.replaced)
        assert background == sum(tree is not None for tree in twin.background)


def test_the_twin_is_put_to_the_test():
    """The cases above cover splits, replaced trees, and background trees."""
    nodes = replaced = warnings = 0
    for seed in range(12):
        case = changing(seed, 900)
        pool = native(case, [SETTINGS[seed % len(SETTINGS)]], [seed])
        Steps(pool).run(case.X, case.y)
        nodes += pool.summary(0)[1]
        warnings, replaced = warnings + pool.summary(0)[6], replaced + pool.summary(0)[7]
    assert nodes > 12 * 5 * 3
    assert replaced > 12
    assert warnings > 12


@pytest.mark.parametrize("seed", range(6))
def test_an_instance_that_counts_twice_is_two_instances(seed):
    """This holds if no split is attempted in between; adaptive leaves run their own tests once per instance."""
    case = random_case(seed, 400)
    settings = {"trees": 1, "features": 1.0, "grace_period": 10**6, "drift": 0, "warning": 0}
    draws = reference.Draws(3)
    pool = native(case, [settings], [3])
    draws.next()  # the tree's key
    times = [draws.poisson(6.0) for _ in case.y]
    Steps(pool).run(case.X, case.y)
    again = tree_pool([{"grace_period": 10**6, "prediction": "naive_bayes"}])
    again.grow(case.values, case.classes)
    Steps(again).run(np.repeat(case.X, times, axis=0), np.repeat(case.y, times))
    ours, theirs = pool.tree(0, 0)[1], again.tree_state(0)
    np.testing.assert_array_equal(ours["node_counts"], theirs["node_counts"])
    np.testing.assert_array_equal(ours["block_ints"], theirs["block_ints"])
    np.testing.assert_allclose(ours["block_reals"], theirs["block_reals"], rtol=1e-9)


@pytest.mark.parametrize("seed", range(6))
def test_a_state_round_trip_changes_nothing(seed):
    case = changing(seed, 1200)
    configurations = [SETTINGS[seed], {"max_bytes": 60_000, "trees": 3}]
    whole, copy = native(case, configurations), native(case, configurations, [8, 9])
    half = 700
    Steps(whole).run(case.X[:half], case.y[:half])
    copy.restore(whole.state())
    again = Steps(copy).run(case.X[half:], case.y[half:])
    np.testing.assert_array_equal(again, Steps(whole).run(case.X[half:], case.y[half:]))
    for name, array in whole.state().items():
        np.testing.assert_array_equal(copy.state()[name], array, err_msg=name)


def test_a_state_that_does_not_fit_is_refused_and_changes_nothing():
    case = changing(5, 900)
    pool = native(case, [{}])
    Steps(pool).run(case.X, case.y)
    state, size = pool.state(), pool.summary(0)
    for name, index, value in [
        ("forest_0_behind", 0, 2),
        ("forest_0_behind", slice(None), 1),
        ("forest_0_columns", 0, 99),
        ("forest_0_columns", 1, state["forest_0_columns"][0]),
        ("forest_0_columns_sizes", 0, 0),
        ("forest_0_node_link", 0, 10**6),
        ("forest_0_replaced", 0, -1),
        ("forest_0_drift_width", 0, 7),
        ("forest_0_warning_total", 0, np.nan),
        ("classes", 0, 0),
    ]:
        broken = {key: array.copy() for key, array in state.items()}
        broken[name][index] = value
        with pytest.raises(DataError, match="The state does not fit"):
            pool.restore(broken)
    assert pool.summary(0) == size


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("subspace", ["tree", "node"])
def test_random_schemas_stay_inside_their_limits(seed, subspace):
    case = random_case(1000 + seed, 700, max_features=80, max_classes=20)
    node = 20 + 8 * case.classes
    limits = [4 * 5 * node, 30_000, 300_000, 1 << 40]
    settings = {"subspace": subspace, "grace_period": 20, "warning": 0.9, "drift": 0.5}
    pool = native(case, [{"max_bytes": b, **settings} for b in limits])
    rng = np.random.default_rng(seed)

    def choose():
        assert (pool.bytes <= limits).all()
        return rng.random(pool.models) < 0.8

    probabilities = Steps(pool).run(case.X, case.y, choose)
    assert (pool.bytes <= limits).all()
    np.testing.assert_allclose(probabilities.sum(axis=1), 1)
    assert (probabilities >= 0).all()


def test_a_forest_that_does_not_look_and_is_not_trained_stays_as_it_is():
    case = changing(3, 400)
    pool = native(case, [{}, {"subspace": "tree"}])
    first = np.array([True, False])
    Steps(pool).run(case.X, case.y, lambda: first)
    untouched = native(case, [{}, {"subspace": "tree"}]).state()
    state = pool.state()
    for name, array in untouched.items():
        if name.startswith("forest_1_"):
            np.testing.assert_array_equal(state[name], array, err_msg=name)
