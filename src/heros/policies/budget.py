"""As much performance as a budget buys."""

from __future__ import annotations

from dataclasses import dataclass

from heros import _core
from heros.errors import ParameterError
from heros.parameters import number
from heros.policies.base import CompiledPolicy

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

    def _compiled(self) -> _core.Policy:
        return _core.Policy("budget", self.budget)
