"""Imports of packages that only the league needs."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from heros.errors import MissingExtra

__all__ = ["package"]


def package(name: str, what: str) -> Any:
    """Import a package; if it is not installed, the error shows the install command.

    Examples
    --------
    >>> package("json", "A stream").__name__
    'json'
    >>> package("no_such_package", "This stream")
    Traceback (most recent call last):
        ...
    heros.errors.MissingExtra: This stream needs a package that is not installed: pip install no_such_package
    """
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        if error.name != name.partition(".")[0]:
            raise
        missing = f"{what} needs a package that is not installed: pip install {error.name}"
        raise MissingExtra(missing) from None
