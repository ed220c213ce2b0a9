"""Code shared by all checks: the error class and the comparison of two results."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from heros._base.errors import HerosError


class CheckError(HerosError, AssertionError):
    """The error that a check raises if a part breaks a rule."""


def expect(holds: object, part: object, rule: str, got: object = None) -> None:
    """Raise a CheckError with the rule if `holds` is false.

    Examples
    --------
    >>> expect(False, "Fair()", "choose at most 3 models", 5)
    Traceback (most recent call last):
        ...
    heros.checks.base.CheckError: 'Fair()' must choose at most 3 models. Got 5 instead.
    """
    if not holds:
        raise CheckError(f"{part!r} must {rule}." + ("" if got is None else f" Got {got!r} instead."))


def same(a: Any, b: Any) -> bool:
    """Return whether two values, arrays or mappings of arrays are equal; NaN equals NaN."""
    if isinstance(a, Mapping) and isinstance(b, Mapping):
        return a.keys() == b.keys() and all(same(a[name], b[name]) for name in a)
    one, two = np.asarray(a), np.asarray(b)
    floats = one.dtype.kind in "fc" and two.dtype.kind in "fc"
    return bool(np.array_equal(one, two, equal_nan=floats))
