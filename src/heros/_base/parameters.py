"""The rules most parameters follow."""

from __future__ import annotations

import math
import operator
from collections.abc import Container, Iterable
from typing import Any

import numpy as np

from heros.errors import ParameterError

__all__ = ["expect_list", "identifier", "number", "one_of", "positive", "seed", "whole"]


def whole(value: object, name: str, owner: str, low: int, high: int | None = None) -> int:
    """The value as an int, if it is a whole number in [low, high].

    Examples
    --------
    >>> whole(0, "size", "blocks", 1)
    Traceback (most recent call last):
        ...
    heros.errors.ParameterError: The 'size' parameter of blocks must be a whole number >= 1. Got 0 instead.
    """
    rule = f"a whole number >= {low}" if high is None else f"a whole number in [{low}, {high}]"
    result = _index(value)
    if result is None or result < low or (high is not None and result > high):
        raise ParameterError.of(name, owner, rule, value)
    return result


def seed(value: object, name: str, owner: str) -> int:
    """The value as an int, if java.util.Random takes it as its seed.

    Examples
    --------
    >>> seed(-7, "seed", "Agrawal")
    -7
    """
    result = _index(value)
    if result is None or not -(2**63) <= result < 2**63:
        raise ParameterError.of(name, owner, "a whole number of 64 bits", value)
    return result


def number(value: object, name: str, owner: str, low: float, high: float | None = None) -> float:
    """The value as a float, if it is a finite number in [low, high].

    Examples
    --------
    >>> number(0.05, "perturbation", "Agrawal", 0, 1)
    0.05
    """
    rule = f"a number >= {low:g}" if high is None else f"in [{low:g}, {high:g}]"
    try:
        if isinstance(value, bool | np.bool_ | np.ndarray | str | bytes):
            raise ParameterError.of(name, owner, rule, value)
        result = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        raise ParameterError.of(name, owner, rule, value) from None
    if not math.isfinite(result) or result < low or (high is not None and result > high):
        raise ParameterError.of(name, owner, rule, value)
    return result


def positive(value: object, name: str, owner: str, high: float | None = None, rule: str = "") -> float:
    """The value as a float, if it is a finite number above 0, at most `high`.

    Examples
    --------
    >>> positive(0.6, "features", "Forest", 1)
    0.6
    >>> positive(0, "features", "Forest", 1)
    Traceback (most recent call last):
        ...
    heros.errors.ParameterError: The 'features' parameter of Forest must be in (0, 1]. Got 0 instead.
    """
    try:
        result = number(value, name, owner, 0, high)
    except ParameterError:
        result = 0.0
    if result == 0:
        raise ParameterError.of(
            name, owner, rule or ("above 0" if high is None else f"in (0, {high:g}]"), value
        )
    return result


def one_of(value: str, name: str, owner: str, choices: Container[str], rule: str) -> str:
    """The value, if it is one of the choices.

    Examples
    --------
    >>> one_of("skip", "on_bad_row", "read", ("raise", "skip"), "'raise' or 'skip'")
    'skip'
    """
    if not isinstance(value, str) or value not in choices:
        known = choices if isinstance(choices, Iterable) else ()
        raise ParameterError.of(name, owner, rule, value, known)
    return value


def identifier(value: object, name: str, owner: str) -> str | int:
    """A text or a whole number under which something is kept, and found again.

    Examples
    --------
    >>> identifier("order 7", "id", "Me"), identifier(7, "id", "Me")
    ('order 7', 7)
    >>> identifier(1.5, "id", "Me")
    Traceback (most recent call last):
        ...
    heros.errors.ParameterError: The 'id' parameter of Me must be a string or a whole number. Got 1.5 instead.
    """
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise ParameterError.of(name, owner, "a string or a whole number", value)
    try:
        str(value).encode()
    except UnicodeEncodeError:
        raise ParameterError.of(name, owner, "text that can be written", value) from None
    return value


def expect_list(value: object, name: str, owner: str) -> list[Any]:
    """The value as a list, if it is a sequence other than a string.

    Examples
    --------
    >>> expect_list("abc", "nominal", "read")
    Traceback (most recent call last):
        ...
    heros.errors.ParameterError: The 'nominal' parameter of read must be a list. Got 'abc' instead.
    """
    if isinstance(value, str | bytes) or not isinstance(value, Iterable):
        raise ParameterError.of(name, owner, "a list", value)
    try:
        return list(value)
    except TypeError:  # an array without dimensions
        raise ParameterError.of(name, owner, "a list", value) from None


def _index(value: object) -> int | None:
    """The value as an int; None if it is no whole number."""
    if isinstance(value, bool | np.bool_ | np.ndarray):
        return None
    try:
        return operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        return None
