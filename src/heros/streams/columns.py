"""From the columns of a table to numbers and codes."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from heros.lazy import pa, pc
from heros.schema import Feature
from heros.vocabulary import NUMBER, Codes, label_of, listed, natural_order

__all__ = ["Column", "Faults", "NominalColumn", "NumericColumn", "Values", "looks_numeric"]

Faults = dict[int, tuple[str, str]]
"""Rows of a column that break its rule: row -> (value, rule)."""

Values = NDArray[np.float64]


@dataclass
class NumericColumn:
    """A column of numbers.

    Examples
    --------
    >>> column = NumericColumn("age")
    >>> column.convert(pa.array(["18", None, "21.5"]))
    (array([18. ,  nan, 21.5]), {})
    >>> column.convert(pa.array(["18", "abc"]))[1]
    {1: ("'abc'", "be a number (or be named in 'nominal')")}
    """

    name: str
    missing: bool = False

    def convert(self, array: pa.Array) -> tuple[Values, Faults]:
        """The values, NaN where missing, and the rows that hold no finite number."""
        try:
            values = _floats(array)
        except pa.ArrowInvalid:
            return self._convert_each(array.to_pylist())
        if np.isinf(values).any() or (array.null_count < np.isnan(values).sum() and _is_text(array.type)):
            return self._convert_each(array.to_pylist())
        return values, {}

    def _convert_each(self, raw: Iterable[object]) -> tuple[Values, Faults]:
        """The same, one by one: where some value needs a closer look."""
        values: list[float] = []
        faults: Faults = {}
        for row, value in enumerate(raw):
            number = _number(value)
            if number is None:
                faults[row] = (repr(value), "be a number (or be named in 'nominal')")
            elif math.isinf(number):
                faults[row] = (repr(value), "be a finite number")
            values.append(math.nan if number is None else number)
        return np.array(values, dtype=np.float64), faults

    def adopt(self, values: Values) -> None:
        """Take note of the good rows of a block."""
        self.missing = self.missing or bool(np.isnan(values).any())

    def feature(self) -> Feature:
        """The column as a feature."""
        return Feature(self.name, None, self.missing)


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

    def learn(self, array: pa.Array) -> None:
        """Take the values of the first rows, sorted."""
        codes, labels = encode(array)
        present = (labels[code] for code in np.unique(codes[codes >= 0]))
        self.values = Codes(natural_order(label for label in present if label is not None))
        self.fresh = False

    def convert(self, array: pa.Array) -> tuple[Values, Faults]:
        """The codes, NaN where missing, and the rows that hold an unknown value."""
        codes, labels = encode(array)
        known = self.values
        for label in () if self.closed else self._unseen(codes, labels):
            known.add(label)
        table = np.array([math.nan if label is None else known.get(label, -1) for label in (*labels, None)])
        values = table[codes]  # a missing value has code -1: the last entry
        faults: Faults = {}
        for row in np.flatnonzero(values < 0):
            faults[int(row)] = (repr(labels[codes[row]]), f"be one of {listed(list(known))}")
        return values, faults

    def _unseen(self, codes: NDArray[np.int64], labels: Sequence[str | None]) -> list[str]:
        """The new labels that occur, in the order in which they occur."""
        unseen = [code for code, label in enumerate(labels) if label is not None and label not in self.values]
        if not unseen:
            return []
        present, first = np.unique(codes, return_index=True)
        when = dict(zip(present.tolist(), first.tolist(), strict=True))
        found = sorted((when[code], labels[code]) for code in unseen if code in when)
        return list(dict.fromkeys(label for _, label in found if label is not None))

    def adopt(self, values: Values) -> None:
        """Take note of the good rows of a block."""
        self.missing = self.missing or bool(np.isnan(values).any())

    def feature(self) -> Feature:
        """The column as a feature."""
        return Feature(self.name, tuple(self.values), self.missing)


def encode(array: pa.Array) -> tuple[NDArray[np.int64], list[str | None]]:
    """A code for each row (-1 = missing) and the label of each code."""
    encoded = array if pa.types.is_dictionary(array.type) else array.dictionary_encode()
    indices = encoded.indices
    codes = np.asarray(pc.fill_null(indices.cast(pa.int64()), -1))
    return codes, [label_of(value) for value in encoded.dictionary.to_pylist()]


def looks_numeric(array: pa.Array) -> bool:
    """Whether at least half of the values that are there are numbers (true if none is there)."""
    codes, labels = encode(array)
    counts = np.bincount(codes[codes >= 0], minlength=len(labels))
    numbers = sum(
        int(n) for n, label in zip(counts, labels, strict=True) if label and NUMBER.fullmatch(label)
    )
    return 2 * numbers >= int(counts.sum())


def _floats(array: pa.Array) -> Values:
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    if pa.types.is_boolean(array.type):
        array = array.cast(pa.int8())
    values = pc.cast(array, pa.float64(), safe=False).to_numpy(zero_copy_only=False)
    return np.asarray(values, dtype=np.float64)


def _number(value: object) -> float | None:
    """The value as a float; NaN if missing, None if it is not a number."""
    if value is None:
        return math.nan
    if isinstance(value, str):
        return float(value) if NUMBER.fullmatch(value) else None
    return float(value)  # type: ignore[arg-type]


def _is_text(kind: pa.DataType) -> bool:
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


Column = NumericColumn | NominalColumn
