"""Choose k for a budget per instance, from the costs of earlier instances."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heros._base.notices import notice
from heros.errors import DataError
from heros.policies.within import Within

__all__ = ["STRETCH", "Pace"]

STRETCH = 200  # number of instances with one k, independent of the sizes of blocks
PAY_BACK = 10  # number of stretches over which overspending is paid back
KEEP = 0.8  # factor by which the weight of a stretch falls per stretch
LARGEST = 1 << 30  # maximum bytes of an array of the state: enough for 25 billion instances


class Pace:
    """Choose k for each stretch of instances, and record the choices.

    The cost of an instance is modelled as a + b·(models trained): a straight line through the costs of the
    stretches so far, with the highest weight on the latest ones.

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
        self._costs: list[float] = []  # cost per instance of each completed stretch
        self._start: tuple[float, float, float] | None = (
            None  # instances, spent and trained at the last choice
        )
        self._sums = np.zeros(5)  # faded sums over stretches of 1, x, x², c, x·c, for x models with cost c
        self._slope = 0.0  # the slope b
        self.joules = 0.0  # measured so far, if the budget is in joules
        self._behind = 0.0  # overspending that is not yet paid back
        self.warned = False

    @property
    def ks(self) -> NDArray[np.int64]:
        """The chosen values of k, one per 200 instances."""
        return np.array(self._ks, dtype=np.int64)

    @property
    def costs(self) -> NDArray[np.float64]:
        """The cost per instance of each completed stretch, in microseconds or joules."""
        return np.array(self._costs)

    @property
    def k(self) -> int | None:
        """The k of the current stretch; None before the first."""
        return self._ks[-1] if self._ks else None

    def begin(self, instances: int, spent: float, trained: int, most: int) -> int:
        """Return the k of the next stretch, from the totals spent and trained so far."""
        if self._start is not None and instances > self._start[0]:
            then, spent_then, trained_then = self._start
            self._note(instances - then, spent - spent_then, trained - trained_then)
        self._start = (instances, spent, trained)
        replay = self.within.replay
        k = int(replay[len(self._ks)]) if len(self._ks) < len(replay) else self._chosen(most)
        self._ks.append(min(k, self.models))
        return self._ks[-1]

    def _note(self, instances: float, spent: float, trained: float) -> None:
        """Update the cost model with a completed stretch."""
        cost, x = spent / instances, trained / instances
        self._costs.append(cost)
        self._sums = KEEP * self._sums + [1, x, x * x, cost, x * cost]
        self._behind = max(0.0, self._behind + (cost - self.within.budget) * instances)
        if self._ks[-1] == 1 and cost > self.within.budget and x <= 1:
            self._warn(cost)

    def _chosen(self, most: int) -> int:
        """Return the highest k whose cost is within the budget, minus a part of the overspending."""
        weight, x, squares, cost, products = self._sums.tolist()
        if weight == 0:
            return most
        x, cost = x / weight, cost / weight
        spread = squares / weight - x * x
        if spread > 0.25:  # else all stretches had the same k, and the earlier slope is used
            self._slope = max(0.0, (products / weight - x * cost) / spread)
        slope = min(self._slope, cost / max(x, 1)) if self._slope > 0 else cost / max(x, 1)
        target = self.within.budget - self._behind / (PAY_BACK * STRETCH)
        k = (target - cost) / slope + x if slope > 0 else float(most)
        return int(min(max(k, 1), most)) if math.isfinite(k) else 1

    def _warn(self, cost: float) -> None:
        if not self.warned:
            budget = f"The '{self.within.unit}' parameter of Within is {self.within.budget:g}"
            text = f"{budget}, but an instance takes {cost:.3g} even with k = 1."
            notice(text, RuntimeWarning)
        self.warned = True

    def state(self) -> dict[str, NDArray[Any]]:
        """Return the choices and the cost model as arrays for `restore`."""
        start = (-1.0, 0.0, 0.0) if self._start is None else self._start
        numbers = [*start, *self._sums, self._slope, self._behind, self.joules, float(self.warned)]
        return {"ks": self.ks, "costs": self.costs, "numbers": np.array(numbers)}

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Restore what `state` returned; raise a DataError if it is invalid."""
        ks, costs = _array(state, "ks", np.int64), _array(state, "costs", np.float64)
        numbers = _array(state, "numbers", np.float64)
        if len(numbers) != 12 or len(costs) > len(ks) or np.any(ks < 1) or np.any(ks > self.models):
            raise DataError(f"The state of a pace must have every k in [1, {self.models}], and costs.")
        self._ks, self._costs = ks.tolist(), costs.tolist()
        first, spent, trained, *rest = numbers.tolist()
        if min(rest) < 0:
            raise DataError("The state of a pace must have non-negative sums.")
        if first >= 0 and not self._ks:
            raise DataError("The state of a pace that has started must have a k.")
        self._start = None if first < 0 else (first, spent, trained)
        self._sums, (self._slope, self._behind, self.joules, warned) = np.array(rest[:5]), rest[5:]
        self.warned = bool(warned)


def _array(state: Mapping[str, NDArray[Any]], name: str, kind: type) -> NDArray[Any]:
    array = state.get(name)
    masked = isinstance(array, np.ma.MaskedArray)
    if not isinstance(array, np.ndarray) or masked or array.ndim != 1 or array.dtype != kind:
        raise DataError(f"The state of a pace must have an array {name!r}. Got {array!r} instead.")
    if array.nbytes > LARGEST or not np.isfinite(array).all():
        raise DataError(f"The array {name!r} of a pace must be finite and at most {LARGEST >> 20} MB.")
    return array
