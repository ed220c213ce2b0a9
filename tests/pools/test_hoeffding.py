"""The tree pools from the user's view: settings, costs, sizes, text, growth."""

from __future__ import annotations

import numpy as np
import pytest

from heros import Heros, ParameterError, Schema, evaluate, policies, pools, streams


def agrawal(n):
    return streams.Agrawal(function=2, seed=1).take(n)


def trained(pool, n=4000, **settings):
    model = Heros(pool, policies.Everything(), pool.n_models, seed=1, **settings)
    evaluate(model, agrawal(n))
    return model


def test_the_grid_is_the_papers():
    grid = pools.HoeffdingGrid()
    sizes = [c["max_bytes"] for c in grid.configurations]
    assert sorted(set(sizes)) == [2048 << k for k in range(10)]
    assert sorted({c["grace_period"] for c in grid.configurations}) == [50, 100, 200, 400, 800]
    bound = grid.bind(agrawal(1).schema, np.random.default_rng(1))
    np.testing.assert_allclose(bound.costs, np.array(sizes) / sum(sizes))


def test_the_other_settings_are_moas_defaults():
    assert pools.Hoeffding([{}]).configurations[0] == {
        "max_bytes": 33554432,
        "grace_period": 200,
        "split_confidence": 1e-7,
        "tie_threshold": 0.05,
        "criterion": "information_gain",
        "prediction": "adaptive",
        "binary_splits": False,
        "max_depth": None,
        "split_on": "bound",
    }


def test_splits_on_change_follow_a_drift_where_bounds_do_not():
    """Two functions of two features that alternate: leaves whose hits fall are split immediately."""
    rng = np.random.default_rng(1)
    X = rng.uniform(size=(12_000, 2))
    y = np.where(np.arange(12_000) < 6000, X[:, 0] > 0.5, X[:, 1] > 0.5).astype(int)

    def late(**settings):
        model = Heros(pools.Hoeffding([settings]), policies.Everything(), 1, seed=1, warmup=0)
        model.bind(Schema.of(["a", "b"], classes=["no", "yes"]))
        said = model.test_then_train(X, y).probabilities
        return (said.argmax(1) == y)[6000:7500].mean()

    assert late(split_on="change", split_confidence=0.001) > late() + 0.05


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: pools.Hoeffding([]), "The 'configurations' parameter of Hoeffding must be a list of at least one model. Got [] instead."),
        (lambda: pools.Hoeffding([{"size": 1}]), "The 'configurations' parameter of Hoeffding must be mappings with keys among ['max_bytes', 'grace_period', 'split_confidence', 'tie_threshold', 'criterion', 'prediction', 'binary_splits', 'max_depth', 'split_on']. Got ['size'] instead."),
        (lambda: pools.Hoeffding([{"grace_period": 0}]), "The 'grace_period' parameter of Hoeffding must be a whole number in [1, 2147483647]. Got 0 instead."),
        (lambda: pools.Hoeffding([{"split_confidence": 0}]), "The 'split_confidence' parameter of Hoeffding must be in (0, 1]. Got 0 instead."),
        (lambda: pools.Hoeffding([{"criterion": "entropy"}]), "The 'criterion' parameter of Hoeffding must be 'information_gain' or 'gini'. Got 'entropy' instead."),
        (lambda: pools.Hoeffding([{"prediction": "mc"}]), "The 'prediction' parameter of Hoeffding must be 'majority', 'naive_bayes' or 'adaptive'. Got 'mc' instead."),
        (lambda: pools.Hoeffding([{"max_depth": -1}]), "The 'max_depth' parameter of Hoeffding must be a whole number in [0, 1048576] or None. Got -1 instead."),
        (lambda: pools.Hoeffding([{"max_bytes": 0.5}]), "The 'max_bytes' parameter of Hoeffding must be a whole number in [1, 4611686018427387904]. Got 0.5 instead."),
        (lambda: pools.Hoeffding([{}], costs="size"), "The 'costs' parameter of Hoeffding must be 'max-bytes', 'bytes', 'measured' or numbers. Got 'size' instead."),
        (lambda: pools.Hoeffding([{}, {}], costs=[1]), "The 'costs' parameter of Hoeffding must be one number per model (2). Got [1] instead."),
        (lambda: Heros(pools.Hoeffding([{"max_bytes": 30}]), k=1, schema=agrawal(1).schema), "The 'max_bytes' parameter of Hoeffding must be at least 36 for 9 features and 2 classes. Got 30 instead."),
    ],
)  # fmt: skip
def test_parameter_errors(make, message):
    with pytest.raises(ParameterError) as error:
        make()
    assert str(error.value) == message


def test_sizes_bind():
    """The cheapest and the most expensive trees differ, unlike in the paper, and no tree exceeds its limit."""
    model = trained(pools.HoeffdingGrid(grace_periods=[200]), 20_000)
    stats = model.bound.stats()
    assert all(s.bytes <= s.max_bytes for s in stats)
    assert stats[0].active_leaves < stats[0].leaves
    assert stats[-1].active_leaves == stats[-1].leaves > stats[0].active_leaves
    assert stats[-1].bytes > stats[0].max_bytes
    assert model.scores[-1] > model.scores[0] + 0.02


