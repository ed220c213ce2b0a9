"""Every policy: its contract, its slow version, its limits, its errors."""

from __future__ import annotations

import dataclasses
import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import reference
from heros import Heros, ParameterError, policies
from heros.checks import check_policy
from heros.policies import Budget, Cand, CandAsPublished, Explore, Policy, Reward, Zeta, compiled
from heros.policies.base import explain

EXAMPLES = {
    "Budget": [Budget(0.3), Budget(1.0)],
    "Explore": [Explore(Zeta(0.05), 0.2), Explore(policies.Cheapest(), 0.0)],
    "Reward": [Reward(), Reward(0.3)],
    "Surprise": [policies.Surprise(Zeta(0.05))],
    "Zeta": [Zeta(0.0), Zeta(0.05), Zeta(0.5), Zeta(1.0)],
}
CLASSES = [
    kind
    for name in policies.__all__
    if isinstance(kind := getattr(policies, name), type) and dataclasses.is_dataclass(kind)
]
POLICIES = [
    policy
    for kind in CLASSES
    for policy in EXAMPLES.get(kind.__name__, [kind()] if kind.__name__ not in EXAMPLES else [])
]
TWINS = {
    "PerformBest()": reference.perform_best,
    "PerformWorst()": reference.perform_worst,
    "Cheapest()": reference.cheapest,
    "Expensive()": reference.expensive,
    "Everything()": reference.everything,
    "Reward(1)": reference.reward,
    "Reward(0.3)": lambda s, c, k: reference.reward(s, c, k, 0.3),
    "Budget(0.3)": lambda s, c, k: reference.budget(s, c, k, 0.3),
    "Budget(1)": lambda s, c, k: reference.budget(s, c, k, 1.0),
    "Zeta(0)": lambda s, c, k: reference.zeta(s, c, k, 0.0),
    "Zeta(0.05)": lambda s, c, k: reference.zeta(s, c, k, 0.05),
    "Zeta(0.5)": lambda s, c, k: reference.zeta(s, c, k, 0.5),
    "Zeta(1)": lambda s, c, k: reference.zeta(s, c, k, 1.0),
    "Explore(Cheapest(), 0)": reference.cheapest,
    str(policies.Surprise(Zeta(0.05))): lambda s, c, k: reference.zeta(s, c, k, 0.05),
    "MLCB(1, 1, 0.5, 0.05)": reference.MLCB().choose,  # before the first update: see tests/policies/test_mlcb.py
}


@st.composite
def situations(draw, most=80):
    """Return scores with many ties, costs with many ties, and a k."""
    models = draw(st.integers(1, most))
    levels = st.sampled_from([0.0, 0.25, 0.5, 0.55, 0.9, 0.95, 1.0]) | st.floats(0, 1)
    scores = np.array(draw(st.lists(levels, min_size=models, max_size=models)))
    costs = np.array(draw(st.lists(st.sampled_from([1.0, 2.0, 4.0, 64.0]), min_size=models, max_size=models)))
    return scores, costs / costs.sum(), draw(st.integers(1, models))


def rng(seed=1):
    return np.random.default_rng(seed)


@pytest.mark.parametrize("policy", POLICIES, ids=str)
def test_passes_the_public_check(policy):
    check_policy(policy)


@pytest.mark.parametrize("policy", POLICIES, ids=str)
@given(situations())
def test_contract(policy, situation):
    scores, costs, k = situation
    before = scores.copy(), costs.copy()
    mask = policy.choose(scores, costs, k, rng())
    assert isinstance(policy, Policy)
    assert mask.dtype == np.bool_
    assert mask.shape == scores.shape
    if isinstance(policy, policies.Everything):
        assert mask.all()
    elif isinstance(policy, Budget):
        assert mask.sum() <= k
        assert costs[mask].sum() <= policy.budget + 1e-12
    else:
        assert mask.sum() == k
    assert np.array_equal(mask, policy.choose(scores, costs, k, rng()))  # depends only on its arguments
    assert np.array_equal(scores, before[0])
    assert np.array_equal(costs, before[1])


@pytest.mark.matrix(most=8)
@pytest.mark.parametrize("policy", [p for p in POLICIES if str(p) in TWINS], ids=str)
@given(situations())
def test_equals_its_slow_twin(policy, situation):
    scores, costs, k = situation
    assert np.array_equal(policy.choose(scores, costs, k, rng()), TWINS[str(policy)](scores, costs, k))


