"""The `Encoder`, which converts rows and tables to numbers."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from heros._base.errors import DataError
from heros._base.lazy import pa, pc
from heros.data.codes import Codes
from heros.data.columns import (
    Column,
    DateColumn,
    Faults,
    NameColumn,
    counts_of,
    encode,
    is_text,
    trimmed,
)
from heros.data.dates import cell, to_microseconds
from heros.data.frames import FEW, form_of, joined_chunks, labels_of, row_of, rows_of_small_frame, table_of
from heros.data.infer import infer_array, reason_not_a_feature
from heros.data.number_format import has_decimal_commas
from heros.data.row_encoder import YOUNG, Limits, RowEncoder
from heros.data.schema import Schema
from heros.data.values import LARGEST_TARGET, Refused, Words, natural_order

__all__ = [
    "YOUNG",
    "Batch",
    "Encoder",
    "Item",
    "Limits",
    "Stretch",
    "Stretches",
    "widened",
]

ROWS = 1 << 16
"""The number of table rows that are converted at once."""

Item = tuple[int, int, Any]
"""An item between stretches, after the number of rows before the item and the number including its row."""


class Stretch(NamedTuple):
    """Consecutive rows of a table that are already encoded."""

    X: NDArray[np.float64]
    y: NDArray[Any]


class Stretches:
    """The n rows of a table, divided at each row that must be encoded separately.

    `convert` returns all encoded rows, their targets, and the items between two stretches, in order. An item
    stands for a row that must be encoded separately, or for a row that cannot be read.
    `convert` is called again if the encoder has changed the kind or the format of a column.
    """

    def __init__(self, encoder: Encoder, n: int, convert: Callable[[], tuple[Any, Any, list[Item]]]) -> None:
        self._encoder, self._n, self._convert = encoder, n, convert
        self._at = 0  # number of rows returned
        self._revision = -1  # the revision of the encoder when it converted the rows

    def next(self) -> list[Any]:
        """Return a list with the next stretch, the next item, or both; an empty list at the end."""
        if self._revision != self._encoder.revision:
            self._X, self._y, items = self._convert()
            self._items = deque(item for item in items if item[0] >= self._at)
            self._revision = self._encoder.revision
        start = self._at
        stop, self._at, *item = self._items.popleft() if self._items else (self._n, self._n)
        return [Stretch(self._X[start:stop], self._y[start:stop]), *item] if stop > start else item


@dataclass(frozen=True, slots=True)
class Batch:
    """A batch of training instances, with their targets and their schema."""

    X: NDArray[np.float64]  # (n, n_features)
    y: NDArray[np.float64]  # (n,): class indices, or numbers
    schema: Schema


class Encoder(RowEncoder):
    """An encoder of rows to numbers, with a schema that grows as new columns, names and classes appear.

    The first value of a column determines the kind of the column: a number, a number in a string
    (``"€12.50"``, ``"12 %"``), a date, or else a name. The page "How values are read" lists all rules. An
    instance changes the encoder only if all values of the instance can be read.

    Parameters
    ----------
    schema
        The initial schema.
    nominal
        Columns whose numbers stand for names, not for quantities. None means that the caller does not offer
        this option; notices then recommend a schema instead.
    ignore
        Columns to ignore.
    classes
        All classes, in the order of their indices.
    grows
        Whether features, values and classes may be added to a given schema.
    most_values
        The maximum number of model inputs per nominal feature; see `heros.data.codes.Codes`.
    numeric
        Whether the target is a number. If a schema is given, the schema decides this.
    fractions
        Whether a number with decimals may be a new class. If the user has not set a task, a number with
        decimals is more likely a numeric target.
    words
        Additional strings that are read as missing values.
    limits
        The limits on the growth of the schema.
    seen
        The number of instances on which the model was trained so far.

    Examples
    --------
    >>> encoder = Encoder()
    >>> encoder.encode({"age": 18, "colour": "red"}, "no")
    ([18, 0], 0)
    >>> encoder.encode({"age": "21", "colour": "blue"}, "no", grow=False) is None
    True
    >>> encoder.row({"age": 21, "colour": "blue"})
    [21, nan]
    >>> encoder.schema.features[1].values
    ('red',)
    """

    # -- rows ---------------------------------------------------------------------------------------------

    def read(self, x: Any) -> NDArray[np.float64]:
        """Encode one row, several rows or a data frame as an array (n, n_features) for prediction."""
        form = form_of(x)
        if form == "row":
            row = row_of(x)
            X = np.array([self.encode_for_prediction(row)], dtype=np.float64)
            self.notify_misspelt(row)
            return X
        rows: Sequence[Mapping[Any, Any]] | None = rows_of_small_frame(x) if form == "frame" else x
        if rows is None:
            return self._read_table(table_of(x, "X"))
        X = np.array([self.encode_for_prediction(row, at) for at, row in enumerate(rows)], dtype=np.float64)
        for row in rows:
            self.notify_misspelt(row)
        return X

    def learn(self, x: Any, y: Any) -> Iterator[Batch]:
        """Yield encoded rows and labels in batches; the schema does not change within a batch.

        Rows are encoded one by one. The first data frame, like the first chunk of a file, is inspected
        completely before its first row is encoded.
        """
        form = form_of(x)
        if form == "row":
            yield self._batch([self.encode_for_training(row_of(x), y)])
            return
        labels, rows = labels_of(x, y), x
        if form == "frame":
            rows = (rows_of_small_frame(x) if self.width else None) or table_of(x, "X")
        if len(labels) != len(rows):
            raise DataError(f"y must have one label per row ({len(rows)}). Got {len(labels)} instead.")
        table = not isinstance(rows, list | tuple)
        yield from self.batches(self._rows_of(rows, labels) if table else zip(rows, labels, strict=True))

    def encode_for_prediction(self, x: Mapping[Any, Any], at: int | None = None) -> list[float]:
        """Encode a row for prediction or raise a `DataError`; `at` is the row's index among several rows."""
        try:
            return self.row_to_predict(x)
        except Refused as why:
            raise why.error(at) from None

    def batches(self, rows: Iterable[Any]) -> Iterator[Batch]:
        """Yield batches of encoded rows with labels; the schema does not change within a batch."""
        waiting: list[Any] = []
        before = 0  # number of rows in stretches, minus 1 per stretch: `enumerate` counts a stretch as 1
        for at, row in enumerate(rows):
            if type(row) is Stretch:
                if waiting:
                    yield self._batch(waiting)
                    waiting = []
                self.seen, before = self.seen + len(row.y), before + len(row.y) - 1
                yield Batch(widened(row.X, self.width), row.y, self.schema)
                continue
            x, y = row
            try:
                encoded = self.encode(x, y, grow=not waiting)
                if encoded is None:  # the model learns from earlier rows before the schema grows
                    yield self._batch(waiting)
                    waiting, encoded = [], self.encode(x, y)
            except Refused as why:
                raise why.error(before + at) from None
            waiting.append(encoded)
        if waiting:
            yield self._batch(waiting)

    def encode_for_training(self, x: Mapping[Any, Any], y: Any) -> Any:
        """Return the result of `encode`, but raise a `DataError` if a value is unreadable."""
        try:
            return self.encode(x, y)
        except Refused as why:
            raise why.error() from None

    def _batch(self, waiting: list[tuple[list[float], float]]) -> Batch:
        X = np.array([row for row, _ in waiting], dtype=np.float64)
        y = np.array([target for _, target in waiting], dtype=np.float64)
        return Batch(X.reshape(len(waiting), self.width), y, self.schema)

    def targets(self, labels: Sequence[Any]) -> NDArray[np.float64]:
        """Convert labels to class indices or numbers, with NaN for new and unreadable labels.

        Examples
        --------
        >>> Encoder(classes=["no", "yes"]).targets(["yes", "no", "perhaps", None])
        array([ 1.,  0., nan, nan])
        """
        array = None
        if len(labels) > FEW:  # the overhead of Arrow is too large for fewer labels
            with suppress(pa.ArrowException, TypeError, ValueError, OverflowError):  # labels of mixed types
                array = pa.array(labels)
        number = array is not None and (pa.types.is_floating(array.type) or pa.types.is_integer(array.type))
        if number and self.numeric:
            array = trimmed(array, self.words)
            values = np.array(pc.cast(array, pa.float64(), safe=False).to_numpy(zero_copy_only=False))
            values[~(np.abs(values) <= LARGEST_TARGET)] = math.nan
            return values
        if number or (array is not None and is_text(array.type)):
            codes, distinct = encode(array, lambda label: label)
            return np.array([*map(self._target, distinct), math.nan])[codes]
        return np.array([self._target(label) for label in labels], dtype=np.float64)

    def _target(self, label: Any) -> float:
        try:
            code = self._number(label) if self.numeric else self.classes.code(self._label(label))
        except Refused:
            return math.nan
        return math.nan if code is None else code

    # -- tables: whole columns at a time, with the same result as row by row ------------------------------

    def _read_table(self, table: pa.Table) -> NDArray[np.float64]:
        """Encode the rows of a table for prediction."""
        _expect_columns(table)
        names = dict.fromkeys(table.column_names, 0)
        if not any(map(self.has_column, names)):
            self.encode_for_prediction(names)  # this call raises a DataError
        self.notify_misspelt(names)
        parts, done = [np.empty((0, self.width))], 0
        for batch in table.to_batches(max_chunksize=ROWS):
            X, _, faults = self.converted(table.column_names, batch.columns, batch.num_rows)
            if faults:
                row = min(faults)
                raise faults[row].error(done + row)
            parts.append(X)
            done += batch.num_rows
        return np.concatenate(parts)

    def converted(
        self, names: Sequence[str], arrays: Sequence[pa.Array], n: int, *, plain: bool = False
    ) -> tuple[NDArray[np.float64], NDArray[np.bool_], Faults]:
        """Return the encoded rows, a mask of rows with new features or values, and the unreadable values.

        The mask includes all rows in which a feature is missing if the schema does not yet allow missing
        values for this feature. `plain` means that strings are already trimmed and missing values are null.
        """
        features: list[NDArray[np.float64] | float] = [math.nan] * self.width
        new, faults = np.zeros(n, dtype=np.bool_), Faults()
        for name, given in zip(names, arrays, strict=True):
            if name in self.ignored:
                continue
            column = self.known.get(name)
            if isinstance(column, NameColumn):
                values = column.codes_of(given, () if plain else self.words)
                unknown = values < 0
                if unknown.any():
                    new |= unknown
                    values[unknown] = math.nan
                    self.unknown[name] += int(unknown.sum())
                features[column.at[0]] = values
            else:
                array = given if plain else _plain(given, self.words)
                if column is None:
                    if array.null_count < n:
                        new |= ~np.asarray(array.is_null(nan_is_null=True))
                    continue
                values, wrong = column.convert(array)
                for at, one_feature in zip(column.at, values.reshape(n, len(column.at)).T, strict=True):
                    features[at] = one_feature
                faults = wrong | faults
                if isinstance(column, DateColumn) and self._may_get_clock(column):
                    clocked, _ = replace(column, clock=True).convert(array)
                    new |= clocked[:, -1] > 0
            if not column.missing and (gaps := np.isnan(features[column.at[0]])).any():
                new |= gaps
        new |= any(not self.known[name].missing for name in self.columns.keys() - {*names})
        return _stack_columns(features, n), new, faults

    def _rows_of(
        self, table: pa.Table, labels: Sequence[Any]
    ) -> Iterator[tuple[Mapping[Any, Any], Any] | Stretch]:
        """Yield a table as stretches; yield rows with new or unreadable values one by one."""
        _expect_columns(table)
        table = joined_chunks(table)
        done, names = 0, table.column_names
        for batch in table.to_batches(max_chunksize=ROWS):
            some, arrays = (
                labels[done : done + batch.num_rows],
                [to_microseconds(one) for one in batch.columns],
            )
            if not self.width:
                self._begin_with(names, arrays, some)
            stretches = Stretches(self, batch.num_rows, partial(self._encoded_rows, names, arrays, some))
            while items := stretches.next():
                for row in items:
                    if type(row) is Stretch:
                        yield row
                    else:
                        x = {name: cell(array, row) for name, array in zip(names, arrays, strict=True)}
                        yield x, some[row]
            done += batch.num_rows

    def _encoded_rows(
        self, names: Sequence[str], arrays: Sequence[pa.Array], labels: Sequence[Any]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], list[Item]]:
        """Encode rows and labels; also return the rows that must be encoded one by one, as items."""
        X, one_by_one, faults = self.converted(names, arrays, len(labels))
        targets = self.targets(labels)
        one_by_one[list(faults)] = True
        one_by_one |= np.isnan(targets) | bool(self.tentative)
        return X, targets, [(row, row + 1, row) for row in np.flatnonzero(one_by_one).tolist()]

    def _begin_with(self, names: Sequence[str], arrays: Sequence[pa.Array], labels: Sequence[Any]) -> None:
        """Initialize the schema from the first rows of the first table."""
        columns: list[Column] = []
        ignored: list[str] = []
        named = zip(names, arrays, strict=True)
        read = [
            (name, original, _plain(original, self.words))
            for name, original in named
            if name not in self.ignored
        ]
        texts = [array for name, _, array in read if is_text(array.type) and name not in self._nominal]
        comma = cache(lambda: has_decimal_commas(map(counts_of, texts)))
        for name, original, array in read:
            missing = np.asarray(array.is_null(nan_is_null=True))
            if missing.all():
                continue
            found: Column | str = NameColumn(name, Codes(most=self._most), fresh=True)
            if name not in self._nominal:
                typed = original if pa.types.is_dictionary(original.type) else array
                found = infer_array(name, typed, self._most, comma=comma)
            if isinstance(found, str):
                way = "" if reason_not_a_feature(original.type) else " (a categorical column is kept)"
                self.notify(f"The column {name!r} is left out: {found}{way}.")
                ignored.append(name)
                continue
            if isinstance(found, NameColumn) and not found.values:
                found.learn(counts_of(array))
            found.missing = bool(missing.any())
            self.notify_reading(found, is_text(array.type))
            columns.append(found)
        classes = [] if self.numeric else natural_order(self._new_classes(labels))
        self.ignored |= dict.fromkeys(ignored)
        labels_column = NameColumn("", Codes([*self.classes, *classes])) if classes else None
        self.begin(columns, labels_column, len(labels))

    def _new_classes(self, labels: Iterable[Any]) -> set[str]:
        """Return the names of new classes; raise a `DataError` if a label is not a valid class."""
        names = set[str]()
        try:
            for label in labels:
                name = self._label(label)
                if name not in names and self.classes.code(name) is None:
                    self._expect_class(label, name)
                    names.add(name)
        except Refused as why:
            raise why.error() from None
        return names


