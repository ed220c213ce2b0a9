"""Types of table columns. They convert single values and whole arrays by the same rules."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from heros._base.errors import DataNotice
from heros._base.lazy import pa, pc
from heros._base.notices import notice
from heros.data.codes import Codes, many_values
from heros.data.dates import TIMES, DateFormat, cell, is_date, micros_of, micros_of_array, to_microseconds
from heros.data.number_format import NumberFormat, parsed_number
from heros.data.schema import Feature
from heros.data.values import (
    BLANKS,
    BOOLEANS,
    LARGEST_TARGET,
    MISSING,
    NO_TARGET,
    Refused,
    Words,
    is_missing,
    kind_of,
    label_of,
    listed,
    name_of,
    natural_order,
    number_of,
    shown,
)

Faults = dict[int, Refused]
"""A mapping from row indices to the values that cannot be read."""

Values = NDArray[np.float64]
"""An array (n,), or (n, n_features) if the column provides several features."""

NAMES = "names"  # the text format of a column that the user declared as nominal
DATE_PARTS = ("day", "weekday", "day of year")
DAY, HOUR = 86_400e6, 3_600e6  # in microseconds


@dataclass
class NumberColumn:
    """A column of numbers.

    Examples
    --------
    >>> column = NumberColumn("age")
    >>> column.convert(pa.array(["18", None, "21.5"]))
    (array([18. ,  nan, 21.5]), {})
    >>> column.convert(pa.array(["18", "abc"]))[1]
    {1: Refused('be a number')}
    >>> column.value(" 12 %", MISSING), column.value("n/a", MISSING)
    (12.0, nan)
    >>> NumberColumn("price", format=NumberFormat(",", ".")).convert(pa.array(["1.200,50 €", "3"]))[0]
    array([1200.5,    3. ])
    """

    name: str
    missing: bool = False
    format: NumberFormat | None = None  # format of text; None: the default format
    rule: str = "be a number"  # the rule in error messages
    tentative: bool = False  # whether the strings so far also match another format (``1,234``)
    feature: str = ""  # feature name, if the kind of the column changed; otherwise the column name
    hint: str = ""  # advice added to error messages
    at: tuple[int, ...] = ()  # indices of its features in an encoded row; set by the encoder
    width: ClassVar[int] = 1  # number of features

    def value(self, value: Any, words: Collection[str] = ()) -> float:
        """Convert a value to a number, NaN if it is missing; raise `Refused` if it is not a finite number."""
        number: float | None
        if isinstance(value, str):
            text = value.strip(BLANKS)
            number = math.nan if text in words else parsed_number(text, self.format)
        elif is_missing(value):
            return math.nan
        else:
            number = number_of(self.name, value) if kind_of(value) in {"number", "boolean"} else None
        if number is None:
            raise Refused(self.name, shown(value), f"{self.rule}{self.hint}")
        if math.isinf(number):
            raise Refused(self.name, shown(value), "be a finite number")
        return number

    def convert(self, array: pa.Array) -> tuple[Values, Faults]:
        """Convert an array to numbers, with NaN for missing values; also return the unreadable values."""
        text = is_text(array.type)
        if self.format is None or not text:
            with suppress(pa.ArrowInvalid, pa.ArrowNotImplementedError):  # Arrow cannot convert the column
                values = _floats(array)
                if not np.isinf(values).any() and not (text and array.null_count < np.isnan(values).sum()):
                    return values, {}
        return _convert_each(self, array)

    def features(self) -> list[Feature]:
        """Return a list with the feature that the column provides."""
        origin = (self.name, "number") if self.feature else ()
        return [Feature(self.feature or self.name, None, self.missing, _written(self), *origin)]


@dataclass
class NameColumn:
    """A column of names, which are converted to 0-based codes.

    Examples
    --------
    >>> column = NameColumn("colour", Codes(["blue", "red"]))
    >>> column.codes_of(pa.array(["red", "green", None]), MISSING)
    array([ 1., -1., nan])
    >>> column.value("red"), column.value("n/a", MISSING), column.value("violet")
    (1, nan, None)
    """

    name: str
    values: Codes = field(default_factory=Codes)
    closed: bool = False  # whether a new name is an error; otherwise it is appended
    missing: bool = False
    fresh: bool = False  # whether the names still have to be read from the first rows
    classes: bool = False  # whether the names are classes; ``true`` and ``false`` then keep their spelling
    declared: bool = False  # whether the user declared the column; it is then never left out
    feature: str = ""  # feature name, if the kind of the column changed; otherwise the column name
    at: tuple[int, ...] = ()  # indices of its features in an encoded row; set by the encoder
    width: ClassVar[int] = 1

    def __post_init__(self) -> None:
        self.values.closed |= self.closed

    def learn(self, labels: Mapping[str, int]) -> None:
        """Assign codes to the names of the first rows; if there are too many, only to the most frequent."""
        counts, most = Counter[str](), self.values.most
        for label, n in labels.items():
            if not self.classes or not label.endswith("\0"):  # the row of such a class is a bad row
                counts[str(self._name(label))] += n
        self.fresh = False
        if counts and counts.keys() <= {*BOOLEANS.values()} and not self.classes:
            counts = Counter(BOOLEANS.values())
        if most is None or len(counts) <= most:
            self.values = Codes(natural_order(counts), most)
            return
        frequent = sorted(natural_order(counts), key=lambda label: -counts[label])
        self.values = Codes(natural_order(frequent[: self.values.own]), most)
        self.values.share()
        notice(many_values(self.name, self.values), DataNotice)

    def _name(self, value: object) -> str | None:
        name = label_of(value) if self.classes else name_of(value)
        return name if name is None or isinstance(value, str) else self.values.of_number(name)

    def value(self, value: Any, words: Collection[str] = ()) -> float | None:
        """Return the code of a value: NaN if the value is missing, None if it is new."""
        if isinstance(value, str):
            name: str | None = value if value in self.values else value.strip(BLANKS)
            if name in words and name not in self.values:
                return math.nan
        elif kind_of(value) == "none":
            raise Refused(self.name, shown(value), "be text or a number")
        else:
            name = self._name(value)
            if name in words and name not in self.values:
                return math.nan
        code = math.nan if name is None else self.values.code(name)
        if code is None and self.closed:
            raise Refused(self.name, repr(name), f"be one of {listed(list(self.values))}")
        return code

    def codes_of(self, array: pa.Array, words: Collection[str]) -> Values:
        """Return the codes of an array: NaN for missing values, -1 for new names."""
        codes, labels = encode(array, self._name)
        table = np.full(len(labels) + 1, math.nan)  # code -1, a missing value, selects the last entry
        for at, label in enumerate(labels):
            code = None if label is None else self.values.code(label)
            if code is not None:
                table[at] = code
            elif label is not None and label not in words:
                table[at] = -1.0
        return table.take(codes)

    def features(self) -> list[Feature]:
        """Return a list with the feature that the column provides."""
        name, written = self.feature or self.name, NAMES if self.declared else ""
        origin = (self.name, "name") if self.feature else ("", "")
        return [Feature(name, self.values.labels, self.missing, written, *origin, self.values.shared)]


@dataclass
class DateColumn:
    """A column of dates or times with up to four features: days since 1970, weekday, day of year, hour.

    Examples
    --------
    >>> column = DateColumn("when", clock=True)
    >>> [feature.name for feature in column.features()]
    ['when (day)', 'when (weekday)', 'when (day of year)', 'when (hour)']
    >>> column.value("1970-01-02 12:30")
    (1.5208333333333333, 4.0, 2.0, 12.5)
    """

    name: str
    format: DateFormat | None = None  # text format; None: inferred for each date
    dates: bool = True  # whether values have dates
    clock: bool = False  # whether values have times of day
    missing: bool = False
    tentative: bool = False  # whether the strings so far also match the other order (``03/04/2026``)
    hint: str = ""  # advice added to error messages
    at: tuple[int, ...] = ()  # indices of its features in an encoded row; set by the encoder

    @property
    def rule(self) -> str:
        """The rule for valid values, for error messages."""
        order = "" if self.format is None or not self.format.written else f", {self.format.name}"
        return f"be a date{order}{self.hint}"

    @property
    def width(self) -> int:
        """The number of features of the column."""
        return 3 * self.dates + self.clock

    def value(self, value: Any, words: Collection[str] = ()) -> tuple[float, ...]:
        """Return the features of a value, all NaN if it is missing; raise `Refused` if it is not a date."""
        text = value.strip(BLANKS) if isinstance(value, str) else value
        if is_missing(text) or (isinstance(text, str) and text in words):
            return (math.nan,) * self.width
        micros = micros_of(text, self.format)
        if micros is None:
            raise Refused(self.name, shown(value), self.rule)
        micro = float(micros)
        days = micro / DAY
        whole = float(math.floor(days))
        hour = ((micro - whole * DAY) / HOUR,) if self.clock else ()
        if not self.dates:
            return hour
        year = np.datetime64(int(whole), "D").astype("datetime64[Y]").astype("datetime64[D]").astype(np.int64)
        return (days if self.clock else whole, (whole + 3) % 7, whole - float(year) + 1.0, *hour)

    def convert(self, array: pa.Array) -> tuple[Values, Faults]:
        """Return the features (n, width), with NaN for missing values, and the values that are not dates."""
        if not is_text(array.type):
            if not is_date(array.type) and (self.format is None or not self.format.written):
                values, faults = _convert_each(self, array)
                return values.reshape(len(array), self.width), faults
            dates = micros_of_array(array, self.format)
            lost = np.isnat(dates) & ~np.asarray(array.is_null(nan_is_null=True))
            cells = [(row, shown(cell(array, row))) for row in np.flatnonzero(lost).tolist()]
            return self._features(dates), {row: Refused(self.name, text, self.rule) for row, text in cells}
        codes, labels = encode(array)
        moments = [None if label is None else micros_of(label, self.format) for label in (*labels, None)]
        dates = np.array(["NaT" if m is None else m for m in moments], "M8[us]")[codes]
        has_date = np.array([label is not None for label in (*labels, None)])[codes]
        wrong = [
            (row, repr(labels[codes[row]])) for row in np.flatnonzero(np.isnat(dates) & has_date).tolist()
        ]
        return self._features(dates), {row: Refused(self.name, text, self.rule) for row, text in wrong}

    def _features(self, when: NDArray[np.datetime64]) -> Values:
        absent = np.isnat(when)
        micro = np.where(absent, 0, when.astype("datetime64[us]").astype(np.int64)).astype(np.float64)
        days = micro / DAY
        whole = np.floor(days)
        columns = []
        if self.dates:
            dates = when.astype("datetime64[D]")
            years = dates.astype("datetime64[Y]").astype("datetime64[D]")
            ordinal = np.where(absent, 0, (dates - years).astype(np.int64)) + 1.0
            columns = [days if self.clock else whole, (whole + 3) % 7, ordinal]
        if self.clock:
            columns.append((micro - whole * DAY) / HOUR)
        values = np.column_stack(columns).astype(np.float64)
        values[absent] = math.nan
        return values

    def features(self) -> list[Feature]:
        """Return the features that the column provides."""
        name, missing_part = self.name, (None, self.missing, _written(self), self.name)
        parts = DATE_PARTS * self.dates + ("hour",) * self.clock
        return [Feature(f"{name} ({part})", *missing_part, part) for part in parts]


Column = NumberColumn | NameColumn | DateColumn


def _written(column: NumberColumn | DateColumn) -> str:
    """Return the text format in the form stored in a feature."""
    return "" if column.format is None else column.format.written + "?" * column.tentative


def reading_of(column: Column) -> str:
    """Describe the format of a text column if the user may not expect this format; else return ""."""
    if isinstance(column, NumberColumn) and column.format is not None:
        return f"numbers with {column.format}"
    if not isinstance(column, DateColumn):
        return ""
    order = f", {column.format.name}" if column.format is not None else ""
    ambiguous = " (it could be month first)" if column.tentative else ""
    return f"{'dates' if column.dates else 'times'}{order}{ambiguous}"


def _convert_each(column: NumberColumn | DateColumn, array: pa.Array) -> tuple[Values, Faults]:
    """Convert an array value by value."""
    cells, faults = list[Any](), Faults()
    for row, value in enumerate(array.to_pylist()):
        try:
            cells.append(column.value(value))
        except Refused as why:
            faults[row] = why
            cells.append(column.value(None))
    return np.array(cells, dtype=np.float64), faults


def columns_of(features: Sequence[Feature], most: int | None, *, closed: bool = False) -> dict[str, Column]:
    """Return the source columns of features by name, with the latest kind if the kind has changed."""
    columns: dict[str, Column] = {}
    for feature in features:
        name, own = feature.source, feature.name if feature.part else ""
        written, tentative = feature.written.removesuffix("?"), feature.written.endswith("?")
        if feature.part in {*DATE_PARTS, "hour"}:
            column = columns.get(name)
            if not isinstance(column, DateColumn):
                dates = feature.part != "hour"  # the hour is the last feature of a date
                form = DateFormat.of(written) if dates else TIMES
                column = DateColumn(name, form, dates, missing=feature.missing, tentative=tentative)
                columns[name] = column
            column.clock = column.clock or feature.part == "hour"
        elif feature.values is None:
            numbers = NumberFormat.of(written)
            columns[name] = NumberColumn(name, feature.missing, numbers, tentative=tentative, feature=own)
        else:
            codes = Codes(feature.values, None if closed else most, feature.shared)
            declared = feature.written == NAMES
            columns[name] = NameColumn(name, codes, closed, feature.missing, declared=declared, feature=own)
    return columns


def encode(array: pa.Array, name: Any = label_of) -> tuple[NDArray[np.int64], list[str | None]]:
    """Return the code of the value in each row (-1: missing), and the label of each code."""
    encoded = array if pa.types.is_dictionary(array.type) else array.dictionary_encode()
    indices = encoded.indices
    if indices.null_count or pa.types.is_unsigned_integer(indices.type):
        indices = pc.fill_null(indices.cast(pa.int64()), -1)
    return np.asarray(indices), [name(value) for value in encoded.dictionary.to_pylist()]


def counts_of(array: pa.Array) -> dict[str, int]:
    """Return the number of occurrences of each label, excluding missing values."""
    codes, labels = encode(array)
    counts: dict[str, int] = {}
    for label, n in zip(labels, np.bincount(codes[codes >= 0], minlength=len(labels)).tolist(), strict=True):
        if label is not None and n:
            counts[label] = counts.get(label, 0) + n
    return counts


def _floats(array: pa.Array) -> Values:
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    if pa.types.is_boolean(array.type):
        array = array.cast(pa.int8())
    elif pa.types.is_decimal(array.type):  # via text, so that numbers are rounded only once
        array = array.cast(pa.string())
    elif pa.types.is_duration(array.type):
        micros = pc.cast(pc.cast(to_microseconds(array), pa.duration("us"), safe=False), pa.int64())
        array = pc.divide(pc.cast(micros, pa.float64(), safe=False), 1e6)
    values = pc.cast(array, pa.float64(), safe=False).to_numpy(zero_copy_only=False)
    return np.asarray(values, dtype=np.float64)


def trimmed(column: pa.Array, words: Words) -> pa.Array:
    """Trim the values of a text column, and replace strings that are read as missing values with null.

    If such a string is a number, every notation of this number becomes null. Dictionaries are returned
    unchanged, since they declare their names.
    """
    types = pa.types
    if types.is_integer(column.type) or types.is_floating(column.type) or types.is_decimal(column.type):
        if not words.numbers:
            return column
        numbers = pa.array(list(words.numbers), pa.float64())
        missing = pc.is_in(pc.cast(column, pa.float64(), safe=False), numbers)
        return pc.if_else(missing, pa.scalar(None, column.type), column)
    if not is_text(column.type) or types.is_dictionary(column.type):
        return column
    if pa.types.is_string_view(column.type):
        column = column.cast(pa.string())
    encoded = column.dictionary_encode()
    few = 2 * len(encoded.dictionary) < len(column)  # then trim each distinct string only once
    texts = encoded.dictionary if few else column
    names = pc.ascii_trim(texts, BLANKS)
    if words.numbers:
        missing = pa.array([name in words for name in names.to_pylist()], pa.bool_())
    else:
        missing = pc.is_in(names, pa.array(list(words), names.type))
    names = pc.if_else(missing, pa.scalar(None, names.type), names)
    if not few:
        return names
    return column if names.equals(texts) else names.take(encoded.indices)


def is_text(kind: pa.DataType) -> bool:
    """Return whether an Arrow type is text, or a dictionary of text."""
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def target_of(value: Any) -> float:
    """Convert a target to a number; raise `Refused` if it is missing or not a finite number."""
    text = isinstance(value, str)
    if text:
        value = value.strip(BLANKS)
    if is_missing(value) or (text and value in MISSING):
        raise Refused("label", "a missing value", NO_TARGET)
    number = None
    with suppress(Refused):
        number = parsed_number(value) if text else number_of("label", value)
    if number is None or not abs(number) <= LARGEST_TARGET:
        raise Refused("label", shown(value), f"be a finite number, at most {LARGEST_TARGET:g}")
    return number
