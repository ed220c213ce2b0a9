"""Which column of a table is which, and how what is known of them grows from row to row."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from heros.errors import ParameterError
from heros.data.schema import Schema
from heros.data.codes import Codes
from heros.data.columns import (
    NOT_A_TARGET,
    Column,
    DateColumn,
    NameColumn,
    NumberColumn,
    Values,
    counts_of,
    is_text,
)
from heros.data.dates import DateFormat, date_format_of, date_format_of_numbers
from heros.data.infer import date_column, number_column
from heros.data.number_format import format_of
from heros.data.tables import infer_array, no_feature
from heros.data.values import label_of
from heros.streams.options import Options
from heros.streams.readers import Chunk, TableReader
from heros.streams.targets import declared_names, target_is_number

__all__ = ["Extent", "Growth", "Layout", "layout_of"]

Extent = dict[int, tuple[int, bool]]
"""Of each column, how many values are known and whether they may be missing."""


HINT = " (or be named in nominal= or ignore=, or the word in missing=)"


@dataclass
class Layout:
    """Which column of a table is which."""

    target: int
    classes: NameColumn | NumberColumn
    features: dict[int, Column] = field(default_factory=dict)
    ignored: dict[int, str] = field(default_factory=dict)  # columns nobody named, and why they are left out
    words: tuple[str, ...] = ()  # words that stand for a missing value, beside the usual ones
    left_out: tuple[str, ...] = ()  # columns that the user left out

    @property
    def width(self) -> int:
        """How many features there are."""
        return sum(column.width for column in self.features.values())

    @property
    def numeric(self) -> bool:
        """Whether the target is a number."""
        return isinstance(self.classes, NumberColumn)

    def columns(self) -> list[tuple[int, Column]]:
        """All columns, in the order of the table."""
        return sorted([(self.target, self.classes), *self.features.items()], key=lambda pair: pair[0])

    def extent(self) -> Extent:
        """What is known by now."""
        return {index: (len(_names(column)), column.missing) for index, column in self.columns()}

    def schema(self, extent: Extent) -> Schema:
        """What was known when this was the extent."""
        features = [
            feature for index, column in self.features.items() for feature in column.features(*extent[index])
        ]
        names = (
            islice(self.classes.values, extent[self.target][0])
            if isinstance(self.classes, NameColumn)
            else ()
        )
        return Schema(tuple(features), tuple(names), self.numeric, self.words, self.left_out)


def layout_of(reader: TableReader, options: Options, first: Chunk) -> Layout:
    """Which columns there are and of which type, from the table, the options and the first chunk."""
    target = reader.names.index(options.target_among(reader.names))
    layout = Layout(target, _target(reader, target, options, first), words=reader.said_words)
    layout.left_out = tuple(name for name in options.ignore if name in reader.names)
    for index, name in enumerate(reader.names):
        if index == target or name in options.ignore:
            continue
        column = _as_told(reader, index, options, first) or _as_seen(reader, index, options, first)
        if isinstance(column, str):
            layout.ignored[index] = column
        else:
            layout.features[index] = column
            if isinstance(column, NumberColumn):
                column.rule += HINT
            elif isinstance(column, DateColumn):
                column.hint = HINT
    if not layout.features:  # better some than none
        for index in list(layout.ignored):
            if not no_feature(first.columns[index].type):
                layout.features[index] = _nominal(reader, index, None, options.most_values, first)
                del layout.ignored[index]
    layout.left_out += tuple(reader.names[index] for index in layout.ignored)
    return layout


def _target(reader: TableReader, index: int, options: Options, first: Chunk) -> NameColumn | NumberColumn:
    """The target: a number, if that was said or is seen, or else a class."""
    array = first.columns[index]
    if not target_is_number(reader, index, options, first):
        column = _nominal(reader, index, options.classes, None, first)
        column.classes = True
        return column
    name = reader.names[index]
    form = format_of(counts_of(array), comma=reader.decimal_comma)[0] if is_text(array.type) else None
    return NumberColumn(name, format=form, rule=NOT_A_TARGET)


def _as_told(reader: TableReader, index: int, options: Options, first: Chunk) -> Column | None:
    """A column as the user said it is; None if nothing was said."""
    name, array = reader.names[index], first.columns[index]
    nominal = options.nominal if isinstance(options.nominal, Mapping) else dict.fromkeys(options.nominal)
    dates = options.dates if isinstance(options.dates, Mapping) else dict.fromkeys(options.dates)
    if name in nominal:
        return _nominal(reader, index, nominal[name], options.most_values, first)
    if name in options.numeric or name == options.weights:
        counts = counts_of(array) if is_text(array.type) else {}
        return number_column(name, counts, format_of(counts, comma=reader.decimal_comma)[0])
    if name in dates:
        if not is_text(array.type) and dates[name] is None:
            typed = infer_array(name, array, None)
            if isinstance(typed, DateColumn):
                return typed
        labels, written = counts_of(array), dates[name]
        form = DateFormat.of(written) if written else _date_format(labels)
        if form is None:
            raise ParameterError.of(
                "dates",
                options.owner,
                "made of columns of dates or seconds since 1970 (or say how they are written, as strptime)",
                name,
            )
        return date_column(name, form, labels)
    return None


def _date_format(labels: Mapping[str, int]) -> DateFormat | None:
    found = date_format_of(labels)
    return date_format_of_numbers(labels) if found is None else found[0]


def _as_seen(reader: TableReader, index: int, options: Options, first: Chunk) -> Column | str:
    """Return a column as its table declares it or its first values tell, or why it is left out."""
    name, array, declared = reader.names[index], first.columns[index], reader.declared(index)
    if isinstance(declared, NameColumn):
        return _nominal(reader, index, None, options.most_values, first)
    if declared is not None:
        return declared
    found = infer_array(name, array, options.most_values, comma=reader.decimal_comma)
    if not isinstance(found, str):
        found.missing = reader.has_nulls(index)
    return found


def _nominal(
    reader: TableReader, index: int, values: Sequence[object] | None, most: int | None, first: Chunk
) -> NameColumn:
    """A nominal column: its values as given, as declared, or those of the first chunk, sorted."""
    name = reader.names[index]
    if values is not None:
        return NameColumn(name, Codes(str(label_of(value)) for value in values), closed=True)
    declared = declared_names(reader, index, first)
    if declared is not None and (declared.closed or most is None or len(declared.values) <= most):
        declared.values.most = None if declared.closed else most
        return declared
    return NameColumn(name, Codes(most=most), fresh=True, missing=reader.has_nulls(index))


class Growth:
    """How what is known grows over the rows of a chunk."""

    def __init__(self, before: Extent, rows: Iterable[int] = ()) -> None:
        self.rows = deque(rows)  # those for which it has to grow
        self._before = before
        self._sizes: dict[int, NDArray[np.int64]] = {}  # of columns that grow: values known at each row
        self._first_missing: dict[int, int] = {}  # of columns without missing values before: the first row

    @classmethod
    def by_row(cls, before: Extent, after: Extent, values: Mapping[int, Values]) -> Growth:
        """What is new is known from the row on in which it first turns up.

        Examples
        --------
        >>> growth = Growth.by_row({0: (1, False)}, {0: (3, True)}, {0: np.array([0, 1, 1, np.nan, 2])})
        >>> growth.rows, growth.extent(1), growth.extent(4)
        (deque([1, 3, 4]), {0: (2, False)}, {0: (3, True)})
        """
        growth, rows = cls(before), set()
        for index, (size, missing) in before.items():
            if after[index][0] > size:
                codes = np.nan_to_num(values[index], nan=-1.0).astype(np.int64)
                sizes = np.maximum(np.maximum.accumulate(codes) + 1, size)
                rows.update(np.flatnonzero(np.diff(sizes, prepend=size)).tolist())
                growth._sizes[index] = sizes
            if after[index][1] and not missing:
                first = int(np.isnan(values[index].reshape(len(values[index]), -1)).any(axis=1).argmax())
                rows.add(first)
                growth._first_missing[index] = first
        growth.rows.extend(sorted(rows))
        return growth

    def extent(self, row: int) -> Extent:
        """What is known at a row."""
        return {
            index: (
                int(self._sizes[index][row]) if index in self._sizes else size,
                missing or row >= self._first_missing.get(index, row + 1),
            )
            for index, (size, missing) in self._before.items()
        }


def _names(column: Column) -> Sequence[str] | Mapping[str, int]:
    return column.values if isinstance(column, NameColumn) else ()
