"""A stream read from the rows of a table, a chunk at a time."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from heros.errors import DataError, ParameterError
from heros.lazy import pa
from heros.parameters import expect_list, one_of
from heros.schema import Schema
from heros.streams.bad_rows import BadRow, BadRows
from heros.streams.base import Block, Stream, empty_block
from heros.streams.columns import (
    Column,
    Faults,
    NominalColumn,
    NumericColumn,
    Values,
    label_of,
    looks_numeric,
)

__all__ = ["Chunk", "Options", "Source", "TableStream"]

CELLS = 1 << 20
"""About how many values a chunk has: large enough to be fast, small enough to keep memory flat."""


@dataclass(frozen=True)
class Chunk:
    """The next rows of a table, raw.

    Parameters
    ----------
    columns
        One array per column of the source.
    place
        Where a row stands in the source, for messages.
    faults
        Rows that could not even be split into columns, each with the number of rows before it.
    """

    columns: Sequence[pa.Array]
    place: Callable[[int], str]
    faults: Sequence[tuple[int, BadRow]] = ()

    @property
    def n_rows(self) -> int:
        """How many rows there are."""
        return len(self.columns[0])


class Source(ABC):
    """Where the rows of a table come from. A copy or pickle goes on from the same row."""

    label: str
    names: Sequence[str]

    @property
    def n_rows(self) -> int | None:
        """How many rows there are in all; None if unknown."""
        return None

    @abstractmethod
    def read(self) -> Chunk | None:
        """The next rows; None at the end."""

    @abstractmethod
    def restart(self) -> None:
        """Go back to the first row."""

    @abstractmethod
    def declared(self, index: int) -> Column | None:
        """A column as the source itself declares it; None if its values must tell."""


@dataclass(frozen=True)
class Options:
    """How the columns of a table become features and classes. See `streams.read` for each."""

    owner: str
    target: str | int | None = None
    nominal: Sequence[str] | Mapping[str, Sequence[object] | None] = ()
    numeric: Sequence[str] = ()
    ignore: Sequence[str] = ()
    classes: Sequence[object] | None = None
    on_bad_row: str = "raise"

    def __post_init__(self) -> None:
        one_of(self.on_bad_row, "on_bad_row", self.owner, ("raise", "skip"), "'raise' or 'skip'")
        for name in ("nominal", "numeric", "ignore"):
            given = getattr(self, name)
            listed = isinstance(given, Sequence | Mapping | Set) and not isinstance(given, str)
            if not listed or not all(isinstance(column, str) for column in given):
                raise ParameterError.of(name, self.owner, "a list of column names", given)
        if self.classes is not None:
            expect_list(self.classes, "classes", self.owner)
        for column, values in self.nominal.items() if isinstance(self.nominal, Mapping) else ():
            if values is not None:
                expect_list(values, f"nominal[{column!r}]", self.owner)

    def target_among(self, names: Sequence[str]) -> str:
        """The name of the target column: the last one if none was named."""
        if not names:
            raise DataError(
                f"The table of {self.owner} must have a target and a feature. Got no columns instead."
            )
        if self.target is None:
            return names[-1]
        if isinstance(self.target, str):
            if self.target in names:
                return self.target
        elif isinstance(self.target, int) and -len(names) <= self.target < len(names):
            return names[self.target]
        raise ParameterError.of("target", self.owner, f"one of the columns {list(names)}", self.target)

    def check(self, names: Sequence[str]) -> None:
        """Refuse names that are no columns, twice-named columns, and a table without features."""
        for parameter in ("nominal", "numeric", "ignore"):
            for name in getattr(self, parameter):
                if name not in names:
                    rule = f"made of the columns {list(names)}"
                    raise ParameterError.of(parameter, self.owner, rule, name)
        both = set(self.nominal) & set(self.numeric)
        if both:
            raise ParameterError.of("numeric", self.owner, "without columns named in 'nominal'", sorted(both))
        if self.target_among(names) in self.ignore:
            raise ParameterError.of("ignore", self.owner, "without the target", list(self.ignore))
        if len(names) - len(self.ignore) < 2:
            kept = [name for name in names if name not in self.ignore]
            raise DataError(
                f"The table of {self.owner} must have a target and a feature. Got {kept} instead."
            )


@dataclass
class _Layout:
    """Which column of the source is which."""

    target: int
    target_column: NominalColumn
    features: dict[int, Column] = field(default_factory=dict)

    def columns(self) -> list[tuple[int, Column]]:
        """All columns, in the order of the source."""
        return sorted([(self.target, self.target_column), *self.features.items()], key=lambda pair: pair[0])

    def schema(self) -> Schema:
        return Schema(
            tuple(column.feature() for column in self.features.values()), tuple(self.target_column.values)
        )


class TableStream(Stream):
    """A stream read from the rows of a table, a chunk at a time.

    Types are taken from the source where it declares them, else from its first chunk. Values and
    classes that only turn up later are appended to the schema, unless all were given.
    """

    def __init__(self, source: Source, options: Options, name: str) -> None:
        options.check(source.names)
        self.name = name
        self._source = source
        self._skip = options.on_bad_row == "skip"
        self._bad_rows = BadRows()
        first = source.read()
        if first is None:
            raise DataError(f"{source.label} must have at least one row. Got a header without rows instead.")
        self._layout = _layout(source, options, first)
        self._schema = self._layout.schema()
        self._load(first)

    @property
    def schema(self) -> Schema:
        """What an instance looks like, as far as is known."""
        return self._schema

    @property
    def n_instances(self) -> int | None:
        """How many instances there are from start to end; None if that is not known."""
        return None if self._skip else self._source.n_rows

    @property
    def bad_rows(self) -> BadRows:
        """The rows skipped so far, counted, and the first ten."""
        return self._bad_rows

    def _restart(self) -> None:
        self._source.restart()
        self._bad_rows = BadRows()
        self._faults: list[tuple[int, BadRow]] = []
        self._X, self._y = empty_block(self._schema.n_features)
        self._at = 0

    def _draw(self, n: int) -> Block:
        parts: list[Block] = []
        wanted = n
        try:
            while wanted > 0 and (part := self._next(wanted)) is not None:
                parts.append(part)
                wanted -= len(part[1])
        except DataError as error:
            self._fault = str(error)
        if not parts:
            return empty_block(self._schema.n_features)
        if len(parts) == 1:
            return parts[0]
        return np.concatenate([X for X, _ in parts]), np.concatenate([y for _, y in parts])

    def _next(self, wanted: int) -> Block | None:
        """At most `wanted` rows, all of one chunk; None at the end."""
        while self._at == len(self._y):
            self._pass_faults(self._at + 1)
            chunk = self._source.read()
            if chunk is None:
                return None
            self._load(chunk)
        start, stop = self._at, min(self._at + wanted, len(self._y))
        if self._faults and not self._skip:  # the good rows before the bad one
            stop = max(start + 1, min(stop, self._faults[0][0]))
        self._pass_faults(stop)
        self._at = stop
        return self._X[start:stop], self._y[start:stop]

    def _pass_faults(self, stop: int) -> None:
        """Deal with the bad rows that stand before good row `stop` of the chunk."""
        while self._faults and self._faults[0][0] < stop:
            if not self._skip:
                raise DataError(str(self._faults[0][1]))
            self._bad_rows = self._bad_rows.plus(self._faults.pop(0)[1])

    def _load(self, chunk: Chunk) -> None:
        """Turn a raw chunk into rows to give out, and note its bad rows."""
        values, found = self._check(chunk)
        bad = np.zeros(chunk.n_rows, dtype=np.bool_)
        bad[list(found)] = True
        for index, column in self._layout.columns():
            if index in values:
                values[index] = values[index][~bad] if found else values[index]
            else:  # it learns its values from good rows only
                array = chunk.columns[index].filter(pa.array(~bad)) if found else chunk.columns[index]
                if isinstance(column, NominalColumn) and column.fresh:
                    column.learn(array)
                values[index], _ = column.convert(array)
        self._fill(values)
        self._faults = _in_order(chunk, self._source.label, found, bad)

    def _check(self, chunk: Chunk) -> tuple[dict[int, Values], dict[int, tuple[str, str, str]]]:
        """The columns whose values cannot be new, converted, and (column, value, rule) of each bad row."""
        values: dict[int, Values] = {}
        found: dict[int, tuple[str, str, str]] = {}
        for index, column in self._layout.columns():
            faults = _absent(chunk.columns[index]) if index == self._layout.target else {}
            if isinstance(column, NumericColumn) or column.closed:
                values[index], more = column.convert(chunk.columns[index])
                faults |= more
            for row, (value, rule) in faults.items():
                found.setdefault(row, (column.name, value, rule))
        return values, found

    def _fill(self, values: Mapping[int, Values]) -> None:
        y = values[self._layout.target]
        X = np.empty((len(y), len(self._layout.features)))
        for j, (index, column) in enumerate(self._layout.features.items()):
            column.adopt(values[index])
            X[:, j] = values[index]
        self._X, self._y, self._at = X, y.astype(np.int64), 0
        schema = self._layout.schema()
        if schema != self._schema:
            self._schema = schema


def _layout(source: Source, options: Options, first: Chunk) -> _Layout:
    """Which columns there are and of which type, from the source, the options and the first chunk."""
    target = source.names.index(options.target_among(source.names))
    layout = _Layout(target, _nominal(source, target, options.classes))
    given = options.nominal if isinstance(options.nominal, Mapping) else dict.fromkeys(options.nominal)
    for index, name in enumerate(source.names):
        if index == target or name in options.ignore:
            continue
        if name in given:
            layout.features[index] = _nominal(source, index, given[name])
        elif name in options.numeric:
            layout.features[index] = NumericColumn(name)
        else:
            declared = source.declared(index)
            if declared is None and looks_numeric(first.columns[index]):
                declared = NumericColumn(name)
            if isinstance(declared, NumericColumn):
                layout.features[index] = declared
            else:
                layout.features[index] = _nominal(source, index, None)
    return layout


def _nominal(source: Source, index: int, values: Sequence[object] | None) -> NominalColumn:
    """A nominal column: its values as given, as declared, or those of the first chunk, sorted."""
    name = source.names[index]
    if values is not None:
        return NominalColumn(name, [str(label_of(value)) for value in values], closed=True)
    declared = source.declared(index)
    if isinstance(declared, NominalColumn) and declared.values:
        return declared
    return NominalColumn(name, fresh=True)


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
