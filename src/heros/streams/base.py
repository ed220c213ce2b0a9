"""The base class of streams: instances in order, read in blocks."""

from __future__ import annotations

import copy
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import count, takewhile
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from heros._base.errors import DataError, ParameterError
from heros._base.parameters import number, one_of, whole
from heros.data.schema import Schema
from heros.data.weights import WEIGHTS, are_weights
from heros.streams.live.base import END, IDLE, Block, DriftPoint, Polled, Signal, Source, joined, passed

__all__ = ["Block", "DriftPoint", "RowStream", "Stream", "at_position_of", "too_many"]


class Stream(Source):
    """A source that can be read again, with a position that advances as instances are read.

    A stream is read in blocks, each of which continues where the previous block ended. ``copy.copy``,
    ``copy.deepcopy`` and ``pickle`` give an independent stream at the same position. A run that resumes
    from a checkpoint reads the stream again up to that point.

    Attributes
    ----------
    name : str
        The name in tables and figures.

    Examples
    --------
    >>> from heros import streams
    >>> stream = streams.Agrawal(function=2).take(10)
    >>> [X.shape for X, y in stream.blocks(4)]
    [(4, 9), (4, 9), (2, 9)]
    """

    endless: ClassVar[bool] = False  # whether the stream never ends
    _shared: ClassVar[frozenset[str]] = frozenset()  # read-only attributes that copies share

    def draw(self, n: int) -> Block:
        """Return the next n instances; fewer only at the end of the stream or before an error.

        If an instance is bad, the instances before it are returned first. The next call raises the error, and
        the stream does not advance past the bad instance.

        Examples
        --------
        >>> from heros import streams
        >>> X, y = streams.LED(drift=0, noise=0).draw(3)
        >>> X.shape, y
        ((3, 24), array([5, 9, 2]))
        """
        n = whole(n, "n", "draw", 0)
        X, y = self._draw(n)
        self._position += len(y)
        return X, y

    def blocks(self, size: int = 4096) -> Iterator[Block]:
        """Iterate over the remaining stream in blocks of `size` instances; the last block may be shorter."""
        size = whole(size, "size", "blocks", 1)
        # A short block may not be the last one: the next draw may raise an error.
        return takewhile(lambda block: len(block[1]), (self.draw(size) for _ in count()))

    def poll(self, most: int, timeout: float | None = None) -> Polled:
        """Return up to `most` instances; stop before an instance that extends the schema.

        Only pipes and iterators may have to wait for rows. After `timeout` seconds they return the instances
        that are available.

        Examples
        --------
        >>> from heros import streams
        >>> stream = streams.from_iter([({"a": 1}, "no"), ({"a": 2}, "no"), ({"a": 3}, "yes")])
        >>> [stream.poll(10)[1].tolist(), stream.poll(10)[1].tolist(), stream.poll(10)]
        [[0, 0], [1], <Signal.END: 'end'>]
        """
        most = whole(most, "most", "poll", 1)
        timeout = None if timeout is None else number(timeout, "timeout", "poll", 0)
        polled = self._poll(most, timeout)
        if not isinstance(polled, Signal):
            self._position += len(polled[1])
        return polled

    def take(self, n: int) -> FirstInstances:
        """Return the next n instances as a new stream; this stream does not advance.

        Examples
        --------
        >>> from heros import streams
        >>> streams.Agrawal(function=2).take(1000).n_instances
        1000
        """
        return FirstInstances(self, n)

    def with_target(self, feature: str) -> Stream:
        """Return a stream that uses a numeric feature as the target; the old target is dropped.

        Examples
        --------
        >>> from heros import streams
        >>> stream = streams.Agrawal().with_target("salary")
        >>> stream.schema.numeric, stream.schema.n_features
        (True, 8)
        """
        return Retargeted(self, feature)

    def with_weights(self, feature: str) -> Stream:
        """Return a stream that uses a numeric feature as the weight of each instance.

        `heros.evaluate` uses the weights like the `sample_weight` of `heros.Heros.learn`.

        Examples
        --------
        >>> from heros import streams
        >>> stream = streams.Agrawal().with_weights("hyears")
        >>> X, y = stream.draw(3)
        >>> X.shape, stream.weights()
        ((3, 8), array([30.,  2., 22.]))
        """
        return Weighed(self, feature)

    def restart(self) -> None:
        """Go back to the first instance."""
        self._restart()
        self._position = 0

    @abstractmethod
    def _draw(self, n: int) -> Block:
        """Return the next n instances; fewer only at the end of the stream or before an error."""

    def _poll(self, n: int, timeout: float | None) -> Polled:
        """Return instances within `timeout` seconds; unlike in `_draw`, all have the same schema."""
        X, y = self._draw(n)
        return (X, y) if len(y) else END

    @abstractmethod
    def _restart(self) -> None:
        """Go back to the first instance."""

    def _nothing(self) -> Block:
        """Return a block without instances."""
        kind = np.float64 if self.schema.numeric else np.int64
        return np.empty((0, self.schema.n_features)), np.empty(0, dtype=kind)

    def _copy_for_stream(self) -> Stream:
        """Return a copy for another stream to read, or this stream itself if it cannot be copied."""
        return copy.copy(self)

    def _drifts_ahead(self) -> tuple[DriftPoint, ...]:
        """Return the drift points after the current position, relative to this position."""
        at = self._position
        return tuple(DriftPoint(one.position - at, one.width) for one in self.drifts if one.position >= at)

    def __copy__(self) -> Self:
        return copy.deepcopy(self)

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        clone = self.__class__.__new__(self.__class__)
        memo[id(self)] = clone
        state: Any = self.__getstate__()
        for name, value in state.items():
            clone.__dict__[name] = value if name in self._shared else copy.deepcopy(value, memo)
        return clone

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name!r} at {self._position:,}>"


