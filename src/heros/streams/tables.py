"""A stream read from the rows of a table, a chunk at a time."""

from __future__ import annotations

import time
import warnings
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from heros.errors import DataError, DataNotice
from heros.lazy import pa
from heros.data.schema import Schema
from heros.sources.bad_rows import BadRow, BadRows, tell_skipped
from heros.sources.base import END, Block, Polled, Signal
from heros.streams.base import Stream, empty_block
from heros.data.columns import Faults, NameColumn, Values
from heros.streams.layout import Extent, Growth, layout_of
from heros.streams.notices import expect_classes, notices_of
from heros.streams.options import Options
from heros.streams.readers import Chunk, TableReader
from heros.data.values import LARGEST_TARGET
from heros.data.weights import weighs

__all__ = ["TableStream", "weighed"]


def weighed(stream: TableStream, options: Options) -> Stream:
    """The stream, with the weights that were asked for."""
    return stream if options.weights is None else stream.with_weights(options.weights)


class TableStream(Stream):
    """A stream read from the rows of a table, a chunk at a time.

    Types are taken from the table where it declares them, else from its first chunk. Values and classes
    that only turn up later are appended to the schema, unless all were given: with the first row of their
    chunk, which depends on the table alone.
    """

    def __init__(self, reader: TableReader, options: Options, name: str) -> None:
        options.check(reader.names)
        self.name = name
        self._reader = reader
        self._skip, self._told = options.on_bad_row == "skip", False
        self._weights = options.weights
        self._bad_rows = BadRows()
        first = reader.read()
        if first is None:
            raise DataError(f"{reader.label} must have at least one row. Got a header without rows instead.")
        self._layout = layout_of(reader, options, first)
        expect_classes(reader, options, self._layout, first)
        self._notices = tuple(notices_of(reader, options, self._layout, first))
        for text in self._notices:
            warnings.warn(text, DataNotice, stacklevel=3)
        self._X, self._y = empty_block(self._layout.width, self._layout.numeric)
        self._passed = 0  # good rows in the chunks before
        self._load(first)
        self._extent = self._layout.extent()
        self._schema: Schema | None = None  # made when asked for
        self._growth = Growth(self._extent)
        _ = self.schema  # what breaks its rules is known now

    @property
    def schema(self) -> Schema:
        """What an instance looks like, as far as those given so far need it."""
        if self._schema is None:
            self._schema = self._layout.schema(self._extent)
        return self._schema

    @property
    def n_instances(self) -> int | None:
        """How many instances there are from start to end, fewer if rows are skipped; None: not known."""
        return self._reader.n_rows

    @property
    def bad_rows(self) -> BadRows:
        """The rows skipped so far, counted, and the first ten."""
        return self._bad_rows

    def _restart(self) -> None:
        self._reader.restart()
        self._bad_rows = BadRows()
        self._faults: list[tuple[int, BadRow]] = []
        self._X, self._y = empty_block(self._layout.width, self._layout.numeric)
        self._at = self._passed = 0
        self._last: int | None = None
        self._extent, self._schema = self._layout.extent(), None  # what is known is not forgotten
        self._growth = Growth(self._extent)

    def _draw(self, n: int) -> Block:
        got = self._gather(n, None, span=True)
        return empty_block(self._layout.width, self._layout.numeric) if isinstance(got, Signal) else got

    def _poll(self, n: int, timeout: float | None) -> Polled:
        return self._gather(n, timeout, span=False)

    def _gather(self, n: int, timeout: float | None, span: bool) -> Polled:
        """Up to n rows, in at most `timeout` seconds; of one schema, unless they may `span` several."""
        deadline = None if timeout is None else time.monotonic() + timeout
        parts: list[Block] = []
        wanted = n
        state: Signal | None = END
        try:
            while wanted > 0:
                state = self._fill(wanted, deadline)
                grows = bool(self._growth.rows) and self._growth.rows[0] == self._at
                if state is not None or (grows and parts and not span):
                    break
                part = self._give(wanted, span)
                parts.append(part)
                wanted -= len(part[1])
        except DataError as error:
            self._fault = error
        if not parts:
            return state or END
        if len(parts) == 1:
            return parts[0]
        return np.concatenate([X for X, _ in parts]), np.concatenate([y for _, y in parts])

    def _fill(self, wanted: int, deadline: float | None) -> Signal | None:
        """Have a row at hand, if there is one in time; else what there is instead."""
        while self._at == len(self._y):
            self._pass_faults(self._at + 1)
            left = None if deadline is None else max(0.0, deadline - time.monotonic())
            chunk = self._read_chunk(wanted, left)
            if isinstance(chunk, Signal):
                return chunk
            self._load(chunk)
        return None

    def _read_chunk(self, wanted: int, timeout: float | None) -> Chunk | Signal:
        """The next rows; a table that is all there never has to wait."""
        chunk = self._reader.read()
        return END if chunk is None else chunk

    def _give(self, wanted: int, span: bool) -> Block:
        """At most `wanted` rows, all of one chunk."""
        start, stop = self._at, min(self._at + wanted, len(self._y))
        growing = self._growth.rows
        ahead = next((row for row in growing if row > start), stop) if not span else stop
        stop = min(stop, ahead)
        if self._last is not None:  # the good rows before the bad one
            stop = max(start + 1, min(stop, self._last))
        self._pass_faults(stop)
        passed = None
        while growing and growing[0] < stop:
            passed = growing.popleft()
        if passed is not None:
            self._extent, self._schema = self._growth.extent(passed), None
        self._at = stop
        return self._X[start:stop], self._y[start:stop]

    def _pass_faults(self, stop: int) -> None:
        """Deal with the bad rows that stand before good row `stop` of the chunk."""
        while self._faults and self._faults[0][0] < stop:
            if not self._skip:
                raise DataError(str(self._faults[0][1]))
            before, bad = self._faults.pop(0)
            self._bad_rows = self._bad_rows.plus(bad)
            if not self._told:
                self._told = True
                tell_skipped(bad)
            rows = self._passed + before + self._bad_rows.count
            if self._bad_rows.are_too_many(rows):
                raise self._bad_rows.error(self._reader.label, rows)

    def _stops_at(self) -> int | None:
        """Return how many good rows of the chunk stand before the bad row that ends the stream, if one does."""
        for more, (before, _) in enumerate(self._faults, start=1):
            bad = self._bad_rows.count + more
            if not self._skip or BadRows(bad).are_too_many(self._passed + before + bad):
                return before
        return None

    def _load(self, chunk: Chunk) -> None:
        """Turn a raw chunk into rows to give out, and note its bad rows and where the schema grows."""
        self._passed += len(self._y)
        before = self._layout.extent()
        values, found = self._check(chunk)
        bad = np.zeros(chunk.n_rows, dtype=np.bool_)
        bad[list(found)] = True
        for index, column in self._layout.columns():
            if index in values:
                values[index] = values[index][~bad] if found else values[index]
            else:  # it learns its values from good rows only
                array = chunk.columns[index].filter(pa.array(~bad)) if found else chunk.columns[index]
                if isinstance(column, NameColumn) and column.fresh:
                    column.learn(array)
                values[index], _ = column.convert(array)
        self._arrange(values)
        self._growth = self._grown(before, values)
        self._faults = _in_order(chunk, self._reader.label, found, bad)
        self._last = self._stops_at()

    def _grown(self, before: Extent, values: Mapping[int, Values]) -> Growth:
        """Where the rows of a chunk make the schema grow."""
        return Growth.by_row(before, self._layout.extent(), values)

    def _check(self, chunk: Chunk) -> tuple[dict[int, Values], dict[int, tuple[str, str, str]]]:
        """The columns whose values cannot be new, converted, and (column, value, rule) of each bad row."""
        values: dict[int, Values] = {}
        found: dict[int, tuple[str, str, str]] = {}
        for index, column in self._layout.columns():
            faults = _absent(chunk.columns[index]) if index == self._layout.target else {}
            if column.settled:
                values[index], more = column.convert(chunk.columns[index])
                faults |= more
                if index == self._layout.target and self._layout.numeric:
                    faults |= _too_large(values[index])
                if column.name == self._weights:
                    faults = _no_weights(values[index]) | faults
            for row, (value, rule) in faults.items():
                found.setdefault(row, (column.name, value, rule))
        return values, found

    def _arrange(self, values: Mapping[int, Values]) -> None:
        y = values[self._layout.target]
        X = np.empty((len(y), self._layout.width))
        at = 0
        for index, column in self._layout.features.items():
            column.adopt(values[index])
            X[:, at : at + column.width] = values[index].reshape(len(y), column.width)
            at += column.width
        self._X, self._y, self._at = X, y if self._layout.numeric else y.astype(np.int64), 0


