"""Sources that pass on what another one gives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heros._base.parameters import whole
from heros.data.schema import Schema
from heros.streams.live.bad_rows import BadRows
from heros.streams.live.base import END, DriftPoint, Polled, Source

__all__ = ["First", "Passed"]


class Passed(Source):
    """What another source gives.

    It has no position of its own to go to: one that changes nothing in the rows may pass that on too.

    Parameters
    ----------
    source
        The other one.
    """

    def __init__(self, source: Source) -> None:
        self.source, self.name = source, source.name

    def poll(self, most: int, timeout: float | None = None) -> Polled:
        """What the source gives."""
        return self.source.poll(most, timeout)

    @property
    def schema(self) -> Schema:
        """The source's."""
        return self.source.schema

    @property
    def position(self) -> int:
        """The source's."""
        return self.source.position

    @property
    def n_instances(self) -> int | None:
        """The source's: how many there would be."""
        return self.source.n_instances

    @property
    def drifts(self) -> tuple[DriftPoint, ...]:
        """The source's."""
        return self.source.drifts

    @property
    def bad_rows(self) -> BadRows:
        """The source's."""
        return self.source.bad_rows

    def read_as(self, schema: Schema, seen: int) -> None:
        """Tell it."""
        self.source.read_as(schema, seen)

    def meet(self, model: Any) -> None:
        """Tell it."""
        self.source.meet(model)

    def answers(self) -> Sequence[NDArray[np.float64] | None] | None:
        """What was answered earlier."""
        return self.source.answers()

    def delays(self) -> NDArray[np.int64] | None:
        """How late the labels of the instances given last were."""
        return self.source.delays()

    @property
    def weighed(self) -> str | None:
        """The source's."""
        return self.source.weighed

    def weights(self) -> NDArray[np.float64] | None:
        """What the source says of the instances given last."""
        return self.source.weights()

    def close(self) -> None:
        """Have it let go."""
        self.source.close()


class First(Passed):
    """The first n instances of a source that goes on, counted from its start, also over a kill.

    Examples
    --------
    >>> from heros import streams
    >>> source = First(streams.LED(), 10)
    >>> len(source.poll(8)[1]), len(source.poll(8)[1]), source.poll(8)
    (8, 2, <Signal.END: 'end'>)
    """

    def __init__(self, source: Source, n: int) -> None:
        super().__init__(source)
        self._n = whole(n, "n", "First", 1)

    @property
    def n_instances(self) -> int | None:
        """How many there are, if the source knows."""
        there = self.source.n_instances
        return None if there is None else min(there, self._n)

    def poll(self, most: int, timeout: float | None = None) -> Polled:
        """What it gives, up to the n-th instance."""
        left = self._n - self.position
        return END if left <= 0 else super().poll(min(most, left), timeout)

    def where(self) -> Mapping[str, Any] | None:
        """Where it stands."""
        return self.source.where()

    def seek(self, where: Mapping[str, Any]) -> None:
        """Go to where it stood."""
        self.source.seek(where)

    def acknowledge(self, where: Mapping[str, Any]) -> None:
        """Tell it."""
        self.source.acknowledge(where)
