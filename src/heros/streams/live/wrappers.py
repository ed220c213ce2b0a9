"""Sources that wrap another source, and user-defined sources."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from heros._base.parameters import whole
from heros.data.schema import Schema
from heros.errors import DataError, ParameterError
from heros.streams.live.base import END, Block, Polled, Signal, Source, passed

__all__ = ["First", "Passed", "expect_source"]


class Passed(Source):
    """A source that forwards to another source.

    It forwards no positions; a subclass that does not change the rows may forward `where` and `seek` too.

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
    hold = passed("hold", "source")
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


class First(Passed):
    """A source of the first n instances of another source, counted from its start, also after a resume.

    Examples
    --------
    >>> from heros import streams
    >>> source = First(streams.LED(), 10)
    >>> len(source.poll(8)[1]), len(source.poll(8)[1]), source.poll(8)
    (8, 2, <Signal.END: 'end'>)
    """

    where = passed("where", "source")
    seek = passed("seek", "source")
    acknowledge = passed("acknowledge", "source")

    def __init__(self, source: Source, n: int) -> None:
        super().__init__(source)
        self._n = whole(n, "n", "First", 1)

    @property
    def n_instances(self) -> int | None:
        """The total number of instances; None if unknown."""
        there = self.source.n_instances
        return None if there is None else min(there, self._n)

    def poll(self, most: int, timeout: float | None = None) -> Polled:
        """Return the instances of the source, up to the n-th."""
        left = self._n - self.position
        return END if left <= 0 else super().poll(min(most, left), timeout)


def expect_source(source: Any, parameter: str, owner: str) -> Source:
    """Return a source; wrap an object with `schema` and `poll`; raise a ParameterError for others.

    Examples
    --------
    >>> from heros import streams
    >>> expect_source(streams.LED(), "stream", "evaluate")
    <LED 'LED(drift=0)' at 0>
    >>> expect_source("agr_a", "stream", "evaluate")
    Traceback (most recent call last):
        ...
    heros.errors.ParameterError: The 'stream' parameter of evaluate must be a stream, e.g.
    heros.streams.load('agr_a') or read('data.csv'), or a source with 'schema' and 'poll'. Got 'agr_a'
    instead.
    """
    if isinstance(source, Source):
        return source
    if isinstance(source, type) or not (
        hasattr(source, "schema") and callable(getattr(source, "poll", None))
    ):
        known = "a stream, e.g. heros.streams.load('agr_a') or read('data.csv')"
        rule = f"{known}, or a source with 'schema' and 'poll'"
        raise ParameterError.of(parameter, owner, rule, source)
    if hasattr(source, "where") != hasattr(source, "seek"):
        raise ParameterError.of(parameter, owner, "a source with both 'where' and 'seek', or neither", source)
    return OwnSource(source)


class OwnSource(Source):
    """A wrapper of a user-defined source that adds missing methods and validates its results."""

    def __init__(self, own: Any) -> None:
        self._own = own
        self._kind = type(own).__name__
        self.name = str(getattr(own, "name", self._kind))

    @property
    def schema(self) -> Schema:
        schema = self._own.schema
        if not isinstance(schema, Schema):
            raise DataError(f"The 'schema' of {self._kind} must be a heros.Schema. Got {schema!r} instead.")
        return schema

    def poll(self, most: int, timeout: float | None = None) -> Polled:
        got = self._own.poll(most, timeout)
        if isinstance(got, Signal):
            return got
        X, y = self._block(got)
        if not 0 < len(y) <= most:
            rule = f"return 1 to {most} instances, IDLE or END"
            raise DataError(f"The 'poll' of {self._kind} must {rule}. Got {len(y)} instances instead.")
        self._position += len(y)
        return X, y

    def _block(self, got: Any) -> Block:
        rule = f"The 'poll' of {self._kind} must return a block (X, y), IDLE or END."
        if not (isinstance(got, tuple) and len(got) == 2):
            raise DataError(f"{rule} Got {got!r} instead.")
        try:
            X, y = np.asarray(got[0], dtype=np.float64), np.asarray(got[1])
        except (TypeError, ValueError) as error:
            raise DataError(f"{rule} Got: {error}") from None
        if X.ndim != 2 or y.shape != X.shape[:1] or y.dtype.kind not in "biuf":
            what = f"arrays of {X.dtype} {X.shape} and {y.dtype} {y.shape}"
            raise DataError(f"{rule} Got {what} instead.")
        return X, y

    def where(self) -> Mapping[str, Any] | None:
        return self._own.where() if hasattr(self._own, "where") else None

    seek = passed("seek", "_own")

    def acknowledge(self, where: Mapping[str, Any]) -> None:
        if hasattr(self._own, "acknowledge"):
            self._own.acknowledge(where)

    def __repr__(self) -> str:
        return repr(self._own)
