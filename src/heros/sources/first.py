"""The first instances of a source that goes on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heros.parameters import whole
from heros.schema import Schema
from heros.sources.bad_rows import BadRows
from heros.sources.base import END, Polled, Source

__all__ = ["First"]


class First(Source):
    """The first n instances of a source, counted from its start, also over a kill.

    Examples
    --------
    >>> from heros import streams
    >>> source = First(streams.LED(), 10)
    >>> len(source.poll(8)[1]), len(source.poll(8)[1]), source.poll(8)
    (8, 2, <Signal.END: 'end'>)
    """

    def __init__(self, source: Source, n: int) -> None:
        self.source, self._n = source, whole(n, "n", "First", 1)
        self.name = source.name

    @property
    def schema(self) -> Schema:
        """Its schema."""
        return self.source.schema

    @property
    def position(self) -> int:
        """How many instances it has given."""
        return self.source.position

    @property
    def bad_rows(self) -> BadRows:
        """The rows it skipped."""
        return self.source.bad_rows

    def poll(self, most: int, timeout: float | None = None) -> Polled:
        """What it gives, up to the n-th instance."""
        left = self._n - self.position
        return END if left <= 0 else self.source.poll(min(most, left), timeout)

    def where(self) -> Mapping[str, Any] | None:
        """Where it stands."""
        return self.source.where()

    def seek(self, where: Mapping[str, Any]) -> None:
        """Go to where it stood."""
        self.source.seek(where)

    def acknowledge(self, where: Mapping[str, Any]) -> None:
        """Tell it."""
        self.source.acknowledge(where)

    def meet(self, model: Any) -> None:
        """Tell it."""
        self.source.meet(model)

    def answers(self) -> Sequence[NDArray[np.float64] | None] | None:
        """What was answered earlier."""
        return self.source.answers()

    def close(self) -> None:
        """Have it let go."""
        self.source.close()
