"""Interpretation of single raw values as numbers, names, dates or missing values."""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from fractions import Fraction
from numbers import Real
from typing import Any, Literal, Self

import numpy as np

from heros._base.errors import DataError, ParameterError
from heros._base.parameters import one_of

NUMBER = re.compile(r"[+-]?(\d++(\.\d*+)?|\.\d++)([eE][+-]?\d++)?")
"""A number in the default format. Possessive quantifiers make matching take linear time."""

LARGEST = sys.float_info.max
MOST_BITS = 2048
"""The maximum size of a whole number in bits; Python may refuse to convert larger numbers to text."""
LARGEST_TARGET = 1e100
"""The largest numeric target; its square must be finite."""
NO_TARGET = "have a value, because it is the target"
"""The rule for rows without a target. These rows are skipped, but they are not counted as bad rows."""

SHOWN = 200
"""The maximum length of a value in a message, in characters."""

DEEPEST = 100
"""The maximum nesting depth of lists and objects in a row. Rows with deeper nesting cannot be stored."""
NESTED = frozenset({dict, list})

BLANKS = " \t"
"""Characters that are trimmed from both ends of a value."""

MISSING = ("", "?", "NA", "N/A", "n/a", "#N/A", "NaN", "nan", "null", "NULL", "None", "-")
"""Strings that are read as missing values."""

MISSING_TYPES = frozenset({"NoneType", "NaTType", "NAType"})
"""Names of types whose values are always missing. Names work even if pandas is not installed."""

BOOLEANS = {"true": "True", "false": "False"}
"""The boolean values in lower case, and their names in a schema."""

Kind = Literal["missing", "number", "text", "boolean", "moment", "none"]
"""The kind of a value according to its type; "none" means that no feature can hold the value."""


class Refused(Exception):
    """Error for an unreadable value; it names the column, the value, and the rule that the value violates."""

    def __init__(self, column: str | None, value: str, rule: str) -> None:
        self.column, self.rule = column, rule
        self.value = value if len(value) <= SHOWN else f"{value[:SHOWN]}…"
        super().__init__(rule)

    def error(self, at: int | None = None) -> DataError:
        """Return the error for the user; `at` is the index of the row if there are several rows."""
        if self.column == "label":
            what = "The label" if at is None else f"The label of row {at}"
        elif self.column is None:
            what = "The instance" if at is None else f"X, row {at + 1}:"
        else:
            what = f"The feature {self.column!r}" if at is None else f"X, row {at + 1}: {self.column!r}"
        return DataError(f"{what} must {self.rule}. Got {self.value} instead.")


class NothingKnown(Refused):
    """Error for a row without known features, which cannot be predicted."""

    def error(self, at: int | None = None) -> DataError:
        """Return the error for the user."""
        return DataError(f"A row must {self.rule}. Got {self.value} instead.")


class NotAClass(Refused):
    """Error for a class label with decimals, which suggests a wrong task rather than a bad row."""


def is_missing(value: object) -> bool:
    """Return whether a value is None, NaN, NaT or pandas' NA."""
    if value is None:
        return True
    if isinstance(value, float | np.floating):
        return math.isnan(value)
    if isinstance(value, Decimal):
        return value.is_nan()
    if isinstance(value, np.datetime64 | np.timedelta64):
        return bool(np.isnat(value))
    return type(value).__name__ in MISSING_TYPES


class Words(frozenset[str]):
    """Strings that are read as missing values; a number among these strings matches in any notation.

    Examples
    --------
    >>> "-999.00" in Words(["unknown", "-999"]), "-99" in Words(["unknown", "-999"])
    (True, False)
    >>> Words(["unknown", "-999"]).numbers
    frozenset({-999.0})
    """

    numbers: frozenset[float]

    def __new__(cls, words: Iterable[str] = ()) -> Self:
        """Create the set and find its numbers. Without numbers, the set keeps the fast `frozenset` lookup."""
        found = frozenset(words)
        numbers = frozenset(float(word) for word in found if NUMBER.fullmatch(word))
        kind: Any = _WordsWithNumbers if numbers else cls
        self: Self = super().__new__(kind, found)
        self.numbers = numbers
        return self


class _WordsWithNumbers(Words):
    def __contains__(self, text: object) -> bool:
        if super().__contains__(text):
            return True
        return isinstance(text, str) and bool(NUMBER.fullmatch(text)) and float(text) in self.numbers


