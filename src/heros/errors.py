"""The exceptions HEROS raises on purpose.

::

    Exception
    └── HerosError
        ├── ParameterError (ValueError)   a parameter breaks its rule
        ├── DataError (ValueError)        an instance, label or file breaks the schema
        └── MissingExtra (ImportError)    an optional dependency is not installed

Every text has one form: the parameter, the rule, the value.

>>> raise ParameterError.of("zeta", "Zeta", "in [0, 1]", 1.5)
Traceback (most recent call last):
    ...
heros.errors.ParameterError: The 'zeta' parameter of Zeta must be in [0, 1]. Got 1.5 instead.
"""

from __future__ import annotations

from typing import Self

__all__ = ["DataError", "HerosError", "MissingExtra", "ParameterError"]

LONGEST = 2000  # characters of a rule or a value in a message


class HerosError(Exception):
    """Base class of all errors HEROS raises on purpose."""


class ParameterError(HerosError, ValueError):
    """A parameter breaks its rule."""

    @classmethod
    def of(cls, name: str, owner: str, rule: str, value: object) -> Self:
        """The error in its one form; of what is too long to read, its beginning and end."""
        return cls(
            f"The {name!r} parameter of {owner} must be {_short(rule)}. Got {_short(repr(value))} instead."
        )


def _short(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[: LONGEST // 2]} … {text[-LONGEST // 2 :]}"


class DataError(HerosError, ValueError):
    """An instance, a label or a file breaks the schema."""


class MissingExtra(HerosError, ImportError):
    """An optional dependency is not installed."""

    @classmethod
    def of(cls, what: str, extra: str) -> Self:
        """The error with the command that mends it."""
        return cls(f"{what} needs an extra that is not installed: pip install 'heros-learn[{extra}]'")
