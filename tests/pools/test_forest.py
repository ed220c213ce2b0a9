"""Forests from the user's view: settings, drift, sizes, text, costs, growth, randomness."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

from heros import DataError, Feature, Heros, ParameterError, Schema, evaluate, policies, pools, streams


def agrawal(n, function=2):
    return streams.Agrawal(function=function, seed=1).take(n)


def alone(configuration=None, seed=1, **settings):
    pool = pools.Forest([{"trees": 10, **(configuration or {})}])
    return Heros(pool, policies.Everything(), 1, seed=seed, **settings)


def one_tree(n=4000):
    model = Heros(pools.Hoeffding([{"grace_period": 50}]), policies.Everything(), 1, seed=1)
    return evaluate(model, agrawal(n)).accuracy


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: pools.Forest([]), "The 'configurations' parameter of Forest must be a list of at least one model. Got [] instead."),
        (lambda: pools.Forest([{"size": 1}]), "The 'configurations' parameter of Forest must be mappings with keys among ['trees', 'features', 'subspace', 'bagging', 'grace_period', 'split_confidence', 'tie_threshold', 'random_cuts', 'warning', 'drift', 'max_bytes']. Got ['size'] instead."),
        (lambda: pools.Forest([{"trees": 0}]), "The 'trees' parameter of Forest must be a whole number in [1, 1000]. Got 0 instead."),
        (lambda: pools.Forest([{"features": 0.0}]), "The 'features' parameter of Forest must be in (0, 1]. Got 0.0 instead."),
        (lambda: pools.Forest([{"features": 3}]), "The 'features' parameter of Forest must be in (0, 1]. Got 3 instead."),
        (lambda: pools.Forest([{"subspace": "leaf"}]), "The 'subspace' parameter of Forest must be 'tree' or 'node'. Got 'leaf' instead."),
        (lambda: pools.Forest([{"bagging": -1}]), "The 'bagging' parameter of Forest must be in [0, 100]. Got -1 instead."),
        (lambda: pools.Forest([{"split_confidence": 0}]), "The 'split_confidence' parameter of Forest must be in (0, 1]. Got 0 instead."),
        (lambda: pools.Forest([{"warning": 0}]), "The 'warning' parameter of Forest must be in (0, 1] or None. Got 0 instead."),
        (lambda: pools.Forest([{"drift": 2}]), "The 'drift' parameter of Forest must be in (0, 1] or None. Got 2 instead."),
        (lambda: pools.Forest([{}], costs="bytes"), "The 'costs' parameter of Forest must be 'trees', 'measured' or numbers. Got 'bytes' instead."),
        (lambda: pools.Forest([{}, {}], costs=[1]), "The 'costs' parameter of Forest must be one number per model (2). Got [1] instead."),
        (lambda: alone({"max_bytes": 1000}, schema=agrawal(1).schema), "The 'max_bytes' parameter of Forest must be at least 1440 for 9 features and 2 classes. Got 1000 instead."),
    ],
)  # fmt: skip
def test_parameter_errors(make, message):
    with pytest.raises(ParameterError) as error:
        make()
    assert str(error.value) == message


@pytest.mark.parametrize("subspace", ["tree", "node"])
def test_a_forest_is_better_than_a_tree(subspace):
    assert evaluate(alone({"subspace": subspace}), agrawal(4000)).accuracy > one_tree() + 0.02


def test_trees_are_replaced_when_the_stream_changes_and_win_it_back():
    def run(**settings):
        model = alone(settings)
        first, second = agrawal(3000, 1), agrawal(3000, 4)
        evaluate(model, first)
        before = model.bound.stats()[0]
        return before, evaluate(model, second).accuracy, model.bound.stats()[0]

    before, adapted, after = run()
    assert after.replaced >= before.replaced + 5
    assert after.warnings > 0
    assert 0 <= after.background <= after.trees == 10
    _, stuck, never = run(warning=None, drift=None)
    assert (never.warnings, never.replaced, never.background) == (0, 0, 0)
    assert adapted > stuck + 0.01


def test_a_tree_without_a_background_begins_anew():
    model = alone({"warning": None})
    evaluate(model, agrawal(3000, 1))
    evaluate(model, agrawal(500, 4))
    stats = model.bound.stats()[0]
    assert stats.replaced > 0
    assert (stats.warnings, stats.background) == (0, 0)


@pytest.mark.parametrize("subspace", ["tree", "node"])
def test_the_byte_limit_binds_at_every_instance(subspace):
    limit = 20_000
    model = alone({"subspace": subspace, "max_bytes": limit, "warning": 0.5, "drift": 0.1})
    X, y = agrawal(4000).draw(4000)
    model.bind(agrawal(1).schema)
    most = 0
    for at in range(0, 4000, 25):
        model.learn(X[at : at + 25], y[at : at + 25])
        stats = model.bound.stats()[0]
        assert stats.bytes == model.bound.bytes[0] <= limit
        most = max(most, stats.bytes)
    assert stats.max_bytes == limit
    assert stats.active_leaves < stats.leaves
    assert most > limit / 2
    larger = alone({"subspace": subspace})
    evaluate(larger, agrawal(4000))
    assert larger.bound.stats()[0].bytes > limit


def test_trees_of_a_subspace_know_only_their_features():
    model = alone({"subspace": "tree", "features": 0.2, "trees": 6})
    evaluate(model, agrawal(6000))
    names = [feature.name for feature in agrawal(1).schema.features]
    found = []
    for tree in range(6):
        text = model.bound.text(0, tree=tree)
        used = {name for name in names if any(f"{name} {sign}" in text for sign in ("<=", ">", "=", "!="))}
        assert len(used) <= 2
        found.append(frozenset(used))
    assert len(set(found)) > 2
    with pytest.raises(
        ParameterError, match=r"The 'tree' parameter of text must be a whole number in \[0, 5\]"
    ):
        model.bound.text(0, tree=6)


def test_nominal_features_are_split_by_one_value_against_the_rest():
    model = alone({"features": 1.0})
    evaluate(model, streams.Agrawal(function=3).take(10_000))
    texts = [model.bound.text(0, tree=tree) for tree in range(10)]
    assert any("elevel != " in text for text in texts)
    stats = model.bound.stats()[0]
    assert stats.nodes == 2 * stats.leaves - stats.trees


def test_a_seed_fixes_a_forest_and_another_grows_another():
    X, y = agrawal(1500).draw(1500)

    def run(seed, cut):
        model = alone(seed=seed, schema=agrawal(1).schema)
        blocks = [model.test_then_train(X[i : i + cut], y[i : i + cut]) for i in range(0, 1500, cut)]
        return np.concatenate([block.probabilities for block in blocks])

    assert np.array_equal(run(1, 1500), run(1, 7))
    assert not np.array_equal(run(1, 1500), run(2, 1500))


def test_the_forests_of_a_pool_draw_for_themselves():
    """A forest does not depend on the other models in the pool or on whether they are trained."""
    X, y = agrawal(1500).draw(1500)

    class First:
        def choose(self, scores, costs, k, rng):
            return np.array([True, False])

    def run(policy):
        pool = pools.Forest([{"trees": 5}, {"trees": 7, "subspace": "tree"}])
        model = Heros(pool, policy, 2, seed=1, warmup=0, schema=agrawal(1).schema)
        model.learn(X, y)
        return model.bound

    both, first = run(policies.Everything()), run(First())
    assert both.text(0, tree=3) == first.text(0, tree=3)
    assert first.stats()[1].nodes == 7
    assert both.stats()[1].nodes > 7


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda model: pickle.loads(pickle.dumps(model))])
def test_a_copy_goes_on_bit_for_bit_through_replacements(copied):
    X, y = map(np.concatenate, zip(agrawal(2500, 1).draw(2500), agrawal(2500, 4).draw(2500), strict=True))
    model = alone(schema=agrawal(1).schema).learn(X[:2700], y[:2700])
    again = copied(model)
    ours, theirs = model.test_then_train(X[2700:], y[2700:]), again.test_then_train(X[2700:], y[2700:])
    assert model.bound.stats()[0].replaced > 0
    assert np.array_equal(ours.probabilities, theirs.probabilities)
    assert model.bound.stats() == again.bound.stats()


@pytest.mark.parametrize("subspace", ["tree", "node"])
def test_new_features_values_and_classes_are_learnt(subspace):
    rng = np.random.default_rng(3)
    schema = Schema((Feature("a"), Feature("b", ("x", "y"))), ("no", "yes"))
    X = np.column_stack([rng.normal(size=1500), rng.integers(0, 2, 1500)])
    model = alone({"subspace": subspace}, schema=schema).learn(X, (X[:, 0] > 0).astype(int))
    known = model.predict_proba(X[:50])
    wider = Schema(
        (Feature("a"), Feature("b", ("x", "y", "z")), Feature("c", missing=True)), ("no", "yes", "new")
    )
    model.bind(wider)
    longer = np.column_stack([X[:50], np.full(50, np.nan)])
    if subspace == "node":  # a tree with the new feature predicts as before, because the feature is missing
        np.testing.assert_allclose(model.predict_proba(longer)[:, :2], known, atol=1e-6)
    X = np.column_stack([rng.normal(size=3000), rng.integers(0, 3, 3000), rng.normal(size=3000)])
    y = np.where(X[:, 1] == 2, 2, (X[:, 2] > 0).astype(int))
    model.learn(X, y)
    assert (model.predict_proba(X[-500:]).argmax(axis=1) == y[-500:]).mean() > 0.9


def test_costs():
    schema = agrawal(1).schema
    given = pools.Forest([{"trees": 10}, {"trees": 30}])
    assert Heros(given, k=1, schema=schema).costs.tolist() == [0.25, 0.75]
    measured = Heros(pools.Forest(given.configurations, costs="measured"), k=1, schema=schema).costs
    assert measured.sum() == pytest.approx(1)
    assert measured[1] > 1.5 * measured[0]
    assert Heros(pools.Forest(given.configurations, costs=[1, 1]), k=1, schema=schema).costs.tolist() == [
        0.5,
        0.5,
    ]


def test_equal_descriptions_are_equal():
    assert pools.Forest() == pools.Forest([{}]) == pools.Forest([{"trees": 30, "features": 0.6}])
    assert pools.Forest([{"trees": 3}]) != pools.Forest([{"trees": 3}], costs="measured")
    assert [c["trees"] for c in pools.ForestGrid().configurations] == [10, 10, 30, 30]


def test_a_state_of_another_forest_is_refused():
    ten, five = (alone({"trees": n}, schema=agrawal(1).schema) for n in (10, 5))
    with pytest.raises(DataError, match=r"The state does not fit"):
        ten.bound.restore(five.bound.state())
    with pytest.raises(
        ParameterError,
        match=r"The 'state' parameter of Forest must be the state of these models, with at least 10 numbers in 'forest_0_behind'\. Got 5 instead\.",
    ):
        ten.pool.expect_room(ten.schema, five.bound.state())