def kind_of(value: object) -> Kind:
    """Return the kind of a value according to its type.

    Examples
    --------
    >>> [kind_of(value) for value in (1, Decimal("2.5"), "red", True, date(2026, 10, 28), None, [1])]
    ['number', 'number', 'text', 'boolean', 'moment', 'missing', 'none']
    """
    if isinstance(value, str):
        return "text"
    if is_missing(value):
        return "missing"
    if isinstance(value, bool | np.bool_):
        return "boolean"
    if isinstance(value, timedelta | np.timedelta64 | Real | Decimal):
        return "none" if isinstance(value, int | Fraction) and _is_huge(value) else "number"
    return "moment" if isinstance(value, date | time | np.datetime64) else "none"


def _is_huge(value: int | Fraction) -> bool:
    """Return whether a number has so many digits that Python may refuse to convert it to text."""
    return max(value.numerator.bit_length(), value.denominator.bit_length()) > MOST_BITS


def number_of(feature: str, value: Any) -> float:
    """Convert a number, or a duration (in seconds), to a finite float; raise `Refused` if impossible."""
    try:
        if hasattr(value, "to_timedelta64"):  # pandas has nanoseconds, unlike columns of frames
            value = value.to_timedelta64()
        if isinstance(value, np.timedelta64):
            number = int(value.astype("timedelta64[us]").astype(np.int64)) / 1e6
        else:
            number = value.total_seconds() if isinstance(value, timedelta) else float(value)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not math.isfinite(number):
        raise Refused(feature, shown(value), "be a number" if math.isnan(number) else "be a finite number")
    return number


def checked_task(task: str | None, owner: str) -> str | None:
    """Validate the task; raise a ParameterError if it is unknown."""
    tasks, rule = ("classification", "regression"), "'classification', 'regression' or None"
    return None if task is None else one_of(task, "task", owner, tasks, rule)


def expect_no_fraction(label: object, *, sure: bool = False) -> None:
    """Raise `NotAClass` if a label is a number with decimals; raise `Refused` if the label is infinite.

    `sure` means that labels are certainly classes; a label with decimals then only makes its row a bad row.
    """
    if isinstance(label, float | np.floating) and not math.isnan(label) and not float(label).is_integer():
        rule = "be text or a whole number"
        if math.isinf(label) or sure:  # one bad row does not show that the task is wrong
            raise Refused("label", repr(float(label)), rule)
        why = "because it is a class (task='regression' predicts numbers)"
        raise NotAClass("label", repr(float(label)), f"{rule}, {why}")


def enum_value(value: Any) -> Any:
    """Return the value of a member of an enum of strings or whole numbers; other values unchanged.

    Examples
    --------
    >>> from enum import Enum
    >>> Colour, Size = Enum("Colour", {"RED": "red"}, type=str), Enum("Size", {"L": 3}, type=int)
    >>> str(Colour.RED), enum_value(Colour.RED), enum_value(Size.L), enum_value(True), enum_value(2.5)
    ('Colour.RED', 'red', 3, True, 2.5)
    """
    if isinstance(value, str):
        return str.__str__(value)
    return int.__int__(value) if isinstance(value, int) and not isinstance(value, bool) else value


def text_of(value: object) -> str:
    """Return a value as text; a member of an enum is represented by its value, not by its name."""
    return str(enum_value(value))


def label_of(value: object) -> str | None:
    """Return the name of a class or nominal value without a trailing ``.0``, or None if it is missing.

    Examples
    --------
    >>> [label_of(value) for value in ("a", 3, 3.0, True, float("nan"), None)]
    ['a', '3', '3', 'True', None, None]
    >>> label_of(Decimal("2.50")), label_of(timedelta(hours=1))
    ('2.5', '3600')
    """
    if type(value) is str or value is None:
        return value
    if isinstance(value, str):
        return text_of(value)
    if isinstance(value, Decimal | timedelta | np.timedelta64) and not is_missing(value):
        with suppress(Refused):  # for example, Decimal("Infinity")
            value = number_of("", value)
    if isinstance(value, float | np.floating):
        number = float(value)
        if math.isnan(number):
            return None
        return str(int(number)) if number.is_integer() else repr(number)
    return None if is_missing(value) else text_of(value)


def name_of(value: object) -> str | None:
    """Return the name of a nominal value, or None if it is missing; True and "true" have the same name.

    Examples
    --------
    >>> [name_of(value) for value in (" red", 3.0, True, "TRUE", "false")]
    ['red', '3', 'True', 'True', 'False']
    """
    if (name := label_of(value)) is None:
        return None
    name = name.strip(BLANKS)
    return BOOLEANS.get(name.lower(), name) if len(name) <= 5 else name  # `lower` is slow for long names