@given(st.lists(st.floats(-1, 1), min_size=1, max_size=70), st.sampled_from([0.0, 0.05, 0.5, 1.0]))
def test_zeta_takes_scores_of_any_sign(scores, zeta):
    """A user's score may be negative: the best model is then still within ζ of itself."""
    costs = np.arange(len(scores), 0, -1) / sum(range(len(scores) + 1))
    k = (len(scores) + 1) // 2
    assert np.array_equal(Zeta(zeta).choose(scores, costs, k, rng()), reference.zeta(scores, costs, k, zeta))


def test_every_policy_without_chance_has_a_twin():
    chance = ("Random", "Cand", "CandAsPublished", "Explore(Zeta")
    assert [str(p) for p in POLICIES if str(p) not in TWINS and not str(p).startswith(chance)] == []


@given(situations())
def test_zeta_0_is_perform_best_and_zeta_1_is_cheapest_up_to_ties(situation):
    scores, costs, k = situation
    best = np.sort(scores[policies.PerformBest().choose(scores, costs, k, rng())])
    cheap = np.sort(costs[policies.Cheapest().choose(scores, costs, k, rng())])
    assert np.array_equal(np.sort(scores[Zeta(0).choose(scores, costs, k, rng())]), best)
    assert np.array_equal(np.sort(costs[Zeta(1).choose(scores, costs, k, rng())]), cheap)


@given(situations())
def test_zeta_prefers_the_best_among_equally_cheap(situation):
    scores, _, k = situation
    equal = np.full(len(scores), 1 / len(scores))
    best = policies.PerformBest().choose(scores, equal, k, rng())
    assert np.array_equal(Zeta(0.3).choose(scores, equal, k, rng()), best)


@given(situations())
def test_cand_holds_the_better_half_and_its_published_form_the_worse(situation):
    scores, costs, k = situation
    half = k // 2
    if half:
        top = reference.perform_best(scores, costs, half)
        bottom = reference.perform_worst(scores, costs, half)
        assert Cand().choose(scores, costs, k, rng())[top].all()
        assert CandAsPublished().choose(scores, costs, k, rng())[bottom].all()


@pytest.mark.parametrize("policy", [policies.Random(), Explore(Zeta(0.05), 1.0)], ids=str)
def test_random_is_uniform_over_sets(policy):
    scores, costs, generator = np.linspace(0, 1, 5), np.full(5, 0.2), rng()
    n = 8_000
    counts = dict.fromkeys(itertools.combinations(range(5), 2), 0)
    for _ in range(n):
        counts[tuple(np.flatnonzero(policy.choose(scores, costs, 2, generator)).tolist())] += 1
    expected = n / len(counts)
    chi2 = sum((count - expected) ** 2 / expected for count in counts.values())
    assert chi2 < 27.9  # 9 degrees of freedom, p = 0.001; the seed is fixed


def test_cand_draws_its_rest_uniformly():
    scores, costs, generator = np.array([0.9, 0.1, 0.2, 0.3, 0.4]), np.full(5, 0.2), rng()
    counts = sum(Cand().choose(scores, costs, 2, generator).astype(int) for _ in range(10_000))
    assert counts[0] == 10_000
    assert np.all(np.abs(counts[1:] - 2500) < 150)


def test_explore_explores_as_often_as_it_is_told():
    scores, costs, generator = np.array([0.9, 0.1]), np.array([0.5, 0.5]), rng()
    picks = sum(
        Explore(policies.PerformBest(), 0.3).choose(scores, costs, 1, generator)[1] for _ in range(20_000)
    )
    assert abs(picks / 20_000 - 0.15) < 0.01


@given(situations(most=9))
def test_budget_keeps_its_promise(situation):
    """The result is at least half the optimum while k is not used up, and 1/k of it otherwise."""
    scores, costs, k = situation
    beta = 0.4
    best = max(
        (
            scores[list(members)].sum()
            for size in range(k + 1)
            for members in itertools.combinations(range(len(scores)), size)
            if costs[list(members)].sum() <= beta
        ),
        default=0.0,
    )
    mask = Budget(beta).choose(scores, costs, k, rng())
    share = 1 / k if mask.sum() == k else 0.5
    assert scores[mask].sum() >= share * best - 1e-12


def test_a_full_budget_trains_everything():
    """The result does not depend on how the costs are rounded."""
    for models in range(1, 80):
        costs = rng(models).random(models)
        costs /= costs.sum()
        assert Budget(1.0).choose(rng(1).random(models), costs, models, rng()).all()


