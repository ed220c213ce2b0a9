"""Measures for regression."""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import ClassVar

import numpy as np

from heros.measures.base import Array, Floats, Mean, Measure, State, expect_array, expect_same
from heros.measures.checks import expect_numbers

PREDICTION, INTERVAL, NAIVE = 1, 3, 4
"""The numbers of output columns that measures of predictions, intervals and the running mean require."""


class MeanOfNumbers(Mean):
    """The base class of regression measures that are means over instances."""

    numeric = True
    columns: ClassVar[int] = PREDICTION

    @abstractmethod
    def _amounts(self, y: Floats, output: Floats) -> tuple[Floats, Floats | float]:
        """Return the contribution of each instance to the numerator and the denominator."""

    def _sums(self, y: Floats, output: Floats) -> tuple[float, float]:
        y, output = expect_numbers(y, output, self.columns, type(self).__name__)
        over, under = self._amounts(y, output)
        return float(np.sum(over)), float(np.sum(np.broadcast_to(under, len(y))))


class MAE(MeanOfNumbers):
    """The mean absolute error.

    Examples
    --------
    >>> mae = MAE()
    >>> mae.update(np.array([1.0, 2.0]), np.array([1.5, 3.0]))
    >>> mae.value
    0.75
    """

    name, label, better = "mae", "MAE", "lower"

    def _amounts(self, y: Floats, output: Floats) -> tuple[Floats, float]:
        return np.abs(y - output[:, 0]), 1.0


class RMSE(MeanOfNumbers):
    """The square root of the mean squared error.

    Examples
    --------
    >>> rmse = RMSE()
    >>> rmse.update(np.array([1.0, 2.0]), np.array([1.0, 4.0]))
    >>> round(rmse.value, 4)
    1.4142
    """

    name, label, better = "rmse", "RMSE", "lower"

    def _amounts(self, y: Floats, output: Floats) -> tuple[Floats, float]:
        return np.square(y - output[:, 0]), 1.0

    @property
    def value(self) -> float:
        return math.sqrt(super().value)


class MAPE(MeanOfNumbers):
    """The mean absolute percentage error, as a share: |error| / |target|.

    Instances with a target of 0 are skipped, because their percentage error is undefined.

    Examples
    --------
    >>> mape = MAPE()
    >>> mape.update(np.array([2.0, 0.0, 4.0]), np.array([1.0, 1.0, 4.0]))
    >>> mape.value
    0.25
    """

    name, label, better = "mape", "MAPE", "lower"

    def _amounts(self, y: Floats, output: Floats) -> tuple[Floats, Floats]:
        some = y != 0
        return np.abs(y - output[:, 0])[some] / np.abs(y[some]), some.astype(np.float64)


class RelativeError(MeanOfNumbers):
    """The mean absolute error divided by the error of the running mean of recent targets.

    A value below 1 is better than predicting the running mean. The running mean before each target is the
    fourth output (`heros.ensemble.task.Regression`).

    Examples
    --------
    >>> error = RelativeError()
    >>> error.update(np.array([1.0, 2.0]), np.array([[1.5, 0, 3, 0.0], [3.0, 2, 4, 1.0]]))
    >>> error.value
    0.75
    """

    name, label, better = "relative_error", "relative error", "lower"
    columns = NAIVE

    def _amounts(self, y: Floats, output: Floats) -> tuple[Floats, Floats]:
        return np.abs(y - output[:, 0]), np.abs(y - output[:, 3])


class Coverage(MeanOfNumbers):
    """The share of targets inside their predicted interval; best if close to the requested level.

    Examples
    --------
    >>> coverage = Coverage()
    >>> coverage.update(np.array([1.0, 2.0]), np.array([[1.5, 1.0, 2.0], [3.0, 2.5, 3.5]]))
    >>> coverage.value
    0.5
    """

    name, label = "coverage", "coverage"
    columns = INTERVAL

    def _amounts(self, y: Floats, output: Floats) -> tuple[Floats, float]:
        return ((output[:, 1] <= y) & (y <= output[:, 2])).astype(np.float64), 1.0


class IntervalWidth(MeanOfNumbers):
    """The mean width of the predicted intervals.

    Examples
    --------
    >>> width = IntervalWidth()
    >>> width.update(np.array([1.0, 2.0]), np.array([[1.5, 1.0, 2.0], [3.0, 2.0, 4.0]]))
    >>> width.value
    1.5
    """

    name, label, better = "interval_width", "interval width", "lower"
    columns = INTERVAL

    def _amounts(self, y: Floats, output: Floats) -> tuple[Floats, float]:
        return np.abs(output[:, 2] - output[:, 1]), 1.0


class R2(Measure):
    """R²: the share of explained variance; below 0 if the mean of the targets is a better prediction.

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

    def update(self, y: Floats, output: Floats) -> None:
        y, output = expect_numbers(y, output, PREDICTION, "R2")
        if len(y):
            mean = float(y.mean())
            errors = float(np.square(y - output[:, 0]).sum())
            self._add(len(y), mean, float(np.square(y - mean).sum()), errors)

    def _add(self, count: int, mean: float, squares: float, errors: float) -> None:
        """Combine the moments of two parts (Chan et al. 1979)."""
        both, off = self.count + count, mean - self.mean
        self.squares += squares + off * off * self.count * count / both
        self.mean += off * count / both
        self.count, self.errors = both, self.errors + errors

    @property
    def value(self) -> float:
        """R² over all instances so far; NaN if all targets are equal."""
        return 1 - self.errors / self.squares if self.squares > 0 else math.nan

    def state(self) -> dict[str, Array]:
        """Return the count, max(mean, 0), max(−mean, 0), and the sums of squared deviations and errors."""
        sums = [max(self.mean, 0.0), max(-self.mean, 0.0), self.squares, self.errors]
        return {"count": np.array([self.count]), "sums": np.array(sums)}

    def restore(self, state: State) -> None:
        [self.count] = expect_array(state, "count", np.int64, (1,), "R2").tolist()
        above, below, self.squares, self.errors = expect_array(state, "sums", np.float64, (4,), "R2").tolist()
        self.mean = above - below

    def merge(self, other: R2) -> None:
        expect_same(self, other)
        if other.count:
            self._add(other.count, other.mean, other.squares, other.errors)
