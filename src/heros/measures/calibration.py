"""Measures of calibration: expected calibration error and reliability curve."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heros.measures.base import Measure, State, expect_array, expect_same
from heros.measures.checks import expect_answers

BINS = 15


@dataclass(frozen=True)
class Reliability:
    """A reliability curve: mean confidence, accuracy and number of instances of each bin."""

    confidence: NDArray[np.float64]  # NaN for an empty bin, like the accuracy
    accuracy: NDArray[np.float64]
    count: NDArray[np.int64]


class CalibrationError(Measure):
    r"""The expected calibration error: the mean difference between confidence and accuracy.

    The confidence is the probability of the most likely class. Instances are put into 15 bins of equal width
    by their confidence. The error is :math:`\sum_b n_b / n \, |\text{accuracy}_b - \text{confidence}_b|`.

    Examples
    --------
    >>> ece = CalibrationError()
    >>> ece.update(np.array([0, 0, 1, 1]), np.array([[0.8, 0.2]] * 4))
    >>> round(ece.value, 4)
    0.3
    >>> int(ece.reliability.count[12]), float(ece.reliability.accuracy[12])
    (4, 0.5)
    """

    name, label, better = "calibration_error", "calibration error", "lower"

    def __init__(self) -> None:
        self.count = np.zeros(BINS, dtype=np.int64)
        self.confidence, self.hits = np.zeros(BINS), np.zeros(BINS)

    def update(self, y: NDArray[np.int64], output: NDArray[np.float64]) -> None:
        y, output = expect_answers(y, output, "CalibrationError")
        if len(y) == 0:
            return
        sure = output.max(axis=1)
        bins = np.clip((sure * BINS).astype(np.int64), 0, BINS - 1)
        self.count += np.bincount(bins, minlength=BINS)
        self.confidence += np.bincount(bins, sure, BINS)
        self.hits += np.bincount(bins, output.argmax(axis=1) == y, BINS)

    @property
    def value(self) -> float:
        n = int(self.count.sum())
        return float(np.abs(self.hits - self.confidence).sum() / n) if n else math.nan

    @property
    def reliability(self) -> Reliability:
        """The reliability curve over all instances so far."""
        with np.errstate(invalid="ignore"):
            return Reliability(self.confidence / self.count, self.hits / self.count, self.count.copy())

    def state(self) -> dict[str, NDArray[Any]]:
        return {"count": self.count.copy(), "confidence": self.confidence.copy(), "hits": self.hits.copy()}

    def restore(self, state: State) -> None:
        owner = "CalibrationError"
        count = expect_array(state, "count", np.int64, (BINS,), owner)
        confidence = expect_array(state, "confidence", np.float64, (BINS,), owner)
        hits = expect_array(state, "hits", np.float64, (BINS,), owner)
        self.count, self.confidence, self.hits = count.copy(), confidence.copy(), hits.copy()

    def merge(self, other: CalibrationError) -> None:
        expect_same(self, other)
        self.count = self.count + other.count
        self.confidence, self.hits = self.confidence + other.confidence, self.hits + other.hits
