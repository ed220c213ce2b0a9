"""Streams from the rows of a table, read in chunks."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Any

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
from heros.streams.bad_rows import BadRow, BadRows, BrokenOff
from heros.streams.base import RowStream, Stream
from heros.streams.layout import Layout
from heros.streams.live.base import IDLE, Signal, passed
from heros.streams.live.rows import RowBlocks, Stretch
from heros.streams.options import Options
from heros.streams.readers import Chunk, TableReader

__all__ = ["weighed"]

Converted = tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.bool_], dict[int, Fault]]
"""Rows, targets, a mask of rows to encode one by one, and unreadable values."""


def weighed(stream: TableStream, options: Options) -> Stream:
    """Return the stream, with a column as weights if the options name one."""
    return stream if options.weights is None else stream.with_weights(options.weights)


class TableStream(RowStream):
    """A stream from the rows of a table, read in chunks.

    The kinds of the columns are declared by the table or inferred from the first chunk. Columns, names and
    classes that appear later are appended to the schema at the row in which they appear, unless all were
    given.
    """

    n_instances = passed("n_rows", "_rows.reader")  # an upper limit if rows are skipped
    _fetch = passed("fetch", "_rows")

    def __init__(self, reader: TableReader, options: Options, name: str) -> None:
        self.name = name
        self._rows = TableRows(reader, options)

    def _restart(self) -> None:
        self._rows.reader.restart()
        self._rows.start_at(0, BadRows())  # the columns stay known


class TableRows(RowBlocks):
    """The rows of a table: known rows are converted by columns, the others one by one."""

    _first: Converted | None  # converted first chunk, until it is used
    _revision = -1  # of the encoder that converted the chunk

    def __init__(self, reader: TableReader, options: Options) -> None:
        options.check(reader.names)
        self.reader, self._weights = reader, options.weights
        first = reader.read()
        if first is None:
            raise DataError(f"{reader.label} must have at least one row. Got a header without rows instead.")
        layout = Layout(reader, options, first)
        if what := layout.no_classes():
            raise DataError(f"{reader.label}: {what}")
        for text in layout.notices():
            notice(text, DataNotice)
        encoder = Encoder(
            numeric=layout.numeric,
            most_values=options.most_values,
            words=reader.said_words,
            ignore=layout.left_out,
            nominal=options.nominal,
        )
        super().__init__(reader.label, encoder, skip=options.on_bad_row == "skip")
        self._label_at, self._classes = layout.target, layout.classes
        self._begin(layout, first)
        self._load(first)

    def _begin(self, layout: Layout, first: Chunk) -> None:
        """Initialize the encoder from the first chunk."""
        encoder = self.encoder
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

    def read_as(self, schema: Schema, seen: int) -> None:
        fresh = self.read == 0 and schema.numeric == self.encoder.numeric
        if fresh and schema != self.encoder.schema:
            self.encoder.know(schema)
            self.encoder.seen = seen
            self._ahead, self._at, self._revision = [], 0, -1  # convert again

    def _forget(self) -> None:
        super()._forget()
        self._first = None
        self._chunk: Chunk | None = None
        self._at = 0  # processed rows of the chunk
        # (rows before it, rows up to and with it, the index of a row to be encoded alone or a bad row)
        self._events: deque[tuple[int, int, int | BadRow]] = deque()

    def fetch(self, most: int, timeout: float | None) -> Sequence[Stretch | BadRow | int] | Signal:
        """Return converted rows, then the next row that must be encoded alone, as its index, or is bad."""
        try:
            while self._chunk is None or not (self._events or self._at < self._chunk.n_rows):
                self._chunk = None
                chunk = self.reader.read_within(most, timeout)
                if isinstance(chunk, Signal):
                    return chunk
                self._load(chunk)
            if self.encoder.revision != self._revision:  # the kind of a column changed
                self._convert()
        except DataError as error:
            strict = not self._skip and isinstance(error, BrokenOff)  # evaluate must not end normally
            self._fault = DataError(str(error)) if strict else error
            return IDLE
        start, end = self._at, self._chunk.n_rows
        stop, self._at, *alone = self._events.popleft() if self._events else (end, end)
        return [Stretch(self._X[start:stop], self._y[start:stop]), *alone] if stop > start else alone

    def _pair(self, row: Any) -> tuple[dict[str, object], object]:
        """Return a row of the chunk as a mapping, and its label."""
        if isinstance(row, BadRow):
            raise Refused(row.column, row.value, row.rule)
        values = {name: self._arrays[at][row].as_py() for at, name in enumerate(self.reader.names)}
        label = values.pop(self.reader.names[self._label_at])
        return values, self._y[row] if self.encoder.numeric else label

    def _bad(self, row: Any, why: Refused, at: int) -> BadRow:
        if isinstance(row, BadRow):
            return row
        assert self._chunk is not None
        name = self.reader.names[self._label_at] if why.column == "label" else why.column
        return BadRow(self.name, self._chunk.place(row), name, why.value, why.rule)

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__

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
        closely |= bool(self.encoder.tentative)
        closely[list(faults)] = False
        events: list[tuple[int, int, int | BadRow]]
        events = [(row, row + 1, row) for row in np.flatnonzero(closely).tolist()]
        events += [(row, row + 1, self._bad(row, Refused(*fault), 0)) for row, fault in faults.items()]
        events += [(row, row, bad) for row, bad in chunk.faults]  # rows that could not be split into columns
        events.sort(key=lambda event: event[:2])
        self._events = deque(event for event in events if event[0] >= self._at)
        self._revision = self.encoder.revision
        self._X, self._y = X, y if self.encoder.numeric else np.nan_to_num(y).astype(np.int64)

    def _converted(self, chunk: Chunk) -> Converted:
        """Return rows, targets, a mask of rows to encode one by one, and unreadable values."""
        names = self.reader.names
        at = [index for index in range(len(names)) if index != self._label_at]
        X, closely, faults = self.encoder.converted(
            [names[i] for i in at], [chunk.columns[i] for i in at], chunk.n_rows, plain=True
        )
        y, new, wrong = self._targets(chunk.columns[self._label_at])
        closely |= new
        found = {row: (names[self._label_at], *fault) for row, fault in wrong.items()}
        if self._weights is not None and (place := self.encoder.places.get(self._weights)) is not None:
            for row, fault in _no_weights(X[:, place.at[0]]).items():
                found.setdefault(row, (self._weights, *fault))
        return X, y, closely, faults | found

    def _targets(self, array: pa.Array) -> tuple[Values, NDArray[np.bool_], Faults]:
        """Return targets, a mask of new classes, and unreadable targets."""
        faults = _absent(array)
        new = np.zeros(len(array), dtype=np.bool_)
        if not isinstance(self._classes, NameColumn):
            values, wrong = self._classes.convert(array)
            rule = f"be a finite number, at most {LARGEST_TARGET:g}"
            large = np.flatnonzero(np.abs(values) > LARGEST_TARGET).tolist()
            return values, new, wrong | {row: (f"{values[row]:g}", rule) for row in large} | faults
        codes, labels = encode(array)
        known = [None if label is None else self.encoder.classes.code(label) for label in (*labels, None)]
        table = np.array([np.nan if code is None else code for code in known], dtype=np.float64)
        values = table[codes]
        new = np.isnan(values)
        if self._classes.closed and new.any():
            rule = f"be one of {listed(list(self.encoder.classes))}"
            for row in np.flatnonzero(new):
                faults.setdefault(int(row), (repr(labels[codes[row]]), rule))
        new[list(faults)] = False
        return values, new, faults


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
