"""Arrow tables as the `Encoder` reads them: whole columns at a time, with the results of row by row."""

from __future__ import annotations

import math
from collections.abc import Generator, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heros._base.lazy import pa, pc
from heros.data.codes import Codes
from heros.data.columns import (
    Column,
    DateColumn,
    NameColumn,
    is_text,
    trimmed,
)
from heros.data.row_encoder import YOUNG, Batch, RowEncoder, data_error, expect_labels
from heros.data.values import Refused, natural_order
from heros.errors import DataError

__all__ = ["Fault", "converted", "in_micros", "learn_table", "read_table"]

ROWS = 1 << 16
"""Rows that are converted at a time."""

Fault = tuple[str, str, str]
"""The column, the value and the rule of what cannot be read."""


def read_table(encoder: RowEncoder, table: pa.Table) -> NDArray[np.float64]:
    """Return the rows of a table, to predict from; raise a `DataError` if a value is unreadable."""
    if table.num_columns == 0:
        raise DataError("X must have at least one column. Got none instead.")
    if not any(encoder.knows(name) for name in table.column_names):
        encoder.asked(dict.fromkeys(table.column_names, 0))  # which raises
    parts, done = [np.empty((0, encoder.schema.n_features))], 0
    for batch in table.to_batches(max_chunksize=ROWS):
        X, _, faults = converted(encoder, table.column_names, batch.columns, batch.num_rows)
        if faults:
            row = min(faults)
            raise data_error(Refused(*faults[row]), done + row)
        parts.append(X)
        done += batch.num_rows
    return np.concatenate(parts)


def converted(
    encoder: RowEncoder,
    names: Sequence[str],
    arrays: Sequence[pa.Array],
    n: int,
    *,
    plain: bool = False,
) -> tuple[NDArray[np.float64], NDArray[np.bool_], dict[int, Fault]]:
    """Return rows as far as they are known, which of them have something new, and what is unreadable.

    A value that is missing for the first time is new. `plain`: texts are trimmed already, and null where a
    word stands for a missing value.
    """
    X = np.full((n, encoder.width), math.nan)
    new, faults = np.zeros(n, dtype=np.bool_), dict[int, Fault]()
    for name, given in zip(names, arrays, strict=True):
        if encoder.ignores(name):
            continue
        place = encoder.place(name)
        if place is None:
            array = given if plain else _plain(given, encoder.words)
            if array.null_count < n:
                new |= ~np.asarray(array.is_null(nan_is_null=True))
            continue
        column, at = place
        if isinstance(column, NameColumn):
            values = column.codes_of(given, () if plain else encoder.words)
            unknown = values < 0
            if unknown.any():
                new |= unknown
                values[unknown] = math.nan
            X[:, at[0]] = values
        else:
            array = given if plain else _plain(given, encoder.words)
            values, wrong = column.convert(array)
            if len(at) == 1:
                X[:, at[0]] = values.reshape(n)
            else:
                X[:, at] = values
            for row, (value, rule) in wrong.items():
                faults.setdefault(row, (name, value, rule))
            if isinstance(column, DateColumn) and encoder.may_get_clock(column):
                clocked, _ = replace(column, clock=True).convert(array)
                new |= clocked[:, -1] > 0
        if not column.missing and np.isnan(X[:, at[0]]).any():
            new |= np.isnan(X[:, at[0]])
    new |= any(not column.missing for column in encoder.absent(names))
    return X, new, faults


def _plain(array: pa.Array, words: Any) -> pa.Array:
    """Return an array whose texts are trimmed, null where a word stands for a missing value."""
    if not is_text(array.type):
        return array
    if pa.types.is_dictionary(array.type):  # polars' cannot be cast as a whole
        names = array.dictionary.cast(pa.large_string())
        array = pa.DictionaryArray.from_arrays(array.indices, names).dictionary_decode()
    return trimmed(array.cast(pa.large_string()), words)


