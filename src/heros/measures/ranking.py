"""Ranking measures: AUROC and PR-AUC, exact or from a histogram."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from heros._base.errors import DataError, ParameterError
from heros.measures.base import Measure, Predicted, State, expect_array, expect_same, joined, macro
from heros.measures.checks import expect_answers

BINS = 1 << 15
MOST = 64
"""The number of classes up to which a histogram has all bins; with more classes, bins are wider."""
LARGEST = 40.0
"""Larger log-odds fall into the outermost bins."""

Labels = NDArray[np.int64]
Counts = NDArray[np.int64]
Probabilities = NDArray[np.float64]


# -- exact: from all probabilities -------------------------------------------------------------------------


def auroc(y: Labels, probabilities: Probabilities) -> float:
    """Return the probability that a positive instance scores higher than a negative one; ties count half.

    With two classes, the score is P(class 1). With more classes, the result is the mean of one-vs-rest AUROC
    over the classes that have positive and negative instances; NaN if there is no such class.

    Parameters
    ----------
    y : (n,)
        Class indices.
    probabilities : (n, classes)
        Probabilities predicted before the labels were known.

    Examples
    --------
    >>> auroc(np.array([0, 0, 1, 1]), np.array([[0.9, 0.1], [0.6, 0.4], [0.65, 0.35], [0.2, 0.8]]))
    0.75
    """
    y, probabilities = expect_answers(y, probabilities, "auroc")
    if probabilities.shape[1] == 2:
        return _ordered_pairs(y == 1, probabilities[:, 1])
    return macro(_one_against_rest(_ordered_pairs, y, probabilities))


def auroc_per_class(y: Labels, probabilities: Probabilities) -> NDArray[np.float64]:
    """Return the one-vs-rest AUROC of each class; NaN if a class lacks positive or negative instances."""
    return _one_against_rest(_ordered_pairs, *expect_answers(y, probabilities, "auroc_per_class"))


def average_precision(y: Labels, probabilities: Probabilities) -> float:
    """Return the mean over classes of the one-vs-rest average precision AP = Σ (R_n − R_{n−1}) P_n.

    The mean is over the classes that have positive and negative instances; without such a class the result is
    NaN. For a binary problem, the mean includes both classes, so the order of the classes has no effect.

    Examples
    --------
    >>> y, p = np.array([0, 0, 1, 1]), np.array([[0.9, 0.1], [0.6, 0.4], [0.65, 0.35], [0.2, 0.8]])
    >>> average_precision_per_class(y, p).round(4), round(average_precision(y, p), 4)
    (array([0.8333, 0.8333]), 0.8333)
    """
    y, probabilities = expect_answers(y, probabilities, "average_precision")
    return macro(_one_against_rest(_precision_of_ranks, y, probabilities))


def average_precision_per_class(y: Labels, probabilities: Probabilities) -> NDArray[np.float64]:
    """Return the one-vs-rest AP of each class; NaN if a class lacks positive or negative instances."""
    answers = expect_answers(y, probabilities, "average_precision_per_class")
    return _one_against_rest(_precision_of_ranks, *answers)


def _one_against_rest(
    binary: Callable[[NDArray[np.bool_], NDArray[np.float64]], float], y: Labels, probabilities: Probabilities
) -> NDArray[np.float64]:
    return np.array([binary(y == c, probabilities[:, c]) for c in range(probabilities.shape[1])])


def _ends_of_ties(ranked: NDArray[np.float64]) -> NDArray[np.int64]:
    return np.append(np.flatnonzero(ranked[1:] != ranked[:-1]), len(ranked) - 1)


def _ordered_pairs(positive: NDArray[np.bool_], score: NDArray[np.float64]) -> float:
    """Return the Mann-Whitney statistic: the share of pairs (positive, negative) in the right order."""
    positives = int(positive.sum())
    negatives = len(positive) - positives
    if positives == 0 or negatives == 0:
        return math.nan
    order = np.argsort(score, kind="stable")
    ends = _ends_of_ties(score[order])
    positives_up_to = np.cumsum(positive[order])[ends]
    negatives_up_to = ends + 1 - positives_up_to
    in_group = np.diff(positives_up_to, prepend=0)
    below = np.concatenate(([0], negatives_up_to[:-1]))
    return float(np.dot(in_group, below + negatives_up_to) / 2 / positives / negatives)


def _precision_of_ranks(positive: NDArray[np.bool_], score: NDArray[np.float64]) -> float:
    """Return the average precision; tied instances pass the threshold together."""
    if len(score) == 0:
        return math.nan
    order = np.argsort(-score, kind="stable")
    ends = _ends_of_ties(score[order])
    positives_down_to = np.cumsum(positive[order], dtype=np.int64)[ends]
    return _area(np.diff(positives_down_to, prepend=0), positives_down_to, ends + 1)


def _area(gained: Counts, positives: Counts, instances: Counts) -> float:
    """Return the sum over thresholds of the precision times the increase in recall."""
    if positives[-1] == 0 or positives[-1] == instances[-1]:
        return math.nan
    return float(np.dot(gained, positives / np.maximum(instances, 1)) / positives[-1])


# -- in constant memory: from a histogram ------------------------------------------------------------------


class Histogram:
    """Two histograms of log-odds per class: of the instances of the class and of all other instances.

    All bins have the same width, and the number of bins does not depend on the stream's length. With more
    than 64 classes, bins are 2, 4, 8, ... times as wide. Subclasses compute a value and the error of this
    value.
    """

    def __init__(self) -> None:
        self.counts = np.zeros((0, 2, BINS), np.int64)  # per class: counts of the rest, counts of the class

    @property
    def value(self) -> float:
        """The mean over the classes that have both positive and negative instances."""
        return macro([self._figure(*counts)[0] for counts in self._classes()])

    @property
    def error(self) -> float:
        """The maximum difference between `value` and the exact value."""
        return macro([self._figure(*counts)[1] for counts in self._classes()])

    def _classes(self) -> Counts:
        return self.counts

    @staticmethod
    def _figure(negative: Counts, positive: Counts) -> tuple[float, float]:
        """Return the value of one class and the maximum error of this value; a bin's instances are tied."""
        raise NotImplementedError

    def update(self, y: Labels, probabilities: Probabilities) -> None:
        """Add labels (n,) and the probabilities (n, classes) predicted before the labels were known."""
        y, probabilities = expect_answers(y, probabilities, type(self).__name__)
        self._grow(probabilities.shape[1])
        known = np.arange(len(self.counts))
        bins = np.zeros((len(y), len(known)), dtype=np.int64)  # bin 0 for classes without a probability
        bins[:, : probabilities.shape[1]] = _bins(probabilities)
        rows = 2 * known + (y[:, None] == known)
        # `np.add.at` is fast if there are far fewer instances than bins; a flat index is faster in NumPy.
        n_bins = self.counts.shape[2]
        np.add.at(self.counts.reshape(-1), (rows * n_bins + bins // (BINS // n_bins)).ravel(), 1)

    def merge(self, other: Histogram) -> None:
        """Add the counts of another histogram, which may have a different number of classes."""
        self._grow(len(other.counts))
        known = len(other.counts)
        self.counts[:known] += _widened(other.counts, self.counts.shape[2])
        if known:  # the other histogram has no instances of the classes that only this histogram has
            self.counts[known:, 0, 0] += int(other.counts[0].sum())

    def restore(self, state: State, owner: str) -> None:
        """Restore the counts of a state."""
        given = state.get("counts")
        n_bins = _n_bins(0 if given is None or not given.ndim else len(given))
        counts = expect_array(state, "counts", np.int64, (None, 2, n_bins), owner)
        self.counts = np.array(counts, order="C")  # a contiguous copy: `update` works in place

    def _grow(self, classes: int) -> None:
        """Add classes, which had probability 0 and no instances so far."""
        more = classes - len(self.counts)
        if more > 0:
            n_bins = _n_bins(classes)
            new = np.zeros((more, 2, n_bins), dtype=np.int64)
            new[:, 0, 0] = int(self.counts[0].sum()) if len(self.counts) else 0
            self.counts = np.concatenate([_widened(self.counts, n_bins), new])


def _n_bins(classes: int) -> int:
    """Return the number of bins for this number of classes; the product of the two numbers is limited."""
    doublings = (-(-classes // MOST) - 1).bit_length() if classes else 0
    return max(2, BINS >> doublings)


def _widened(counts: Counts, n_bins: int) -> Counts:
    """Return the counts in a smaller number of bins; each new bin is a union of adjacent bins."""
    if counts.shape[2] == n_bins:
        return counts
    joined_bins: Counts = counts.reshape(len(counts), 2, n_bins, counts.shape[2] // n_bins).sum(axis=3)
    return joined_bins


def _bins(probability: NDArray[np.float64]) -> NDArray[np.int64]:
    with np.errstate(divide="ignore"):
        odds = np.log(probability) - np.log1p(-probability)
    scaled = (np.clip(odds, -LARGEST, LARGEST) / LARGEST + 1) / 2 * (BINS - 1)
    bins: NDArray[np.int64] = np.rint(scaled).astype(np.int64)
    return bins


class RunningAuroc(Histogram):
    """AUROC from a histogram of log-odds, instead of from all probabilities.

    A positive and a negative instance in the same bin are tied, so the pair counts half. The distance to the
    exact value is at most `error`. The histogram needs 512 KB per class for up to 64 classes. With more
    classes, the histogram needs 32 MB at most, because the bins are wider; `error` is then larger.

    Examples
    --------
    >>> running = RunningAuroc()
    >>> running.update(np.array([0, 0, 1, 1]), np.array([[0.9, 0.1], [0.6, 0.4], [0.65, 0.35], [0.2, 0.8]]))
    >>> running.value, running.error
    (0.75, 0.0)
    """

    def _classes(self) -> Counts:
        return self.counts[1:2] if len(self.counts) == 2 else self.counts

    @staticmethod
    def _figure(negative: Counts, positive: Counts) -> tuple[float, float]:
        pairs = float(negative.sum()) * float(positive.sum())
        if pairs == 0:
            return math.nan, math.nan
        below, of_class = np.cumsum(negative) - negative, positive.astype(float)
        tied = float((of_class * negative).sum())  # a dot product uses threads, which cost more here
        return (float((of_class * below).sum()) + tied / 2) / pairs, tied / 2 / pairs


class RunningPrAuc(Histogram):
    """Average precision from a histogram of log-odds; instances in one bin are tied.

    The distance to the exact value is at most `error`. The histogram needs as much memory as `RunningAuroc`.

    Examples
    --------
    >>> running = RunningPrAuc()
    >>> running.update(np.array([0, 0, 1, 1]), np.array([[0.9, 0.1], [0.6, 0.4], [0.65, 0.35], [0.2, 0.8]]))
    >>> round(running.value, 4), running.error < 1e-9
    (0.8333, True)
    """

    @staticmethod
    def _figure(negative: Counts, positive: Counts) -> tuple[float, float]:
        held = np.flatnonzero(positive + negative)[::-1]  # bins with instances, from the highest odds down
        gained, lost = positive[held], negative[held]
        positives, instances = np.cumsum(gained), np.cumsum(gained + lost)
        value = _area(gained, positives, instances) if len(held) else math.nan
        if math.isnan(value):
            return math.nan, math.nan
        before, all_before = positives - gained, instances - gained - lost
        best = positives / np.maximum(all_before + gained, 1)  # in each bin, positives come before negatives
        worst = (before + 1) / (all_before + lost + 1)  # in each bin, negatives come before positives
        tied = (lost > 0) & (gained + lost > 1)
        best, worst = (np.where(tied, bound, positives / instances) for bound in (best, worst))
        high, low = np.dot(gained, best) / positives[-1], np.dot(gained, worst) / positives[-1]
        return value, float(max(high - value, value - low))


# -- the measures ------------------------------------------------------------------------------------------


class Ranked(Measure):
    """The base class of ranking measures, which are exact or computed from a histogram."""

    _histogram: ClassVar[type[Histogram]]

    def __init__(self, exact: bool = True) -> None:
        if not isinstance(exact, bool | np.bool_):
            raise ParameterError.of("exact", type(self).__name__, "True or False", exact)
        self.exact = bool(exact)
        self.note = "" if exact else "from a histogram"
        self.predictions: list[Predicted] | None = [] if exact else None
        self._running = self._histogram()

    @staticmethod
    @abstractmethod
    def _figure(y: Labels, probabilities: Probabilities) -> float:
        """Return the exact value."""

    def update(self, y: Labels, output: Probabilities) -> None:
        if self.predictions is None:
            self._running.update(y, output)
        else:
            y, output = expect_answers(y, output, type(self).__name__)
            self.predictions.append((y.copy(), output.copy()))

    def add(self, y: Labels, output: Probabilities) -> float:
        figure = self._figure(y, output)
        if self.predictions is None:
            self._running.update(y, output)
        else:
            self.predictions.append((y, output))
        return figure

    @property
    def value(self) -> float:
        """The value over all instances so far; NaN if no class has positive and negative instances."""
        return self._running.value if self.predictions is None else self._figure(*joined(self.predictions))

    @property
    def error(self) -> float:
        """The maximum difference between `value` and the exact value."""
        return 0.0 if self.exact else self._running.error

    def state(self) -> dict[str, NDArray[Any]]:
        if self.predictions is None:
            return {"counts": self._running.counts}
        labels, probabilities = joined(self.predictions)
        return {"labels": labels, "probabilities": probabilities}

    def restore(self, state: State) -> None:
        owner = type(self).__name__
        if self.predictions is None:
            self._running.restore(state, owner)
            return
        labels = expect_array(state, "labels", np.int64, (None,), owner)
        probabilities = expect_array(state, "probabilities", np.float64, (None, None), owner)
        if len(labels) != len(probabilities):
            rule = f"The state of {owner} must have as many labels as probabilities"
            raise DataError(f"{rule}. Got {len(labels)} and {len(probabilities)}.")
        self.predictions = [expect_answers(labels, probabilities, owner)]

    def merge(self, other: Ranked) -> None:
        """Add the instances of another measure. An exact measure can add only exact measures."""
        expect_same(self, other)
        if self.predictions is None:
            if other.predictions is None:
                self._running.merge(other._running)
            for part in other.predictions or ():
                self._running.update(*part)
        elif other.predictions is None:
            owner = f"{type(self).__name__}.merge"
            raise ParameterError.of("other", owner, "an exact measure, because this measure is exact", other)
        else:
            self.predictions += other.predictions

    def fresh(self) -> Ranked:
        return type(self)(self.exact)

    def bounded(self) -> Ranked:
        """Return an empty measure that uses a histogram."""
        return type(self)(exact=False)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({'' if self.exact else 'exact=False'})"


class Auroc(Ranked):
    """AUROC over a stream, as defined by `auroc`; `RunningAuroc` describes the error of a histogram.

    Parameters
    ----------
    exact
        Whether to keep all probabilities (8 bytes per class and instance). Otherwise the value comes from a
        histogram in constant memory, 512 KB per class and at most 32 MB: with more than 64 classes, the bins
        are wider. The value of each window is exact in both cases.

    Examples
    --------
    >>> area = Auroc()
    >>> area.update(np.array([0, 0, 1, 1]), np.array([[0.9, 0.1], [0.6, 0.4], [0.65, 0.35], [0.2, 0.8]]))
    >>> area.value
    0.75
    """

    name, label = "auroc", "AUROC"
    _figure, _histogram = staticmethod(auroc), RunningAuroc


class PrAuc(Ranked):
    """Average precision over a stream, the mean over classes (see `average_precision`).

    Parameters
    ----------
    exact
        See `Auroc`.

    Examples
    --------
    >>> area = PrAuc()
    >>> area.update(np.array([0, 0, 1, 1]), np.array([[0.9, 0.1], [0.6, 0.4], [0.65, 0.35], [0.2, 0.8]]))
    >>> round(area.value, 4)
    0.8333
    """

    name, label = "pr_auc", "PR-AUC"
    _figure, _histogram = staticmethod(average_precision), RunningPrAuc
