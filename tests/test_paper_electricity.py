"""The paper's figures on Electricity: M = 50, k = 30, AUROC, seeds 1 to 3."""

from __future__ import annotations

import pytest

from heros import Heros, evaluate, policies, pools, streams

pytestmark = [pytest.mark.data, pytest.mark.usefixtures("real_data")]

# policy, what the paper (for Cand: a replication) gives, how far off we may be
PAPER = [
    (policies.Explore(policies.Zeta(0.01), 0.1), 0.966, 0.004),
    (policies.Explore(policies.PerformBest(), 0.1), 0.966, 0.004),
    (policies.Random(), 0.951, 0.006),
    (policies.Explore(policies.PerformWorst(), 0.1), 0.865, 0.015),
    (policies.CandAsPublished(), 0.940, 0.010),
]


def auroc(policy, seed):
    return evaluate(Heros(pools.MLPGrid(), policy, k=30, seed=seed), streams.load("electricity")).auroc


@pytest.mark.matrix(most=2)
@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize(("policy", "paper", "tolerance"), PAPER, ids=str)
def test_equals_the_paper(policy, paper, tolerance, seed):
    assert auroc(policy, seed) == pytest.approx(paper, abs=tolerance)


@pytest.mark.matrix(most=1)
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_cand_done_right_is_above_the_published_one(seed):
    assert auroc(policies.Cand(), seed) > 0.964
