"""Area under the receiver operating characteristic."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from heros.measures.checks import expect_answers
from heros.measures.macro import macro
from heros.measures.ranked import Ranked
from heros.measures.running_auroc import RunningAuroc

__all__ = ["Auroc", "auroc", "auroc_per_class"]


class Auroc(Ranked):
    """AUROC over a stream: see `auroc` for what it is, and `RunningAuroc` for how exact a histogram is.

    Parameters
    ----------
    exact
        Whether all probabilities are kept (8 bytes per class and instance). If not, the figure comes from
        a histogram in constant memory; that of a window is exact all the same.

    Examples
    --------
    >>> area = Auroc()
    >>> area.update(np.array([0, 0, 1, 1]), np.array([[0.9, 0.1], [0.6, 0.4], [0.65, 0.35], [0.2, 0.8]]))
    >>> area.value
    0.75
    """

    name, label = "auroc", "AUROC"

    @staticmethod
    def _figure(y: NDArray[np.int64], probabilities: NDArray[np.float64]) -> float:
        return auroc(y, probabilities)

    @staticmethod
    def _histogram() -> RunningAuroc:
        return RunningAuroc()


def auroc(y: NDArray[np.int64], probabilities: NDArray[np.float64]) -> float:
    """The probability that a positive instance scores higher than a negative one, ties counting half.

    Binary: of P(class 1). More classes: one against the rest, the plain mean over the classes that have
    both positive and negative instances. NaN if no class has.

    Parameters
    ----------
    y : (n,)
        Class indices.
    probabilities : (n, classes)
        Given before the labels were seen.

    Examples
    --------
    >>> auroc(np.array([0, 0, 1, 1]), np.array([[0.9, 0.1], [0.6, 0.4], [0.65, 0.35], [0.2, 0.8]]))
    0.75
    """
    y, probabilities = expect_answers(y, probabilities, "auroc")
    classes = probabilities.shape[1]
    if classes == 2:
        return _binary(y == 1, probabilities[:, 1])
    return macro(_per_class(y, probabilities))


def auroc_per_class(y: NDArray[np.int64], probabilities: NDArray[np.float64]) -> NDArray[np.float64]:
    """The AUROC of each class against the rest; NaN where a class has no positive or no negative instance."""
    return _per_class(*expect_answers(y, probabilities, "auroc_per_class"))


def _per_class(y: NDArray[np.int64], probabilities: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.array([_binary(y == c, probabilities[:, c]) for c in range(probabilities.shape[1])])


def _binary(positive: NDArray[np.bool_], score: NDArray[np.float64]) -> float:
    """Mann and Whitney's statistic: of all pairs (positive, negative), the share in the right order."""
    positives = int(positive.sum())
    negatives = len(positive) - positives
    if positives == 0 or negatives == 0:
        return math.nan
    order = np.argsort(score, kind="stable")
    ranked = score[order]
    ends = np.append(np.flatnonzero(ranked[1:] != ranked[:-1]), len(ranked) - 1)  # of groups of ties
    positives_up_to = np.cumsum(positive[order])[ends]
    negatives_up_to = ends + 1 - positives_up_to
    in_group = np.diff(positives_up_to, prepend=0)
    below = np.concatenate(([0], negatives_up_to[:-1]))
    return float(np.dot(in_group, below + negatives_up_to) / 2 / positives / negatives)
