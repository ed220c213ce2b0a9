"""Area under the curve of precision over recall, as average precision."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from heros.measures.checks import expect_answers
from heros.measures.histogram import Histogram
from heros.measures.macro import macro
from heros.measures.ranked import Ranked

__all__ = ["PrAuc", "RunningPrAuc", "average_precision", "average_precision_per_class"]


class PrAuc(Ranked):
    """Average precision over a stream, the plain mean over classes: see `average_precision`.

    Parameters
    ----------
    exact
        Whether all probabilities are kept (8 bytes per class and instance). If not, the figure comes from
        a histogram in constant memory; that of a window is exact all the same.

    Examples
    --------
    >>> area = PrAuc()
    >>> area.update(np.array([0, 0, 1, 1]), np.array([[0.9, 0.1], [0.6, 0.4], [0.65, 0.35], [0.2, 0.8]]))
    >>> round(area.value, 4)
    0.8333
    """

    name, label = "pr_auc", "PR-AUC"

    @staticmethod
    def _figure(y: NDArray[np.int64], probabilities: NDArray[np.float64]) -> float:
        return average_precision(y, probabilities)

    @staticmethod
    def _histogram() -> RunningPrAuc:
        return RunningPrAuc()


def average_precision(y: NDArray[np.int64], probabilities: NDArray[np.float64]) -> float:
    """AP = Σ (R_n − R_{n−1}) P_n over all thresholds, one class against the rest, the mean over classes.

    The mean is over the classes that have both positive and negative instances, also if there are only two:
    the figure does not depend on which of them comes first. NaN if no class has both.

    Examples
    --------
    >>> y, p = np.array([0, 0, 1, 1]), np.array([[0.9, 0.1], [0.6, 0.4], [0.65, 0.35], [0.2, 0.8]])
    >>> average_precision_per_class(y, p).round(4), round(average_precision(y, p), 4)
    (array([0.8333, 0.8333]), 0.8333)
    """
    return macro(_per_class(*expect_answers(y, probabilities, "average_precision")))


def average_precision_per_class(
    y: NDArray[np.int64], probabilities: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Of each class against the rest; NaN where a class has no positive or no negative instance."""
    return _per_class(*expect_answers(y, probabilities, "average_precision_per_class"))


def _per_class(y: NDArray[np.int64], probabilities: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.array([_binary(y == c, probabilities[:, c]) for c in range(probabilities.shape[1])])


def _binary(positive: NDArray[np.bool_], score: NDArray[np.float64]) -> float:
    """From the highest score down; what is tied is above the threshold together."""
    if len(score) == 0:
        return math.nan
    order = np.argsort(-score, kind="stable")
    ranked = score[order]
    ends = np.append(np.flatnonzero(ranked[1:] != ranked[:-1]), len(ranked) - 1)
    positives_down_to = np.cumsum(positive[order])[ends]
    return _area(np.diff(positives_down_to, prepend=0), positives_down_to, ends + 1)


def _area(gained: NDArray[np.int64], positives: NDArray[np.int64], instances: NDArray[np.int64]) -> float:
    """Σ of the recall gained at each threshold times the precision there."""
    if positives[-1] == 0 or positives[-1] == instances[-1]:
        return math.nan
    return float(np.dot(gained, positives / np.maximum(instances, 1)) / positives[-1])


class RunningPrAuc(Histogram):
    """Average precision from counts of log-odds in bins of equal width; what shares a bin is tied.

    `error` bounds how far that is from the exact figure. 512 KB per class, however long the stream.

    Examples
    --------
    >>> running = RunningPrAuc()
    >>> running.update(np.array([0, 0, 1, 1]), np.array([[0.9, 0.1], [0.6, 0.4], [0.65, 0.35], [0.2, 0.8]]))
    >>> round(running.value, 4), running.error < 1e-9
    (0.8333, True)
    """

    @property
    def value(self) -> float:
        """The mean over the classes that have both kinds of instances."""
        return macro([_figure(*counts)[0] for counts in self.counts])

    @property
    def error(self) -> float:
        """The exact figure is at most this far away."""
        return macro([_figure(*counts)[1] for counts in self.counts])


def _figure(negative: NDArray[np.int64], positive: NDArray[np.int64]) -> tuple[float, float]:
    """The figure with every bin tied; and how much better or worse any order within the bins could be."""
    held = np.flatnonzero(positive + negative)[::-1]  # from the highest odds down
    gained, lost = positive[held], negative[held]
    positives, instances = np.cumsum(gained), np.cumsum(gained + lost)
    value = _area(gained, positives, instances) if len(held) else math.nan
    if math.isnan(value):
        return math.nan, math.nan
    before, all_before = positives - gained, instances - gained - lost
    best = positives / np.maximum(all_before + gained, 1)  # all positives of a bin come first
    worst = (before + 1) / (all_before + lost + 1)  # the first positive comes last
    tied = (lost > 0) & (gained + lost > 1)
    best, worst = np.where(tied, best, positives / instances), np.where(tied, worst, positives / instances)
    high, low = np.dot(gained, best) / positives[-1], np.dot(gained, worst) / positives[-1]
    return value, float(max(high - value, value - low))
