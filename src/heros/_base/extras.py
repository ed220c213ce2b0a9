"""Imports of optional dependencies, with the install command in the error if one is missing."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from heros._base.errors import MissingExtra


def needed(module: str, what: str, extra: str) -> Any:
    """Import a module of an optional dependency.

    If its package is not installed, the error shows the install command. If the package is installed but one
    of its own dependencies is missing, the error of the package is raised.
    """
    package = module.partition(".")[0]
    try:
        import_module(package)
    except ModuleNotFoundError as error:
        if error.name != package:
            raise
        raise MissingExtra.of(what, extra) from None
    return import_module(module)
