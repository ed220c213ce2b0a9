"""The ζ-policy as Algorithm 1 of the paper is printed, to show what its line 7 would do."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from heros._base.parameters import number

__all__ = ["ZetaAsPrinted"]


@dataclass(frozen=True)
class ZetaAsPrinted:
    """Algorithm 1, word for word: line 7 asks whether the model at hand is chosen, not the one it looks at.

    So a cheap model is picked again and again, and far fewer than k models are trained. The paper's figures
    cannot come from it; use `heros.policies.Zeta`, which asks about the other one.

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
        """The models that Algorithm 1 marks, at most k."""
        chosen: NDArray[np.bool_] = np.zeros(len(scores), dtype=bool)
        for _ in range(k):
            j = i = int(np.where(chosen, -1.0, scores).argmax())
            for other in np.flatnonzero(scores >= (1 - self.zeta) * scores[j]).tolist():
                if costs[other] < costs[i] and not chosen[i]:  # "a_i = 0", where "a_l = 0" is meant
                    i = other
            chosen[i] = True
        return chosen
