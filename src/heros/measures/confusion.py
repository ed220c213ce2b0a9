"""Accuracy, Cohen's κ and per-class figures from a confusion matrix."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from heros._base.parameters import whole
from heros.errors import DataError
from heros.measures.checks import expect_labels

__all__ = ["Confusion"]

MOST_CLASSES = 1 << 13  # a matrix of their square has to fit into memory


@dataclass
class Confusion:
    """Counts of (class, predicted class), kept while a stream runs.

    Examples
    --------
    >>> confusion = Confusion()
    >>> confusion.update(np.array([0, 0, 1, 1]), np.array([0, 0, 1, 0]), classes=2)
    >>> confusion.accuracy, confusion.kappa
    (0.75, 0.5)
    """

    counts: NDArray[np.int64] = field(default_factory=lambda: np.zeros((0, 0), dtype=np.int64))

    def update(self, y: NDArray[np.int64], predicted: NDArray[np.int64], classes: int) -> None:
        """Count labels and predictions; the number of classes may have grown, but never shrinks."""
        classes = whole(classes, "classes", "Confusion", max(1, len(self.counts)), MOST_CLASSES)
        y, predicted = expect_labels(y, classes, "Confusion"), expect_labels(predicted, classes, "Confusion")
        if len(y) != len(predicted):
            raise DataError(
                f"Confusion must have a prediction per label ({len(y)}). Got {len(predicted)} instead."
            )
        self._grow(classes)
        cells = np.bincount(y * classes + predicted, minlength=classes * classes)
        self.counts += cells.reshape(classes, classes)

    def merge(self, other: Confusion) -> None:
        """Count what another one has counted; either may know more classes."""
        self._grow(len(other.counts))
        known = len(other.counts)
        self.counts[:known, :known] += other.counts

    def _grow(self, classes: int) -> None:
        room = classes - len(self.counts)
        if room > 0:
            self.counts = np.pad(self.counts, (0, room))

    @property
    def accuracy(self) -> float:
        """The share of right predictions."""
        total = int(self.counts.sum())
        return float(np.trace(self.counts)) / total if total else math.nan

    @property
    def kappa(self) -> float:
        """Cohen's κ: how far the accuracy is above that of chance, given the margins."""
        total = int(self.counts.sum())
        if total == 0:
            return math.nan
        chance = float(self.counts.sum(axis=0) @ self.counts.sum(axis=1)) / total**2
        return (self.accuracy - chance) / (1 - chance) if chance < 1 else math.nan

    @property
    def recall(self) -> NDArray[np.float64]:
        """Of the instances of each class, the share predicted so; NaN for a class not seen."""
        return self._share_of(self.counts.sum(axis=1))

    @property
    def precision(self) -> NDArray[np.float64]:
        """Of the predictions of each class, the share that was right; NaN for a class not predicted."""
        return self._share_of(self.counts.sum(axis=0))

    @property
    def f1(self) -> NDArray[np.float64]:
        """The harmonic mean of precision and recall of each class; NaN for one neither seen nor predicted."""
        return 2 * self._share_of(self.counts.sum(axis=0) + self.counts.sum(axis=1))

    def _share_of(self, totals: NDArray[np.int64]) -> NDArray[np.float64]:
        """The right predictions of each class, as a share of these totals."""
        shares = np.full(len(totals), math.nan)
        np.divide(np.diag(self.counts), totals, out=shares, where=totals > 0)
        return shares
