"""Values of rows as JSON knows them, and back: how files keep rows that wait for their labels."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from numbers import Real
from typing import Any

import numpy as np

from heros.data.values import is_missing

__all__ = ["plain_value", "value_of"]

MICROSECOND = timedelta(microseconds=1)
KINDS: dict[str, tuple[type, Callable[[Any], str], Callable[[str], Any]]] = {
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
"""Kinds of values that JSON does not have: their types, and from them to text and back."""


def plain_value(value: Any) -> Any:
    """Return a value, or a mapping of them, as JSON knows it; `value_of` makes one that is read alike.

    What JSON has itself stays as it is, and missing values are None. Other values are a list of their kind
    and their text. An empty list stands for what has no meaning as a feature, such as a list or bytes.

    Examples
    --------
    >>> plain_value({"size": 2.5, "when": date(2026, 10, 28), "price": Decimal("12.50"), "tags": ["a", "b"]})
    {'size': 2.5, 'when': ['date', '2026-10-28'], 'price': ['decimal', '12.50'], 'tags': []}
    >>> plain_value(float("nan")), plain_value(float("inf")), plain_value(timedelta(seconds=2))
    (None, ['number', 'inf'], ['microseconds', '2000000'])
    """
    value = _unboxed(value) if isinstance(value, np.generic) else value
    if isinstance(value, Mapping):
        return {str(name): plain_value(one) for name, one in value.items()}
    if is_missing(value):
        return None
    if isinstance(value, str | int):
        return value
    if isinstance(value, Real):
        value = float(value)
        if math.isfinite(value):
            return value
    return next(([kind, text(value)] for kind, (of, text, _) in KINDS.items() if isinstance(value, of)), [])


def _unboxed(value: np.generic) -> Any:
    """Return a value of NumPy's as one of Python's; dates and durations in microseconds."""
    if isinstance(value, np.datetime64 | np.timedelta64):
        value = value.astype(f"{value.dtype.kind}8[us]")
    return value.item()


def value_of(plain: Any) -> Any:
    """Return the value, or the mapping of values, that `plain_value` gave.

    Examples
    --------
    >>> value_of({"when": ["datetime", "2026-10-28T12:30:00"], "tags": [], "size": 2.5})
    {'when': datetime.datetime(2026, 10, 28, 12, 30), 'tags': [], 'size': 2.5}
    """
    if isinstance(plain, dict):
        return {name: value_of(one) for name, one in plain.items()}
    match plain:
        case [str(kind), str(text)] if kind in KINDS:
            return KINDS[kind][2](text)
    return plain
