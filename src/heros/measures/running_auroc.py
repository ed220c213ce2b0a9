"""AUROC in memory that does not grow with the stream."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from heros.measures.histogram import Histogram
from heros.measures.macro import macro

__all__ = ["RunningAuroc"]


class RunningAuroc(Histogram):
    """AUROC from counts of log-odds in bins of equal width, instead of from all probabilities.

    Pairs of a positive and a negative instance in the same bin count half, as ties do. `error` bounds
    how far that is from the exact figure. 512 KB per class, however long the stream.

    Examples
    --------
    >>> running = RunningAuroc()
    >>> running.update(np.array([0, 0, 1, 1]), np.array([[0.9, 0.1], [0.6, 0.4], [0.65, 0.35], [0.2, 0.8]]))
    >>> running.value, running.error
    (0.75, 0.0)
    """

    @property
    def value(self) -> float:
        """Binary: of class 1. More classes: the mean over those that have both kinds of instances."""
        return macro([auroc for auroc, _ in self._figures()])

    @property
    def error(self) -> float:
        """The exact figure is at most this far away."""
        return macro([error for _, error in self._figures()])

    def _figures(self) -> list[tuple[float, float]]:
        return [_figure(*counts) for counts in (self.counts[1:2] if len(self.counts) == 2 else self.counts)]


def _figure(negative: NDArray[np.int64], positive: NDArray[np.int64]) -> tuple[float, float]:
    pairs = float(negative.sum()) * float(positive.sum())
    if pairs == 0:
        return math.nan, math.nan
    below, of_class = np.cumsum(negative) - negative, positive.astype(float)
    tied = float((of_class * negative).sum())  # no dot product: its threads cost more than they give here
    return (float((of_class * below).sum()) + tied / 2) / pairs, tied / 2 / pairs
