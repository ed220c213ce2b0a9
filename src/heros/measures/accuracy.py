"""The share of right predictions."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heros.measures.base import Measure, State, expect_array, expect_same
from heros.measures.checks import expect_answers

__all__ = ["Accuracy"]


class Accuracy(Measure):
    """The share of instances whose class was the most probable one (ties: the lowest index).

    Examples
    --------
    >>> accuracy = Accuracy()
    >>> accuracy.update(np.array([0, 1]), np.array([[0.9, 0.1], [0.6, 0.4]]))
    >>> accuracy.value
    0.5
    """

    name, label = "accuracy", "accuracy"

    def __init__(self) -> None:
        self.hits = self.count = 0

    def update(self, y: NDArray[np.int64], output: NDArray[np.float64]) -> None:
        """Count labels (n,) and the probabilities (n, classes) given before they were seen."""
        y, output = expect_answers(y, output, "Accuracy")
        self.hits += int((output.argmax(axis=1) == y).sum())
        self.count += len(y)

    @property
    def value(self) -> float:
        """Of everything counted; NaN of nothing."""
        return self.hits / self.count if self.count else math.nan

    def state(self) -> dict[str, NDArray[Any]]:
        """Hits and instances."""
        return {"counts": np.array([self.hits, self.count])}

    def restore(self, state: State) -> None:
        """Go on from what `state` gave."""
        self.hits, self.count = expect_array(state, "counts", np.int64, (2,), "Accuracy").tolist()

    def merge(self, other: Accuracy) -> None:
        """Count what another one has counted."""
        expect_same(self, other)
        self.hits, self.count = self.hits + other.hits, self.count + other.count
