"""How a budget per instance becomes a k: from what the instances before have cost."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heros.errors import DataError
from heros.policies.within import Within

__all__ = ["STRETCH", "Pace"]

STRETCH = 200  # instances with one k: at the same instances however blocks are cut
PAY_BACK = 10  # stretches in which is paid back what was spent too much
KEEP = 0.8  # what a stretch counts one stretch later


class Pace:
    """Chooses k for every stretch of instances, and keeps all that it chose.

    What an instance costs is taken to be a + b·(models trained): a straight line through the costs of the
    stretches so far, the latest of which count most.

    Examples
    --------
    >>> from heros.policies import Cand
    >>> pace = Pace(Within(Cand(), microseconds=60), models=50)
    >>> spent, trained = 0.0, 0
    >>> for stretch in range(8):
    ...     k = pace.begin(stretch * STRETCH, spent, trained, most=30)
    ...     spent, trained = spent + STRETCH * (10 + 4 * k), trained + STRETCH * k
    >>> pace.ks.tolist()  # 12 models take 58 microseconds
    [30, 1, 7, 10, 11, 11, 12, 12]
    """

    def __init__(self, within: Within, models: int) -> None:
        self.within, self.models = within, models
        self._ks: list[int] = []
        self._costs: list[float] = []  # of each stretch that is over, per instance
        self._start: tuple[float, float, float] | None = None  # instances, spent and trained at the last choice
        self._sums = np.zeros(5)  # of the stretches so far, faded: 1, x, x², c, x·c for x models that cost c
        self._slope = 0.0  # b
        self.joules = 0.0  # read so far, where they are the budget
        self._behind = 0.0  # what was spent too much and is not paid back yet
        self.warned = False

    @property
    def ks(self) -> NDArray[np.int64]:
        """Every k that was chosen, for 200 instances each."""
        return np.array(self._ks, dtype=np.int64)

    @property
    def costs(self) -> NDArray[np.float64]:
        """What an instance of each stretch that is over took, in microseconds or joules."""
        return np.array(self._costs)

    @property
    def k(self) -> int | None:
        """The k of the stretch at hand; None before the first."""
        return self._ks[-1] if self._ks else None

    def begin(self, instances: int, spent: float, trained: int, most: int) -> int:
        """The k of the stretch that begins, from what was spent and trained so far in all."""
        if self._start is not None and instances > self._start[0]:
            self._note(*(now - then for now, then in zip((instances, spent, trained), self._start, strict=True)))
        self._start = (instances, spent, trained)
        replay = self.within.replay
        k = int(replay[len(self._ks)]) if len(self._ks) < len(replay) else self._chosen(most)
        self._ks.append(min(k, self.models))
        return self._ks[-1]

    def _note(self, instances: float, spent: float, trained: float) -> None:
        """Learn from a stretch that is over."""
        cost, x = spent / instances, trained / instances
        self._costs.append(cost)
        self._sums = KEEP * self._sums + [1, x, x * x, cost, x * cost]
        self._behind = max(0.0, self._behind + (cost - self.within.budget) * instances)
        if self._ks[-1] == 1 and cost > self.within.budget and x <= 1:
            self._warn(cost)

    def _chosen(self, most: int) -> int:
        """The highest k whose cost is within the budget, less a part of what is to be paid back."""
        weight, x, squares, cost, products = self._sums
        if weight == 0:
            return most
        x, cost = x / weight, cost / weight
        spread = squares / weight - x * x
        if spread > 0.25:  # else all had the same k, and the slope of before has to do
            self._slope = (products / weight - x * cost) / spread
        slope = min(self._slope, cost / max(x, 1)) if self._slope > 0 else cost / max(x, 1)
        target = self.within.budget - self._behind / (PAY_BACK * STRETCH)
        return max(1, min(most, int((target - cost) / slope + x))) if slope > 0 else most

    def _warn(self, cost: float) -> None:
        if not self.warned:
            name, budget = self.within.unit, self.within.budget
            warnings.warn(
                f"The '{name}' parameter of Within is {budget:g}, and an instance takes {cost:.3g} even with k = 1.",
                RuntimeWarning,
                stacklevel=2,
            )
        self.warned = True

    def state(self) -> dict[str, NDArray[Any]]:
        """What it has chosen and learnt, as arrays that `restore` takes back."""
        start = (-1.0, 0.0, 0.0) if self._start is None else self._start
        numbers = [*start, *self._sums, self._slope, self._behind, self.joules, float(self.warned)]
        return {"ks": self.ks, "costs": self.costs, "numbers": np.array(numbers)}

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Take back what `state` gave; a DataError if it is something else."""
        ks, costs, numbers = (state.get(name) for name in ("ks", "costs", "numbers"))
        if not _fits(ks, np.int64) or not _fits(costs, np.float64) or not _fits(numbers, np.float64):
            raise DataError("The state of a pace must have its ks, costs and numbers.")
        assert ks is not None and costs is not None and numbers is not None
        if len(numbers) != 12 or len(costs) > len(ks) or np.any(ks < 1) or np.any(ks > self.models):
            raise DataError(f"The state of a pace must have ks in [1, {self.models}], and numbers of its own.")
        self._ks, self._costs = ks.tolist(), costs.tolist()
        first, spent, trained, *rest = numbers.tolist()
        self._start = None if first < 0 else (first, spent, trained)
        self._sums, (self._slope, self._behind, self.joules, warned) = np.array(rest[:5]), rest[5:]
        self.warned = bool(warned)


def _fits(array: NDArray[Any] | None, kind: type) -> bool:
    return isinstance(array, np.ndarray) and array.ndim == 1 and array.dtype == kind and bool(np.isfinite(array).all())
