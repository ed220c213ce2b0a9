"""AUROC in memory that does not grow with the stream."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from heros.measures.checks import expect_answers

__all__ = ["RunningAuroc"]

BINS = 1 << 15
LARGEST = 40.0
"""Log-odds beyond this share the outermost bins."""


class RunningAuroc:
    """AUROC from counts of log-odds in bins of equal width, instead of from all probabilities.

    Pairs of a positive and a negative instance in the same bin count half, as ties do. `error` bounds
    how far that is from the exact figure. 512 KB per class (binary: in all), however long the stream.

    Examples
    --------
    >>> running = RunningAuroc()
    >>> running.update(np.array([0, 0, 1, 1]), np.array([[0.9, 0.1], [0.6, 0.4], [0.65, 0.35], [0.2, 0.8]]))
    >>> running.value, running.error
    (0.75, 0.0)
    """

    def __init__(self) -> None:
        self.counts = np.zeros((0, 2, BINS), dtype=np.int64)  # per class: of the rest, of the class

    def update(self, y: NDArray[np.int64], probabilities: NDArray[np.float64]) -> None:
        """Count instances: labels (n,) and the probabilities (n, classes) given before they were seen."""
        y, probabilities = expect_answers(y, probabilities, "RunningAuroc")
        classes = probabilities.shape[1]
        if classes > len(self.counts):
            self._grow(classes)
        for c in range(classes):
            bins = _bins(probabilities[:, c])
            for positive in (0, 1):
                mine = bins[(y == c) == bool(positive)]
                self.counts[c, positive] += np.bincount(mine, minlength=BINS)

    @property
    def value(self) -> float:
        """Binary: of class 1. More classes: the mean over those that have both kinds of instances."""
        known = [auroc for auroc, _ in self._figures() if not math.isnan(auroc)]
        return float(np.mean(known)) if known else math.nan

    @property
    def error(self) -> float:
        """The exact figure is at most this far away."""
        known = [error for auroc, error in self._figures() if not math.isnan(auroc)]
        return float(np.mean(known)) if known else math.nan

    def _figures(self) -> list[tuple[float, float]]:
        return [_figure(*counts) for counts in (self.counts[1:2] if len(self.counts) == 2 else self.counts)]

    def _grow(self, classes: int) -> None:
        """A class not known before had probability 0 at every instance so far, and none was of it."""
        before = int(self.counts[0].sum()) if len(self.counts) else 0
        new = np.zeros((classes - len(self.counts), 2, BINS), dtype=np.int64)
        new[:, 0, 0] = before
        self.counts = np.concatenate([self.counts, new])


def _bins(probability: NDArray[np.float64]) -> NDArray[np.int64]:
    with np.errstate(divide="ignore"):
        odds = np.log(probability) - np.log1p(-probability)
    scaled = (np.clip(odds, -LARGEST, LARGEST) / LARGEST + 1) / 2 * (BINS - 1)
    bins: NDArray[np.int64] = np.rint(scaled).astype(np.int64)
    return bins


def _figure(negative: NDArray[np.int64], positive: NDArray[np.int64]) -> tuple[float, float]:
    pairs = float(negative.sum()) * float(positive.sum())
    if pairs == 0:
        return math.nan, math.nan
    below = np.cumsum(negative) - negative
    tied = float(np.dot(positive.astype(float), negative))
    return (float(np.dot(positive.astype(float), below)) + tied / 2) / pairs, tied / 2 / pairs
