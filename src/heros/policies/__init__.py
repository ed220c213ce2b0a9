"""Policies: the choice of the models to train at each step."""

from heros.policies.base import CompiledPolicy, Policy, compiled
from heros.policies.budget import Budget
from heros.policies.cand import Cand, CandAsPublished
from heros.policies.explore import Explore
from heros.policies.mlcb import MLCB
from heros.policies.ranked import Cheapest, Everything, Expensive, PerformBest, PerformWorst, Random
from heros.policies.reward import Reward
from heros.policies.surprise import Surprise
from heros.policies.zeta import Zeta

__all__ = [
    "MLCB", "Budget", "Cand", "CandAsPublished", "Cheapest", "CompiledPolicy", "Everything",
    "Expensive", "Explore", "PerformBest", "PerformWorst", "Policy", "Random", "Reward", "Surprise",
    "Zeta", "compiled",
]  # fmt: skip
