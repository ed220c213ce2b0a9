"""As much performance as a budget buys."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from heros._base import core as _core
from heros._base.parameters import number
from heros.errors import ParameterError
from heros.policies.base import CompiledPolicy
from heros.policies.reasons import Reasons, by_rank

__all__ = ["Budget"]


@dataclass(frozen=True)
class Budget(CompiledPolicy):
    """At most k models that together cost at most β, with a high sum of scores.

    Maximises Σ L over the sets with Σ γ ≤ β and at most k models. Unlike `Reward` this is a real
    knapsack, so it is solved greedily: models by falling L/γ, each taken if it still fits, up to k of
    them; or the best single model that fits, if that alone scores more than all of them together. While
    the k models do not run out the result is at least half the optimum; if they do, at least 1/k of it.
    Nothing is chosen if no model fits.

    Parameters
    ----------
    budget
        β: the share of the cost of training everything that a step may spend, in (0, 1].

    Examples
    --------
    >>> import numpy as np
    >>> scores, costs = [0.9, 0.7, 0.8], [0.6, 0.1, 0.3]
    >>> Budget(0.5).choose(scores, costs, 3, np.random.default_rng(1)).astype(int)
    array([0, 1, 1])
    """

    budget: float

    def __post_init__(self) -> None:
        if number(self.budget, "budget", "Budget", 0, 1) == 0:
            raise ParameterError.of("budget", "Budget", "in (0, 1]", self.budget)

    def explain(
        self, scores: NDArray[np.float64], costs: NDArray[np.float64], k: int, chosen: NDArray[np.bool_]
    ) -> Reasons:
        """Why each of these models was chosen."""
        ratio = scores / np.maximum(costs, 1e-300)
        ranked = by_rank(ratio, "L/γ", chosen)
        affordable = np.flatnonzero(costs <= self.budget * (1 + 1e-12))
        if len(ranked) == 1 and not chosen[affordable[ratio[affordable].argmax()]]:
            model = next(iter(ranked))
            return {model: f"alone worth more (L {scores[model]:.4g}) than all that fit by L/γ"}
        spent, reasons = 0.0, {}
        for i, reason in ranked.items():
            spent += costs[i]
            reasons[i] = f"{reason}; with it {spent:.4g} of β = {self.budget:g} is spent"
        return reasons

    def _compiled(self) -> _core.Policy:
        return _core.Policy("budget", self.budget)
