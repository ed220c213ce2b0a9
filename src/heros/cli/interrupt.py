"""Ctrl-C as the end of a stream, so that what was learnt until then is summed up."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from heros.schema import Schema
from heros.sources.base import END, Polled
from heros.streams import BadRows, DriftPoint, Stream
from heros.streams.base import Block, empty_block

__all__ = ["Interruptible", "interruptible"]


class Interruptible(Stream):
    """Another stream, which ends when it is told to; `waits` if its source may wait for more to come."""

    def __init__(self, source: Stream, waits: bool = False) -> None:
        self.name = source.name
        self.stopped = False
        self.waits = waits
        self.reading = False
        self._source = source
        self._position = source.position

    @property
    def schema(self) -> Schema:
        """The source's schema."""
        return self._source.schema

    @property
    def n_instances(self) -> int | None:
        """How many instances there are from start to end; None if that is not known."""
        return self._source.n_instances

    @property
    def drifts(self) -> tuple[DriftPoint, ...]:
        """The drift points of the source."""
        return self._source.drifts

    @property
    def bad_rows(self) -> BadRows:
        """The rows the source has skipped so far."""
        return self._source.bad_rows

    def _draw(self, n: int) -> Block:
        if self.stopped:
            return empty_block(self.schema.n_features)
        self.reading = True
        try:
            return self._source.draw(n)
        except KeyboardInterrupt:
            return empty_block(self.schema.n_features)
        finally:
            self.reading = False

    def _poll(self, n: int, timeout: float | None) -> Polled:
        if self.stopped:
            return END
        self.reading = True
        try:
            return self._source.poll(n, timeout)
        except KeyboardInterrupt:
            return END
        finally:
            self.reading = False

    def _restart(self) -> None:
        self._source.restart()


@contextmanager
def interruptible(source: Stream, waits: bool = False) -> Iterator[Interruptible]:
    """The stream, with an interrupt as its end; a second interrupt is an interrupt."""
    stream = Interruptible(source, waits)

    def on_interrupt(number: int, frame: FrameType | None) -> None:
        again, stream.stopped = stream.stopped, True
        if again or (stream.waits and stream.reading):
            raise KeyboardInterrupt

    before = signal.signal(signal.SIGINT, on_interrupt)
    try:
        yield stream
    finally:
        signal.signal(signal.SIGINT, before)