def _stack_columns(features: Sequence[NDArray[np.float64] | float], n: int) -> NDArray[np.float64]:
    """Combine features into an array, one column per feature, in blocks of rows that fit into the cache."""
    X = np.empty((n, len(features)))
    rows = max(1, (1 << 15) // max(1, len(features)))  # 256 kB, which fit into the cache of a core
    for start in range(0, n, rows):
        block = X[start : start + rows]
        for at, values in enumerate(features):
            block[:, at] = values if isinstance(values, float) else values[start : start + rows]
    return X


def widened(X: NDArray[np.float64], width: int) -> NDArray[np.float64]:
    """Extend rows to `width` features; the added features are missing."""
    more = width - X.shape[1]
    return np.pad(X, ((0, 0), (0, more)), constant_values=math.nan) if more else X


def _expect_columns(table: pa.Table) -> None:
    if table.num_columns == 0:
        raise DataError("X must have at least one column. Got no columns instead.")


def _plain(array: pa.Array, words: Words) -> pa.Array:
    """Trim the strings of an array, and replace strings that are read as missing values with null."""
    if not is_text(array.type):
        coded = pa.types.is_dictionary(array.type)
        return trimmed(array.dictionary_decode() if coded else array, words)
    if pa.types.is_dictionary(array.type):  # dictionaries of polars cannot be cast directly
        names = array.dictionary.cast(pa.large_string())
        array = pa.DictionaryArray.from_arrays(array.indices, names).dictionary_decode()
    return trimmed(array.cast(pa.large_string()), words)
