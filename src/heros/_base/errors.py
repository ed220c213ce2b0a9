"""The exceptions that HEROS raises.

::

    Exception
    └── HerosError
        ├── ParameterError (ValueError)   a parameter has an invalid value
        ├── DataError (ValueError)        an instance, label or file does not match the schema
        └── MissingExtra (ImportError)    an optional dependency is not installed

`DataNotice` is a warning about a column that may be read in an unexpected way.
The message of a `ParameterError` names the parameter, the rule and the value.

>>> raise ParameterError.of("zeta", "Zeta", "in [0, 1]", 1.5)
Traceback (most recent call last):
    ...
heros.ParameterError: The 'zeta' parameter of Zeta must be in [0, 1]. Got 1.5 instead.

The message also suggests the `known` name that is closest to the value.

>>> print(ParameterError.of("target", "read", "a column", "lable", ["age", "label"]))
The 'target' parameter of read must be a column. Got 'lable' instead. Did you mean 'label'?

The message of a `MissingExtra` contains the command that installs the packages.

>>> print(MissingExtra.of("Reading Excel files", "excel"))
Reading Excel files needs packages that are not installed (extra 'excel'). Install them with: pip install
'openpyxl>=3.1'
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Self

__all__ = ["DataError", "DataNotice", "HerosError", "MissingExtra", "ParameterError", "WaitNotice"]

LONGEST = 2000  # maximum length of a rule or a value in a message; longer strings are shortened


class HerosError(Exception):
    """Base class of all errors that HEROS raises."""


class ParameterError(HerosError, ValueError):
    """A parameter has an invalid value."""

    @classmethod
    def of(cls, name: str, owner: str, rule: str, value: object, known: Iterable[str] = ()) -> Self:
        """Return an error with the standard message; long strings are shortened in the middle."""
        got = _short(_repr(value))
        text = f"The {name!r} parameter of {owner} must be {_short(rule)}. Got {got} instead."
        return cls(text + did_you_mean(value, known))


def did_you_mean(value: object, known: Iterable[str], likeness: float = 0.65) -> str:
    """Return a sentence that suggests the closest known name, or an empty string if no name is close.

    `likeness` is the minimum similarity of a suggestion, as in `difflib.get_close_matches`.
    """
    if not isinstance(value, str) or len(value) > LONGEST:
        return ""
    from difflib import get_close_matches  # noqa: PLC0415  needed only for errors

    plain = {name.strip().lower(): name for name in reversed(list(known))}
    close = get_close_matches(value.strip().lower(), plain, 1, likeness)
    return f" Did you mean {plain[close[0]]!r}?" if close else ""


def _repr(value: object) -> str:
    try:
        return repr(value)
    except Exception as error:  # for example, Python does not print whole numbers of more than 4,300 digits
        return f"{type(value).__name__} ({error})"


def _short(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[: LONGEST // 2]} … {text[-LONGEST // 2 :]}"


class DataError(HerosError, ValueError):
    """An instance, a label or a file does not match the schema."""


class DataNotice(UserWarning):
    """A warning about a column that may be read in an unexpected way."""


class WaitNotice(UserWarning):
    """A warning that training is delayed until a given time, or that the carbon intensity is unknown."""


class MissingExtra(HerosError, ImportError):
    """An optional dependency is not installed."""

    @classmethod
    def of(cls, what: str, extra: str) -> Self:
        """Return the error with a command that installs the packages of the extra."""
        from importlib.metadata import requires  # noqa: PLC0415  needed only for errors

        marker = f'extra == "{extra}"'
        lines = [line.replace("'", '"').partition(";") for line in requires("heros-learn") or ()]
        found = [package.strip() for package, _, condition in lines if condition.strip() == marker]
        command = " ".join(f"'{package}'" for package in found)
        needed = f"{what} needs packages that are not installed (extra {extra!r})."
        return cls(f"{needed} Install them with: pip install {command}")


for _name in __all__:
    globals()[_name].__module__ = "heros"  # tracebacks then show the name that users import
