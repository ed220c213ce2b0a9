"""Rows and labels as people have them, as a model takes them: dictionaries, data frames, names of classes."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from heros.errors import DataError
from heros.lazy import pa
from heros.schema import Feature, Schema
from heros.streams.arrow import MemoryReader
from heros.streams.columns import NominalColumn, NumericColumn, counts_of, is_text
from heros.streams.dates import date_columns
from heros.streams.frames import few_rows, is_frame, names_of, table_of
from heros.streams.number_forms import Form as NumberForm
from heros.streams.number_forms import form_of as number_form
from heros.streams.readers import Chunk, Column, TableReader
from heros.streams.text import MISSING, trimmed
from heros.values import NUMBER, Refused, expect_no_fraction, label_of, listed, natural_order
from heros.vocabulary import Codes, Vocabulary

__all__ = ["Learnable", "Rows", "form_of", "labels_of", "row_of"]

PLAIN = (str, bool, int, float, type(None))
Form = Literal["array", "row", "rows", "frame"]


def form_of(x: Any) -> Form:
    """What somebody has handed over: an array, one row or several as dictionaries, or a data frame.

    Examples
    --------
    >>> import pyarrow as pa
    >>> form_of([[1, 2]]), form_of({"age": 18}), form_of([{"age": 18}]), form_of(pa.table({"age": [18]}))
    ('array', 'row', 'rows', 'frame')
    """
    if type(x) is np.ndarray:
        return "array"
    if isinstance(x, Mapping) or _is_named_row(x):
        return "row"
    if is_frame(x):
        return "frame"
    if isinstance(x, list | tuple) and x and isinstance(x[0], Mapping):
        return "rows"
    return "array"


def row_of(x: Any) -> Mapping[Any, Any]:
    """One row as a mapping: itself, or the row of a data frame (`frame.iloc[0]`)."""
    mapping: Mapping[Any, Any] = x if isinstance(x, Mapping) else x.to_dict()
    return mapping


def _is_named_row(x: Any) -> bool:
    """Whether it is a row of a pandas frame, whose index has the names of the columns."""
    if not hasattr(x, "to_dict") or getattr(x, "ndim", 0) != 1 or not hasattr(x, "index"):
        return False
    return all(isinstance(name, str) for name in x.index)


@dataclass(frozen=True, slots=True)
class Learnable:
    """Rows to learn from, the class of each, and the schema that they need."""

    X: NDArray[np.float64]  # (n, n_features)
    y: NDArray[Any]  # (n,)
    schema: Schema


class Rows:
    """How rows become what the core takes: by the names of features, values and classes in a schema.

    What is to be predicted may lack features, and may have new features and values, which nothing is known
    of: they are missing. What is learnt from makes the schema grow instead. Text where a number or a date is
    known is read as in the file that the schema came from: ``"1.200,50 €"``, ``"n/a"``. So are the words that
    stood for a missing value there, if other than the usual ones were named.

    Parameters
    ----------
    schema
        What is known; None if nothing is.
    classes
        Whether the target is a class, whose name may be new; if not, it is a number.
    fractions
        Whether a number with decimals may be the name of a class that is new.

    Examples
    --------
    >>> rows = Rows(Schema.of(["age", ("colour", "red", "blue")], classes=["no", "yes"]))
    >>> rows.read({"colour": "blue", "age": 18}), rows.read([{"age": 21}, {"colour": "green"}])
    (array([[18.,  1.]]), array([[21., nan],
                                 [nan, nan]]))
    >>> [found] = rows.learn([{"age": 33, "colour": "green"}], ["maybe"])
    >>> found.X, found.y, found.schema.classes
    (array([[33.,  2.]]), array([2]), ('no', 'yes', 'maybe'))
    >>> Rows(Schema((Feature("price", written=",."),), ("no", "yes"))).read({"price": "1.200,50 €"})
    array([[1200.5]])
    """

    def __init__(self, schema: Schema | None, *, classes: bool = True, fractions: bool = True) -> None:
        self.schema = schema or Schema((), (), numeric=not classes)
        self._classes = classes
        self._fractions = fractions
        self._started = schema is not None
        self._vocabulary = Vocabulary(self.schema, grows=True, fractions=fractions)
        self._dates = date_columns(self.schema.features)
        self._places = {feature.name: feature for feature in self.schema.features}
        self._nothing = frozenset(MISSING if self.schema.words is None else self.schema.words)

    # -- to predict -----------------------------------------------------------------------------------

    def read(self, x: Any) -> NDArray[np.float64]:
        """The rows (n, n_features) of a row, of rows or of a frame."""
        form = form_of(x)
        if form == "frame":
            found = self._known_rows(x, None)
            return self._read_frame(x) if found is None else np.array([row for row, _ in found], dtype=float)
        rows = [row_of(x)] if form == "row" else x
        return np.array([self._look_up(row) for row in rows], dtype=np.float64)

    def _known_rows(self, frame: Any, labels: Sequence[Any] | None) -> list[tuple[list[float], Any]] | None:
        """The rows of a frame that has few of them, if all in it is plain; None if it needs a closer look."""
        rows, names = few_rows(frame), names_of(frame)
        if rows is None or names is None or (labels is not None and len(labels) != len(rows)):
            return None
        if not all(type(value) in PLAIN for row in rows for value in row):
            return None
        named = [dict(zip(names, row, strict=True)) for row in rows]
        try:
            if labels is None:
                return [(self._look_up(row), None) for row in named]
            found = [self._encoded(row, y, grow=False) for row, y in zip(named, labels, strict=True)]
        except DataError:
            return None
        known = [one for one in found if one is not None]
        return known if len(known) == len(found) else None

    def _look_up(self, row: Mapping[Any, Any]) -> list[float]:
        try:
            row = self._dated(row)
            try:
                found, known = self._vocabulary.look_up(row)
            except Refused:
                found, known = self._vocabulary.look_up(self._as_read(row))
            else:
                if not known:
                    found, known = self._vocabulary.look_up(self._as_read(row))
        except Refused as why:
            raise _data_error(why) from None
        if not known and not any(self._vocabulary.place(name) for name in row):
            raise self._nothing_known(list(row))
        return found

    def _dated(self, row: Mapping[Any, Any]) -> Mapping[Any, Any]:
        """The row with the features of its dates."""
        known = {name: self._dates[name] for name in row if name in self._dates} if self._dates else {}
        if not known:
            return row
        dated = {name: value for name, value in row.items() if name not in known}
        for name, column in known.items():
            try:
                value = row[name]
                dated |= column.row(None if self._stands_for_nothing(value) else value)
            except (ValueError, TypeError):
                raise Refused(name, repr(row[name]), "be a date") from None
        return dated

    def _as_read(self, row: Mapping[Any, Any]) -> dict[Any, Any]:
        """The row as if it came from a file: text where a number is known is read, names are trimmed."""
        return {name: self._cell(self._places.get(str(name)), value) for name, value in row.items()}

    def _cell(self, feature: Feature | None, value: Any) -> Any:
        """A value as a file's reader would have it, if there is more to it than meets the eye."""
        text = value.strip() if isinstance(value, str) else value
        names = feature is None or feature.values is not None
        if isinstance(text, str) and text in self._nothing and not (names and self.schema.words is None):
            return None
        if feature is None:
            return value
        if feature.values is not None:
            return _as_named(text, feature.values)
        if not isinstance(text, str):
            return value
        form = NumberForm.of(feature.written)
        number = None if form is None else form.number(text)
        if number is None:
            return float(text) if NUMBER.fullmatch(text) else value
        return number

    def _stands_for_nothing(self, value: object) -> bool:
        """Whether it is what people write, or have, where there is no value."""
        if isinstance(value, str):
            return value.strip() in self._nothing
        return label_of(value) is None or str(value) == "NaT"

    def _read_frame(self, frame: Any) -> NDArray[np.float64]:
        reader = _reader(frame)
        parts = [np.empty((0, self.schema.n_features))]
        while (chunk := reader.read()) is not None:
            parts.append(self.read_chunk(reader, chunk))
        return np.concatenate(parts)

    def read_chunk(self, reader: TableReader, chunk: Chunk) -> NDArray[np.float64]:
        """The rows of a chunk of a table, by the names of its columns."""
        known = self._known_columns(reader.names, closed=True)
        if not any(name in known for name in reader.names):
            raise self._nothing_known(list(reader.names))
        arrays = dict(zip(reader.names, chunk.columns, strict=True))
        parts = [
            _converted(column, self._as_text_is_read(arrays[name], column, reader), reader, chunk)
            if name in arrays
            else np.full((chunk.n_rows, column.width), math.nan)
            for name, column in known.items()
        ]
        return np.column_stack([np.empty((chunk.n_rows, 0)), *parts])

    def _as_text_is_read(self, array: Any, column: Column | None, reader: TableReader) -> Any:
        """A column of text without what stands for a missing value: as `_cell` has it, cell by cell.

        Of names, as of a column that is new, only what the user said stands for nothing does.
        """
        names = column is None or isinstance(column, NominalColumn)
        if reader.words or not is_text(array.type) or (names and self.schema.words is None):
            return array
        return trimmed(array.cast(pa.large_string()), self._nothing)

    def _known_columns(self, names: Sequence[str], closed: bool) -> dict[str, Column]:
        """The columns of the schema: dates as such, where a table with these names has them."""
        dates = {name: column for name, column in self._dates.items() if name in names}
        whose = {feature: name for name, column in dates.items() for feature in column.names}
        columns: dict[str, Column] = {}
        for feature in self.schema.features:
            name = whose.get(feature.name, feature.name)
            if name in dates:
                columns[name] = dates[name]
            else:
                columns[name] = _column(feature, closed)
        return columns

    def _nothing_known(self, names: Sequence[Any]) -> DataError:
        features = listed([feature.name for feature in self.schema.features])
        return DataError(f"A row must have some of the features {features}. Got {listed(names)} instead.")

    # -- to learn -------------------------------------------------------------------------------------

    def learn(self, x: Any, y: Any) -> Iterator[Learnable]:
        """The rows and their labels, in stretches of one schema each.

        Rows are taken one after the other; of a frame all that is new is known from its first row on.
        """
        form = form_of(x)
        if form == "frame":
            known = self._known_rows(x, labels_of(x, y))
            yield from [self._learn_frame(x, y)] if known is None else self._stretch(known)
        else:
            yield from self._learn_rows([row_of(x)] if form == "row" else x, labels_of(x, y))

    def _learn_rows(self, rows: Sequence[Mapping[Any, Any]], labels: Sequence[Any]) -> Iterator[Learnable]:
        if len(rows) != len(labels):
            raise DataError(f"y must have one label per row ({len(rows)}). Got {len(labels)} instead.")
        waiting: list[tuple[list[float], Any]] = []
        for row, label in zip(rows, labels, strict=True):
            known = self._encoded(row, label, grow=False)
            if known is None:  # what came before is learnt before anything grows
                yield from self._stretch(waiting)
                waiting, known = [], self._encoded(row, label, grow=True)
                self._know(self._vocabulary.schema)
                assert known is not None, "it has grown"
            waiting.append(known)
        yield from self._stretch(waiting)

    def _encoded(self, row: Mapping[Any, Any], label: Any, grow: bool) -> tuple[list[float], Any] | None:
        try:  # in the order of the names: the order in a dictionary must not matter
            row = self._dated(row)
            named = {name: row[name] for name in sorted(row, key=str)} if grow else row
            if self._classes and isinstance(label, bool | np.bool_):
                label = _as_named(label, self.schema.classes)
            known = self._encoded_as_it_is(named, label)
            if known is None:  # only what needs it is looked at closer
                named = self._as_read(named)
                known = self._vocabulary.encode(named, label, started=self._started, grow=grow)
        except Refused as why:
            raise _data_error(why) from None
        return known

    def _encoded_as_it_is(self, row: Mapping[Any, Any], label: Any) -> tuple[list[float], Any] | None:
        try:
            return self._vocabulary.encode(row, label, started=self._started, grow=False)
        except Refused:
            return None

    def _stretch(self, waiting: list[tuple[list[float], Any]]) -> Iterator[Learnable]:
        if waiting:
            X = np.array([row for row, _ in waiting], dtype=np.float64)
            yield Learnable(X, np.array([label for _, label in waiting]), self.schema)

    def _learn_frame(self, frame: Any, y: Any) -> Learnable:
        reader, labels = _reader(frame), labels_of(frame, y)
        columns = self._known_columns(reader.names, closed=False)
        parts: dict[str, list[NDArray[np.float64]]] = {name: [] for name in columns}
        n = 0
        while (chunk := reader.read()) is not None:
            for index, name in enumerate(reader.names):
                array = self._as_text_is_read(chunk.columns[index], columns.get(name), reader)
                if name not in columns:
                    columns[name], parts[name] = _new_column(reader, index, array, self._started), []
                parts[name].append(_converted(columns[name], array, reader, chunk))
            n += chunk.n_rows
        if len(labels) != n:
            raise DataError(f"y must have one label per row ({n}). Got {len(labels)} instead.")
        filled, features = [np.empty((n, 0))], list[Feature]()
        for name, column in columns.items():
            filled.append(
                np.concatenate(parts[name]) if parts[name] else np.full((n, column.width), math.nan)
            )
            column.adopt(filled[-1])
            features += column.features(len(getattr(column, "values", ())), column.missing)
        X = np.column_stack(filled)
        names, target = self._coded(labels)
        self._know(Schema(tuple(features), names, self.schema.numeric, self.schema.words))
        return Learnable(X, target, self.schema)

    def _coded(self, labels: Sequence[Any]) -> tuple[tuple[str, ...], NDArray[Any]]:
        """The classes, new ones in their natural order behind the others, and the index of each label."""
        if not self._classes:
            return self.schema.classes, np.asarray(labels)
        named = [label_of(_as_named(label, self.schema.classes)) for label in labels]
        if None in named:
            raise DataError(f"The label of row {named.index(None)} must have a value. Got a missing one.")
        codes = Codes(self.schema.classes)
        new = {name: label for name, label in zip(named, labels, strict=True) if name not in codes}
        self._expect_classes(new.values())
        for name in natural_order(name for name in new if name is not None):
            codes.add(name)
        return tuple(codes), np.array([codes[name] for name in named if name is not None], dtype=np.int64)

    def _expect_classes(self, labels: Iterable[Any]) -> None:
        try:
            for label in () if self._fractions else labels:
                expect_no_fraction(label)
        except Refused as why:
            raise _data_error(why) from None

    def _know(self, schema: Schema) -> None:
        self.schema, self._started, self._dates = schema, True, date_columns(schema.features)
        self._places = {feature.name: feature for feature in schema.features}
        if self._vocabulary.schema is not schema:
            self._vocabulary.learn(schema)