def _too_large(values: Values) -> Faults:
    """The rows with a target that cannot be reckoned with."""
    rule = f"be a finite number, {LARGEST_TARGET:g} at most"
    return {int(row): (f"{values[row]:g}", rule) for row in np.flatnonzero(np.abs(values) > LARGEST_TARGET)}


def _no_weights(values: Values) -> Faults:
    """The rows that do not say what they count."""
    found = ((int(row), values[row]) for row in np.flatnonzero(~weighs(values)))
    rule = "be a number in [0, 10000]: it is the weight"
    return {row: ("a missing value" if np.isnan(value) else f"{value:g}", rule) for row, value in found}


def _absent(array: pa.Array) -> Faults:
    """The rows without a target."""
    if array.null_count == 0 and not pa.types.is_floating(array.type):
        return {}
    missing = np.asarray(array.is_null(nan_is_null=True))
    return {
        int(row): ("a missing value", "have a value: it is the target") for row in np.flatnonzero(missing)
    }


def _in_order(
    chunk: Chunk, label: str, found: Mapping[int, tuple[str, str, str]], bad: NDArray[np.bool_]
) -> list[tuple[int, BadRow]]:
    """The bad rows, each with the number of good rows before it."""
    before = np.concatenate([[0], np.cumsum(~bad)])
    rows = [
        (row, 1, BadRow(label, chunk.place(row), column, value, rule))
        for row, (column, value, rule) in found.items()
    ]
    rows += [(row, 0, fault) for row, fault in chunk.faults]
    rows.sort(key=lambda entry: entry[:2])
    return [(int(before[row]), fault) for row, _, fault in rows]
