"""From the columns of a table to numbers and codes."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from heros.lazy import pa, pc
from heros.schema import Feature

__all__ = [
    "NUMBER",
    "Column",
    "Faults",
    "NominalColumn",
    "NumericColumn",
    "Values",
    "label_of",
    "listed",
    "looks_numeric",
    "natural_order",
]

NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")

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
        The names so far, in the order of their codes.
    closed
        Whether these are all: another one breaks the rule. Otherwise it is appended.
    missing
        Whether values may be missing.
    fresh
        Whether the values are still to be learnt, from the first rows.

    Examples
    --------
    >>> column = NominalColumn("colour", ["blue", "red"])
    >>> column.convert(pa.array(["red", "green", None]))
    (array([ 1.,  2., nan]), {})
    >>> column.values
    ['blue', 'red', 'green']
    """

    name: str
    values: list[str] = field(default_factory=list)
    closed: bool = False
    missing: bool = False
    fresh: bool = False

    def learn(self, array: pa.Array) -> None:
        """Take the values of the first rows, sorted."""
        codes, labels = encode(array)
        present = (labels[code] for code in np.unique(codes[codes >= 0]))
        self.values = natural_order(label for label in present if label is not None)
        self.fresh = False

    def convert(self, array: pa.Array) -> tuple[Values, Faults]:
        """The codes, NaN where missing, and the rows that hold an unknown value."""
        codes, labels = encode(array)
        known = {value: code for code, value in enumerate(self.values)}
        if not self.closed:
            for label in self._unseen(codes, labels, known):
                known[label] = len(self.values)
                self.values.append(label)
        table = np.array([math.nan if label is None else known.get(label, -1) for label in (*labels, None)])
        values = table[codes]  # a missing value has code -1: the last entry
        faults: Faults = {}
        for row in np.flatnonzero(values < 0):
            faults[int(row)] = (repr(labels[codes[row]]), f"be one of {listed(self.values)}")
        return values, faults

    def _unseen(
        self, codes: NDArray[np.int64], labels: Sequence[str | None], known: dict[str, int]
    ) -> list[str]:
        """The new labels that occur, in the order in which they occur."""
        unseen = [code for code, label in enumerate(labels) if label is not None and label not in known]
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


def label_of(value: object) -> str | None:
    """The name of a nominal value or class; None if missing. Whole numbers have no decimal point.

    Examples
    --------
    >>> [label_of(value) for value in ("a", 3, 3.0, True, float("nan"), None)]
    ['a', '3', '3', 'True', None, None]
    """
    if value is None:
        return None
    if isinstance(value, float | np.floating):
        number = float(value)
        if math.isnan(number):
            return None
        return str(int(number)) if number.is_integer() else repr(number)
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return str(value)


def natural_order(labels: Iterable[str]) -> list[str]:
    """Labels in order: by value if all are numbers, else by the alphabet.

    Examples
    --------
    >>> natural_order(["10", "9", "1"]), natural_order(["b", "10", "9"])
    (['1', '9', '10'], ['10', '9', 'b'])
    """
    names = sorted(set(labels))
    if all(NUMBER.fullmatch(name) for name in names):
        names.sort(key=float)
    return names


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


def listed(values: Sequence[str], most: int = 10) -> str:
    """The values for a message, not all if there are many."""
    shown = ", ".join(repr(value) for value in values[:most])
    return shown if len(values) <= most else f"{shown}, … ({len(values)} values)"


Column = NumericColumn | NominalColumn
