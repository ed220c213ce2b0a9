"""What HEROS in River, scikit-learn and CapyMOA has in common: the settings of `heros.Heros`."""

from __future__ import annotations

import inspect
from typing import Any

from heros.ensemble import Heros

__all__ = ["SETTINGS", "heros_of"]

SETTINGS = tuple(name for name in inspect.signature(Heros).parameters if name not in {"task", "schema"})
"""The settings that every drop-in has, under the same name unless its library uses that name itself."""


def heros_of(owner: object, **more: Any) -> Heros:
    """Return the ensemble that the attributes of a drop-in describe; `more` takes precedence.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> heros_of(SimpleNamespace(k=3, warmup=7), seed=1).warmup
    7
    """
    return Heros(**{name: getattr(owner, name) for name in SETTINGS if hasattr(owner, name)} | more)