def _reader(frame: Any) -> MemoryReader:
    table = table_of(frame, "X")
    if table.num_columns == 0:
        raise DataError("X must have at least one column. Got none instead.")
    return MemoryReader(table, "X")


def _column(feature: Feature, closed: bool) -> Column:
    if feature.values is None:
        return NumericColumn(feature.name, feature.missing, NumberForm.of(feature.written), "be a number")
    return NominalColumn(feature.name, Codes(feature.values), closed=closed, missing=feature.missing)


def _new_column(reader: TableReader, index: int, array: Any, started: bool) -> Column:
    """A column that is new, as the frame declares it; it was missing before, if there was a before."""
    column = reader.declared(index)
    assert column is not None, "Arrow knows the types of its columns"
    if isinstance(column, NominalColumn) and not column.values:
        column.learn(array)
    column.missing = column.missing or started
    return column


def _converted(column: Column, array: Any, reader: TableReader, chunk: Chunk) -> NDArray[np.float64]:
    if isinstance(column, NumericColumn) and is_text(array.type):
        column = replace(column, form=_form(column.form, counts_of(array), reader))
    values, faults = column.convert(array)
    if isinstance(column, NominalColumn):
        return np.where(values < 0, math.nan, values)  # a value that nothing is known of
    if faults:
        row, (value, rule) = next(iter(faults.items()))
        words = " (or the word be named in missing=)" if reader.words else ""
        raise DataError(
            f"{reader.label}, {chunk.place(row)}: {column.name!r} must {rule}{words}. Got {value} instead."
        )
    return values