@given(situations(most=8))
def test_reward_is_the_exact_maximiser(situation):
    scores, costs, k = situation
    mask = Reward(0.7).choose(scores, costs, k, rng())
    worth = scores + 0.7 * (1 - costs)
    best = max(worth[list(members)].sum() for members in itertools.combinations(range(len(scores)), k))
    assert worth[mask].sum() == pytest.approx(best)


class Fixed:
    """A user-defined policy."""

    def choose(self, scores, costs, k, rng):
        mask = np.zeros(len(scores), dtype=bool)
        mask[-k:] = True
        return mask


def test_explore_takes_a_policy_of_ones_own_and_draws_the_same():
    scores, costs = np.linspace(0, 1, 6), np.full(6, 1 / 6)
    assert compiled(Explore(Fixed(), 0.5)) is None
    a, b = rng(3), rng(3)
    for _ in range(200):
        mine = Explore(Fixed(), 0.5).choose(scores, costs, 2, a)
        theirs = Explore(policies.PerformBest(), 0.5).choose(scores, costs, 2, b)  # the last two are best
        assert np.array_equal(mine, theirs)


def test_a_subclass_with_its_own_choose_is_not_taken_for_the_compiled_one():
    class Mine(Zeta):
        def choose(self, scores, costs, k, rng):
            return Fixed().choose(scores, costs, k, rng)

    assert compiled(Mine(0.1)) is None
    assert compiled(Zeta(0.1)) is not None


def test_policies_compare_print_and_hash_as_values():
    assert Explore(Zeta(0.05), 0.2) == Explore(Zeta(0.05), 0.2)
    assert len({Zeta(0.1), Zeta(0.1), Zeta(0.2)}) == 2
    assert str(Explore(Zeta(0.05), 0.2)) == "Explore(Zeta(0.05), 0.2)"


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Zeta(1.5), "The 'zeta' parameter of Zeta must be in [0, 1]. Got 1.5 instead."),
        (lambda: Zeta(float("nan")), "The 'zeta' parameter of Zeta must be in [0, 1]. Got nan instead."),
        (lambda: Zeta("high"), "The 'zeta' parameter of Zeta must be in [0, 1]. Got 'high' instead."),
        (
            lambda: Explore(Zeta(0.1), -0.1),
            "The 'epsilon' parameter of Explore must be in [0, 1]. Got -0.1 instead.",
        ),
        (
            lambda: Explore(0.1, 0.1),
            "The 'policy' parameter of Explore must be a policy (an object with a 'choose' method). Got 0.1 instead.",
        ),
        (lambda: policies.MLCB(-1), "The 'scale' parameter of MLCB must be a number >= 0. Got -1 instead."),
        (lambda: policies.MLCB(1, 0), "The 'factor' parameter of MLCB must be in (0, 1]. Got 0 instead."),
        (lambda: policies.MLCB(rate=2), "The 'rate' parameter of MLCB must be in [0, 1]. Got 2 instead."),
        (lambda: policies.MLCB(delta=1), "The 'delta' parameter of MLCB must be in (0, 1). Got 1 instead."),
        (lambda: Budget(0), "The 'budget' parameter of Budget must be in (0, 1]. Got 0 instead."),
        (lambda: Budget(1.5), "The 'budget' parameter of Budget must be in (0, 1]. Got 1.5 instead."),
        (lambda: policies.MLCB(1, 2), "The 'factor' parameter of MLCB must be in (0, 1]. Got 2 instead."),
        (lambda: policies.MLCB(delta=2), "The 'delta' parameter of MLCB must be in (0, 1). Got 2 instead."),
        (lambda: Reward(-1), "The 'weight' parameter of Reward must be a number >= 0. Got -1 instead."),
        (
            lambda: Zeta(0.1).choose([0.1, 0.2], [0.5, 0.5], 3, rng()),
            "The 'k' parameter of Zeta must be in [1, 2]. Got 3 instead.",
        ),
        (
            lambda: Zeta(0.1).choose([0.1, 0.2], [0.5, -0.5], 1, rng()),
            "The 'costs' parameter of Zeta must be non-negative. Got -0.5 instead.",
        ),
        (
            lambda: Zeta(0.1).choose([0.1, np.nan], [0.5, 0.5], 1, rng()),
            "The 'scores' parameter of Zeta must be a vector of finite numbers. Got [0.1, nan] instead.",
        ),
    ],
)
def test_errors(make, message):
    with pytest.raises(ParameterError) as error:
        make()
    assert str(error.value) == message


