"""Validation rules for parameters."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np

from heros._base.errors import ParameterError

LARGE = 1 << 20  # the documentation does not show upper limits of this size or larger


@dataclass(frozen=True, slots=True)
class Rule:
    """A validation rule for the value of a parameter."""

    text: str  # the rule in words: "a whole number in [1, 1000]"
    convert: Callable[[Any], Any]  # returns the converted value, or raises TypeError or ValueError
    fits: Callable[[Any], bool] = lambda value: True  # whether a converted value satisfies the rule
    brief: str = ""  # the rule for the documentation, without very large upper limits
    choices: Collection[str] = ()  # the allowed strings; an error message suggests the closest one
    none: bool = False  # whether None is allowed

    def check(self, value: Any, name: str, owner: str) -> Any:
        """Convert a value to the type of the parameter; raise a ParameterError if the value is invalid."""
        if value is None and self.none:
            return None
        try:
            result = self.convert(value)
        except (TypeError, ValueError, OverflowError):
            raise ParameterError.of(name, owner, self.text, value, self.choices) from None
        if not self.fits(result):
            raise ParameterError.of(name, owner, self.text, value, self.choices)
        return result


@cache
def whole_number(low: int, high: int | None = None) -> Rule:
    """Return a rule for a whole number in [low, high]."""
    at_least = f"a whole number >= {low}"
    text = at_least if high is None else f"a whole number in [{low}, {high}]"
    brief = text if high is None or high < LARGE else at_least
    return Rule(text, _index, lambda n: low <= n and (high is None or n <= high), brief)


@cache
def real_number(low: float, high: float | None = None) -> Rule:
    """Return a rule for a finite number in [low, high]."""
    text = f"a number >= {low:g}" if high is None else f"in [{low:g}, {high:g}]"
    return Rule(text, _real, lambda x: low <= x and (high is None or x <= high), text)


def above_zero(high: float | None = None) -> Rule:
    """Return a rule for a finite number in (0, high]."""
    text = "above 0" if high is None else f"in (0, {high:g}]"
    return Rule(text, _real, lambda x: x > 0 and (high is None or x <= high), text)


def inside_unit() -> Rule:
    """Return a rule for a number between 0 and 1, both excluded."""
    return Rule("in (0, 1)", _real, lambda x: 0 < x < 1, "in (0, 1)")


def among(*choices: str) -> Rule:
    """Return a rule for one of the given strings."""
    *others, last = map(repr, choices)
    text = f"{', '.join(others)} or {last}" if others else last
    return Rule(text, _word, lambda word: word in choices, text, choices)


def flag() -> Rule:
    """Return a rule for any value that converts to a boolean."""
    return Rule("True or False", bool)


def or_none(rule: Rule) -> Rule:
    """Return a rule that allows None in addition to the values of another rule."""
    brief = rule.brief and f"{rule.brief} or None"
    return replace(rule, text=f"{rule.text} or None", brief=brief, none=True)


def whole(value: object, name: str, owner: str, low: int, high: int | None = None) -> int:
    """Return the value as an int; raise a ParameterError unless it is a whole number in [low, high]."""
    result: int = whole_number(low, high).check(value, name, owner)
    return result


def seed(value: object, name: str, owner: str) -> int:
    """Return the value as an int; raise a ParameterError if it is not a valid seed of java.util.Random."""
    rule = Rule("a whole number of 64 bits", _index, lambda n: -(2**63) <= n < 2**63)
    result: int = rule.check(value, name, owner)
    return result


def number(value: object, name: str, owner: str, low: float, high: float | None = None) -> float:
    """Return the value as a float; raise a ParameterError unless it is finite and in [low, high]."""
    result: float = real_number(low, high).check(value, name, owner)
    return result


def positive(value: object, name: str, owner: str, high: float | None = None) -> float:
    """Return the value as a float; raise a ParameterError unless it is finite and in (0, high]."""
    result: float = above_zero(high).check(value, name, owner)
    return result


def one_of(value: object, name: str, owner: str, choices: Collection[str], text: str) -> str:
    """Return the value; raise a ParameterError unless it is one of the choices."""
    result: str = Rule(text, _word, lambda word: word in choices, text, choices).check(value, name, owner)
    return result


def identifier(value: object, name: str, owner: str) -> str | int:
    """Return an identifier; raise a ParameterError unless it is a string or a whole number."""
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise ParameterError.of(name, owner, "a string or a whole number", value)
    if isinstance(value, int) and value.bit_length() > 2048:  # Python may refuse to convert this to text
        raise ParameterError.of(name, owner, "a whole number with at most 600 digits", value)
    try:
        str(value).encode()
    except UnicodeEncodeError:
        raise ParameterError.of(name, owner, "text that can be encoded as UTF-8", value) from None
    return value


def expect_list(value: object, name: str, owner: str) -> list[Any]:
    """Return the value as a list; raise a ParameterError if it is a string or not iterable."""
    if isinstance(value, str | bytes) or not isinstance(value, Iterable):
        raise ParameterError.of(name, owner, "a list", value)
    try:
        return list(value)
    except TypeError:  # an array with no dimensions is not iterable
        raise ParameterError.of(name, owner, "a list", value) from None


def _index(value: object) -> int:
    if isinstance(value, bool | np.bool_ | np.ndarray):
        raise TypeError
    return operator.index(value)  # type: ignore[arg-type]


def _real(value: object) -> float:
    if isinstance(value, bool | np.bool_ | np.ndarray | str | bytes):
        raise TypeError
    result = float(value)  # type: ignore[arg-type]
    if not math.isfinite(result):
        raise ValueError
    return result


def _word(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value