def _form(known: NumberForm | None, counts: Mapping[str, int], reader: TableReader) -> NumberForm | None:
    """How the numbers of a column are written: as before, if all can be read so, or as they look."""
    plain = known is None or (reader.typed and all(NUMBER.fullmatch(value) for value in counts))
    if known is not None and not plain and all(known.number(value) is not None for value in counts):
        return known
    return number_form(counts, comma=reader.decimal_comma)[0]


def _as_named(value: Any, names: Sequence[str]) -> Any:
    """True and False by the names that a file had for them: true, TRUE."""
    if not isinstance(value, bool | np.bool_):
        return value
    written = str(value)
    return next((name for name in (written, written.lower(), written.upper()) if name in names), value)


def labels_of(x: Any, y: Any) -> list[Any]:
    """The labels of a row, of rows or of a frame, one after the other, whatever holds them.

    Examples
    --------
    >>> labels_of({"age": 18}, "no"), labels_of([{"age": 18}, {"age": 21}], np.array([0, 1]))
    (['no'], [0, 1])
    """
    if form_of(x) == "row":
        return [y]
    for method in ("to_pylist", "tolist"):
        if hasattr(y, method):
            labels = getattr(y, method)()
            return labels if isinstance(labels, list) else [labels]
    if isinstance(y, str | bytes) or not isinstance(y, Iterable):
        raise DataError(f"y must have one label per row. Got {y!r} instead.")
    return list(y)


def _data_error(why: Refused) -> DataError:
    what = "The label" if why.column == "label" else f"The feature {why.column!r}"
    return DataError(f"{what} must {why.rule}. Got {why.value} instead.")
