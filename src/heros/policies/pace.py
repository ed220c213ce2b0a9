"""How a budget per instance becomes a k: from what the instances before have cost."""

from __future__ import annotations

import math
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
LARGEST = 1 << 30  # bytes of an array of its state: a k for each of 25 billion instances


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
    >>> pace.ks.tolist()  # 11 take 54 microseconds; the first stretch is paid back
    [30, 12, 10, 11, 11, 11, 11, 11]
    """

    def __init__(self, within: Within, models: int) -> None:
        self.within, self.models = within, models
        self._ks: list[int] = []
        self._costs: list[float] = []  # of each stretch that is over, per instance
        self._start: tuple[float, float, float] | None = (
            None  # instances, spent and trained at the last choice
        )
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
            then, spent_then, trained_then = self._start
            self._note(instances - then, spent - spent_then, trained - trained_then)
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
        weight, x, squares, cost, products = self._sums.tolist()
        if weight == 0:
            return most
        x, cost = x / weight, cost / weight
        spread = squares / weight - x * x
        if spread > 0.25:  # else all had the same k, and the slope of before has to do
            self._slope = max(0.0, (products / weight - x * cost) / spread)
        slope = min(self._slope, cost / max(x, 1)) if self._slope > 0 else cost / max(x, 1)
        target = self.within.budget - self._behind / (PAY_BACK * STRETCH)
        k = (target - cost) / slope + x if slope > 0 else float(most)
        return int(min(max(k, 1), most)) if math.isfinite(k) else 1

    def _warn(self, cost: float) -> None:
        if not self.warned:
            budget = f"The '{self.within.unit}' parameter of Within is {self.within.budget:g}"
            text = f"{budget}, and an instance takes {cost:.3g} even with k = 1."
            warnings.warn(text, RuntimeWarning, stacklevel=9)  # whoever called learn
        self.warned = True

    def state(self) -> dict[str, NDArray[Any]]:
        """What it has chosen and learnt, as arrays that `restore` takes back."""
        start = (-1.0, 0.0, 0.0) if self._start is None else self._start
        numbers = [*start, *self._sums, self._slope, self._behind, self.joules, float(self.warned)]
        return {"ks": self.ks, "costs": self.costs, "numbers": np.array(numbers)}

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Take back what `state` gave; a DataError if it is something else."""
        ks, costs = _array(state, "ks", np.int64), _array(state, "costs", np.float64)
        numbers = _array(state, "numbers", np.float64)
        if len(numbers) != 12 or len(costs) > len(ks) or np.any(ks < 1) or np.any(ks > self.models):
            raise DataError(f"The state of a pace must have ks in [1, {self.models}], and their costs.")
        self._ks, self._costs = ks.tolist(), costs.tolist()
        first, spent, trained, *rest = numbers.tolist()
        if min(rest) < 0:
            raise DataError("The state of a pace must have sums of zero or more.")
        if first >= 0 and not self._ks:
            raise DataError("The state of a pace that has begun must have a k.")
        self._start = None if first < 0 else (first, spent, trained)
        self._sums, (self._slope, self._behind, self.joules, warned) = np.array(rest[:5]), rest[5:]
        self.warned = bool(warned)


def _array(state: Mapping[str, NDArray[Any]], name: str, kind: type) -> NDArray[Any]:
    array = state.get(name)
    masked = isinstance(array, np.ma.MaskedArray)
    if not isinstance(array, np.ndarray) or masked or array.ndim != 1 or array.dtype != kind:
        raise DataError(f"The state of a pace must have its {name}. Got {array!r} instead.")
    if array.nbytes > LARGEST or not np.isfinite(array).all():
        raise DataError(f"The state of a pace must have finite {name}, of at most {LARGEST >> 20} MB.")
    return array
