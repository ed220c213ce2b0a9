"""Measures of answers that are numbers."""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from heros.measures.base import Measure, State, expect_array, expect_same
from heros.measures.checks import expect_numbers

__all__ = ["MAE", "MAPE", "R2", "RMSE", "Coverage", "IntervalWidth", "RelativeError"]

ANSWER, INTERVAL, NAIVE = 1, 3, 4
"""Columns of an answer, up to: the answer itself, the ends of its interval, the running mean."""


class Quotient(Measure):
    """One sum over another: the base of those that are means."""

    numeric = True
    columns: ClassVar[int] = ANSWER

    def __init__(self) -> None:
        self.over = self.under = 0.0

    @abstractmethod
    def _amounts(
        self, y: NDArray[np.float64], output: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64] | float]:
        """Of each instance, what is added above and below the line."""

    def update(self, y: NDArray[np.float64], output: NDArray[np.float64]) -> None:
        """Count targets (n,) and what was answered, (n,) or (n, columns), before they were seen."""
        y, output = expect_numbers(y, output, self.columns, type(self).__name__)
        over, under = self._amounts(y, output)
        self.over += float(np.sum(over))
        self.under += float(np.sum(np.broadcast_to(under, len(y))))

    @property
    def value(self) -> float:
        """Of everything counted; NaN of nothing."""
        return self.over / self.under if self.under > 0 else math.nan

    def state(self) -> dict[str, NDArray[Any]]:
        """Both sums."""
        return {"sums": np.array([self.over, self.under])}

    def restore(self, state: State) -> None:
        """Go on from what `state` gave."""
        sums = expect_array(state, "sums", np.float64, (2,), type(self).__name__)
        self.over, self.under = sums.tolist()

    def merge(self, other: Quotient) -> None:
        """Count what another one has counted."""
        expect_same(self, other)
        self.over, self.under = self.over + other.over, self.under + other.under


class MAE(Quotient):
    """The mean absolute error.

    Examples
    --------
    >>> mae = MAE()
    >>> mae.update(np.array([1.0, 2.0]), np.array([1.5, 3.0]))
    >>> mae.value
    0.75
    """

    name, label, better = "mae", "MAE", "lower"

    def _amounts(
        self, y: NDArray[np.float64], output: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], float]:
        return np.abs(y - output[:, 0]), 1.0


class RMSE(Quotient):
    """The root of the mean squared error.

    Examples
    --------
    >>> rmse = RMSE()
    >>> rmse.update(np.array([1.0, 2.0]), np.array([1.0, 4.0]))
    >>> round(rmse.value, 4)
    1.4142
    """

    name, label, better = "rmse", "RMSE", "lower"

    def _amounts(
        self, y: NDArray[np.float64], output: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], float]:
        return np.square(y - output[:, 0]), 1.0

    @property
    def value(self) -> float:
        """Of everything counted; NaN of nothing."""
        return math.sqrt(super().value)


class MAPE(Quotient):
    """The mean absolute error as a share of the target. Targets of 0, of which there is none, are left out.

    Examples
    --------
    >>> mape = MAPE()
    >>> mape.update(np.array([2.0, 0.0, 4.0]), np.array([1.0, 1.0, 4.0]))
    >>> mape.value
    0.25
    """

    name, label, better = "mape", "MAPE", "lower"

    def _amounts(
        self, y: NDArray[np.float64], output: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        some = y != 0
        return np.abs(y - output[:, 0])[some] / np.abs(y[some]), some.astype(np.float64)


class RelativeError(Quotient):
    """The mean absolute error relative to that of the running mean of recent targets; below 1 is better.

    The mean as it was before each target is the fourth number of an answer
    (`heros.ensemble.task.Regression`).

    Examples
    --------
    >>> error = RelativeError()
    >>> error.update(np.array([1.0, 2.0]), np.array([[1.5, 0, 3, 0.0], [3.0, 2, 4, 1.0]]))
    >>> error.value
    0.75
    """

    name, label, better = "relative_error", "relative error", "lower"
    columns = NAIVE

    def _amounts(
        self, y: NDArray[np.float64], output: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        return np.abs(y - output[:, 0]), np.abs(y - output[:, 3])


class Coverage(Quotient):
    """The share of targets inside the interval of their answer: as near as can be to the level asked for.

    Examples
    --------
    >>> coverage = Coverage()
    >>> coverage.update(np.array([1.0, 2.0]), np.array([[1.5, 1.0, 2.0], [3.0, 2.5, 3.5]]))
    >>> coverage.value
    0.5
    """

    name, label = "coverage", "coverage"
    columns = INTERVAL

    def _amounts(
        self, y: NDArray[np.float64], output: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], float]:
        return ((output[:, 1] <= y) & (y <= output[:, 2])).astype(np.float64), 1.0


class IntervalWidth(Quotient):
    """The mean width of the intervals.

    Examples
    --------
    >>> width = IntervalWidth()
    >>> width.update(np.array([1.0, 2.0]), np.array([[1.5, 1.0, 2.0], [3.0, 2.0, 4.0]]))
    >>> width.value
    1.5
    """

    name, label, better = "interval_width", "interval width", "lower"
    columns = INTERVAL

    def _amounts(
        self, y: NDArray[np.float64], output: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], float]:
        return np.abs(output[:, 2] - output[:, 1]), 1.0


class R2(Measure):
    """R²: the share of the targets' variance that the answers explain; below 0 if their mean does better.

    Examples
    --------
    >>> r2 = R2()
    >>> r2.update(np.array([1.0, 2.0, 3.0]), np.array([1.0, 2.0, 4.0]))
    >>> r2.value
    0.5
    """

    name, label = "r2", "R²"
    numeric = True

    def __init__(self) -> None:
        self.count, self.mean, self.squares, self.errors = 0, 0.0, 0.0, 0.0

    def update(self, y: NDArray[np.float64], output: NDArray[np.float64]) -> None:
        """Count targets (n,) and what was answered, (n,) or (n, columns), before they were seen."""
        y, output = expect_numbers(y, output, ANSWER, "R2")
        if len(y):
            mean = float(y.mean())
            errors = float(np.square(y - output[:, 0]).sum())
            self._add(len(y), mean, float(np.square(y - mean).sum()), errors)

    def _add(self, count: int, mean: float, squares: float, errors: float) -> None:
        """Moments of two stretches as those of both (Chan et al. 1979)."""
        both, off = self.count + count, mean - self.mean
        self.squares += squares + off * off * self.count * count / both
        self.mean += off * count / both
        self.count, self.errors = both, self.errors + errors

    @property
    def value(self) -> float:
        """Of everything counted; NaN where all targets are the same."""
        return 1 - self.errors / self.squares if self.squares > 0 else math.nan

    def state(self) -> dict[str, NDArray[Any]]:
        """How many, their mean (above and below 0), the squares of deviations and of errors."""
        sums = [max(self.mean, 0.0), max(-self.mean, 0.0), self.squares, self.errors]
        return {"count": np.array([self.count]), "sums": np.array(sums)}

    def restore(self, state: State) -> None:
        """Go on from what `state` gave."""
        [self.count] = expect_array(state, "count", np.int64, (1,), "R2").tolist()
        above, below, self.squares, self.errors = expect_array(state, "sums", np.float64, (4,), "R2").tolist()
        self.mean = above - below

    def merge(self, other: R2) -> None:
        """Count what another one has counted."""
        expect_same(self, other)
        if other.count:
            self._add(other.count, other.mean, other.squares, other.errors)
