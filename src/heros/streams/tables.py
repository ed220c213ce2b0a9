"""Streams from the rows of a table, read in chunks."""

from __future__ import annotations

import time
from collections import deque

import numpy as np
from numpy.typing import NDArray

from heros._base.lazy import pa
from heros._base.notices import notice
from heros.data.columns import Faults, NameColumn, Values, encode
from heros.data.encoder import YOUNG, Encoder, Fault, in_micros
from heros.data.schema import Schema
from heros.data.values import LARGEST_TARGET, Refused, listed
from heros.data.weights import weighs
from heros.errors import DataError, DataNotice
from heros.streams.base import Stream, empty_block, joined
from heros.streams.layout import Layout
from heros.streams.live.bad_rows import BadRow, BadRows, BrokenOff, tell_skipped
from heros.streams.live.base import END, Block, Polled, Signal, passed
from heros.streams.options import Options
from heros.streams.readers import Chunk, TableReader

__all__ = ["weighed"]

Converted = tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.bool_], dict[int, Fault]]
"""Rows, targets, a mask of rows to encode one by one, and unreadable values."""


def weighed(stream: TableStream, options: Options) -> Stream:
    """Return the stream, with the weights that the options ask for."""
    return stream if options.weights is None else stream.with_weights(options.weights)


