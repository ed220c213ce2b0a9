"""Policies: which k of M models to train, at every step."""

from heros.policies.base import CompiledPolicy, Policy, compiled
from heros.policies.budget import Budget
from heros.policies.cand import Cand, CandAsPublished
from heros.policies.cheapest import Cheapest
from heros.policies.everything import Everything
from heros.policies.expensive import Expensive
from heros.policies.explore import Explore
from heros.policies.perform_best import PerformBest
from heros.policies.perform_worst import PerformWorst
from heros.policies.random import Random
from heros.policies.reward import Reward
from heros.policies.zeta import Zeta

__all__ = [
    "Budget",
    "Cand",
    "CandAsPublished",
    "Cheapest",
    "CompiledPolicy",
    "Everything",
    "Expensive",
    "Explore",
    "PerformBest",
    "PerformWorst",
    "Policy",
    "Random",
    "Reward",
    "Zeta",
    "compiled",
]
