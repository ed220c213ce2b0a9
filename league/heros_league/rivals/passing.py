"""Sources that pass on what another one gives until time is over, or without gaps."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from heros.meters import Meter
from heros.streams.live import END, Source
from heros.streams.live.base import Polled, Signal
from heros.streams.live.wrappers import Passed

__all__ = ["Filled", "Limited"]


class Limited(Passed):
    """The instances of a source until a meter's clock has gone on by so many seconds.

    Whoever reads it is stopped between two blocks; what it has learnt until then counts.

    Parameters
    ----------
    source
        Where the instances come from.
    seconds
        From the first instance on, by the meter's clock: CPU time of the thread or of the process.
    meter
        Whose clock.

    Examples
    --------
    >>> from heros import meters, streams
    >>> limited = Limited(streams.LED().take(100), 0.0, meters.Cpu(process=True))
    >>> limited.poll(10), limited.stopped
    (<Signal.END: 'end'>, True)
    """

    def __init__(self, source: Source, seconds: float, meter: Meter) -> None:
        super().__init__(source)
        self.seconds, self.meter = seconds, meter
        self.stopped = False
        self._start: float | None = None

    def poll(self, most: int, timeout: float | None = None) -> Polled:
        """What the source gives, END when the time is over."""
        now = self.meter.clock()
        self._start = now if self._start is None else self._start
        if now - self._start >= self.seconds and self.position != self.n_instances:
            self.stopped = True
            return END
        return super().poll(most, timeout)


class Filled(Passed):
    """The instances of a source without gaps: numbers by the mean so far, nominal values by the first one.

    For learners that cannot take missing values.

    Examples
    --------
    >>> from heros import streams
    >>> rows = streams.from_arrays([[1.0], [3.0], [np.nan]], [0, 1, 1])
    >>> Filled(rows).poll(3)[0].ravel().tolist()
    [1.0, 3.0, 2.0]
    """

    def __init__(self, source: Source) -> None:
        super().__init__(source)
        self._sums = np.zeros(source.schema.n_features)
        self._counts = np.zeros(source.schema.n_features)
        self._numbers = np.array([not feature.nominal for feature in source.schema.features])

    def poll(self, most: int, timeout: float | None = None) -> Polled:
        """What the source gives, filled."""
        came = super().poll(most, timeout)
        if isinstance(came, Signal):
            return came
        X, y = came
        return np.array([self._row(row) for row in X]), y

    def _row(self, row: NDArray[np.float64]) -> NDArray[np.float64]:
        there = ~np.isnan(row)
        self._sums[there] += row[there]
        self._counts[there] += 1
        means = np.where(self._numbers, self._sums / np.maximum(self._counts, 1), 0.0)
        return np.where(there, row, means)
