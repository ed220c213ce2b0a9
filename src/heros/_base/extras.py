"""Optional dependencies: imported where they are used, and missed with the command that installs them."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from heros.errors import MissingExtra

__all__ = ["needed"]


def needed(module: str, what: str, extra: str) -> Any:
    """A module of an optional dependency.

    Its package is looked for first: where it is not there, that is said with the install command. Where it
    is there but something that it needs itself is not, its own error is the better one and goes through.

    Examples
    --------
    >>> needed("json.decoder", "Reading JSON", "json").JSONDecoder.__name__
    'JSONDecoder'
    >>> needed("no_such_package.part", "This", "sklearn")
    Traceback (most recent call last):
        ...
    heros.errors.MissingExtra: This needs an extra that is not installed: pip install 'heros-learn[sklearn]'
    """
    package = module.partition(".")[0]
    try:
        import_module(package)
    except ModuleNotFoundError as error:
        if error.name != package:
            raise
        raise MissingExtra.of(what, extra) from None
    return import_module(module)
