"""The compiled trees equal their slow version, keep their byte limits, and survive a state round trip."""

from __future__ import annotations

import numpy as np
import pytest

from reference_trees import ReferenceTree, Settings
from tree_cases import Case, Steps, random_case, tree_pool

OPTIONS = [
    {},
    {"prediction": "majority", "grace_period": 50},
    {"prediction": "naive_bayes", "binary_splits": True},
    {"criterion": "gini", "grace_period": 60},
    {"max_depth": 1, "grace_period": 50},
    {"grace_period": 20, "tie_threshold": 0.2},
]


def reference(case: Case, **options):
    tree = ReferenceTree(Settings(case.values.tolist(), **options), case.classes)
    votes = []
    for x, y in zip(case.X.tolist(), case.y.tolist(), strict=True):
        votes.append(tree.votes(x))
        tree.learn(x, y)
    total = np.sum(votes, axis=1, keepdims=True)
    return np.where(total > 0, votes / np.where(total > 0, total, 1), 1 / case.classes)


@pytest.mark.matrix(most=6)
@pytest.mark.parametrize("seed", range(18))
def test_equals_the_slow_twin_instance_by_instance(seed):
    case = random_case(seed, 2500)
    options = {"grace_period": 100, "split_confidence": 0.01, **OPTIONS[seed % len(OPTIONS)]}
    pool = tree_pool([options])
    pool.grow(case.values, case.classes)
    np.testing.assert_allclose(
        Steps(pool).run(case.X, case.y), reference(case, **options), rtol=1e-7, atol=1e-9
    )


