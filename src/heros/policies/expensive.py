"""Train the most expensive."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from heros import _core
from heros.policies.base import CompiledPolicy
from heros.policies.reasons import Reasons, by_rank

__all__ = ["Expensive"]


@dataclass(frozen=True)
class Expensive(CompiledPolicy):
    """The k models with the highest cost γ (ties: the lowest index).

    Examples
    --------
    >>> import numpy as np
    >>> scores, costs = [0.9, 0.7, 0.8, 0.6], [0.4, 0.1, 0.3, 0.2]
    >>> Expensive().choose(scores, costs, 2, np.random.default_rng(1)).astype(int)
    array([1, 0, 1, 0])
    """

    def explain(
        self, scores: NDArray[np.float64], costs: NDArray[np.float64], k: int, chosen: NDArray[np.bool_]
    ) -> Reasons:
        """Why each of these models was chosen."""
        return by_rank(costs, "γ", chosen)

    def _compiled(self) -> _core.Policy:
        return _core.Policy("expensive")
