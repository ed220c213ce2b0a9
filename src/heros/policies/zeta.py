"""Almost as good, but cheaper: the paper's ζ-policy."""

from __future__ import annotations

from dataclasses import dataclass

from heros import _core
from heros.parameters import number
from heros.policies.base import CompiledPolicy

__all__ = ["Zeta"]


@dataclass(frozen=True)
class Zeta(CompiledPolicy):
    """k times: of the models within ζ of the best one not yet chosen, the cheapest.

    Algorithm 1 of the paper: let j be the best model not yet chosen; among the models l not yet chosen
    with L_l ≥ (1 − ζ)·L_j take the one with the strictly lowest cost γ (ties: j itself, then the lowest
    index). ζ = 0 is `PerformBest`, ζ = 1 is `Cheapest`, up to ties.

    Departs from the paper: line 7 of the printed algorithm tests a_i = 0 (i, the candidate, not yet
    chosen) where a_l = 0 is meant. Taken literally it picks chosen models again and trains a handful of
    models instead of k (Electricity: an AUROC of .928 instead of .966).

    Parameters
    ----------
    zeta
        How much worse than the best a model may be to be preferred for its price, in [0, 1].

    Examples
    --------
    >>> import numpy as np
    >>> scores, costs = [0.90, 0.89, 0.70], [0.5, 0.2, 0.3]
    >>> Zeta(0.05).choose(scores, costs, 1, np.random.default_rng(1)).astype(int)
    array([0, 1, 0])
    >>> Zeta(0.001).choose(scores, costs, 1, np.random.default_rng(1)).astype(int)
    array([1, 0, 0])
    """

    zeta: float

    def __post_init__(self) -> None:
        number(self.zeta, "zeta", "Zeta", 0, 1)

    def _compiled(self) -> _core.Policy:
        return _core.Policy("zeta", self.zeta)
