"""Half the best, half at random: CAND, as it is meant and as it was published."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from heros._base import core as _core
from heros.policies.base import CompiledPolicy
from heros.policies.reasons import Reasons, by_rank

__all__ = ["Cand", "CandAsPublished"]


@dataclass(frozen=True)
class Cand(CompiledPolicy):
    """The ⌊k/2⌋ models with the highest score L, the rest uniformly from the remaining ones.

    This is CAND as Gunasekara et al. (2022) define it and as the HEROS paper describes it. The paper's
    tables show something else: see `CandAsPublished`.

    Examples
    --------
    >>> import numpy as np
    >>> scores, costs = [0.9, 0.7, 0.8, 0.6], [0.4, 0.1, 0.3, 0.2]
    >>> Cand().choose(scores, costs, 2, np.random.default_rng(1)).astype(int)
    array([1, 0, 1, 0])
    """

    explores: ClassVar[bool] = True  # half of what it chooses is drawn

    def explain(
        self, scores: NDArray[np.float64], costs: NDArray[np.float64], k: int, chosen: NDArray[np.bool_]
    ) -> Reasons:
        """Why each of these models was chosen."""
        return _halves(by_rank(scores, "L", chosen), k, len(scores))

    def _compiled(self) -> _core.Policy:
        return _core.Policy("cand")


@dataclass(frozen=True)
class CandAsPublished(CompiledPolicy):
    """The ⌊k/2⌋ models with the *lowest* score, the rest at random: the paper's CAND column.

    The figures of that column match an implementation that trains the worst half: on Electricity this gives
    an AUROC of .941, the paper prints .9406, and the correct `Cand` gives .967, no less than any other
    policy of the paper's (docs/paper.md). Use it to reproduce the table, and for nothing else.

    Examples
    --------
    >>> import numpy as np
    >>> scores, costs = [0.9, 0.7, 0.8, 0.6], [0.4, 0.1, 0.3, 0.2]
    >>> CandAsPublished().choose(scores, costs, 2, np.random.default_rng(1)).astype(int)
    array([0, 1, 0, 1])
    """

    explores: ClassVar[bool] = True  # half of what it chooses is drawn

    def explain(
        self, scores: NDArray[np.float64], costs: NDArray[np.float64], k: int, chosen: NDArray[np.bool_]
    ) -> Reasons:
        """Why each of these models was chosen."""
        return _halves(by_rank(scores, "L", chosen, lowest_first=True), k, len(scores))

    def _compiled(self) -> _core.Policy:
        return _core.Policy("cand_as_published")


def _halves(ranked: Reasons, k: int, models: int) -> Reasons:
    """The first ⌊k/2⌋ models were chosen for their rank, the others drawn from those that were left."""
    drawn = f"drawn at random, {k - k // 2} of the other {models - k // 2}"
    return {i: reason if n < k // 2 else drawn for n, (i, reason) in enumerate(ranked.items())}
