"""A policy that maximises the paper's reward exactly."""

from __future__ import annotations

from dataclasses import dataclass

from heros._base import core as _core
from heros._base.parameters import number
from heros.policies.base import CompiledPolicy, Floats, Mask, Reasons, by_rank


@dataclass(frozen=True)
class Reward(CompiledPolicy):
    """Train the k models with the highest L + w·(1 − γ). This maximises the paper's reward R.

    R = Σ (L_i + w·(1 − γ_i))·a_i is the reward of a step in the paper's Markov decision process. The paper
    calls the maximisation of R a knapsack problem. Because only the *number* of models is limited, sorting
    the models solves the problem.

    Parameters
    ----------
    weight
        The value w of a saved unit of cost, in units of performance. The paper uses w = 1.

    Examples
    --------
    >>> import numpy as np
    >>> scores, costs = [0.9, 0.7, 0.8], [0.8, 0.1, 0.1]
    >>> Reward().choose(scores, costs, 2, np.random.default_rng(1)).astype(int)
    array([0, 1, 1])
    """

    weight: float = 1.0

    def __post_init__(self) -> None:
        number(self.weight, "weight", "Reward", 0)

    def explain(self, scores: Floats, costs: Floats, k: int, chosen: Mask) -> Reasons:
        value = scores + self.weight * (1 - costs)
        return by_rank(value, f"L + {self.weight:g}·(1 − γ)", chosen)

    def _compiled(self) -> _core.Policy:
        return _core.Policy("reward", self.weight)
