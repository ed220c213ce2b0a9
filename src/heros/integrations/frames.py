"""The rows of data frames as the core takes them, call after call."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heros.errors import DataError
from heros.data.schema import Feature
from heros.streams.arrow import MemoryReader
from heros.data.columns import NominalColumn
from heros.streams.frames import FEW, few_rows, is_frame, names_of, table_of
from heros.streams.readers import Column
from heros.data.values import LARGEST, label_of

__all__ = ["FEW", "FrameColumns", "is_frame", "names_of"]

PLAIN = (str, bool, int, float)


class FrameColumns:
    """The columns of a frame: numeric, or nominal (categorical, string and boolean ones).

    A categorical column has the values it declares; those of another nominal column are the ones of the
    first frame, sorted. Later values are appended.

    Examples
    --------
    >>> columns = FrameColumns({"age": [18, 21], "colour": ["red", "blue"]})
    >>> columns.learn({"age": [33, None], "colour": ["green", "blue"]})
    array([[33.,  2.],
           [nan,  0.]])
    >>> columns.read({"age": [40], "colour": ["violet"]})  # nothing is known of it: as good as missing
    array([[40., nan]])
    """

    def __init__(self, frame: Any) -> None:
        source = _source(frame)
        first = source.read()
        if first is None:
            raise DataError("X must have at least one row. Got none instead.")
        self._columns: list[Column] = []
        for index, array in enumerate(first.columns):
            column = source.declared(index)
            if isinstance(column, NominalColumn) and not column.values:
                column.learn(array)
            assert column is not None, "Arrow knows the types of its columns"
            self._columns.append(column)

    @property
    def features(self) -> tuple[Feature, ...]:
        """The columns as features; any value may be missing."""
        return tuple(
            feature
            for column in self._columns
            for feature in column.features(len(getattr(column, "values", ())), True)
        )

    @property
    def nominal(self) -> list[str]:
        """The names of the nominal columns."""
        return [column.name for column in self._columns if isinstance(column, NominalColumn)]

    def known(self, frame: Any) -> NDArray[np.float64] | None:
        """The rows of a frame of a few, if all in it is plain and known; else None: the long way knows more.

        That takes some microseconds, where Arrow needs a thousand to get to work.
        """
        rows = few_rows(frame)
        if rows is None:
            return None
        try:
            cells = [
                [_cell(column, value) for column, value in zip(self._columns, row, strict=True)]
                for row in rows
            ]
        except (KeyError, TypeError, ValueError):
            return None
        return np.array(cells, dtype=np.float64)

    def learn(self, frame: Any) -> NDArray[np.float64]:
        """The rows; values that are new are appended."""
        return _matrix(frame, self._columns)

    def read(self, frame: Any) -> NDArray[np.float64]:
        """The rows; values that are new are missing."""
        return _matrix(
            frame,
            [
                replace(column, closed=True) if isinstance(column, NominalColumn) else column
                for column in self._columns
            ],
        )


def _cell(column: Column, value: Any) -> float:
    """A number, or the code of a value that is known; an error if it is anything else."""
    kind = type(value)
    if value is None or (kind is float and value != value):  # noqa: PLR0124 - NaN
        return math.nan
    if isinstance(column, NominalColumn):
        if kind not in PLAIN:
            raise TypeError
        return column.values[value if kind is str else str(label_of(value))]
    if (kind is not float and kind is not int) or not -LARGEST <= value <= LARGEST:
        raise ValueError
    return float(value)


def _matrix(frame: Any, columns: list[Column]) -> NDArray[np.float64]:
    source, parts = _source(frame), [np.empty((0, sum(column.width for column in columns)))]
    if len(source.names) != len(columns):
        raise DataError(f"X must have {len(columns)} features. Got {len(source.names)} instead.")
    while (chunk := source.read()) is not None:
        part = []
        for column, array in zip(columns, chunk.columns, strict=True):
            values, faults = column.convert(array)
            if isinstance(column, NominalColumn):
                values = np.where(values < 0, math.nan, values)
            elif faults:
                row, (value, rule) = next(iter(faults.items()))
                raise DataError(f"X, {chunk.place(row)}: {column.name!r} must {rule}. Got {value} instead.")
            part.append(values)
        parts.append(np.column_stack(part))
    return np.concatenate(parts)


def _source(frame: Any) -> MemoryReader:
    table = table_of(frame, "X")
    if table.num_columns == 0:
        raise DataError("X must have at least one column. Got none instead.")
    return MemoryReader(table, "X")
