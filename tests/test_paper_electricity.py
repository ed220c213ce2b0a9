"""The paper's AUROC on Electricity with M = 50, k = 30; paper/records has all seeds."""

from __future__ import annotations

import pytest

from heros import Heros, evaluate, policies, pools, streams

pytestmark = [pytest.mark.data, pytest.mark.usefixtures("real_data")]

# policy, the paper's value (for Cand: of a replication), the tolerance, seed
PAPER = [
    (policies.Explore(policies.Zeta(0.01), 0.1), 0.966, 0.004, 1),
    (policies.Random(), 0.951, 0.006, 2),
    (policies.Explore(policies.PerformBest(), 0.1), 0.966, 0.004, 3),
    (policies.Explore(policies.PerformWorst(), 0.1), 0.865, 0.015, 1),
    (policies.CandAsPublished(), 0.940, 0.010, 2),
]


def auroc(policy, seed):
    return evaluate(Heros(pools.MLPGrid(), policy, k=30, seed=seed), streams.load("electricity")).auroc


@pytest.mark.matrix(most=1)
@pytest.mark.parametrize(("policy", "paper", "tolerance", "seed"), PAPER, ids=str)
def test_equals_the_paper(policy, paper, tolerance, seed):
    assert auroc(policy, seed) == pytest.approx(paper, abs=tolerance)


@pytest.mark.long
def test_cand_done_right_is_above_the_published_one():
    assert auroc(policies.Cand(), 1) > 0.964
