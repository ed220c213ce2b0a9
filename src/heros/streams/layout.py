"""Which column of a table is which, and how what is known of them grows from row to row."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from heros.schema import Feature, Schema
from heros.streams.columns import Column, NominalColumn, NumericColumn, Values, looks_numeric
from heros.streams.options import Options
from heros.streams.readers import Chunk, TableReader
from heros.vocabulary import Codes, label_of

__all__ = ["Extent", "Growth", "Layout", "layout_of"]

Extent = dict[int, tuple[int, bool]]
"""Of each column, how many values are known and whether they may be missing."""


@dataclass
class Layout:
    """Which column of a table is which."""

    target: int
    classes: NominalColumn
    features: dict[int, Column] = field(default_factory=dict)

    def columns(self) -> list[tuple[int, Column]]:
        """All columns, in the order of the table."""
        return sorted([(self.target, self.classes), *self.features.items()], key=lambda pair: pair[0])

    def extent(self) -> Extent:
        """What is known by now."""
        return {index: (len(_names(column)), column.missing) for index, column in self.columns()}

    def schema(self, extent: Extent) -> Schema:
        """What was known when this was the extent."""
        features = []
        for index, column in self.features.items():
            size, missing = extent[index]
            values = tuple(islice(column.values, size)) if isinstance(column, NominalColumn) else None
            features.append(Feature(column.name, values, missing))
        return Schema(tuple(features), tuple(islice(self.classes.values, extent[self.target][0])))


def layout_of(reader: TableReader, options: Options, first: Chunk) -> Layout:
    """Which columns there are and of which type, from the table, the options and the first chunk."""
    target = reader.names.index(options.target_among(reader.names))
    layout = Layout(target, _nominal(reader, target, options.classes))
    given = options.nominal if isinstance(options.nominal, Mapping) else dict.fromkeys(options.nominal)
    for index, name in enumerate(reader.names):
        if index == target or name in options.ignore:
            continue
        if name in given:
            layout.features[index] = _nominal(reader, index, given[name])
        elif name in options.numeric:
            layout.features[index] = NumericColumn(name)
        else:
            declared = reader.declared(index)
            if declared is None and looks_numeric(first.columns[index]):
                declared = NumericColumn(name)
            if isinstance(declared, NumericColumn):
                layout.features[index] = declared
            else:
                layout.features[index] = _nominal(reader, index, None)
    return layout


def _nominal(reader: TableReader, index: int, values: Sequence[object] | None) -> NominalColumn:
    """A nominal column: its values as given, as declared, or those of the first chunk, sorted."""
    name = reader.names[index]
    if values is not None:
        return NominalColumn(name, Codes(str(label_of(value)) for value in values), closed=True)
    declared = reader.declared(index)
    if isinstance(declared, NominalColumn) and declared.values:
        return declared
    return NominalColumn(name, fresh=True)


class Growth:
    """How what is known grows over the rows of a chunk: for all of them at once, or row by row."""

    def __init__(self, before: Extent, rows: Iterable[int] = ()) -> None:
        self.rows = deque(rows)  # those for which it has to grow
        self._before = before
        self._sizes: dict[int, NDArray[np.int64]] = {}  # of columns that grow: values known at each row
        self._first_missing: dict[int, int] = {}  # of columns without missing values before: the first row

    @classmethod
    def at_once(cls, before: Extent, after: Extent) -> Growth:
        """All that is new in a chunk is known from its first row on."""
        return cls(after, [0] if after != before else [])

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
                first = int(np.isnan(values[index]).argmax())
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
    return column.values if isinstance(column, NominalColumn) else ()
