"""Imports of packages that only the league needs."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from heros import MissingExtra

__all__ = ["file_of", "package"]


def package(name: str, what: str) -> Any:
    """Import a package; if it is not installed, the error shows the install command.

    Examples
    --------
    >>> package("json", "A stream").__name__
    'json'
    >>> package("no_such_package", "This stream")
    Traceback (most recent call last):
        ...
    heros.MissingExtra: This stream needs a package that is not installed: pip install no_such_package
    """
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        if error.name != name.partition(".")[0]:
            raise
        raise _missing(error.name, what) from None


def file_of(name: str, path: str, what: str) -> Path:
    """Return a file of an installed package, without importing the package.

    Examples
    --------
    >>> file_of("json", "decoder.py", "This stream").name
    'decoder.py'
    """
    spec = find_spec(name)
    if spec is None or not spec.submodule_search_locations:
        raise _missing(name, what)
    return Path(spec.submodule_search_locations[0], path)


def _missing(name: str, what: str) -> MissingExtra:
    return MissingExtra(f"{what} needs a package that is not installed: pip install {name}")