class RowStream(Stream):
    """A stream of rows, which a `heros.streams.live.rows.RowBlocks` (`_rows`) encodes."""

    _rows: Any
    schema = passed("schema", "_rows.encoder")
    target = passed("target", "_rows")
    bad_rows = passed("bad_rows", "_rows")
    read_as = passed("read_as", "_rows")

    @abstractmethod
    def _fetch(self, most: int, timeout: float | None) -> Sequence[Any] | Signal:
        """Return the next rows, or a signal if no rows are available."""

    def _draw(self, n: int) -> Block:
        polled = self._rows.take(self._fetch, n, None, span=True) if n else IDLE
        return self._nothing() if isinstance(polled, Signal) else polled

    def _poll(self, n: int, timeout: float | None) -> Polled:
        polled: Polled = self._rows.take(self._fetch, n, timeout)
        return polled


class Derived(Stream):
    """The base class of streams that read a copy of another stream."""

    schema = passed("schema", "_source")
    target = passed("target", "_source")
    bad_rows = passed("bad_rows", "_source")

    def __init__(self, source: Stream, name: str) -> None:
        self.name = name
        self._source = source._copy_for_stream()
        self._origin = self._source._copy_for_stream()

    def _restart(self) -> None:
        self._source = at_position_of(self._origin, self._source)


class FirstInstances(Derived):
    """A stream of the next n instances of another stream."""

    weighed = passed("weighed", "_source")
    weights = passed("weights", "_source")
    read_as = passed("read_as", "_source")
    drifts = passed("_drifts")

    def __init__(self, source: Stream, n: int) -> None:
        self._n = whole(n, "n", "take", 0)
        self._drifts = tuple(point for point in source._drifts_ahead() if point.position < self._n)
        super().__init__(source, source.name)
        self._start = self._source.position

    @property
    def n_instances(self) -> int | None:
        """The total number of instances; None if unknown."""
        if self._source.endless:
            return self._n
        total = self._source.n_instances
        return None if total is None else max(0, min(self._n, total - self._start))

    def _draw(self, n: int) -> Block:
        return self._source.draw(min(n, self._n - self._position))

    def _poll(self, n: int, timeout: float | None) -> Polled:
        remaining = self._n - self._position
        return self._source.poll(min(n, remaining), timeout) if remaining else END

    def _restart(self) -> None:
        super()._restart()
        if self._source.position < self._start:  # a stream that cannot be copied restarts at 0
            self._source.draw(self._start - self._source.position)


