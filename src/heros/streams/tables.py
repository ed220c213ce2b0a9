"""Streams from the rows of a table, read in chunks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heros._base.errors import DataError, DataNotice
from heros._base.lazy import pa
from heros._base.notices import notice
from heros.data.columns import Faults, NameColumn, Values, counts_of
from heros.data.dates import cell, to_microseconds
from heros.data.encoder import Encoder, Item, Stretches
from heros.data.schema import Schema, schema_plain
from heros.data.values import LARGEST_TARGET, NO_TARGET, Refused, label_of, listed
from heros.data.weights import are_weights
from heros.streams.bad_rows import BadRow, BadRows, BrokenOff
from heros.streams.base import RowStream, Stream
from heros.streams.layout import Layout
from heros.streams.live.base import IDLE, Signal, passed
from heros.streams.live.rows import RowBlocks
from heros.streams.options import Options
from heros.streams.readers import Chunk, TableReader

__all__ = ["weighed"]

Converted = tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.bool_], Faults, Faults]
"""Rows, targets, a mask of rows to encode one by one, unreadable values, unreadable targets and weights."""


def weighed(stream: TableStream, options: Options) -> Stream:
    """Return the stream, with the weight column as weights if the options name such a column."""
    return stream if options.weights is None else stream.with_weights(options.weights)


class TableStream(RowStream):
    """A stream from the rows of a table, read in chunks."""

    n_instances = passed("n_rows", "_rows.reader")  # an upper limit if rows are skipped
    _fetch = passed("fetch", "_rows")

    def __init__(self, reader: TableReader, options: Options, name: str) -> None:
        self.name = name
        self._rows = TableRows(reader, options)

    def _restart(self) -> None:
        self._rows.reader.restart()
        self._rows.start_at(0, BadRows())  # the columns are not inferred again


class TableRows(RowBlocks):
    """The rows of a table. Rows without new values are converted column by column, other rows one by one."""

    _first: Converted | None  # converted first chunk, until it is used
    _stretches: Stretches | None  # stretches of the current chunk

    def __init__(self, reader: TableReader, options: Options) -> None:
        options.check(reader.names)
        self.reader, self._weights = reader, options.weights
        reader.keep_names(options.listed_values(reader.names))
        first = reader.read()
        if first is None:
            raise DataError(f"{reader.label} must have at least one row. Got a header without rows instead.")
        first = reader.without_missing_words(first)
        layout = Layout(reader, options, first)
        if what := layout.no_classes():
            raise DataError(f"{reader.label}: {what}")
        for text in layout.notices():
            notice(text, DataNotice)
        if not layout.features:
            raise DataError(
                f"{reader.label} must have a column of numbers, text or dates besides the target."
            )
        encoder = Encoder(
            numeric=layout.numeric,
            most_values=options.most_values,
            words=reader.given_words,
            ignore=layout.ignored_by_user,
            nominal=options.nominal,
        )
        target = reader.names[layout.target]
        super().__init__(reader.label, encoder, target=target, skip=options.on_bad_row == "skip")
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
            column.learn(layout.counts(at))
        encoder.ignored |= dict.fromkeys(layout.left_out)
        encoder.begin([*layout.features.values()], classes, first.n_rows)
        found = self._converted(first)
        X, faults = found[0], found[3] | found[4]
        closed = any(one.closed for _, one in nominal)
        self._first = None if faults or closed else found  # reused by _convert
        if faults:  # names and classes come from good rows only
            valid = np.ones(first.n_rows, dtype=np.bool_)
            valid[list(faults)] = False
            for at, column in fresh:
                column.learn(counts_of(first.columns[at].filter(pa.array(valid))))
            encoder.begin([], classes, first.n_rows)
            X = X[valid]
        if found[2].any():
            encoder.note_missing(X)
        if self._first is not None:  # all values of the first chunk are known now
            self._first[2][:] = False

    def read_as(self, schema: Schema, seen: int) -> None:
        fresh = self.read == 0 and schema.numeric == self.encoder.numeric
        if fresh and schema_plain(schema) != schema_plain(self.encoder.schema):
            self.encoder.adopt(schema, seen)
            self._ahead, self._first = [], None
            self._load(self._reread())

    def _reread(self) -> Chunk:
        """Return the first chunk, with the missing values that the schema of the encoder declares."""
        schema = self.encoder.schema
        columns = self.encoder.columns.values()
        names = {one.name: [*one.values] for one in columns if isinstance(one, NameColumn)}
        names[self.reader.names[self._label_at]] = [*schema.classes]
        if not self.reader.use_words(schema.words, names):
            return self._chunk
        chunk = self.reader.reread()
        return self._chunk if chunk is None else self.reader.without_missing_words(chunk)

    def _forget(self) -> None:
        super()._forget()
        self._first, self._stretches = None, None  # set again with the next chunk

    def fetch(self, most: int, timeout: float | None) -> Sequence[Any] | Signal:
        """Return the next stretch, and the next row if it is bad or must be encoded separately."""
        try:
            while self._stretches is None or not (items := self._stretches.next()):
                chunk = self.reader.read_within(most, timeout)
                if isinstance(chunk, Signal):
                    return chunk
                self._load(self.reader.without_missing_words(chunk))
        except DataError as error:
            # With on_bad_row="raise", `evaluate` must raise the error; it catches a BrokenOff.
            strict = not self._skip and isinstance(error, BrokenOff)
            self._fault = DataError(str(error)) if strict else error
            return IDLE
        return items

    def _pair(self, row: Any) -> tuple[dict[str, object], object]:
        """Return a row of the chunk as a mapping, and its label."""
        if isinstance(row, BadRow):
            raise Refused(row.column, row.value, row.rule)
        values = {name: cell(self._arrays[at], row) for at, name in enumerate(self.reader.names)}
        label = values.pop(self.reader.names[self._label_at])
        return values, self._y[row] if self.encoder.numeric else label

    def _bad(self, row: Any, why: Refused, at: int) -> BadRow:
        if isinstance(row, BadRow):
            return row
        name = self.reader.names[self._label_at] if why.column == "label" else why.column
        return BadRow(self.name, self._chunk.place(row), name, why.value, why.rule)

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__

    def _load(self, chunk: Chunk) -> None:
        """Prepare to return the rows of a new chunk."""
        self._chunk = chunk
        self._arrays = [to_microseconds(array) for array in chunk.columns]
        self._stretches = Stretches(self.encoder, chunk.n_rows, self._convert)

    def _convert(self) -> tuple[NDArray[np.float64], NDArray[Any], list[Item]]:
        """Convert the chunk; collect the bad rows and the rows that must be encoded one by one."""
        X, y, one_by_one, faults, wrong = self._first or self._converted(self._chunk)
        self._first = None
        one_by_one |= bool(self.encoder.tentative)
        if self.encoder.may_change_kinds:
            one_by_one[list(faults)] = True
            faults = wrong
        else:
            faults |= wrong
        one_by_one[list(faults)] = False
        items: list[Item] = [(row, row + 1, row) for row in np.flatnonzero(one_by_one).tolist()]
        items += [(row, row + 1, self._bad(row, why, 0)) for row, why in faults.items()]
        items += [(row, row, bad) for row, bad in self._chunk.faults]  # rows that could not be split
        items.sort(key=lambda item: item[:2])
        self._y = y if self.encoder.numeric else np.nan_to_num(y).astype(np.int64)
        return X, self._y, items

    def _converted(self, chunk: Chunk) -> Converted:
        names, arrays = [*self.reader.names], [*chunk.columns]
        del names[self._label_at]
        labels = arrays.pop(self._label_at)
        X, one_by_one, faults = self.encoder.converted(names, arrays, chunk.n_rows, plain=True)
        y, wrong = self._targets(labels)
        one_by_one |= np.isnan(y)
        if self._weights is not None and (column := self.encoder.known.get(self._weights)) is not None:
            weights, rule = X[:, column.at[0]], "be a weight in [0, 10000]"
            for row in np.flatnonzero(~are_weights(weights)).tolist():
                value = "a missing value" if np.isnan(weights[row]) else f"{weights[row]:g}"
                wrong.setdefault(row, Refused(self._weights, value, rule))
        return X, y, one_by_one, faults, wrong

    def _targets(self, array: pa.Array) -> tuple[Values, Faults]:
        """Return the targets, with NaN for new classes, and the unreadable targets."""
        name = self.reader.names[self._label_at]
        absent = np.flatnonzero(np.asarray(array.is_null(nan_is_null=True))).tolist()
        faults = Faults((row, Refused(name, "a missing value", NO_TARGET)) for row in absent)
        if not isinstance(self._classes, NameColumn):
            values, wrong = self._classes.convert(array)
            rule = f"be a finite number, at most {LARGEST_TARGET:g}"
            for row in np.flatnonzero(np.abs(values) > LARGEST_TARGET).tolist():
                wrong[row] = Refused(name, f"{values[row]:g}", rule)
            return values, wrong | faults
        values = replace(self._classes, values=self.encoder.classes).codes_of(array, ())
        values[values < 0] = np.nan
        rule = f"be one of {listed(list(self.encoder.classes))}" if self._classes.closed else ""
        for row in np.flatnonzero(np.isnan(values)).tolist():
            label = label_of(array[row].as_py()) or ""
            if rule or label.endswith("\0"):
                faults.setdefault(row, Refused(name, repr(label), rule or "not end with the character \\0"))
        return values, faults
