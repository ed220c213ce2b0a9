"""The points of curves as they come, in memory that does not grow with the stream."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["LATEST", "MOST_POINTS", "SUMS", "Points"]

MOST_POINTS = 1000
"""A curve of an evaluation in constant memory has at most so many points: more than a figure shows."""

SUMS = ("spent", "reward", "trained", "cpu")
LATEST = ("end", "scores", "invested")


class Points:
    """The points so far, a list per curve.

    If there is a limit, neighbours are merged so that there are never more points. A merged point covers
    the windows of both: sums are added, the figures of measures are means weighted by the windows' lengths,
    of everything else the later value counts. All points but the last cover equally many instances.

    Parameters
    ----------
    figures
        The names of the measures.
    most
        How many points there may be, an even number; None if there is no limit.
    sums, latest
        The other curves.

    Examples
    --------
    >>> points = Points(["accuracy"], most=4, sums=["spent"], latest=["end"])
    >>> for i, hits in enumerate([0.5, 0.7, 0.9, 0.9, 0.8, 0.8]):
    ...     points.add({"end": 100 * (i + 1), "accuracy": hits, "spent": 2.0})
    >>> points.curves["end"], points.curves["spent"], [round(hits, 2) for hits in points.curves["accuracy"]]
    ([200, 400, 600], [4.0, 4.0, 4.0], [0.6, 0.9, 0.8])
    """

    def __init__(
        self,
        figures: Iterable[str],
        most: int | None = None,
        *,
        sums: Iterable[str] = SUMS,
        latest: Iterable[str] = LATEST,
    ) -> None:
        self._figures, self._sums, self._most = frozenset(figures), frozenset(sums), most
        self.curves: dict[str, list[Any]] = {name: [] for name in (*latest, *figures, *sums)}

    def __len__(self) -> int:
        return len(self.curves["end"])

    def add(self, point: Mapping[str, Any]) -> None:
        """Append a point and, if there are too many, merge neighbours."""
        for name, value in point.items():
            self.curves[name].append(value)
        if self._most is None:
            return
        if len(self) > 2 and self._length(len(self) - 2) < self.curves["end"][0]:
            self._merge(len(self) - 2)
        if len(self) >= self._most:
            for i in range(self._most // 2):
                self._merge(i)

    def last(self, name: str) -> Any:
        """The latest value of a curve."""
        return self.curves[name][-1]

    def columns(self) -> dict[str, NDArray[Any]]:
        """The curves as arrays."""
        return {name: np.array(values) for name, values in self.curves.items()}

    def restore(self, columns: Mapping[str, NDArray[Any]]) -> None:
        """Go on from what `columns` gave."""
        self.curves = {name: list(columns.get(name, ())) for name in self.curves}

    def _length(self, i: int) -> int:
        """How many instances point i covers."""
        end = self.curves["end"]
        return int(end[i] - (end[i - 1] if i else 0))

    def _merge(self, i: int) -> None:
        """Make points i and i + 1 one."""
        first, second = self._length(i), self._length(i + 1)
        for name, values in self.curves.items():
            before, after = values[i], values.pop(i + 1)
            if name in self._figures:
                values[i] = _mean(before, first, after, second)
            else:
                values[i] = before + after if name in self._sums else after


def _mean(before: float, first: int, after: float, second: int) -> float:
    """The mean, weighted; a window without a figure (NaN) says nothing."""
    if math.isnan(before) or math.isnan(after):
        return after if math.isnan(before) else before
    return (before * first + after * second) / (first + second)