@pytest.mark.parametrize("policy", [p for p in POLICIES if getattr(p, "epsilon", 0) == 0], ids=str)
@given(situations())
def test_gives_a_reason_for_every_model_it_chose_and_for_no_other(policy, situation):
    scores, costs, k = situation
    mask = policy.choose(scores, costs, k, rng())
    reasons = policy.explain(scores, costs, k, mask)
    assert sorted(reasons) == np.flatnonzero(mask).tolist()
    assert all(reasons.values())


def test_the_reasons_are_the_true_ones():
    scores = np.array([0.90, 0.89, 0.70, 0.50])
    costs = np.array([0.4, 0.1, 0.2, 0.3])

    def reasons(policy, k):
        return explain(policy, scores, costs, k, policy.choose(scores, costs, k, rng()))

    assert reasons(Zeta(0.05), 2) == {
        1: "pick 1: L 0.89 is within ζ = 0.05 of model 0 (0.9), and γ 0.1 is less than the γ of model 0 (0.4)",
        0: "pick 2: the best remaining model (L 0.9); no model within ζ = 0.05 costs less than γ 0.4",
    }
    assert reasons(policies.PerformBest(), 2) == {
        0: "rank 1 by L, highest first (0.9)",
        1: "rank 2 by L, highest first (0.89)",
    }
    assert reasons(policies.PerformWorst(), 1) == {3: "rank 1 by L, lowest first (0.5)"}
    assert reasons(policies.Cheapest(), 1) == {1: "rank 1 by γ, lowest first (0.1)"}
    assert reasons(policies.Expensive(), 1) == {0: "rank 1 by γ, highest first (0.4)"}
    assert reasons(policies.Everything(), 1)[2] == "every model is trained"
    assert reasons(policies.Random(), 4)[2] == "drawn at random, 4 of 4"
    assert reasons(Reward(0.5), 1) == {1: "rank 1 by L + 0.5·(1 − γ), highest first (1.34)"}
    assert reasons(Budget(0.3), 2) == {
        1: "rank 1 by L/γ, highest first (8.9); cost so far 0.1 of β = 0.3",
        2: "rank 2 by L/γ, highest first (3.5); cost so far 0.3 of β = 0.3",
    }
    half = reasons(Cand(), 2)
    assert half.pop(0) == "rank 1 by L, highest first (0.9)"
    assert list(half.values()) == ["drawn at random, 1 of the other 3"]
    assert reasons(CandAsPublished(), 2)[3] == "rank 1 by L, lowest first (0.5)"
    assert reasons(Explore(policies.Cheapest(), 0.0), 1) == {1: "rank 1 by γ, lowest first (0.1)"}


def test_a_single_model_that_is_worth_more_than_all_that_fit_says_so():
    scores, costs = np.array([0.1, 0.9]), np.array([0.05, 0.95])
    mask = Budget(0.96).choose(scores, costs, 2, rng())
    assert Budget(0.96).explain(scores, costs, 2, mask) == {
        1: "its L of 0.9 exceeds the sum of the L of the models chosen by L/γ"
    }


class Own:
    def choose(self, scores, costs, k, rng):
        return np.arange(len(scores)) == 2


class OwnWords(Own):
    def explain(self, scores, costs, k, chosen):
        return {2: "my favourite"}


class Other(policies.Cheapest):
    def choose(self, scores, costs, k, rng):
        return np.arange(len(scores)) == 0


def test_policies_of_ones_own_speak_for_themselves_or_are_ranked():
    scores, costs = np.array([0.9, 0.8, 0.7]), np.array([0.5, 0.3, 0.2])
    third, first = np.array([False, False, True]), np.array([True, False, False])
    assert explain(Own(), scores, costs, 1, third) == {
        2: "chosen by Own: rank 3 of 3 by L, 1 by γ (lowest first)"
    }
    assert explain(OwnWords(), scores, costs, 1, third) == {2: "my favourite"}
    assert explain(Explore(OwnWords(), 0.0), scores, costs, 1, third) == {2: "my favourite"}
    assert explain(Other(), scores, costs, 1, first) == {
        0: "chosen by Other: rank 1 of 3 by L, 3 by γ (lowest first)"
    }


def test_an_array_is_no_policy_though_it_has_a_method_of_that_name():
    for make in (lambda policy: Explore(policy, 0.1), lambda policy: Heros(policy=policy)):
        with pytest.raises(ParameterError, match=r"must be a policy \(an object with a 'choose' method\)"):
            make(np.array([1.0, 2.0]))
