"""A stream that ends when a learner has had its time."""

from __future__ import annotations

from heros.meters import Meter
from heros.schema import Schema
from heros.sources import END, Source
from heros.sources.bad_rows import BadRows
from heros.sources.base import DriftPoint, Polled

__all__ = ["Limited"]


class Limited(Source):
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
        self.source, self.seconds, self.meter = source, seconds, meter
        self.name = source.name
        self.stopped = False
        self._start: float | None = None

    def poll(self, most: int, timeout: float | None = None) -> Polled:
        """What the source gives, END when the time is over."""
        now = self.meter.clock()
        self._start = now if self._start is None else self._start
        if now - self._start >= self.seconds and self.position != self.n_instances:
            self.stopped = True
            return END
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
