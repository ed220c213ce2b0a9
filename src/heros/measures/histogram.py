"""Log-odds in bins: what a ranking needs to know of a stream, in memory that does not grow with it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from heros.measures.base import State, expect_array
from heros.measures.checks import expect_answers

__all__ = ["BINS", "Histogram"]

BINS = 1 << 15
LARGEST = 40.0
"""Log-odds beyond this share the outermost bins."""


class Histogram:
    """Counts of log-odds in bins of equal width, of each class and of the rest.

    512 KB per class, however long the stream.

    Examples
    --------
    >>> counted = Histogram()
    >>> counted.update(np.array([0, 1]), np.array([[0.9, 0.1], [0.2, 0.8]]))
    >>> counted.counts.shape, counted.counts.sum(axis=2).tolist()
    ((2, 2, 32768), [[1, 1], [1, 1]])
    """

    def __init__(self) -> None:
        self.counts = np.zeros((0, 2, BINS), dtype=np.int64)  # per class: of the rest, of the class

    def update(self, y: NDArray[np.int64], probabilities: NDArray[np.float64]) -> None:
        """Count instances: labels (n,) and the probabilities (n, classes) given before they were seen."""
        y, probabilities = expect_answers(y, probabilities, type(self).__name__)
        self._grow(probabilities.shape[1])
        known = np.arange(len(self.counts))
        bins = np.zeros((len(y), len(known)), dtype=np.int64)  # the lowest: of a class that p does not have
        bins[:, : probabilities.shape[1]] = _bins(probabilities)
        rows = 2 * known + (y[:, None] == known)
        # One by one, as there are far fewer instances than bins; by one index, for which NumPy is fast.
        np.add.at(self.counts.reshape(-1), (rows * BINS + bins).ravel(), 1)

    def merge(self, other: Histogram) -> None:
        """Count what another one has counted; either may know more classes."""
        self._grow(len(other.counts))
        known = len(other.counts)
        self.counts[:known] += other.counts
        if known:  # of the classes that only this one knows, the other saw none
            self.counts[known:, 0, 0] += int(other.counts[0].sum())

    def restore(self, state: State, owner: str) -> None:
        """Go on from the counts of a state."""
        counts = expect_array(state, "counts", np.int64, (None, 2, BINS), owner)
        self.counts = np.array(counts, order="C")  # its own, and in one piece: they are counted up in place

    def _grow(self, classes: int) -> None:
        """A class not known before had probability 0 at every instance so far, and none was of it."""
        more = classes - len(self.counts)
        if more > 0:
            new = np.zeros((more, 2, BINS), dtype=np.int64)
            new[:, 0, 0] = int(self.counts[0].sum()) if len(self.counts) else 0
            self.counts = np.concatenate([self.counts, new])


def _bins(probability: NDArray[np.float64]) -> NDArray[np.int64]:
    with np.errstate(divide="ignore"):
        odds = np.log(probability) - np.log1p(-probability)
    scaled = (np.clip(odds, -LARGEST, LARGEST) / LARGEST + 1) / 2 * (BINS - 1)
    bins: NDArray[np.int64] = np.rint(scaled).astype(np.int64)
    return bins
