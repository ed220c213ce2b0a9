"""Measures for classification: accuracy, log loss, measures based on a confusion matrix, and calibration."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from heros._base.errors import DataError
from heros._base.parameters import whole
from heros.measures.base import (
    Array,
    Counts,
    Floats,
    Labels,
    Mean,
    Measure,
    State,
    expect_array,
    expect_same,
    macro,
)
from heros.measures.checks import expect_answers, expect_labels

SMALLEST = 1e-15  # lower bound of the probability of the true class, which keeps the loss finite
MOST_CLASSES = 1 << 13  # a matrix of classes × classes must fit into memory


class Accuracy(Mean):
    """The share of instances whose class was predicted as most probable (ties: the lowest index).

    Examples
    --------
    >>> accuracy = Accuracy()
    >>> accuracy.update(np.array([0, 1]), np.array([[0.9, 0.1], [0.6, 0.4]]))
    >>> accuracy.value
    0.5
    """

    name, label = "accuracy", "accuracy"

    def _sums(self, y: Labels, output: Floats) -> tuple[float, float]:
        y, output = expect_answers(y, output, "Accuracy")
        return float((output.argmax(axis=1) == y).sum()), len(y)


class LogLoss(Mean):
    """The mean of −ln P(true class); probabilities below 1e-15 count as 1e-15.

    Examples
    --------
    >>> loss = LogLoss()
    >>> loss.update(np.array([0, 1]), np.array([[0.9, 0.1], [0.5, 0.5]]))
    >>> round(loss.value, 4)
    0.3993
    """

    name, label, better = "log_loss", "log-loss", "lower"

    def _sums(self, y: Labels, output: Floats) -> tuple[float, float]:
        loss = log_loss(y, output)
        return (loss * len(y), len(y)) if len(y) else (0.0, 0.0)


def log_loss(y: Labels, probabilities: Floats) -> float:
    """Return the mean of −ln P(true class); NaN without instances.

    Probabilities below 1e-15 count as 1e-15.

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


@dataclass
class Confusion:
    """A confusion matrix over a stream: the count of each pair of true class and predicted class.

    Examples
    --------
    >>> confusion = Confusion()
    >>> confusion.update(np.array([0, 0, 1, 1]), np.array([0, 0, 1, 0]), classes=2)
    >>> confusion.accuracy, confusion.kappa
    (0.75, 0.5)
    """

    counts: Counts = field(default_factory=lambda: np.zeros((0, 0), dtype=np.int64))

    def update(self, y: Labels, predicted: Labels, classes: int) -> None:
        """Add labels and predictions; the number of classes may grow, but not shrink."""
        classes = whole(classes, "classes", "Confusion", max(1, len(self.counts)), MOST_CLASSES)
        y, predicted = expect_labels(y, classes, "Confusion"), expect_labels(predicted, classes, "Confusion")
        if len(y) != len(predicted):
            raise DataError(
                f"Confusion needs one prediction per label ({len(y)}). Got {len(predicted)} instead."
            )
        self._grow(classes)
        cells = np.bincount(y * classes + predicted, minlength=classes * classes)
        self.counts += cells.reshape(classes, classes)

    def merge(self, other: Confusion) -> None:
        """Add the counts of another matrix, which may have a different number of classes."""
        self._grow(len(other.counts))
        known = len(other.counts)
        self.counts[:known, :known] += other.counts

    def _grow(self, classes: int) -> None:
        room = classes - len(self.counts)
        if room > 0:
            self.counts = np.pad(self.counts, (0, room))

    @property
    def accuracy(self) -> float:
        """The share of correct predictions."""
        total = int(self.counts.sum())
        return float(np.trace(self.counts)) / total if total else math.nan

    @property
    def kappa(self) -> float:
        """Cohen's κ: the accuracy compared with the agreement that the class frequencies give by chance."""
        total = int(self.counts.sum())
        if total == 0:
            return math.nan
        chance = float(self.counts.sum(axis=0) @ self.counts.sum(axis=1)) / total**2
        return (self.accuracy - chance) / (1 - chance) if chance < 1 else math.nan

    @property
    def recall(self) -> Floats:
        """The recall of each class; NaN for a class without instances."""
        return self._share_of(self.counts.sum(axis=1))

    @property
    def precision(self) -> Floats:
        """The precision of each class; NaN for a class that was not predicted."""
        return self._share_of(self.counts.sum(axis=0))

    @property
    def f1(self) -> Floats:
        """F1 of each class; NaN for a class with neither instances nor predictions."""
        return 2 * self._share_of(self.counts.sum(axis=0) + self.counts.sum(axis=1))

    def _share_of(self, totals: Counts) -> Floats:
        """Return the correct predictions of each class as a share of these totals."""
        shares = np.full(len(totals), math.nan)
        np.divide(np.diag(self.counts), totals, out=shares, where=totals > 0)
        return shares


class Counted(Measure):
    """The base class of measures that need only a confusion matrix, which is also stored in the run."""

    def __init__(self) -> None:
        self.confusion = Confusion()

    def update(self, y: Labels, output: Floats) -> None:
        y, output = expect_answers(y, output, type(self).__name__)
        classes = max(output.shape[1], len(self.confusion.counts))
        self.confusion.update(y, output.argmax(axis=1), classes)

    def state(self) -> dict[str, Array]:
        return {"counts": self.confusion.counts}

    def restore(self, state: State) -> None:
        owner = type(self).__name__
        counts = expect_array(state, "counts", np.int64, (None, None), owner)
        if counts.shape[0] != counts.shape[1] or len(counts) > MOST_CLASSES:
            raise DataError(
                f"The state of {owner} must have a square matrix of counts. Got shape {counts.shape}."
            )
        self.confusion = Confusion(counts)

    def merge(self, other: Counted) -> None:
        expect_same(self, other)
        self.confusion.merge(other.confusion)


class Kappa(Counted):
    """Cohen's κ: the accuracy compared with chance agreement.

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
        """κ over all instances so far; NaN if chance agreement is 1."""
        return self.confusion.kappa


class F1(Counted):
    """Macro F1: the mean over classes of the harmonic mean of precision and recall.

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
        return macro(self.per_class)

    @property
    def per_class(self) -> Floats:
        """F1 of each class; NaN for a class with neither instances nor predictions."""
        return self.confusion.f1


class BalancedAccuracy(Counted):
    """The mean recall over the classes that have instances.

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
        return macro(self.confusion.recall)


BINS = 15


@dataclass(frozen=True)
class Reliability:
    """A reliability curve: mean confidence, accuracy and number of instances of each bin."""

    confidence: Floats  # the confidence and the accuracy of an empty bin are NaN
    accuracy: Floats
    count: Counts


class CalibrationError(Measure):
    r"""The expected calibration error: the mean absolute difference between confidence and accuracy.

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

    def update(self, y: Labels, output: Floats) -> None:
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

    def state(self) -> dict[str, Array]:
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
