"""The points of a curve, in memory that does not grow with the stream."""

from __future__ import annotations

import math
from typing import Any

__all__ = ["MOST_POINTS", "add_point"]

MOST_POINTS = 1000
"""A curve of an evaluation in constant memory has at most so many points: more than a figure shows."""

MEANS = frozenset({"accuracy", "auroc", "log_loss"})
SUMS = frozenset({"spent", "reward", "trained", "cpu"})  # of anything else the later value counts

Rows = dict[str, list[Any]]


def add_point(rows: Rows, point: dict[str, Any], most: int | None = None) -> None:
    """Append a point and, if need be, merge neighbours: there are never more than `most` (an even number).

    A merged point covers the windows of both: sums are added, means weighted by the windows' lengths,
    of everything else the later value counts. All points but the last cover equally many instances.

    Examples
    --------
    >>> rows = {"end": [], "accuracy": [], "spent": []}
    >>> for i, hits in enumerate([0.5, 0.7, 0.9, 0.9, 0.8, 0.8]):
    ...     add_point(rows, {"end": 100 * (i + 1), "accuracy": hits, "spent": 2.0}, most=4)
    >>> rows["end"], rows["spent"], [round(hits, 2) for hits in rows["accuracy"]]
    ([200, 400, 600], [4.0, 4.0, 4.0], [0.6, 0.9, 0.8])
    """
    for name, value in point.items():
        rows[name].append(value)
    if most is None:
        return
    count = len(rows["end"])
    if count > 2 and _length(rows, count - 2) < rows["end"][0]:
        _merge(rows, count - 2)
    if len(rows["end"]) >= most:
        for i in range(most // 2):
            _merge(rows, i)


def _length(rows: Rows, i: int) -> int:
    """How many instances point i covers."""
    return int(rows["end"][i] - (rows["end"][i - 1] if i else 0))


def _merge(rows: Rows, i: int) -> None:
    """Make points i and i + 1 one."""
    first, second = _length(rows, i), _length(rows, i + 1)
    for name, values in rows.items():
        before, after = values[i], values.pop(i + 1)
        if name in MEANS:
            values[i] = _mean(before, first, after, second)
        else:
            values[i] = before + after if name in SUMS else after


def _mean(before: float, first: int, after: float, second: int) -> float:
    """The mean, weighted; a window without a figure (NaN) says nothing."""
    if math.isnan(before) or math.isnan(after):
        return after if math.isnan(before) else before
    return (before * first + after * second) / (first + second)