class TableStream(Stream):
    """A stream from the rows of a table, read in chunks.

    The table declares the kinds of its columns, or they are inferred from the first chunk. Columns, names and
    classes that appear later are appended to the schema at their row, unless all were given.
    """

    _first: Converted | None  # converted first chunk, until it is used

    def __init__(self, reader: TableReader, options: Options, name: str) -> None:
        options.check(reader.names)
        self.name = name
        self._reader = reader
        self._skip, self._told = options.on_bad_row == "skip", False
        self._weights = options.weights
        first = reader.read()
        if first is None:
            raise DataError(f"{reader.label} must have at least one row. Got a header without rows instead.")
        layout = Layout(reader, options, first)
        layout.expect_classes()
        for text in layout.notices():
            notice(text, DataNotice)
        self._target, self._classes = layout.target, layout.classes
        self._bad_rows, self._rows = BadRows(), 0  # rows processed, good and bad
        self._forget()
        self._encoder = self._begin(layout, options, first)
        self._load(first)

    def _begin(self, layout: Layout, options: Options, first: Chunk) -> Encoder:
        """Return an encoder initialized from the first chunk."""
        self._encoder = encoder = Encoder(
            numeric=layout.numeric,
            most_values=options.most_values,
            words=self._reader.said_words,
            ignore=layout.left_out,
            nominal=options.nominal,
        )
        columns = {**layout.features, layout.target: layout.classes}
        classes = layout.classes if isinstance(layout.classes, NameColumn) else None
        nominal = [(at, one) for at, one in columns.items() if isinstance(one, NameColumn)]
        fresh = [(at, one) for at, one in nominal if one.fresh]
        for at, column in fresh:
            column.learn(first.columns[at])
        encoder.begin([*layout.features.values()], classes, settled=first.n_rows >= YOUNG)
        found = self._converted(first)
        X, faults = found[0], found[-1]
        closed = any(one.closed for _, one in nominal)
        self._first = None if faults or closed else found  # reused by _convert
        if faults:  # names and classes come from good rows only
            good = np.ones(first.n_rows, dtype=np.bool_)
            good[list(faults)] = False
            for at, column in fresh:
                column.learn(first.columns[at].filter(pa.array(good)))
            encoder.begin([], classes)
            X = X[good]
        encoder.note_missing(X)
        if self._first is not None:  # all of it is known now
            self._first[2][:] = False
        return encoder

    n_instances = passed("n_rows", "_reader")  # an upper limit if rows are skipped
    schema = passed("schema", "_encoder")
    bad_rows = passed("_bad_rows")

    def read_as(self, schema: Schema, seen: int) -> None:
        fresh = self._position == 0 and self._rows == 0 and schema.numeric == self._encoder.numeric
        if fresh and schema != self._encoder.schema:
            self._encoder.know(schema)
            self._encoder.seen = seen
            self._at = 0
            self._convert()

    def _forget(self) -> None:
        self._first = None
        self._chunk: Chunk | None = None
        self._at = 0  # processed rows of the chunk
        # (row, BadRow or None to encode it alone, its index or None if it could not be split into columns)
        self._events: deque[tuple[int, BadRow | None, int | None]] = deque()

    def _restart(self) -> None:
        self._reader.restart()
        self._bad_rows, self._rows = BadRows(), 0
        self._forget()  # the columns stay known

    def _draw(self, n: int) -> Block:
        got = self._gather(n, None, span=True)
        return self._nothing() if isinstance(got, Signal) else got

    def _poll(self, n: int, timeout: float | None) -> Polled:
        return self._gather(n, timeout, span=False)

    def _gather(self, n: int, timeout: float | None, span: bool) -> Polled:
        """Return up to n rows within `timeout` seconds; of one schema unless `span` is set."""
        deadline = None if timeout is None else time.monotonic() + timeout
        parts: list[Block] = []
        state: Signal = END
        try:
            while n > 0:
                if self._chunk is None:
                    left = None if deadline is None else max(0.0, deadline - time.monotonic())
                    chunk = self._read_chunk(n, left)
                    if isinstance(chunk, Signal):
                        state = chunk
                        break
                    self._load(chunk)
                part = self._next(n, grow=span or not parts)
                if part is None:  # it needs a larger schema: start a new block
                    break
                if len(part[1]):
                    parts.append(part)
                    n -= len(part[1])
        except DataError as error:
            strict = not self._skip and isinstance(error, BrokenOff)  # evaluate must not end normally
            self._fault = DataError(str(error)) if strict else error
        return joined(parts) if parts else state

    def _read_chunk(self, wanted: int, timeout: float | None) -> Chunk | Signal:
        """Return the next rows; a complete table never waits."""
        chunk = self._reader.read()
        return END if chunk is None else chunk

    def _next(self, most: int, grow: bool) -> Block | None:
        """Return the next rows of the chunk, possibly empty; None if the schema must grow first."""
        assert self._chunk is not None
        until = self._events[0][0] if self._events else self._chunk.n_rows
        start, stop = self._at, min(until, self._at + most)
        if stop > start:
            self._at = stop
            self._rows += stop - start
            self._encoder.seen += stop - start
            return self._X[start:stop], self._y[start:stop]
        if not self._events:
            self._chunk = None
            return empty_block(0, self._encoder.numeric)
        row, bad, split = self._events[0]
        part = empty_block(0, self._encoder.numeric)
        if bad is None:
            revision = self._encoder.revision
            try:
                coded = self._encoder.encode(*self._pair(row), grow=grow)
            except Refused as why:
                bad = self._bad(row, (why.column or "", why.value, why.rule))
            else:
                if coded is None:
                    return None
                y = np.array([coded[1]], dtype=np.float64 if self._encoder.numeric else np.int64)
                part = np.array([coded[0]], dtype=np.float64), y
        self._events.popleft()
        self._at = row if split is None else row + 1
        self._rows += 1
        if bad is not None:
            self._refuse(bad)
        elif self._encoder.revision != revision:  # the kind of a column changed
            self._convert()
        return part

    def _pair(self, row: int) -> tuple[dict[str, object], object]:
        """Return a row of the chunk as a mapping, and its label."""
        assert self._chunk is not None
        values = {name: self._arrays[at][row].as_py() for at, name in enumerate(self._reader.names)}
        label = values.pop(self._reader.names[self._target])
        return values, self._y[row] if self._encoder.numeric else label

    def _bad(self, row: int, fault: Fault) -> BadRow:
        assert self._chunk is not None
        column, value, rule = fault
        name = self._reader.names[self._target] if column == "label" else column
        return BadRow(self._reader.label, self._chunk.place(row), name, value, rule)

    def _refuse(self, bad: BadRow) -> None:
        """Skip a bad row, or raise its error."""
        if not self._skip:
            self._rows -= 1
            raise DataError(str(bad))
        self._bad_rows = self._bad_rows.plus(bad)
        if not self._told:
            self._told = True
            tell_skipped(bad)
        if self._bad_rows.are_too_many(self._rows):
            raise self._bad_rows.error(self._reader.label, self._rows)

    def _load(self, chunk: Chunk) -> None:
        """Start with a new chunk of rows."""
        self._chunk, self._at = chunk, 0
        self._arrays = [in_micros(array) for array in chunk.columns]
        self._convert()

    def _convert(self) -> None:
        """Convert the rest of the chunk, and collect the rows that need special handling."""
        chunk = self._chunk
        assert chunk is not None
        X, y, closely, faults = self._first or self._converted(chunk)
        self._first = None
        closely |= bool(self._encoder.tentative)
        closely[list(faults)] = False
        events: list[tuple[int, int, BadRow | None, int | None]]
        events = [(row, 1, None, row) for row in np.flatnonzero(closely).tolist()]
        events += [(row, 1, self._bad(row, fault), row) for row, fault in faults.items()]
        events += [(row, 0, bad, None) for row, bad in chunk.faults]
        events.sort(key=lambda event: event[:2])
        self._events = deque((row, bad, split) for row, _, bad, split in events if row >= self._at)
        self._X, self._y = X, y if self._encoder.numeric else np.nan_to_num(y).astype(np.int64)

    def _converted(self, chunk: Chunk) -> Converted:
        """Return rows, targets, a mask of rows to encode one by one, and unreadable values."""
        names = self._reader.names
        at = [index for index in range(len(names)) if index != self._target]
        X, closely, faults = self._encoder.converted(
            [names[i] for i in at], [chunk.columns[i] for i in at], chunk.n_rows, plain=True
        )
        y, new, wrong = self._targets(chunk.columns[self._target])
        closely |= new
        found = {row: (names[self._target], *fault) for row, fault in wrong.items()}
        if self._weights is not None and (place := self._encoder.places.get(self._weights)) is not None:
            for row, fault in _no_weights(X[:, place.at[0]]).items():
                found.setdefault(row, (self._weights, *fault))
        return X, y, closely, faults | found

    def _targets(self, array: pa.Array) -> tuple[Values, NDArray[np.bool_], Faults]:
        """Return targets, a mask of new classes, and unreadable targets."""
        faults = _absent(array)
        new = np.zeros(len(array), dtype=np.bool_)
        if not isinstance(self._classes, NameColumn):
            values, wrong = self._classes.convert(array)
            return values, new, wrong | _too_large(values) | faults
        codes, labels = encode(array)
        known = [None if label is None else self._encoder.classes.code(label) for label in (*labels, None)]
        table = np.array([np.nan if code is None else code for code in known], dtype=np.float64)
        values = table[codes]
        new = np.isnan(values)
        if self._classes.closed and new.any():
            rule = f"be one of {listed(list(self._encoder.classes))}"
            for row in np.flatnonzero(new):
                faults.setdefault(int(row), (repr(labels[codes[row]]), rule))
        new[list(faults)] = False
        return values, new, faults


def _too_large(values: Values) -> Faults:
    """Return the rows whose target is too large."""
    rule = f"be a finite number, at most {LARGEST_TARGET:g}"
    return {int(row): (f"{values[row]:g}", rule) for row in np.flatnonzero(np.abs(values) > LARGEST_TARGET)}


def _no_weights(values: Values) -> Faults:
    """Return the rows without a valid weight."""
    wrong = np.flatnonzero(~weighs(values)).tolist()
    said = {row: "a missing value" if np.isnan(values[row]) else f"{values[row]:g}" for row in wrong}
    return {row: (value, "be a number in [0, 10000]: it is the weight") for row, value in said.items()}


def _absent(array: pa.Array) -> Faults:
    """Return the rows without a target."""
    if array.null_count == 0 and not pa.types.is_floating(array.type):
        return {}
    rows = np.flatnonzero(np.asarray(array.is_null(nan_is_null=True))).tolist()
    return dict.fromkeys(rows, ("a missing value", "have a value: it is the target"))
