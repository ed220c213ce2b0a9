"""One value as people write it: a number, a name, nothing at all, or refused."""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from heros.parameters import one_of

__all__ = [
    "LARGEST",
    "LARGEST_TARGET",
    "NUMBER",
    "Refused",
    "checked_task",
    "expect_no_fraction",
    "is_missing",
    "label_of",
    "listed",
    "natural_order",
    "number_of",
    "target_of",
]

NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
LARGEST = sys.float_info.max
LARGEST_TARGET = 1e100
"""Of numbers: their squares are reckoned with."""
TASKS = ("classification", "regression")


class Refused(Exception):
    """Column, value and rule of what is wrong with an instance."""

    def __init__(self, column: str | None, value: str, rule: str) -> None:
        self.column, self.value, self.rule = column, value, rule
        super().__init__(rule)


def is_missing(value: object) -> bool:
    """Whether there is no value."""
    return value is None or (isinstance(value, float | np.floating) and math.isnan(value))


def number_of(feature: str, value: Any) -> float:
    """A number that is finite, and not written as text."""
    try:
        number = math.nan if isinstance(value, str | bytes) else float(value)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if math.isnan(number):
        raise Refused(feature, repr(value), "be a number")
    if math.isinf(number):
        raise Refused(feature, repr(value), "be a finite number")
    return number


def checked_task(task: str | None, owner: str) -> str | None:
    """What the target is to be read as, if it is said."""
    if task is not None:
        one_of(task, "task", owner, TASKS, "'classification', 'regression' or None")
    return task


def target_of(value: Any) -> float:
    """A target that is a number, perhaps written as one in text.

    Examples
    --------
    >>> target_of("2.5"), target_of(3)
    (2.5, 3.0)
    >>> target_of("1_000")
    Traceback (most recent call last):
        ...
    heros.values.Refused: be a finite number, 1e+100 at most
    """
    if is_missing(value):
        raise Refused("label", "a missing value", "have a value: it is the target")
    try:  # what Python takes for a number in text is more than anybody means: 1_000, infinity
        number = float(value) if not isinstance(value, str | bytes) or _is_written(value) else math.nan
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not abs(number) <= LARGEST_TARGET:
        raise Refused("label", repr(value), f"be a finite number, {LARGEST_TARGET:g} at most")
    return number


def _is_written(text: str | bytes) -> bool:
    written = text.decode("utf-8", "replace") if isinstance(text, bytes) else text
    return NUMBER.fullmatch(written.strip()) is not None


def expect_no_fraction(label: object) -> None:
    """Refuse a number with decimals as the name of a class.

    Examples
    --------
    >>> expect_no_fraction("2.5"), expect_no_fraction(2.0)
    (None, None)
    >>> expect_no_fraction(2.5)
    Traceback (most recent call last):
        ...
    heros.values.Refused: be text or a whole number, for it is a class (task='regression' learns numbers)
    """
    if isinstance(label, float | np.floating) and not math.isnan(label) and not float(label).is_integer():
        rule = "be text or a whole number, for it is a class (task='regression' learns numbers)"
        raise Refused("label", repr(float(label)), rule)


def label_of(value: object) -> str | None:
    """The name of a nominal value or class; None if missing. Whole numbers have no decimal point.

    Examples
    --------
    >>> [label_of(value) for value in ("a", 3, 3.0, True, float("nan"), None)]
    ['a', '3', '3', 'True', None, None]
    """
    if type(value) is str or value is None:
        return value
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


def listed(values: Sequence[Any], most: int = 10) -> str:
    """The values for a message, not all if there are many."""
    shown = ", ".join(repr(value) for value in values[:most])
    return shown if len(values) <= most else f"{shown}, … ({len(values)} values)"
