"""MLCB: its account of training, its guarantee under the assumptions of the theory, and its behaviour in drift."""

from __future__ import annotations

import copy
import math

import numpy as np
import pytest

import reference
from heros import Heros, Schema, policies, pools
from heros.policies import MLCB, Explore
from test_ensemble import SMALL, InPython, data, drifting, equal_state, same

SCHEMA = Schema.of(["x"], ["no", "yes"])
LIMITS = [0.10, 0.45, 0.45, 0.50, 0.50, 0.55, 0.55, 0.60]  # the asymptotic loss of each expert
K, M = len(LIMITS), 2


class Expert:
    """A model with error probability limit + gain/√(n + 1) after n updates: its own regret is below 2·gain·√n."""

    def __init__(self, limit, seed, gain=0.3):
        self.limit, self.gain, self.updates, self.rng = limit, gain, 0, np.random.default_rng(seed)

    @property
    def loss(self):
        return self.limit + self.gain / math.sqrt(self.updates + 1)

    def predict_proba(self, x):
        return [0.0, 1.0] if self.rng.random() >= self.loss else [1.0, 0.0]

    def learn(self, x, y):
        self.updates += 1


def regret(policy, n, changes=1):
    """Return, per instance, the error of the best trained model above the best limit, in a simulation.

    With `changes`, the limits are permuted after every n/changes instances, and all models restart training.
    """
    experts = [Expert(limit, seed) for seed, limit in enumerate(LIMITS)]
    rng, out, nothing = np.random.default_rng(0), np.empty(n), np.zeros(K)
    for t in range(n):
        if t and t % (n // changes) == 0:
            for expert, limit in zip(experts, rng.permutation(LIMITS), strict=True):
                expert.limit, expert.updates = limit, 0
        chosen = policy.choose(nothing, np.full(K, 1 / K), M, rng)
        out[t] = min(experts[i].loss for i in np.flatnonzero(chosen)) - min(LIMITS)
        if hasattr(policy, "update"):
            right = [
                e.predict_proba(None)[1] if c else math.nan for e, c in zip(experts, chosen, strict=True)
            ]
            policy.update(right, chosen)
        for i in np.flatnonzero(chosen):
            experts[i].learn(None, 1)
    return out


def bound(n, policy):
    """Return (K/M)·W(M·n/K) + W(n), where W(n) sums the widths of the bounds at 1, ..., n updates."""

    def open_up_to(updates):
        return sum(2 * policy.width(s, n, K) for s in range(1, int(np.ceil(updates)) + 1))

    return K / M * open_up_to(M * n / K) + open_up_to(n)


@pytest.mark.long
def test_the_guarantee_holds_where_its_premises_do():
    policy = reference.MLCB()
    lost = np.cumsum(regret(policy, 40_000))
    for n in (1000, 10_000, 40_000):
        assert lost[n - 1] <= bound(n, policy)
    assert bound(40_000, policy) < 0.4 * 40_000  # the bound is informative: most experts are worse
    assert lost[39_999] < 2.5 * lost[9_999]  # four times as long; √ would double the bound
    random = np.cumsum(regret(policies.Random(), 40_000))
    assert random[39_999] > 3.8 * random[9_999]
    assert lost[-1] < 0.2 * random[-1]


def test_the_compiled_policy_in_an_ensemble_has_it_too():
    """The same simulation with the experts in a pool, where only trained models are evaluated."""
    n = 12_000
    pool = pools.Models([Expert(limit, seed) for seed, limit in enumerate(LIMITS)], costs=[1] * K)
    X, y = np.zeros((n, 1)), np.ones(n, dtype=int)
    lost = {}
    for policy in (MLCB(), policies.Random()):
        model = Heros(pool, policy, M, watch="trained", warmup=0, seed=1, schema=SCHEMA)
        chosen = model.test_then_train(X, y).chosen
        updates = np.cumsum(chosen, axis=0) - chosen
        excess = np.array(LIMITS) + 0.3 / np.sqrt(updates + 1) - min(LIMITS)
        lost[type(policy)] = np.cumsum(np.where(chosen, excess, np.inf).min(axis=1))
    assert lost[MLCB][-1] < 0.25 * lost[policies.Random][-1]
    assert lost[MLCB][-1] < 2.5 * lost[MLCB][n // 4 - 1]


def test_where_the_best_changes_forgetting_finds_the_new_one():
    keeps, forgets = (
        regret(reference.MLCB(0.3, factor), 18_000, changes=3).reshape(3, -1).mean(axis=1)
        for factor in (1.0, 0.999)
    )
    assert forgets[1:].mean() < 0.6 * keeps[1:].mean()  # after a change
    assert forgets[0] < keeps[0] + 0.02  # and the loss without changes is small


@pytest.mark.parametrize("policy", [MLCB(0.3), MLCB(0.3, 0.99), Explore(MLCB(0.3, 0.99), 0.2)], ids=str)
@pytest.mark.parametrize("watch", ["all", "trained", 4])
def test_blocks_copies_and_another_k_keep_the_account(policy, watch):
    X, y = data(900)
    settings = {"watch": watch, "warmup": 30, "seed": 3, "schema": drifting(10).schema}
    whole = Heros(SMALL, policy, 4, **settings)
    block = whole.test_then_train(X, y)
    cut = Heros(SMALL, policy, 4, **settings)
    blocks = []
    for start in range(0, 900, 90):
        blocks.append(cut.test_then_train(X[start : start + 90], y[start : start + 90]).chosen)
        cut = copy.deepcopy(cut)
        cut.k = 2
        cut.k = 4
    assert np.array_equal(np.concatenate(blocks), block.chosen)
    assert equal_state(cut, whole)


def test_a_policy_in_python_is_told_of_the_trained_inside_an_exploring_one_too():
    X, y = data(1500)
    settings = {"watch": "trained", "seed": 3, "schema": drifting(10).schema}
    policy = MLCB(0.3, 0.999)
    built_in, own = (
        Heros(SMALL, Explore(p, 0.1), 4, **settings).test_then_train(X, y) for p in (policy, InPython(policy))
    )
    assert same(built_in, own)


def test_another_policy_begins_a_new_account():
    X, y = data(400)
    model = Heros(SMALL, MLCB(0.3), 4, seed=1, schema=drifting(1).schema).learn(X, y)
    model.policy = policies.Cheapest()
    assert "account_weight" not in model.state()["ensemble"]
    model.policy = MLCB(0.3)
    assert not model.state()["ensemble"]["account_weight"].any()


def test_it_says_by_which_bound_it_chose():
    X, y = data(500)
    model = Heros(SMALL, MLCB(0.3), 2, watch="trained", warmup=50, seed=1, schema=drifting(1).schema)
    model.learn(X, y)
    before = model.state()["ensemble"]
    model.learn(X[0], y[0])
    n, right, t = before["account_weight"], before["account_right"], before["account_rounds"][0]
    twin = reference.MLCB(0.3)
    bounds = [r / m + twin.width(m, t, len(n)) for m, r in zip(n, right, strict=True)]
    first = model.explain_choice()[0]
    assert first.model == int(np.argmax(bounds))
    assert first.reason == f"rank 1 by upper bound, highest first ({max(bounds):.4g})"


class Raising(policies.CompiledPolicy):
    """A model that fails at its 20th training instance."""

    def __init__(self):
        self.told = 0

    def choose(self, scores, costs, k, rng):
        return np.arange(len(scores)) < k

    def update(self, outcomes, trained):
        self.told += 1
        assert np.array_equal(np.isnan(outcomes), ~trained)
        if self.told == 20:
            raise KeyError("mine")


@pytest.mark.parametrize("watch", ["all", 8])
@pytest.mark.parametrize("size", [1, 50])
def test_if_it_fails_to_learn_the_instance_counts_as_one_on_which_nothing_was_trained(watch, size):
    X, y = data(50)
    model = Heros(SMALL, Raising(), 2, watch=watch, warmup=0, seed=1, schema=drifting(1).schema)

    def learn():
        for start in range(0, 50, size):
            model.learn(X[start : start + size], y[start : start + size])

    with pytest.raises(KeyError, match="mine"):
        learn()
    assert (model.instances, int(model.trained.sum())) == (20, 38)
