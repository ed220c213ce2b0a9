"""Sources that wrap another source with a time limit, or that fill missing values."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from heros.meters import Meter
from heros.streams.live import END, Source
from heros.streams.live.base import Polled, Signal, passed

__all__ = ["Filled", "Limited"]


class Passed(Source):
    """A source that forwards to another source, without its positions.

    Parameters
    ----------
    source
        The wrapped source.
    """

    schema = passed("schema", "source")
    position = passed("position", "source")
    n_instances = passed("n_instances", "source")
    drifts = passed("drifts", "source")
    bad_rows = passed("bad_rows", "source")
    read_as = passed("read_as", "source")
    meet = passed("meet", "source")
    answers = passed("answers", "source")
    delays = passed("delays", "source")
    weighed = passed("weighed", "source")
    weights = passed("weights", "source")
    close = passed("close", "source")

    def __init__(self, source: Source) -> None:
        self.source, self.name = source, source.name

    def poll(self, most: int, timeout: float | None = None) -> Polled:
        """Return the instances of the wrapped source."""
        return self.source.poll(most, timeout)


class Limited(Passed):
    """A source that ends after a number of seconds by a meter's clock.

    The reader stops between two blocks; its results so far are kept.

    Parameters
    ----------
    source
        The source of the instances.
    seconds
        The limit from the first instance on: CPU time of the thread or of the process.
    meter
        The meter with the clock.

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
        """Return the instances of the source, and END after the time limit."""
        now = self.meter.clock()
        self._start = now if self._start is None else self._start
        if now - self._start >= self.seconds and self.position != self.n_instances:
            self.stopped = True
            return END
        return super().poll(most, timeout)


class Filled(Passed):
    """A source that fills missing values: numbers with the mean so far, nominal values with the first value.

    This source is for learners that do not support missing values.

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
        """Return the instances of the source without missing values."""
        came = super().poll(most, timeout)
        if isinstance(came, Signal):
            return came
        X, y = came
        return np.array([self._row(row) for row in X]), y

    def _row(self, row: NDArray[np.float64]) -> NDArray[np.float64]:
        present = ~np.isnan(row)
        self._sums[present] += row[present]
        self._counts[present] += 1
        means = np.where(self._numbers, self._sums / np.maximum(self._counts, 1), 0.0)
        return np.where(present, row, means)
