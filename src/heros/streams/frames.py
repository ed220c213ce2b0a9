"""Streams from data frames."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from heros.errors import DataError, HerosError
from heros.lazy import pa
from heros.streams.arrow import MemoryReader
from heros.streams.base import Stream
from heros.streams.options import Options
from heros.streams.tables import TableStream, weighed
from heros.vocabulary import MOST_VALUES

__all__ = ["FEW", "few_rows", "from_frame", "is_frame", "names_of", "table_of"]

FEW = 32
"""Rows of a frame that are worth a shorter way: Arrow takes a thousand microseconds to get to work."""


def from_frame(
    frame: Any,
    *,
    target: str | int | None = None,
    nominal: Sequence[str] | Mapping[str, Sequence[object] | None] = (),
    numeric: Sequence[str] = (),
    ignore: Sequence[str] = (),
    classes: Sequence[object] | None = None,
    on_bad_row: str = "raise",
    name: str = "frame",
    dates: Sequence[str] | Mapping[str, str | None] = (),
    most_values: int | None = MOST_VALUES,
    task: str | None = None,
    weights: str | None = None,
) -> Stream:
    """A stream of the rows of a data frame.

    Parameters
    ----------
    frame
        A pandas or polars data frame, an Arrow table or record batch, a mapping of columns, or
        anything else that speaks the Arrow or the data frame interchange protocol. None of these
        libraries but Arrow need be installed. Categorical, string and boolean columns are nominal.
    target, nominal, numeric, ignore, classes, on_bad_row, dates, most_values, task, weights
        As for `heros.streams.read`.
    name
        The stream's name.

    Examples
    --------
    >>> frame = {"age": [18, 21, None], "colour": ["red", "blue", "red"], "label": [0, 1, 0]}
    >>> stream = from_frame(frame, target="label")
    >>> stream.draw(3)
    (array([[18.,  1.],
           [21.,  0.],
           [nan,  1.]]), array([0, 1, 0]))
    """
    options = Options(
        "from_frame",
        target,
        nominal,
        numeric,
        ignore,
        classes,
        on_bad_row,
        dates,
        most_values,
        task,
        weights,
    )
    table = table_of(frame, "from_frame")
    return weighed(TableStream(MemoryReader(table, name, tuple(ignore)), options, name), options)


def is_frame(X: Any) -> bool:
    """Whether X is a data frame or an Arrow table rather than an array.

    Examples
    --------
    >>> is_frame(pa.table({"age": [18]})), is_frame([[18.0]])
    (True, False)
    """
    return hasattr(X, "__dataframe__") or hasattr(X, "__arrow_c_stream__")


def names_of(frame: Any) -> list[Any] | None:
    """The names of the columns of a pandas or polars frame; None of another one."""
    return list(frame.columns) if _library(frame) else None


def few_rows(frame: Any) -> list[Any] | None:
    """The rows of a pandas or polars frame, each a sequence of plain values, if they are few; else None."""
    if not _library(frame) or not 0 < len(frame) <= FEW:
        return None
    rows: list[Any] = frame.values.tolist() if _library(frame) == "pandas" else frame.rows()
    return rows


def _library(frame: Any) -> str:
    library = type(frame).__module__.partition(".")[0]
    return library if library in ("pandas", "polars") else ""


def table_of(frame: Any, owner: str) -> pa.Table:
    """The frame as an Arrow table."""
    try:
        return _table(frame, owner)
    except HerosError:
        raise
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
        raise DataError(f"The frame of {owner} must have columns of one type each. Got: {error}") from None


def _table(frame: Any, owner: str) -> pa.Table:
    if isinstance(frame, Mapping):
        return pa.table(dict(frame))
    if type(frame).__module__.partition(".")[0] == "pandas":
        return pa.Table.from_pandas(frame, preserve_index=False)
    if hasattr(frame, "__arrow_c_stream__") or hasattr(frame, "__arrow_c_array__"):
        return pa.table(frame)
    if hasattr(frame, "to_arrow"):
        return frame.to_arrow()
    if hasattr(frame, "__dataframe__"):
        return pa.interchange.from_dataframe(frame)
    raise DataError(f"The frame of {owner} must be a data frame. Got {type(frame).__name__} instead.")
