"""Logarithmic loss."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heros.measures.base import Measure, State, expect_array, expect_same
from heros.measures.checks import expect_answers

__all__ = ["LogLoss", "log_loss"]

SMALLEST = 1e-15  # a probability of 0 for what happened would cost infinitely much


class LogLoss(Measure):
    """The mean of −ln P(class that happened), probabilities below 1e-15 raised to it.

    Examples
    --------
    >>> loss = LogLoss()
    >>> loss.update(np.array([0, 1]), np.array([[0.9, 0.1], [0.5, 0.5]]))
    >>> round(loss.value, 4)
    0.3993
    """

    name, label, better = "log_loss", "log-loss", "lower"

    def __init__(self) -> None:
        self.total, self.count = 0.0, 0

    def update(self, y: NDArray[np.int64], output: NDArray[np.float64]) -> None:
        """Count labels (n,) and the probabilities (n, classes) given before they were seen."""
        loss = log_loss(y, output)
        if len(y):
            self.total += loss * len(y)
            self.count += len(y)

    @property
    def value(self) -> float:
        """The mean of everything counted; NaN of nothing."""
        return self.total / self.count if self.count else math.nan

    def state(self) -> dict[str, NDArray[Any]]:
        """The sum and how many it is of."""
        return {"total": np.array([self.total]), "count": np.array([self.count])}

    def restore(self, state: State) -> None:
        """Go on from what `state` gave."""
        [self.total] = expect_array(state, "total", np.float64, (1,), "LogLoss").tolist()
        [self.count] = expect_array(state, "count", np.int64, (1,), "LogLoss").tolist()

    def merge(self, other: LogLoss) -> None:
        """Count what another one has counted."""
        expect_same(self, other)
        self.total, self.count = self.total + other.total, self.count + other.count


def log_loss(y: NDArray[np.int64], probabilities: NDArray[np.float64]) -> float:
    """The mean of −ln P(class that happened), probabilities below 1e-15 raised to it; NaN of nothing.

    Examples
    --------
    >>> round(log_loss(np.array([0, 1]), np.array([[0.9, 0.1], [0.5, 0.5]])), 4)
    0.3993
    """
    y, probabilities = expect_answers(y, probabilities, "log_loss")
    if len(y) == 0:
        return math.nan
    happened = probabilities[np.arange(len(y)), y]
    return float(-np.log(np.maximum(happened, SMALLEST)).mean())
