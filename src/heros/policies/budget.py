"""A policy that maximises the scores within a budget of training cost."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from heros._base import core as _core
from heros._base.parameters import positive
from heros.policies.base import CompiledPolicy, Floats, Mask, Reasons, by_rank


@dataclass(frozen=True)
class Budget(CompiledPolicy):
    """Train at most k models with a high sum of scores and a total cost of at most β.

    The policy maximises Σ L over all sets of at most k models with Σ γ ≤ β. Unlike the problem of `Reward`,
    this is a knapsack problem. The policy solves it greedily: models are added in order of decreasing L/γ if
    they still fit, up to k models. If the L of a single model that fits exceeds the sum of L over these
    models, only that model is chosen. The sum of L of the chosen models is at least half of the optimum, or
    at least 1/k of the optimum if the limit k is reached. If no model fits, no model is trained.

    Parameters
    ----------
    budget
        The budget β of a step, as a share of the cost of training all models, in (0, 1].

    Examples
    --------
    >>> import numpy as np
    >>> scores, costs = [0.9, 0.7, 0.8], [0.6, 0.1, 0.3]
    >>> Budget(0.5).choose(scores, costs, 3, np.random.default_rng(1)).astype(int)
    array([0, 1, 1])
    """

    budget: float

    def __post_init__(self) -> None:
        positive(self.budget, "budget", "Budget", 1)

    def explain(self, scores: Floats, costs: Floats, k: int, chosen: Mask) -> Reasons:
        ratio = scores / np.maximum(costs, 1e-300)
        ranked = by_rank(ratio, "L/γ", chosen)
        affordable = np.flatnonzero(costs <= self.budget * (1 + 1e-12))
        if len(ranked) == 1 and not chosen[affordable[ratio[affordable].argmax()]]:
            model = next(iter(ranked))
            other = "the sum of the L of the models chosen by L/γ"
            return {model: f"its L of {scores[model]:.4g} exceeds {other}"}
        spent, reasons = 0.0, {}
        for i, reason in ranked.items():
            spent += costs[i]
            reasons[i] = f"{reason}; cost so far {spent:.4g} of β = {self.budget:g}"
        return reasons

    def _compiled(self) -> _core.Policy:
        return _core.Policy("budget", self.budget)
