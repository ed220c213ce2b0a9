"""Arrow tables as the `Encoder` reads them: whole columns at a time, with the results of row by row."""

from __future__ import annotations

import math
from collections.abc import Generator, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heros.data.codes import Codes
from heros.data.columns import (
    Column,
    DateColumn,
    NameColumn,
    NumberColumn,
    counts_of,
    is_text,
    trimmed,
)
from heros.data.dates import is_date, micros_of_array
from heros.data.encoder import Batch, Encoder, data_error, expect_labels
from heros.data.infer import infer
from heros.data.values import Refused, label_of
from heros.errors import DataError
from heros.lazy import pa, pc

__all__ = ["converted", "infer_array", "learn_table", "no_feature", "read_table"]

ROWS = 1 << 16
"""Rows that are converted at a time."""

Fault = tuple[str, str, str]
"""The column, the value and the rule of what cannot be read."""


def infer_array(  # noqa: PLR0911  a return per kind
    name: str, array: pa.Array, most: int | None, *, comma: bool = False
) -> Column | str:
    """Return the column that an array is, by its type or the texts in it, or why it is left out.

    Dictionaries (categorical columns) and booleans are nominal.

    Examples
    --------
    >>> infer_array("size", pa.array([1, 2]), 256)
    NumberColumn(name='size', missing=False, ...)
    >>> infer_array("tags", pa.array([[1], [2]]), 256)
    'list<item: int64> is no number, text or date'
    """
    kind, types = array.type, pa.types
    if why := no_feature(kind):
        return why
    if types.is_dictionary(kind):
        labels = [label for label in map(label_of, array.dictionary.to_pylist()) if label is not None]
        if most is None or len(labels) <= most:
            return NameColumn(name, Codes(labels, most))
        return NameColumn(name, Codes(most=most), fresh=True)
    if types.is_boolean(kind):
        return NameColumn(name, Codes(["False", "True"], most))
    if is_date(kind):
        micros = micros_of_array(array, None)
        there = micros[~np.isnat(micros)].astype(np.int64)
        clock = types.is_time(kind) or bool((there % 86_400_000_000).any())
        return DateColumn(name, None, not types.is_time(kind), clock)
    if is_text(kind):
        return infer(name, counts_of(array), most, comma=comma)
    return NumberColumn(name)


def no_feature(kind: pa.DataType) -> str:
    """Return why a column of this Arrow type is no feature; an empty text if it can be one.

    Examples
    --------
    >>> no_feature(pa.binary()), no_feature(pa.float32())
    ('binary is no number, text or date', '')
    """
    types = pa.types
    if types.is_dictionary(kind):
        kind = kind.value_type
    number = types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind)
    other = types.is_null(kind) or types.is_duration(kind) or types.is_boolean(kind)
    if number or other or is_text(kind) or is_date(kind):
        return ""
    return f"{kind} is no number, text or date"


def read_table(encoder: Encoder, table: pa.Table) -> NDArray[np.float64]:
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
    encoder: Encoder, names: Sequence[str], arrays: Sequence[pa.Array], n: int
) -> tuple[NDArray[np.float64], NDArray[np.bool_], dict[int, Fault]]:
    """Return rows as far as they are known, which of them have something new, and what is unreadable."""
    X = np.full((n, encoder.schema.n_features), math.nan)
    new, faults = np.zeros(n, dtype=np.bool_), dict[int, Fault]()
    for name, array in zip(names, arrays, strict=True):
        if encoder.ignores(name):
            continue
        place = encoder.place(name)
        if place is None:
            new |= ~np.asarray(_plain(array, encoder.words).is_null(nan_is_null=True))
            continue
        column, at = place
        known = column.values if isinstance(column, NameColumn) else ()
        plain = _plain(array, [word for word in encoder.words if word not in known])
        if isinstance(column, NameColumn):
            values, unknown = replace(column, closed=True).convert(plain)
            X[:, at[0]] = np.where(values < 0, math.nan, values)
            new[list(unknown)] = True
        else:
            values, wrong = column.convert(plain)
            X[:, at] = values.reshape(n, column.width)
            for row, (value, rule) in wrong.items():
                faults.setdefault(row, (name, value, rule))
            if isinstance(column, DateColumn) and encoder.may_get_clock(column):
                clocked, _ = replace(column, clock=True).convert(plain)
                new |= clocked[:, -1] > 0
    return X, new, faults


def _plain(array: pa.Array, words: Any) -> pa.Array:
    """Return an array whose texts are trimmed, null where a word stands for a missing value."""
    if not is_text(array.type):
        return array
    if pa.types.is_dictionary(array.type):  # polars' cannot be cast as a whole
        names = array.dictionary.cast(pa.large_string())
        array = pa.DictionaryArray.from_arrays(array.indices, names).dictionary_decode()
    return trimmed(array.cast(pa.large_string()), words)


def _in_micros(array: pa.Array) -> pa.Array:
    """Return times in microseconds, as Python has them."""
    kind, types = array.type, pa.types
    if types.is_timestamp(kind) and kind.unit == "ns":
        return pc.cast(array, pa.timestamp("us", kind.tz), safe=False)
    if types.is_duration(kind) and kind.unit == "ns":
        return pc.cast(array, pa.duration("us"), safe=False)
    return pc.cast(array, pa.time64("us"), safe=False) if types.is_time64(kind) else array


def learn_table(encoder: Encoder, table: pa.Table, labels: Sequence[Any]) -> Iterator[Batch]:
    """Yield the rows of a table and their labels in batches, none of which spans a growth of the schema."""
    if table.num_columns == 0:
        raise DataError("X must have at least one column. Got none instead.")
    expect_labels(table.num_rows, labels)
    done, names = 0, table.column_names
    for batch in table.to_batches(max_chunksize=ROWS):
        some, arrays = labels[done : done + batch.num_rows], [_in_micros(one) for one in batch.columns]
        if not encoder.schema.n_features:
            _begin(encoder, names, arrays, some)
        start = 0
        while start < batch.num_rows:
            start = yield from _learn_rows(encoder, names, arrays, some, start, done)
        done += batch.num_rows


def _begin(encoder: Encoder, names: Sequence[str], arrays: Sequence[pa.Array], labels: Sequence[Any]) -> None:
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
    encoder.begin(columns, ignored, [] if encoder.numeric else encoder.class_names(labels))


def _learn_rows(
    encoder: Encoder,
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
    closely |= np.isnan(targets) | np.isnan(X[:, encoder.never_missing]).any(axis=1) | encoder.tentative
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


def _stretch(encoder: Encoder, X: NDArray[np.float64], targets: NDArray[np.float64]) -> Batch:
    """Return rows that were converted before the schema grew; what is new since is missing in them."""
    wider = encoder.schema.n_features - X.shape[1]
    if wider:
        X = np.pad(X, ((0, 0), (0, wider)), constant_values=math.nan)
    encoder.seen += len(X)
    return Batch(np.ascontiguousarray(X), targets, encoder.schema)
