"""The inspection of a Heros agrees with the actual steps."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pandas as pd
import pytest

from heros import Heros, HerosError, policies, pools, streams

POOL = pools.MLPGrid(optimizers=["adam", "sgd"], learning_rates=[0.05, 0.005], hidden=[8, 16])


class Fair:
    """Trains the models that were trained least: a policy without its own reasons."""

    def __repr__(self):  # the name of a test must be the same in all processes
        return type(self).__name__

    def __init__(self):
        self.times = np.zeros(8)

    def choose(self, scores, costs, k, rng):
        mask = np.zeros(len(scores), dtype=bool)
        mask[np.argsort(self.times, kind="stable")[:k]] = True
        self.times += mask
        return mask


def learnt(policy=None, n=400, **settings):
    stream = streams.Agrawal(function=2)
    return Heros(POOL, policy, k=3, seed=1, schema=stream.schema, **settings).learn(*stream.draw(n))


def test_leaderboard_is_by_score_and_knows_price_and_training():
    model = learnt()
    board = model.leaderboard()
    assert [row.model for row in board] == sorted(range(8), key=lambda i: (-model.scores[i], i))
    assert [row.rank for row in board] == list(range(1, 9))
    for row in board:
        i = row.model
        assert (row.score, row.cost, row.trained) == (model.scores[i], model.costs[i], model.trained[i])
        assert (row.invested, row.diverged) == (model.invested[i], model.diverged[i])
        assert row.configuration == POOL.configurations[i]
    assert board[0].configuration == model.best_model
    assert len(board[:3]) == 3
    assert pd.DataFrame(list(board))["trained"].sum() == model.trained.sum()


def test_leaderboard_prints_as_a_table():
    lines = repr(learnt().leaderboard()).splitlines()
    assert lines[0].split() == ["rank", "model", "optimizer", "learning_rate", "hidden", "L", "γ", "trained"]
    assert len(lines) == 9
    assert len({len(line) for line in lines}) == 1


def test_models_that_diverged_are_marked():
    rng = np.random.default_rng(1)
    stream = streams.from_arrays(1e8 * rng.standard_normal((400, 3)), rng.integers(0, 2, 400))
    pool = pools.MLP([{"optimizer": "sgd", "learning_rate": 1e6}, {}], scale=False)
    model = Heros(pool, seed=1, schema=stream.schema).learn(*stream.draw(400))
    assert model.diverged.tolist() == [True, False]
    assert [row.diverged for row in model.leaderboard()] == [
        model.diverged[r.model] for r in model.leaderboard()
    ]
    assert "(diverged)" in repr(model.leaderboard())
    assert "1 diverged" in repr(model.pool_summary())


@pytest.mark.parametrize("size", [1, 7, 400])
@pytest.mark.parametrize(
    "policy",
    [policies.Zeta(0.05), policies.Cand(), policies.Explore(policies.Zeta(0.05), 0.3), Fair()],
    ids=str,
)
def test_the_explained_models_are_those_of_the_last_step(policy, size):
    stream = streams.Agrawal(function=2)
    model = Heros(POOL, copy.deepcopy(policy), k=3, seed=1, warmup=50, schema=stream.schema)
    for X, y in stream.take(400).blocks(size):
        block = model.test_then_train(X, y)
        explanation = model.explain_choice()
        assert sorted(choice.model for choice in explanation) == np.flatnonzero(block.chosen[-1]).tolist()
        assert explanation.rule.startswith("warm-up") == (model.instances <= 50)
    for choice in explanation:
        assert choice.configuration == POOL.configurations[choice.model]
        assert (choice.score, choice.cost) == (model.scores[choice.model], model.costs[choice.model])


@pytest.mark.parametrize("inner", [policies.Cheapest(), Fair()], ids=["compiled", "python"])
@pytest.mark.parametrize("depth", [1, 2])
def test_exploration_is_told_from_the_policy(inner, depth):
    """The next draw of a copy of the generator shows whether the step explores."""
    epsilons = [0.4, 0.3][:depth]
    policy = inner
    for epsilon in reversed(epsilons):
        policy = policies.Explore(policy, epsilon)
    stream = streams.Agrawal(function=2)
    model = Heros(POOL, policy, k=3, seed=1, warmup=0, schema=stream.schema)
    explored = 0
    for X, y in stream.take(200).blocks(1):
        twin = copy.deepcopy(model.rng)
        expected = any(twin.random() < epsilon for epsilon in epsilons)
        model.learn(X, y)
        explanation = model.explain_choice()
        assert explanation.rule.startswith("exploration") == expected
        assert all(("drawn at random" in choice.reason) == expected for choice in explanation)
        explored += expected
    assert 50 < explored < 150


def test_an_explanation_prints_its_rule_and_a_line_for_each_model():
    model = learnt(policies.Cheapest())
    lines = repr(model.explain_choice()).splitlines()
    assert lines[0] == "Cheapest() chose 3 of 8 models for instance 400"
    assert lines[1].split() == ["model", "settings", "L", "γ", "why"]
    assert lines[2].split()[:4] == ["0", "adam", "0.05", "8"]
    assert lines[2].endswith("rank 1 by γ, lowest first (0.08333)")
    assert repr(learnt(n=7).explain_choice()).startswith(
        "warm-up: all 8 models are trained on the first 100 instances\n"
    )


def test_a_copy_explains_the_same():
    model = learnt(policies.Explore(Fair(), 0.5))
    assert repr(pickle.loads(pickle.dumps(model)).explain_choice()) == repr(model.explain_choice())


def test_there_is_nothing_to_explain_before_the_first_instance_or_after_a_failure():
    class Fails:
        def choose(self, scores, costs, k, rng):
            raise RuntimeError("no idea")

    stream = streams.Agrawal(function=2)
    with pytest.raises(
        HerosError, match=r"^There is no choice to explain\. The model has not been trained yet\.$"
    ):
        Heros(POOL, schema=stream.schema).explain_choice()
    model = Heros(POOL, Fails(), k=3, warmup=1, schema=stream.schema).learn(*stream.draw(1))
    model.explain_choice()
    with pytest.raises(RuntimeError, match="no idea"):
        model.learn(*stream.draw(1))
    with pytest.raises(
        HerosError, match=r"trained since it was loaded or since its policy raised an error\.$"
    ):
        model.explain_choice()
    with pytest.raises(HerosError, match="This Heros has not been trained yet"):
        Heros(POOL).leaderboard()


def test_pool_summary_groups_the_models_by_each_setting():
    model = learnt()
    summary = model.pool_summary()
    assert [(row.setting, row.value) for row in summary] == [
        ("optimizer", "adam"),
        ("optimizer", "sgd"),
        ("learning_rate", 0.05),
        ("learning_rate", 0.005),
        ("hidden", 8),
        ("hidden", 16),
    ]
    for row in summary:
        at = [i for i, c in enumerate(POOL.configurations) if c[row.setting] == row.value]
        assert row.models == len(at)
        assert row.best_score == model.scores[at].max()
        assert row.mean_score == pytest.approx(model.scores[at].mean())
        assert row.cost == pytest.approx(model.costs[at].sum())
        assert row.invested == pytest.approx(model.invested[at].sum() / model.invested.sum())
    assert repr(summary).splitlines()[0] == "MLPGrid(8 models, costs='hidden'): 400 instances, k = 3"


def test_a_setting_all_models_share_is_left_out():
    stream = streams.Agrawal(function=2)
    model = Heros(pools.MLP([{"hidden": 8}, {"hidden": 16}]), schema=stream.schema)
    assert {row.setting for row in model.pool_summary()} == {"hidden"}
    assert [row.invested for row in model.pool_summary()] == [0.0, 0.0]
    alike = Heros(pools.MLP([{}, {}]), schema=stream.schema)
    assert repr(alike.pool_summary()) == "MLP(2 models, costs='hidden'): 0 instances, k = 1"


def test_repr_stays_short():
    stream = streams.Agrawal(function=2)
    given = pools.MLP([{}] * 50, costs=range(1, 51))
    assert (
        repr(Heros(given, k=2))
        == "<Heros MLP(50 models, costs=given), Explore(Zeta(0.05), 0.2), k=2, not bound>"
    )
    model = Heros(POOL, policies.Zeta(0.05), k=3, schema=stream.schema).learn(*stream.draw(10))
    assert repr(model) == "<Heros MLPGrid(8 models, costs='hidden'), Zeta(0.05), k=3, 10 instances>"


def test_models_of_several_kinds_are_told_apart_in_eighty_columns():
    stream = streams.Agrawal(function=2)
    model = Heros(seed=1, schema=stream.schema).learn(*stream.draw(200))
    for shown in (model.leaderboard(), model.explain_choice(), model.pool_summary()):
        assert max(map(len, repr(shown).splitlines())) <= 80
    lines = repr(model.leaderboard()).splitlines()
    assert lines[0].split() == ["rank", "model", "family", "settings", "L", "γ", "trained"]
    names = [line.split("  0.")[0][13:] for line in lines[1:15]]
    assert len(set(names)) == 14
    legend = {
        "Neighbours: window, neighbours",
        "MLP: optimizer, learning rate, hidden, scale",
        "Retrained: trees",
    }
    assert set(lines[15:]) == legend
    assert {row.setting for row in model.pool_summary()} == {
        *("family", "optimizer", "learning_rate", "hidden", "scale", "window", "neighbours", "trees"),
        *("fading", "max_bytes", "drift"),
    }
