"""Streams from Python iterators of (features, label) pairs, as in River."""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, ClassVar

from heros._base.errors import DataError, ParameterError
from heros.data.codes import MOST_VALUES
from heros.data.schema import Schema
from heros.streams.bad_rows import BadRows
from heros.streams.base import RowStream, Stream
from heros.streams.live.base import Signal
from heros.streams.live.readers import BackgroundReader, DirectReader
from heros.streams.live.rows import RowBlocks, rows_of

__all__ = ["from_iter"]

Pair = tuple[Mapping[str, Any], Any]
Pairs = Iterable[Pair] | AsyncIterable[Pair]

RULE = "an iterable, or a function that returns an iterable"


def from_iter(
    pairs: Pairs | Callable[[], Pairs],
    *,
    schema: Schema | None = None,
    nominal: Sequence[str] = (),
    classes: Sequence[object] | None = None,
    task: str | None = None,
    on_bad_row: str = "skip",
    waits: bool | None = None,
    name: str = "iterator",
    most_values: int | None = MOST_VALUES,
    ignore: Sequence[str] = (),
    missing: Sequence[str] = (),
) -> Stream:
    """Create a stream of (features, label) pairs from a River data set, a queue or a generator.

    The stream may be endless. `features` maps names to values: numbers become numeric features, strings and
    booleans nominal features. New features, values and classes are appended to the schema. A feature that
    is absent, None or NaN is a missing value. `evaluate` trains on the available pairs. Before a pair with a
    new feature, value or class, it extends the model.

    Parameters
    ----------
    pairs
        The pairs: an iterable (a list, a River data set), an async iterable, or a function that returns one.
        An iterator can be read only once: such a stream cannot be restarted, copied or pickled, and
        ``take`` advances it. If the iterator raises an error, the pairs before it are returned first.
    schema
        A fixed schema of the instances. A row that does not match the schema is a bad row.
    nominal, classes, on_bad_row, most_values, ignore, missing
        As for `heros.streams.read`.
    task
        "regression" if the labels are numeric targets; otherwise the labels are names of classes.
    waits
        Whether reading the next pair may block. If so, `evaluate` reads the pairs in a background thread; an
        async iterable runs in an event loop of that thread. The default is True for iterators and for objects
        returned by functions. Pass False for an iterator that must be read in its own thread, such as the
        rows of an SQLite connection.
    name
        The name of the stream.

    Examples
    --------
    >>> stream = from_iter([({"age": 18}, "no"), ({"age": 21, "colour": "red"}, "yes")])
    >>> X, y = stream.draw(2)
    >>> X
    array([[18., nan],
           [21.,  0.]])
    >>> stream.schema.features[1]
    Feature(name='colour', values=('red',), missing=True)
    """
    if waits not in (None, True, False):
        raise ParameterError.of("waits", "from_iter", "True, False or None", waits)
    settings = {
        setting: given for setting, given in locals().items() if setting not in ("pairs", "waits", "name")
    }
    rows = rows_of(name, "from_iter", **settings)
    if not callable(pairs) and not isinstance(pairs, Iterable | AsyncIterable):
        raise ParameterError.of("pairs", "from_iter", RULE, pairs)
    return PairStream(pairs, rows, waits)


class PairStream(RowStream):
    """A stream of (features, label) pairs."""

    _shared: ClassVar[frozenset[str]] = frozenset({"_pairs"})

    def __init__(self, pairs: Pairs | Callable[[], Pairs], rows: RowBlocks, waits: bool | None) -> None:
        self.name, self._pairs, self._rows, self._waits = rows.name, pairs, rows, waits
        self._single_use = isinstance(pairs, Iterator | AsyncIterator)
        self._reader: DirectReader | BackgroundReader | None = None
        self._may_wait = False  # whether reading may block; set when the pairs are opened

    def _fetch(self, most: int, timeout: float | None) -> Sequence[Any] | Signal:
        """Return the next pairs, from a background thread if reading may exceed the timeout."""
        if self._reader is None:
            self._reader = self._open()
        reader = self._reader
        if timeout is not None and self._may_wait and isinstance(reader, DirectReader) and not reader.error:
            reader = self._reader = BackgroundReader(reader.iterator)
        return reader.take(most, timeout)

    def _open(self) -> DirectReader | BackgroundReader:
        """Return a reader that starts after the pairs that were already processed."""
        pairs = self._pairs() if callable(self._pairs) else self._pairs
        done = self._rows.read
        if isinstance(pairs, AsyncIterable):
            return BackgroundReader(_skip_pairs(pairs, done) if done else pairs)
        if not isinstance(pairs, Iterable):
            raise ParameterError.of("pairs", "from_iter", RULE, pairs)
        stored = isinstance(pairs, Sequence) or not (self._single_use or callable(self._pairs))
        self._may_wait = not stored if self._waits is None else self._waits
        return DirectReader(islice(pairs, done, None) if done else iter(pairs))

    def _restart(self) -> None:
        self._expect_source("be restarted")
        self._reader = None
        self._rows.start_at(0, BadRows())

    def _expect_source(self, what: str) -> None:
        """Raise a DataError if the pairs cannot be read again."""
        if self._single_use:
            advice = "Pass a function that returns a new iterator to from_iter"
            raise DataError(f"The stream {self.name!r} reads an iterator, which cannot {what}. {advice}.")

    def _copy_for_stream(self) -> Stream:
        return self if self._single_use else super()._copy_for_stream()

    def __getstate__(self) -> dict[str, Any]:
        self._expect_source("be copied")
        return {**self.__dict__, "_reader": None}


async def _skip_pairs(pairs: AsyncIterable[Pair], n: int) -> AsyncIterator[Pair]:
    """Yield the pairs after the first n."""
    async for pair in pairs:
        if n == 0:
            yield pair
        n = max(0, n - 1)
