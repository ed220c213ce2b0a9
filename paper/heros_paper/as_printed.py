"""The ζ-policy as printed in Algorithm 1 of the paper, to show the effect of its line 7."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from heros._base.parameters import number

__all__ = ["ZetaAsPrinted"]


@dataclass(frozen=True)
class ZetaAsPrinted:
    """Algorithm 1 as printed: line 7 checks whether the current model is chosen, not the candidate.

    A cheap model is therefore chosen repeatedly, and far fewer than k models are trained. The paper's results
    cannot come from this rule; use `heros.policies.Zeta`, which checks the candidate.

    Parameters
    ----------
    zeta
        ζ in [0, 1].

    Examples
    --------
    >>> from heros.policies import Zeta
    >>> scores, costs = np.array([0.9, 0.89, 0.88, 0.6]), np.array([0.4, 0.1, 0.3, 0.2])
    >>> ZetaAsPrinted(0.05).choose(scores, costs, 3, np.random.default_rng(1)).tolist()
    [False, True, False, False]
    >>> Zeta(0.05).choose(scores, costs, 3, np.random.default_rng(1)).tolist()
    [True, True, True, False]
    """

    zeta: float

    def __post_init__(self) -> None:
        number(self.zeta, "zeta", "ZetaAsPrinted", 0, 1)

    def choose(
        self, scores: NDArray[np.float64], costs: NDArray[np.float64], k: int, rng: np.random.Generator
    ) -> NDArray[np.bool_]:
        """Return the models that Algorithm 1 chooses, at most k."""
        chosen: NDArray[np.bool_] = np.zeros(len(scores), dtype=bool)
        for _ in range(k):
            j = i = int(np.where(chosen, -1.0, scores).argmax())
            for other in np.flatnonzero(scores >= (1 - self.zeta) * scores[j]).tolist():
                if costs[other] < costs[i] and not chosen[i]:  # printed: "a_i = 0"; meant: "a_l = 0"
                    i = other
            chosen[i] = True
        return chosen