def natural_order(labels: Iterable[str]) -> list[str]:
    """Return the distinct names, sorted numerically if all are numbers, else alphabetically."""
    names = sorted(set(labels))
    if all(NUMBER.fullmatch(name) for name in names):
        names.sort(key=float)
    return names


def checked_words(words: Sequence[str]) -> tuple[str, ...]:
    """Validate the strings that are read as missing values, and remove duplicates.

    Examples
    --------
    >>> checked_words(["unknown", "-999", "unknown"])
    ('unknown', '-999')
    """
    if isinstance(words, str) or not all(isinstance(word, str) for word in words):
        raise ParameterError.of("missing", "read", "a list of words, e.g. ['unknown', '-999']", words)
    return tuple(dict.fromkeys(words))


def listed(values: Sequence[Any], most: int = 10) -> str:
    """Format values for a message; only the first `most` values are shown."""
    shown = ", ".join(repr(value) for value in values[:most])
    return shown if len(values) <= most else f"{shown}, … ({len(values)} values)"


def shown(value: object) -> str:
    """Format a value for an error message; only the type of a list or a mapping is shown."""
    if kind_of(value) != "none":
        return repr(value)
    return "a number with very many digits" if isinstance(value, Real) else f"a {type(value).__name__}"


# -- values as JSON data, as stored in files for rows that wait for their labels --------------------------

MICROSECOND = timedelta(microseconds=1)
OTHER_KINDS: dict[str, tuple[type, Callable[[Any], str], Callable[[str], Any]]] = {
    "datetime": (datetime, datetime.isoformat, datetime.fromisoformat),
    "date": (date, date.isoformat, date.fromisoformat),
    "time": (time, time.isoformat, time.fromisoformat),
    "decimal": (Decimal, str, Decimal),
    "microseconds": (
        timedelta,
        lambda value: str(value // MICROSECOND),
        lambda text: int(text) * MICROSECOND,
    ),
    "number": (float, repr, float),
}
"""The types of values that JSON lacks, by name, with their conversions to strings and back."""


def is_deep(value: Any) -> bool:
    """Return whether lists and objects are nested more than `DEEPEST` levels deep.

    Examples
    --------
    >>> import json
    >>> is_deep(json.loads("[" * 100 + "]" * 100)), is_deep(json.loads("[" * 101 + "]" * 101))
    (False, True)
    """
    level = [value]
    for _ in range(DEEPEST + 1):
        level = [one for one in level if type(one) in NESTED]
        if not level:
            return False
        level = [inner for one in level for inner in (one.values() if type(one) is dict else one)]
    return True


def plain_value(value: Any) -> Any:
    """Convert a value, or a mapping of values, to JSON data; `value_of` converts the JSON data back.

    JSON types are unchanged, and missing values become None. Other values become a list of two strings, the
    type and the value. A value that cannot be a feature, such as a list or bytes, becomes an empty list.

    Examples
    --------
    >>> plain_value({"size": 2.5, "when": date(2026, 10, 28), "price": Decimal("12.50"), "tags": ["a", "b"]})
    {'size': 2.5, 'when': ['date', '2026-10-28'], 'price': ['decimal', '12.50'], 'tags': []}
    >>> plain_value(float("nan")), plain_value(float("inf")), plain_value(timedelta(seconds=2))
    (None, ['number', 'inf'], ['microseconds', '2000000'])
    """
    if isinstance(value, np.datetime64 | np.timedelta64):
        value = value.astype(f"{value.dtype.kind}8[us]")  # the resolution of Python's types
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, Mapping):
        return {text_of(name): plain_value(one) for name, one in value.items()}
    if is_missing(value):
        return None
    if isinstance(value, str | int):
        return [] if kind_of(value) == "none" else enum_value(value)
    if isinstance(value, Real):
        value = float(value)
        if math.isfinite(value):
            return value
    kinds = OTHER_KINDS.items()
    return next(([kind, text(value)] for kind, (of, text, _) in kinds if isinstance(value, of)), [])


def value_of(plain: Any) -> Any:
    """Convert the result of `plain_value` back to the value or the mapping of values."""
    if isinstance(plain, dict):
        return {name: value_of(one) for name, one in plain.items()}
    match plain:
        case [str(kind), str(text)] if kind in OTHER_KINDS:
            return OTHER_KINDS[kind][2](text)
    return plain
