"""Measures that a confusion matrix is enough for."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heros.errors import DataError
from heros.measures.base import Measure, State, expect_array, expect_same
from heros.measures.checks import expect_answers
from heros.measures.confusion import MOST_CLASSES, Confusion
from heros.measures.macro import macro

__all__ = ["F1", "BalancedAccuracy", "Counted", "Kappa"]


class Counted(Measure):
    """A figure of counts of (class, predicted class), which a run then has, too."""

    def __init__(self) -> None:
        self.confusion = Confusion()

    @property
    @abstractmethod
    def value(self) -> float:
        """The figure of `confusion`; NaN if there is none."""

    def update(self, y: NDArray[np.int64], output: NDArray[np.float64]) -> None:
        """Count labels (n,) and the probabilities (n, classes) given before they were seen."""
        y, output = expect_answers(y, output, type(self).__name__)
        classes = max(output.shape[1], len(self.confusion.counts))
        self.confusion.update(y, output.argmax(axis=1), classes)

    def state(self) -> dict[str, NDArray[Any]]:
        """The counts."""
        return {"counts": self.confusion.counts}

    def restore(self, state: State) -> None:
        """Go on from what `state` gave."""
        owner = type(self).__name__
        counts = expect_array(state, "counts", np.int64, (None, None), owner)
        if counts.shape[0] != counts.shape[1] or len(counts) > MOST_CLASSES:
            raise DataError(f"The state of {owner} must have a square of counts. Got {counts.shape}.")
        self.confusion = Confusion(counts)

    def merge(self, other: Counted) -> None:
        """Count what another one has counted."""
        expect_same(self, other)
        self.confusion.merge(other.confusion)


class Kappa(Counted):
    """Cohen's κ: how far the accuracy is above that of chance, given how often each class is predicted.

    Examples
    --------
    >>> kappa = Kappa()
    >>> kappa.update(np.array([0, 0, 1, 1]), np.array([[0.9, 0.1], [0.8, 0.2], [0.3, 0.7], [0.6, 0.4]]))
    >>> kappa.value
    0.5
    """

    name, label = "kappa", "κ"

    @property
    def value(self) -> float:
        """Of everything counted; NaN where chance is always right."""
        return self.confusion.kappa


class F1(Counted):
    """F1, the harmonic mean of precision and recall, as the plain mean over the classes seen or predicted.

    Examples
    --------
    >>> f1 = F1()
    >>> f1.update(np.array([0, 0, 1, 1]), np.array([[0.9, 0.1], [0.8, 0.2], [0.3, 0.7], [0.6, 0.4]]))
    >>> round(f1.value, 4), f1.per_class.round(4)
    (0.7333, array([0.8   , 0.6667]))
    """

    name, label = "f1", "F1"

    @property
    def value(self) -> float:
        """The mean over classes; NaN of nothing."""
        return macro(self.per_class)

    @property
    def per_class(self) -> NDArray[np.float64]:
        """Of each class; NaN for one neither seen nor predicted."""
        return self.confusion.f1


class BalancedAccuracy(Counted):
    """The mean over the classes seen of how many of their instances were recognised.

    Examples
    --------
    >>> balanced = BalancedAccuracy()
    >>> balanced.update(np.array([0, 0, 0, 1]), np.array([[0.9, 0.1], [0.8, 0.2], [0.3, 0.7], [0.6, 0.4]]))
    >>> round(balanced.value, 4)
    0.3333
    """

    name, label = "balanced_accuracy", "balanced accuracy"

    @property
    def value(self) -> float:
        """The mean over classes; NaN of nothing."""
        return macro(self.confusion.recall)