def in_micros(array: pa.Array) -> pa.Array:
    """Return times in microseconds, as Python has them."""
    kind, types = array.type, pa.types
    if types.is_timestamp(kind) and kind.unit == "ns":
        return pc.cast(array, pa.timestamp("us", kind.tz), safe=False)
    if types.is_duration(kind) and kind.unit == "ns":
        return pc.cast(array, pa.duration("us"), safe=False)
    return pc.cast(array, pa.time64("us"), safe=False) if types.is_time64(kind) else array


def learn_table(encoder: RowEncoder, table: pa.Table, labels: Sequence[Any]) -> Iterator[Batch]:
    """Yield the rows of a table and their labels in batches, none of which spans a growth of the schema."""
    if table.num_columns == 0:
        raise DataError("X must have at least one column. Got none instead.")
    expect_labels(table.num_rows, labels)
    done, names = 0, table.column_names
    for batch in table.to_batches(max_chunksize=ROWS):
        some, arrays = labels[done : done + batch.num_rows], [in_micros(one) for one in batch.columns]
        if not encoder.schema.n_features:
            _begin(encoder, names, arrays, some)
        start = 0
        while start < batch.num_rows:
            start = yield from _learn_rows(encoder, names, arrays, some, start, done)
        done += batch.num_rows


def _begin(
    encoder: RowEncoder, names: Sequence[str], arrays: Sequence[pa.Array], labels: Sequence[Any]
) -> None:
    """Know what is in the first rows of the first table."""
    columns: list[Column] = []
    ignored: list[str] = []
    for name, given in zip(names, arrays, strict=True):
        array = _plain(given, encoder.words)
        missing = np.asarray(array.is_null(nan_is_null=True))
        if encoder.ignores(name) or missing.all():
            continue
        found = encoder.inferred(name, given if pa.types.is_dictionary(given.type) else array)
        if isinstance(found, str):
            encoder.tell(f"The column {name!r} is left out: {found}.")
            ignored.append(name)
            continue
        if isinstance(found, NameColumn) and not found.values:
            found.learn(array)
        found.missing = bool(missing.any())
        encoder.tell_reading(found, is_text(array.type))
        columns.append(found)
    names = [] if encoder.numeric else natural_order(encoder.class_names(labels))
    encoder.ignore(ignored)
    classes = NameColumn("", Codes([*encoder.classes, *names])) if names else None
    encoder.begin(columns, classes, settled=len(labels) >= YOUNG)


def _learn_rows(
    encoder: RowEncoder,
    names: Sequence[str],
    arrays: Sequence[pa.Array],
    labels: Sequence[Any],
    start: int,
    before: int,
) -> Generator[Batch, None, int]:
    """Yield rows from `start` on, and return how far they go: to the end, or to where a column changes.

    Rows with something new go through the encoder one by one.
    """
    arrays, labels = [one.slice(start) for one in arrays], labels[start:]
    n, revision = len(labels), encoder.revision
    X, closely, faults = converted(encoder, names, arrays, n)
    targets = encoder.targets(labels)
    closely[list(faults)] = True
    closely |= np.isnan(targets) | encoder.tentative
    at = 0
    for row in [*np.flatnonzero(closely).tolist(), n]:
        if row > at:
            yield _stretch(encoder, X[at:row], targets[at:row])
        if row == n:
            break
        at = row + 1
        x = {name: array[row].as_py() for name, array in zip(names, arrays, strict=True)}
        try:
            coded = encoder.encode(x, labels[row])
        except Refused as why:
            raise data_error(why, before + start + row) from None
        assert coded is not None
        yield Batch(
            np.array([coded[0]], dtype=np.float64), np.array([coded[1]], dtype=np.float64), encoder.schema
        )
        if encoder.revision != revision:
            return start + at
    return start + n


def _stretch(encoder: RowEncoder, X: NDArray[np.float64], targets: NDArray[np.float64]) -> Batch:
    """Return rows that were converted before the schema grew; what is new since is missing in them."""
    wider = encoder.schema.n_features - X.shape[1]
    if wider:
        X = np.pad(X, ((0, 0), (0, wider)), constant_values=math.nan)
    encoder.seen += len(X)
    return Batch(np.ascontiguousarray(X), targets, encoder.schema)