@pytest.mark.matrix
@pytest.mark.parametrize("prediction", ["adaptive", "naive_bayes", "majority"])
@pytest.mark.parametrize("seed", range(3))
def test_splits_on_change_equal_the_slow_twin(seed, prediction):
    case = random_case(seed, 1200)
    case.y[600:] = case.y[600:][::-1]  # the learnt tree is wrong from here on
    options = {"on_change": True, "split_confidence": 0.05, "prediction": prediction, "binary_splits": True}
    pool = tree_pool([options, {}])  # leaves of the other tree have space that this tree does not need
    pool.grow(case.values, case.classes)
    found = Steps(pool).run(case.X, case.y, lambda: np.array([True, False]))
    alone = tree_pool([options])
    alone.grow(case.values, case.classes)
    said = Steps(alone).run(case.X, case.y)
    np.testing.assert_allclose(said, reference(case, **options), rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(found, (said + 1 / case.classes) / 2, rtol=1e-7, atol=1e-9)
    assert pool.summary(0)[0] > 1


def test_splits_on_change_go_on_after_a_state_and_growth():
    case = random_case(3, 1500)
    options = {"on_change": True, "split_confidence": 0.05}
    grown, whole, again = (tree_pool([options]) for _ in range(3))
    grown.grow(case.values, case.classes)
    whole.grow(case.values, case.classes)
    Steps(whole).run(case.X[:700], case.y[:700])
    Steps(grown).run(case.X[:700], case.y[:700])
    grown.grow(np.append(case.values, 0).astype(np.int32), case.classes)
    again.restore(whole.state())
    rest, labels = case.X[700:], case.y[700:]
    said = Steps(whole).run(rest, labels)
    assert np.array_equal(Steps(again).run(rest, labels), said)
    wider = np.column_stack([rest, np.full(len(rest), np.nan)])
    np.testing.assert_allclose(Steps(grown).run(wider, labels), said, atol=1e-12)


def test_the_twin_is_put_to_the_test():
    """The cases above cover splits, also on nominal features, and leaves of both kinds."""
    nodes = []
    for seed in range(18):
        case = random_case(seed, 2500)
        pool = tree_pool([{"grace_period": 100, "split_confidence": 0.01, **OPTIONS[seed % len(OPTIONS)]}])
        pool.grow(case.values, case.classes)
        Steps(pool).run(case.X, case.y)
        nodes.append(pool.summary(0)[0])
    assert sum(n > 3 for n in nodes) > len(nodes) / 2


@pytest.mark.parametrize("seed", range(12))
def test_random_schemas_stay_inside_their_limits(seed):
    """1-200 features, 2-20 classes: compare bytes at every instance and probabilities at the end."""
    case = random_case(1000 + seed, 1200, max_features=200, max_classes=20)
    node = 20 + 8 * case.classes
    limits = [node, node + 100, 4096, 32768, 1 << 40]
    pool = tree_pool(
        [{"max_bytes": b, "grace_period": g, "split_confidence": 0.05} for b in limits for g in (20, 60)]
    )
    pool.grow(case.values, case.classes)
    rng = np.random.default_rng(seed)
    bounds = np.repeat(limits, 2)

    def choose():
        assert (pool.bytes <= bounds).all()
        return rng.random(pool.models) < 0.6

    probabilities = Steps(pool).run(case.X, case.y, choose)
    assert (pool.bytes <= bounds).all()
    assert np.isfinite(probabilities).all()
    np.testing.assert_allclose(probabilities.sum(axis=1), 1)
    for i in range(pool.models):
        nodes, leaves, active, depth, size = pool.summary(i)
        assert 0 <= active <= leaves <= nodes
        assert depth < nodes
        assert size == pool.bytes[i]


@pytest.mark.parametrize("seed", range(6))
def test_a_state_round_trip_changes_nothing(seed):
    case = random_case(2000 + seed, 1600)
    configs = [{"max_bytes": b, "grace_period": 30, "split_confidence": 0.05} for b in (600, 3000, 1 << 40)]
    half = 800
    whole = tree_pool(configs)
    whole.grow(case.values, case.classes)
    Steps(whole).run(case.X[:half], case.y[:half])
    copy = tree_pool(configs)
    copy.restore(whole.state())
    again = Steps(copy).run(case.X[half:], case.y[half:])
    np.testing.assert_array_equal(again, Steps(whole).run(case.X[half:], case.y[half:]))
    for name, array in whole.state().items():
        np.testing.assert_array_equal(copy.state()[name], array, err_msg=name)


def test_a_state_that_does_not_fit_is_refused():
    case = random_case(5, 1500)
    pool = tree_pool([{"grace_period": 30, "split_confidence": 0.05}])
    pool.grow(case.values, case.classes)
    Steps(pool).run(case.X, case.y)
    state = pool.state()
    assert pool.summary(0)[0] > 1
    for name, index, value in [
        ("node_link", 0, 10**6),
        ("node_test", 0, 4 * 99),
        ("node_length", 0, 99),
        ("node_counts", 0, np.nan),
        ("leaf_ints", 1, 10**6),
        ("block_ints_sizes", 0, 1),
        ("node_value_sizes", 0, -1),
    ]:
        broken = {key: array.copy() for key, array in state.items()}
        broken[name][index] = value
        with pytest.raises(ValueError, match="The state does not fit"):
            tree_pool([{"grace_period": 30}]).restore(broken)


@pytest.mark.parametrize("seed", [2, 5, 7, 11])
def test_room_for_more_values_classes_and_features_changes_no_answer(seed):
    case = random_case(seed, 1600, max_features=6)
    plain, grown = (tree_pool([{"grace_period": 30, "split_confidence": 0.05}]) for _ in range(2))
    for pool in (plain, grown):
        pool.grow(case.values, case.classes)
        Steps(pool).run(case.X[:800], case.y[:800])
    more = np.append(np.where(case.values > 0, case.values + 3, 0), [0, 4]).astype(np.int32)
    grown.grow(more, case.classes + 2)
    wider = np.column_stack([case.X[800:], np.full((800, 2), np.nan)])
    expected = Steps(plain).run(case.X[800:], case.y[800:])
    found = Steps(grown).run(wider, case.y[800:])
    assert plain.summary(0)[0] > 1
    assert plain.summary(0)[:4] == grown.summary(0)[:4]
    no_vote = np.ptp(expected, axis=1) == 0  # every vote is 0: uniform over the known classes
    assert no_vote.mean() < 0.1
    np.testing.assert_allclose(found[no_vote], 1 / (case.classes + 2))
    np.testing.assert_allclose(found[~no_vote, : case.classes], expected[~no_vote], rtol=1e-7, atol=1e-9)
    assert (found[~no_vote, case.classes :] == 0).all()


def test_new_values_classes_and_features_are_learnt():
    rng = np.random.default_rng(3)
    n = 1500
    code = rng.integers(0, 2, n).astype(float)
    pool = tree_pool([{}])
    pool.grow(np.array([2], np.int32), 2)
    Steps(pool).run(code[:, None], code.astype(np.int64))
    code, number = rng.integers(0, 3, n).astype(float), rng.normal(size=n)
    y = np.where(code == 2, 2, np.where(number > 0, 1, 3))
    pool.grow(np.array([3, 0], np.int32), 4)
    found = Steps(pool).run(np.column_stack([code, number]), y)
    assert (found[-500:].argmax(axis=1) == y[-500:]).mean() > 0.9


def test_a_schema_that_outgrows_the_limit_prunes_the_tree():
    rng = np.random.default_rng(4)
    X = rng.normal(size=(4000, 2))
    y = ((X[:, 0] > 0).astype(np.int64) + (X[:, 1] > 0)) % 2
    limit = 1500
    pool = tree_pool([{"max_bytes": limit, "grace_period": 30, "tie_threshold": 0.5}])
    pool.grow(np.zeros(2, np.int32), 2)
    Steps(pool).run(X, y)
    before = pool.summary(0)[0]
    pool.grow(np.zeros(2, np.int32), 40)
    assert 1 <= pool.summary(0)[0] < before
    assert pool.bytes[0] <= limit
    probabilities = Steps(pool).run(X, y)
    assert pool.bytes[0] <= limit
    np.testing.assert_allclose(probabilities.sum(axis=1), 1)


def test_a_limit_below_one_node_is_refused():
    with pytest.raises(ValueError, match="A tree of one node needs 36 bytes with this schema"):
        tree_pool([{"max_bytes": 35}]).grow(np.zeros(2, np.int32), 2)


def test_a_limit_too_small_for_one_observer_leaves_a_majority_leaf():
    case = random_case(8, 600)
    pool = tree_pool([{"max_bytes": 20 + 8 * case.classes}])
    pool.grow(case.values, case.classes)
    found = Steps(pool).run(case.X, case.y)
    assert pool.summary(0)[:4] == (1, 1, 0, 0)
    counts = np.array([(case.y[:-1] == c).sum() for c in range(case.classes)])
    np.testing.assert_allclose(found[-1], counts / counts.sum())


def test_deactivated_leaves_come_back_where_they_are_most_promising():
    """Labels are noise first in one region, then in another: the observers follow the errors."""
    rng = np.random.default_rng(6)
    n = 8000
    X = np.column_stack([rng.integers(0, 4, n), rng.normal(size=(n, 3))]).astype(float)
    y = (X[:, 0] >= 2).astype(np.int64)
    noisy = np.where(np.arange(n) < n // 4, 0, 3)
    y = np.where((X[:, 0] == noisy) & (np.arange(n) > 1000), rng.integers(0, 2, n), y)
    pool = tree_pool([{"max_bytes": 700, "grace_period": 50, "max_depth": 1}])
    pool.grow(np.array([4, 0, 0, 0], np.int32), 2)
    inactive = []

    def choose():
        state = pool.state()
        leaves = (state["node_test"] == -1) & (state["node_link"] == -2)
        inactive.append(frozenset(np.flatnonzero(leaves).tolist()))
        return np.ones(1, bool)

    Steps(pool).run(X, y, choose)
    first_noise, later_noise = 1, 4  # children of the root
    assert first_noise not in inactive[n // 4]
    assert later_noise in inactive[n // 4]
    assert first_noise in inactive[-1]
    assert later_noise not in inactive[-1]