class FeatureAsTarget(Derived):
    """The base class of streams that use a numeric feature of another stream as the target or weight."""

    endless = passed("endless", "_source")
    drifts = passed("drifts", "_source")
    n_instances = passed("n_instances", "_source")
    _also_ignored: tuple[str, ...] = ()  # the feature, if the model ignores a column of this name

    def __init__(self, source: Stream, feature: str, name: str, parameter: str) -> None:
        names = [f.name for f in source.schema.features if not f.nominal]
        one_of(feature, "feature", parameter, names, f"one of the numeric features {', '.join(names)}")
        self.feature = feature
        super().__init__(source, name)

    @property
    def schema(self) -> Schema:
        schema = self._source.schema
        others = tuple(f for f in schema.features if f.name != self.feature)
        return replace(schema, features=others, ignored=(*schema.ignored, *self._also_ignored))

    def read_as(self, schema: Schema, seen: int) -> None:
        feature = self._source.schema.features[self._column]
        if self.feature not in (one.name for one in schema.features):  # else the model learns from it
            ignored = tuple(name for name in schema.ignored if name != self.feature)
            self._also_ignored = (self.feature,) if self.feature in schema.ignored else ()
            schema = replace(schema, features=(*schema.features, feature), ignored=ignored)
            self._source.read_as(schema, seen)

    @property
    def _column(self) -> int:
        return [f.name for f in self._source.schema.features].index(self.feature)

    @abstractmethod
    def _converted(self, X: NDArray[np.float64], y: NDArray[Any]) -> Block:
        """Convert instances of the other stream to instances of this stream."""

    def _draw(self, n: int) -> Block:
        return self._converted(*self._source.draw(n))

    def _poll(self, n: int, timeout: float | None) -> Polled:
        polled = self._source.poll(n, timeout)
        return polled if isinstance(polled, Signal) else self._converted(*polled)

    def _copy_for_stream(self) -> Stream:
        # If the source cannot be copied, this stream cannot be copied either.
        return self if self._origin is self._source else super()._copy_for_stream()


class Retargeted(FeatureAsTarget):
    """A stream with a feature of another stream as the target. Rows that lack this feature are skipped."""

    target = passed("feature")

    def __init__(self, source: Stream, feature: str) -> None:
        super().__init__(source, feature, f"{source.name}.{feature}", "with_target")

    @property
    def schema(self) -> Schema:
        return replace(super().schema, classes=(), numeric=True)

    def read_as(self, schema: Schema, seen: int) -> None:
        other = self._source.schema
        super().read_as(replace(schema, classes=other.classes, numeric=other.numeric), seen)

    @property
    def n_instances(self) -> int | None:
        complete = not self._source.schema.features[self._column].missing
        return self._source.n_instances if complete else None

    def _draw(self, n: int) -> Block:
        parts: list[Block] = []
        while n > 0 and len((block := self._source.draw(n))[1]):
            parts.append(self._converted(*block))
            n -= len(parts[-1][1])
        return joined(parts) if parts else self._nothing()

    def _converted(self, X: NDArray[np.float64], y: NDArray[Any]) -> Block:
        y = X[:, self._column]
        has_target = ~np.isnan(y)
        return np.delete(X[has_target], self._column, axis=1), y[has_target].copy()


class Weighed(FeatureAsTarget):
    """A stream with a feature of another stream as the weight of each instance."""

    weighed = passed("feature")

    def __init__(self, source: Stream, feature: str) -> None:
        super().__init__(source, feature, source.name, "with_weights")
        self._weights: NDArray[np.float64] | None = None

    def weights(self) -> NDArray[np.float64] | None:
        return self._weights

    def _converted(self, X: NDArray[np.float64], y: NDArray[Any]) -> Block:
        weights = X[:, self._column].copy()
        if not (valid := are_weights(weights)).all():
            row = int(valid.argmin())
            place = f"{weights[row]:g} in instance {self._position + row + 1:,}"
            raise DataError(f"The weights in {self.feature!r} must be {WEIGHTS}. Got {place} instead.")
        self._weights = weights
        return np.delete(X, self._column, axis=1), y


def at_position_of(origin: Stream, current: Stream) -> Stream:
    """Return a copy of `origin` to replace `current`. If it cannot be copied, restart and return it."""
    fresh = origin._copy_for_stream()
    if fresh is current:
        current.restart()  # a stream that cannot be copied may still be restarted
    return fresh


def too_many(n: int) -> ParameterError:
    """Return the error for a block of n instances that does not fit into memory."""
    return ParameterError.of("n", "draw", "small enough that n instances fit into memory", n)
