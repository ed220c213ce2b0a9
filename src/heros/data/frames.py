"""Conversion of rows, labels and data frames of all supported types."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any, Literal

import numpy as np

from heros._base.errors import DataError, HerosError
from heros._base.lazy import pa
from heros.data.values import MISSING_TYPES, kind_of, label_of, listed, shown, text_of

FEW = 32
"""Frames with at most this many rows are read row by row, because Arrow needs about 1 ms to start."""

DEEPEST = 8
"""The maximum nesting depth at which fields of mappings become columns."""

KINDS: tuple[Any, ...] = (
    bool | np.bool_,
    timedelta | np.timedelta64,
    datetime | np.datetime64,
    date,
    time,
    str,
    int | float | np.number | Decimal,
)
"""The types of values in a column of objects, in the order in which they are tried."""

Form = Literal["array", "row", "rows", "frame"]


def form_of(x: Any) -> Form:
    """Return whether x is an array, one row or several rows (mappings), or a data frame.

    Examples
    --------
    >>> import pyarrow as pa
    >>> form_of([[1, 2]]), form_of({"age": 18}), form_of([{"age": 18}]), form_of(pa.table({"age": [18]}))
    ('array', 'row', 'rows', 'frame')
    """
    kind = type(x)
    if kind is dict:
        return "row"
    if kind is np.ndarray:
        return "array"
    if isinstance(x, Mapping) or _is_named_row(x):
        return "row"
    if is_frame(x):
        return "frame"
    if isinstance(x, list | tuple) and x and isinstance(x[0], Mapping):
        return "rows"
    return "array"


def row_of(x: Any) -> Mapping[Any, Any]:
    """Convert one row, which is a mapping or a row of a pandas frame (`frame.iloc[0]`), to a mapping."""
    mapping: Mapping[Any, Any] = x if isinstance(x, Mapping) else x.to_dict()
    return mapping


def _is_named_row(x: Any) -> bool:
    """Return whether x is a row of a pandas frame, with the column names as its index."""
    if not hasattr(x, "to_dict") or getattr(x, "ndim", 0) != 1 or not hasattr(x, "index"):
        return False
    return all(isinstance(name, str) for name in x.index)


def flat(row: Mapping[Any, Any], before: str = "", depth: int = DEEPEST) -> Iterator[tuple[str, Any]]:
    """Yield the field names and values of a row; fields of nested mappings get dotted names.

    Examples
    --------
    >>> dict(flat({"id": 7, "address": {"city": "Bonn", "geo": {"lat": 50.7}}}))
    {'id': 7, 'address.city': 'Bonn', 'address.geo.lat': 50.7}
    """
    for key, value in row.items():
        name = before + text_of(key) if before or type(key) is not str else key
        if depth and isinstance(value, Mapping):
            yield from flat(value, f"{name}.", depth - 1)
        else:
            yield name, value


def labels_of(x: Any, y: Any) -> list[Any]:
    """Return the labels of one row, several rows or a frame as a list."""
    if form_of(x) == "row":
        return [y]
    for method in ("to_pylist", "tolist"):
        if hasattr(y, method):
            labels = getattr(y, method)()
            return labels if isinstance(labels, list) else [labels]
    if isinstance(y, str | bytes) or not isinstance(y, Iterable):
        raise DataError(f"y must have one label per row. Got {y!r} instead.")
    return list(y)


def is_frame(X: Any) -> bool:
    """Return whether X is a data frame or an Arrow table rather than an array."""
    return hasattr(X, "__dataframe__") or hasattr(X, "__arrow_c_stream__")


def names_of(frame: Any) -> list[Any] | None:
    """Return the column names of a pandas or polars frame; None for other frames."""
    return list(frame.columns) if _library(frame) else None


def rows_of_small_frame(frame: Any) -> list[dict[Any, Any]] | None:
    """Return the rows of a small pandas or polars frame as dictionaries; None for other frames."""
    library = _library(frame)
    if not library or not 0 < len(frame) <= FEW:
        return None
    if library == "polars":
        rows: list[dict[Any, Any]] = frame.to_dicts()
        return rows
    names, values = _distinct(frame.columns.tolist(), "X"), frame.to_numpy()
    whole = values.dtype.kind == "f" and any(getattr(one, "kind", "") in "iu" for one in frame.dtypes)
    if whole or values.dtype.kind in "mM":  # these values would become floats or integers
        values = frame.astype(object).to_numpy()
    return [dict(zip(names, row, strict=True)) for row in values.tolist()]


def _distinct(names: list[Any], owner: str) -> list[Any]:
    if len(set(map(str, names))) < len(names):
        must = f"The frame of {owner} must have columns with distinct names."
        raise DataError(f"{must} Got {listed([*map(str, names)])} instead.")
    return names


def _library(frame: Any) -> str:
    library = type(frame).__module__.partition(".")[0]
    return library if library in ("pandas", "polars") else ""


def table_of(frame: Any, owner: str) -> pa.Table:
    """Convert a data frame to an Arrow table; fields of structs become columns with dotted names."""
    try:
        table = flat_table(_table(frame, owner))
    except HerosError:
        raise
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
        rule = f"The frame of {owner} must have columns of one type each."
        raise DataError(f"{rule} The error was: {error}") from None
    _distinct(table.column_names, owner)
    return table


def flat_table(table: pa.Table) -> pa.Table:
    """Convert the fields of structs to columns with dotted names, e.g. ``address.city``."""
    for _ in range(DEEPEST):
        table = table.flatten() if any(map(pa.types.is_struct, table.schema.types)) else table
    return table


def joined_chunks(table: pa.Table) -> pa.Table:
    """Join the chunks of each column."""
    if all(column.num_chunks <= 1 for column in table.columns):
        return table
    return table.unify_dictionaries().combine_chunks()


def _table(frame: Any, owner: str) -> pa.Table:
    if isinstance(frame, Mapping):
        return pa.table({name: _array(column, name, owner) for name, column in frame.items()})
    if _library(frame) == "pandas":
        names = [*map(str, _distinct(list(frame.columns), owner))]
        arrays = [_array(column, name, owner) for name, (_, column) in zip(names, frame.items(), strict=True)]
        return pa.table(arrays, names=names)
    if hasattr(frame, "__arrow_c_stream__") or hasattr(frame, "__arrow_c_array__"):
        return pa.table(frame)
    if hasattr(frame, "to_arrow"):
        return frame.to_arrow()
    if hasattr(frame, "__dataframe__"):
        return pa.interchange.from_dataframe(frame)
    raise DataError(f"The frame of {owner} must be a data frame. Got {type(frame).__name__} instead.")


def _array(column: Any, name: str, owner: str) -> pa.Array:
    """Convert a column of a pandas frame to an Arrow array; values of mixed types become strings."""
    if isinstance(column, pa.Array | pa.ChunkedArray):
        return column
    if not _is_mixed(column):
        with suppress(pa.ArrowException, TypeError, ValueError, OverflowError):
            return pa.array(column, from_pandas=True)
    texts = []
    for value in column:
        if kind_of(value) == "none":
            must = f"The column {name!r} of {owner} must hold only numbers, text and dates."
            raise DataError(f"{must} Got {shown(value)}.")
        texts.append(label_of(value))
    return pa.array(texts, pa.string())


def _is_mixed(column: Any) -> bool:
    """Return whether a column holds Python objects of several types, which Arrow might convert silently."""
    if str(getattr(column, "dtype", "object")) != "object":
        return False
    types = {one for one in set(map(type, column)) if one.__name__ not in MISSING_TYPES}
    if (
        float in types
        and len(types) > 1
        and all(map(math.isnan, (value for value in column if type(value) is float)))
    ):
        types.remove(float)  # if all floats are NaN, they are missing values
    return len({next((kind for kind in KINDS if issubclass(one, kind)), one) for one in types}) > 1
