"""Streams from data frames."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from heros.data.codes import MOST_VALUES
from heros.data.frames import table_of
from heros.streams.arrow import MemoryReader
from heros.streams.base import Stream
from heros.streams.options import Options
from heros.streams.tables import TableStream, weighed

__all__ = ["from_frame"]


def from_frame(
    frame: Any,
    *,
    target: str | int | None = None,
    nominal: Sequence[str] | Mapping[str, Sequence[object] | None] = (),
    numeric: Sequence[str] = (),
    ignore: Sequence[str] = (),
    classes: Sequence[object] | None = None,
    on_bad_row: str = "skip",
    name: str = "frame",
    dates: Sequence[str] | Mapping[str, str | None] = (),
    most_values: int | None = MOST_VALUES,
    task: str | None = None,
    weights: str | None = None,
    missing: Sequence[str] = (),
) -> Stream:
    """A stream of the rows of a data frame.

    Parameters
    ----------
    frame
        A pandas or polars data frame, an Arrow table or record batch, a mapping of columns, or
        anything else that speaks the Arrow or the data frame interchange protocol. None of these
        libraries but Arrow need be installed. Categorical, string and boolean columns are nominal.
    target, nominal, numeric, ignore, classes, on_bad_row, dates, most_values, task, weights, missing
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
    return weighed(TableStream(MemoryReader(table, name, missing), options, name), options)
