"""From the columns of a table to numbers and codes."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from heros.errors import DataNotice
from heros.lazy import pa, pc
from heros.schema import Feature
from heros.streams.number_forms import Form
from heros.values import NUMBER, label_of, listed, natural_order
from heros.vocabulary import Codes, many_values

__all__ = [
    "NOT_A_TARGET",
    "Faults",
    "NominalColumn",
    "NumericColumn",
    "Values",
    "counts_of",
    "encode",
    "is_text",
]

Faults = dict[int, tuple[str, str]]
"""Rows of a column that break its rule: row -> (value, rule)."""

Values = NDArray[np.float64]
"""A number per row; of a column that makes several features, a row of them."""

NOT_A_NUMBER = "be a number (or be named in nominal=)"
NOT_EVEN_MISSING = "be a number (or be named in nominal=, or the word in missing=)"
NOT_A_TARGET = "be a number, for it is the target (or say task='classification')"


@dataclass
class NumericColumn:
    """A column of numbers.

    Examples
    --------
    >>> column = NumericColumn("age")
    >>> column.convert(pa.array(["18", None, "21.5"]))
    (array([18. ,  nan, 21.5]), {})
    >>> column.convert(pa.array(["18", "abc"]))[1]
    {1: ("'abc'", 'be a number (or be named in nominal=)')}
    >>> NumericColumn("price", form=Form(",", ".")).convert(pa.array(["1.200,50 €", "3"]))[0]
    array([1200.5,    3. ])
    """

    name: str
    missing: bool = False
    form: Form | None = None
    rule: str = NOT_A_NUMBER
    settled = True  # there are no values it has yet to learn

    def convert(self, array: pa.Array) -> tuple[Values, Faults]:
        """The values, NaN where missing, and the rows that hold no finite number."""
        if self.form is not None and is_text(array.type):
            return self._convert_each(array.to_pylist())
        try:
            values = _floats(array)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):  # text; a date
            return self._convert_each(array.to_pylist())
        if np.isinf(values).any() or (array.null_count < np.isnan(values).sum() and is_text(array.type)):
            return self._convert_each(array.to_pylist())
        return values, {}

    def _convert_each(self, raw: Iterable[object]) -> tuple[Values, Faults]:
        """The same, one by one: where some value needs a closer look."""
        values: list[float] = []
        faults: Faults = {}
        for row, value in enumerate(raw):
            number = _number(value, self.form)
            if number is None:
                faults[row] = (repr(value), self.rule)
            elif math.isinf(number):
                faults[row] = (repr(value), "be a finite number")
            values.append(math.nan if number is None else number)
        return np.array(values, dtype=np.float64), faults

    def adopt(self, values: Values) -> None:
        """Take note of the good rows of a block."""
        self.missing = self.missing or bool(np.isnan(values).any())

    @property
    def width(self) -> int:
        """How many features it makes."""
        return 1

    def features(self, size: int, missing: bool) -> list[Feature]:
        """The column as a feature."""
        return [Feature(self.name, None, missing, "" if self.form is None else self.form.written)]


@dataclass
class NominalColumn:
    """A column of names, turned into 0-based codes.

    Parameters
    ----------
    name
        Its name.
    values
        The names so far, and their codes.
    closed
        Whether these are all: another one breaks the rule. Otherwise it is appended.
    missing
        Whether values may be missing.
    fresh
        Whether the values are still to be learnt, from the first rows.
    rows
        How many rows were converted.

    Examples
    --------
    >>> column = NominalColumn("colour", Codes(["blue", "red"]))
    >>> column.convert(pa.array(["red", "green", None]))
    (array([ 1.,  2., nan]), {})
    >>> list(column.values)
    ['blue', 'red', 'green']
    """

    name: str
    values: Codes = field(default_factory=Codes)
    closed: bool = False
    missing: bool = False
    fresh: bool = False
    rows: int = 0

    def learn(self, array: pa.Array) -> None:
        """Take the values of the first rows, sorted; the most frequent ones if there are too many."""
        counts, most = counts_of(array), self.values.most
        self.fresh = False
        if most is None or len(counts) <= most:
            self.values = Codes(natural_order(counts), most)
            return
        frequent = sorted(natural_order(counts), key=lambda label: -counts[label])
        self.values = Codes(natural_order(frequent[: self.values.own]), most)
        self.values.share()
        warnings.warn(many_values(self.name, self.values), DataNotice, stacklevel=2)

    def convert(self, array: pa.Array) -> tuple[Values, Faults]:
        """The codes, NaN where missing, and the rows that hold an unknown value."""
        codes, labels = encode(array)
        known = self.values
        if not self.closed:
            self._append(codes, labels)
        places = (math.nan if label is None else known.code(label) for label in (*labels, None))
        table = np.array([-1 if place is None else place for place in places], dtype=np.float64)
        values = table[codes]  # a missing value has code -1: the last entry
        faults: Faults = {}
        for row in np.flatnonzero(values < 0):
            faults[int(row)] = (repr(labels[codes[row]]), f"be one of {listed(list(known))}")
        return values, faults

    def _append(self, codes: NDArray[np.int64], labels: Sequence[str | None]) -> None:
        """Take what is new; and say so where it is too much."""
        before = self.values.shared
        for row, label in [] if before else self._unseen(codes, labels):
            self.values.add(label, self.rows + row)
        self.rows += len(codes)
        if self.values.shared > before:
            warnings.warn(many_values(self.name, self.values), DataNotice, stacklevel=2)

    def _unseen(self, codes: NDArray[np.int64], labels: Sequence[str | None]) -> list[tuple[int, str]]:
        """The new labels that occur, each with the first row in which it does, in their order."""
        unseen = [code for code, label in enumerate(labels) if label is not None and label not in self.values]
        if not unseen:
            return []
        present, first = np.unique(codes, return_index=True)
        when = dict(zip(present.tolist(), first.tolist(), strict=True))
        found = sorted((when[code], labels[code] or "") for code in unseen if code in when)
        first_rows = {label: row for row, label in reversed(found)}
        return sorted((row, label) for label, row in first_rows.items())

    def adopt(self, values: Values) -> None:
        """Take note of the good rows of a block."""
        self.missing = self.missing or bool(np.isnan(values).any())

    @property
    def settled(self) -> bool:
        """Whether there are no values it has yet to learn."""
        return self.closed

    @property
    def width(self) -> int:
        """How many features it makes."""
        return 1

    def features(self, size: int, missing: bool) -> list[Feature]:
        """The column as a feature, of its first `size` values."""
        return [Feature(self.name, tuple(islice(self.values, size)), missing)]


def encode(array: pa.Array) -> tuple[NDArray[np.int64], list[str | None]]:
    """A code for each row (-1 = missing) and the label of each code."""
    encoded = array if pa.types.is_dictionary(array.type) else array.dictionary_encode()
    indices = encoded.indices
    codes = np.asarray(pc.fill_null(indices.cast(pa.int64()), -1))
    return codes, [label_of(value) for value in encoded.dictionary.to_pylist()]


def counts_of(array: pa.Array) -> dict[str, int]:
    """How often each value that is there occurs, by its name.

    Examples
    --------
    >>> counts_of(pa.array(["a", None, "b", "a"]))
    {'a': 2, 'b': 1}
    """
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
    values = pc.cast(array, pa.float64(), safe=False).to_numpy(zero_copy_only=False)
    return np.asarray(values, dtype=np.float64)


def _number(value: object, form: Form | None) -> float | None:
    """The value as a float; NaN if missing, None if it is not a number."""
    if value is None:
        return math.nan
    if isinstance(value, str):
        if form is not None:
            return form.number(value)
        return float(value) if NUMBER.fullmatch(value) else None
    try:
        return float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):  # a date
        return None


def is_text(kind: pa.DataType) -> bool:
    """Whether a type is one of text, encoded or not."""
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))
