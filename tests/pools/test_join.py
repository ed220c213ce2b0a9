"""Joined pools: every model behaves as in its own pool, and one policy chooses among all models."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from heros import Feature, Heros, HerosError, ParameterError, Schema, policies, pools, streams
from heros._base.registry import pool_id, pool_of

PERCEPTRONS = pools.MLP(
    [{"hidden": 8}, {"hidden": 24, "learning_rate": 0.05}, {"optimizer": "sgd", "hidden": 16}]
)
TREES = pools.Hoeffding([{"grace_period": 50}, {"max_bytes": 4096}])
BOTH = pools.Join(PERCEPTRONS, TREES, costs=[4, 1])


class Majority:
    """A model written in Python."""

    def __init__(self):
        self.counts = np.ones(2)

    def predict_proba(self, x):
        return self.counts / self.counts.sum()

    def learn(self, x, y):
        self.counts[y] += 1


class Brittle(Majority):
    """A model that fails at its 50th instance."""

    def learn(self, x, y):
        super().learn(x, y)
        if self.counts.sum() == 52:
            raise RuntimeError("worn out")


def drawn(n=1500):
    stream = streams.Agrawal(function=4)
    return stream.schema, *stream.draw(n)


def test_every_model_is_what_it_is_alone():
    """The generator draws for the first pool first, so its weights are the same as alone; trees draw nothing."""
    schema, X, y = drawn()
    everything = policies.Everything()
    joined = Heros(BOTH, everything, seed=1, schema=schema).learn(X, y)
    first = Heros(PERCEPTRONS, everything, seed=1, schema=schema).learn(X, y)
    second = Heros(TREES, everything, seed=1, schema=schema).learn(X, y)
    assert np.array_equal(joined.scores, np.concatenate([first.scores, second.scores]))


@pytest.mark.parametrize("cut", [1, 7, 500])
def test_results_do_not_depend_on_how_blocks_are_cut(cut):
    schema, X, y = drawn()
    policy = policies.Explore(policies.Zeta(0.05), 0.2)
    whole = Heros(BOTH, policy, 3, seed=1, schema=schema).test_then_train(X, y)
    model = Heros(BOTH, policy, 3, seed=1, schema=schema)
    parts = [model.test_then_train(X[i : i + cut], y[i : i + cut]) for i in range(0, len(y), cut)]
    assert np.array_equal(np.concatenate([part.probabilities for part in parts]), whole.probabilities)
    assert np.array_equal(np.concatenate([part.chosen for part in parts]), whole.chosen)


def test_python_models_join_too_and_answer():
    schema, X, y = drawn(400)
    pool = pools.Join(TREES, pools.Models([("majority", Majority())], costs=[1]), costs=[2, 1])
    model = Heros(pool, policies.Random(), 2, seed=1, schema=schema).learn(X, y)
    alone = Heros(pools.Models([Majority()], costs=[1]), policies.Everything(), seed=1, schema=schema).learn(
        X, y
    )
    assert model.trained.sum() == 100 * 3 + 300 * 2
    assert 0 < model.scores[2] <= 1
    assert pool.configurations[2]["name"] == "majority"
    assert alone.scores[0] == pytest.approx(model.scores[2], abs=0.1)


def test_if_a_python_model_throws_all_the_others_have_learnt_the_same_instances():
    schema, X, y = drawn(200)
    members = pools.Models([Brittle()], costs=[1], on_error="raise")
    model = Heros(pools.Join(members, TREES, costs=[1, 1]), policies.Everything(), seed=1, schema=schema)
    with pytest.raises(HerosError, match="worn out"):
        model.learn(X, y)
    trees = Heros(TREES, policies.Everything(), seed=1, schema=schema).learn(X[:50], y[:50])
    assert model.instances == 50
    assert [tree.bytes for tree in model.bound.parts[1].stats()] == [
        tree.bytes for tree in trees.bound.stats()
    ]


def test_costs_are_on_one_scale():
    schema, *_ = drawn(1)
    bound = BOTH.bind(schema, np.random.default_rng(1))
    assert bound.costs.sum() == pytest.approx(1)
    assert bound.costs[:3].sum() == pytest.approx(0.8)
    assert bound.costs[1] / bound.costs[0] == pytest.approx(3)  # by hidden units, as in its pool
    assert pools.Join(PERCEPTRONS, TREES, costs=[1, 1, 1, 1, 4]).bind(
        schema, np.random.default_rng(1)
    ).costs.tolist() == [0.125, 0.125, 0.125, 0.125, 0.5]


def test_measured_costs_follow_the_work():
    schema = Schema.of([f"x{i}" for i in range(20)], classes=["a", "b"])
    wide = pools.Join(pools.MLP([{"hidden": 4096}, {"hidden": 16}]), pools.Hoeffding([{}]))
    costs = wide.bind(schema, np.random.default_rng(1)).costs
    assert costs[0] > 10 * costs[1]
    assert costs[0] > 10 * costs[2]


def test_costs_that_change_keep_the_share_of_their_pool():
    schema, X, y = drawn(6000)
    pool = pools.Join(
        PERCEPTRONS, pools.Hoeffding([{"max_bytes": 1024}, {"grace_period": 20}], costs="bytes"), costs=[1, 1]
    )
    model = Heros(pool, policies.Everything(), seed=1, schema=schema).learn(X, y)
    assert model.costs[3:].sum() == pytest.approx(0.5)
    assert model.costs[4] > model.costs[3]


def test_it_grows_with_the_schema():
    schema, X, y = drawn(600)
    model = Heros(BOTH, k=3, seed=1, schema=schema).learn(X, y)
    grown = Schema((*schema.features, Feature("new", missing=True)), (*schema.classes, "third"))
    model.bind(grown)
    more = np.column_stack([X, np.full(len(y), np.nan)])
    assert model.predict_proba(more[:2]).shape == (2, 3)
    model.learn(more, y)
    assert model.instances == 1200


def test_if_one_pool_does_not_fit_a_grown_schema_no_pool_grows(tmp_path):
    small = pools.Join(PERCEPTRONS, pools.Neighbours([{}], max_bytes=16_000), costs=[4, 1])
    schema, X, y = drawn(600)
    model = Heros(small, k=3, seed=1, schema=schema).learn(X, y)
    twin = pickle.loads(pickle.dumps(model))
    wide = Schema((*schema.features, *(Feature(f"new{i}", missing=True) for i in range(100))), schema.classes)
    for _ in range(2):
        with pytest.raises(ParameterError, match=r"'max_bytes' parameter of Neighbours must be at least \d+"):
            model.bind(wide)
    assert model.schema == schema
    model.learn(X, y).save(tmp_path / "model.heros")
    expected = twin.learn(X, y).predict_proba(X)
    assert (model.predict_proba(X) == expected).all()
    assert (Heros.load(tmp_path / "model.heros").predict_proba(X) == expected).all()


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_the_default_pool_fits_ten_thousand_features(task):
    classes = None if task == "regression" else ["no", "yes"]
    model = Heros(task=task, schema=Schema.of([f"f{i}" for i in range(2000)], classes=classes))
    model.bind(Schema.of([f"f{i}" for i in range(10_000)], classes=classes))
    assert model.bound.schema.n_features == 10_000


@pytest.mark.parametrize("way", ["pickle", "state"])
def test_its_whole_state_comes_back(way, tmp_path):
    schema, X, y = drawn()
    policy = policies.Explore(policies.Cand(), 0.1)
    model = Heros(BOTH, policy, 3, seed=1, schema=schema).learn(X[:700], y[:700])
    if way == "pickle":
        again = pickle.loads(pickle.dumps(model))
    else:
        model.save(tmp_path / "joined.heros")
        again = Heros.load(tmp_path / "joined.heros")
        assert again.pool == BOTH
    rest = model.test_then_train(X[700:], y[700:])
    assert np.array_equal(again.test_then_train(X[700:], y[700:]).probabilities, rest.probabilities)


def test_it_is_read_from_a_file_of_settings(tmp_path):
    path = tmp_path / "pool.toml"
    path.write_text(
        """
        kind = "join"
        costs = [4, 1]
        [[pools]]
        kind = "mlp"
        models = [{hidden = 8}, {hidden = 16}]
        [[pools]]
        kind = "trees"
        grid = {max_bytes = [4096], grace_periods = [50, 100]}
        """
    )
    pool = pool_of(str(path))
    assert (pool_id(pool), pool.n_models, pool.costs) == ("mlp2+trees2", 4, (0.8, 0.2))


def test_joining_a_join_adds_its_parts():
    assert pools.Join(BOTH, TREES, costs=[1, 1, 1]).pools == (PERCEPTRONS, TREES, TREES)


def test_who_leads_and_what_a_setting_is_worth():
    schema, X, y = drawn(500)
    model = Heros(BOTH, k=3, seed=1, schema=schema).learn(X, y)
    assert {row.configuration["family"] for row in model.leaderboard()} == {"MLP", "Hoeffding"}
    assert {"MLP", "Hoeffding"} <= {row.value for row in model.pool_summary()}


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (pools.Join, "The 'pools' parameter of Join must be one or more pools. Got [] instead."),
        (lambda: pools.Join("mlp"), "must be pools, e.g. heros.pools.MLPGrid(). Got 'mlp' instead."),
        (lambda: pools.Join(TREES, costs="bytes"), "must be 'measured' or numbers. Got 'bytes' instead."),
        (
            lambda: pools.Join(PERCEPTRONS, TREES, costs=[1, 2, 3]),
            "must be 'measured', one number per pool (2) or one per model (5). Got [1, 2, 3] instead.",
        ),
        (lambda: pools.Join(TREES, costs=3), "must be 'measured', one number per pool (1)"),
        (lambda: pools.Join(TREES, TREES, costs=[1, -1]), "must be finite and non-negative"),
    ],
)
def test_wrong_parameters(make, text):
    with pytest.raises(ParameterError) as raised:
        make()
    assert text in str(raised.value)
