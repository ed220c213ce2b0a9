"""Convert the rows of a table in batches; a row with a new feature, value or class is encoded alone."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["Item", "Stretch", "Stretches", "widened"]

Item = tuple[int, int, Any]
"""An item between converted rows: the number of rows before it and up to and with it, and the item."""


class Stretch(NamedTuple):
    """Consecutive rows that are already encoded."""

    X: NDArray[np.float64]
    y: NDArray[Any]

    def split(self, n: int) -> list[Stretch]:
        """Return the first n rows and, if there are more, the others."""
        if len(self.y) <= n:
            return [self]
        return [Stretch(self.X[:n], self.y[:n]), Stretch(self.X[n:], self.y[n:])]


class Stretches:
    """The n rows of a table, cut at the rows that must be encoded alone.

    `convert` returns all rows converted, their targets, and the items between them, in order. It is called
    again when the encoder changes how it reads a column.
    """

    def __init__(self, encoder: Any, n: int, convert: Callable[[], tuple[Any, Any, Sequence[Item]]]) -> None:
        self._encoder, self._n, self._convert = encoder, n, convert
        self._at = 0  # rows returned
        self._revision = -1  # of the encoder that converted the rows

    def next(self) -> list[Any]:
        """Return the next converted rows and the item after them, or only one of them; empty at the end."""
        if self._revision != self._encoder.revision:
            self._X, self._y, items = self._convert()
            self._items = deque(item for item in items if item[0] >= self._at)
            self._revision = self._encoder.revision
        start = self._at
        stop, self._at, *item = self._items.popleft() if self._items else (self._n, self._n)
        return [Stretch(self._X[start:stop], self._y[start:stop]), *item] if stop > start else item


def widened(X: NDArray[np.float64], width: int) -> NDArray[np.float64]:
    """Return rows with `width` features; added features are missing."""
    more = width - X.shape[1]
    return np.pad(X, ((0, 0), (0, more)), constant_values=math.nan) if more else X