def test_trees_differ_only_once_a_limit_binds():
    pool = pools.Hoeffding([{"max_bytes": b} for b in (1 << 16, 1 << 20, 1 << 30)])
    model = trained(pool, 5000)
    assert len(set(map(str, model.bound.stats()))) == 3  # the trees differ only in max_bytes
    assert len({(s.nodes, s.bytes) for s in model.bound.stats()}) == 1
    assert len({model.bound.text(i) for i in range(3)}) == 1


def test_a_maximal_depth_is_kept():
    depths = (0, 1, 2, None)
    pool = pools.Hoeffding([{"max_depth": d, "tie_threshold": 0.5, "grace_period": 50} for d in depths])
    found = [s.depth for s in trained(pool, 10_000).bound.stats()]
    assert found[:3] == [0, 1, 2]
    assert found[3] > 2


def test_binary_splits_have_two_branches():
    pool = pools.Hoeffding([{"binary_splits": b, "tie_threshold": 0.5} for b in (False, True)])
    model = Heros(pool, policies.Everything(), 2, seed=1)
    evaluate(model, streams.Agrawal(function=3).take(20_000))
    many, two = model.bound.stats()
    assert two.nodes == 2 * two.leaves - 1
    assert many.nodes < 2 * many.leaves - 1
    assert "elevel != " in model.bound.text(1)


def test_the_text_shows_the_tree():
    rng = np.random.default_rng(1)
    n = 3000
    X = np.column_stack([rng.uniform(0, 100, n), rng.integers(0, 3, n)]).astype(float)
    y = np.where(X[:, 1] == 2, 1, 0)
    schema = Schema.of(["age", ("colour", "red", "green", "blue")], ["no", "yes"])
    model = Heros(pools.Hoeffding([{"prediction": "majority"}]), k=1, seed=1, schema=schema).learn(X, y)
    lines = model.bound.text(0).splitlines()
    assert [line.split(":")[0] for line in lines] == ["colour = red", "colour = green", "colour = blue"]
    assert lines[2].startswith("colour = blue: yes (")
    y = (X[:, 0] > 50).astype(int)
    model = Heros(pools.Hoeffding([{"max_bytes": 400}]), k=1, seed=1, schema=schema).learn(X, y)
    first, second = model.bound.text(0).splitlines()[0], model.bound.text(0).splitlines()[-1]
    assert first.startswith("age <= ")
    assert second.lstrip().startswith("age > ")
    with pytest.raises(ParameterError, match=r"The 'i' parameter of text must be a whole number in \[0, 0\]"):
        model.bound.text(1)


def test_inactive_leaves_are_named():
    model = trained(pools.Hoeffding([{"max_bytes": 2048}]), 20_000)
    stats = model.bound.stats()[0]
    inactive = model.bound.text(0).count(", inactive)")
    assert inactive == stats.leaves - stats.active_leaves > 0


def test_costs_by_bytes_follow_the_trees_however_blocks_are_cut():
    pool = pools.HoeffdingGrid(max_bytes=[2048, 65536], grace_periods=[50, 400], costs="bytes")
    X, y = agrawal(6000).draw(6000)
    whole, parts = (Heros(pool, policies.Zeta(0.05), 2, seed=1, schema=agrawal(1).schema) for _ in range(2))
    assert whole.costs.tolist() == [0.25] * 4
    block = whole.test_then_train(X, y)
    found = [parts.test_then_train(X[i : i + 700], y[i : i + 700]) for i in range(0, 6000, 700)]
    assert np.array_equal(block.probabilities, np.concatenate([part.probabilities for part in found]))
    assert np.array_equal(block.spent, np.concatenate([part.spent for part in found]))
    assert np.ptp(whole.costs) > 0.1
    now = np.array([s.bytes for s in whole.bound.stats()], dtype=float)
    np.testing.assert_allclose(whole.bound.measure(), now / now.sum())


def test_costs_by_time_are_positive_shares():
    pool = pools.Hoeffding([{"prediction": "majority"}, {"grace_period": 1}], costs="measured")
    costs = Heros(pool, k=1, schema=agrawal(1).schema).costs
    assert (costs > 0).all()
    assert costs.sum() == pytest.approx(1)
    assert costs[1] > costs[0]


def test_given_costs_are_taken():
    pool = pools.Hoeffding([{}, {}], costs=[1, 3])
    assert Heros(pool, k=1, schema=agrawal(1).schema).costs.tolist() == [0.25, 0.75]


def test_equal_descriptions_are_equal():
    assert pools.Hoeffding([{"max_bytes": 2048}]) == pools.Hoeffding(
        [{"max_bytes": 2048, "grace_period": 200}]
    )
    assert pools.Hoeffding([{}]) != pools.Hoeffding([{"grace_period": 100}])
