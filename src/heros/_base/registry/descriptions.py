"""Parts as JSON knows them, and back: for files that hold no code.

Only parts of HEROS's own are made from a description. One of the user's own is described by the name of its
class: whoever opens the file has to bring it along. Nothing in a description is imported or called but the
classes registered here, with plain data or with parts made in the same way.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from heros._base.registry.part import Part, parameters, parts
from heros.errors import DataError, HerosError, ParameterError

__all__ = ["DEEPEST", "described", "own_part", "rebuilt"]

DEEPEST = 32
"""How many parts may be inside each other: more than anyone means, and less than Python's stack takes."""


def described(part: object) -> dict[str, Any]:
    """A part as plain data.

    Examples
    --------
    >>> from heros import policies
    >>> described(policies.Explore(policies.Zeta(0.05), 0.2))
    {'kind': 'Explore', 'policy': {'kind': 'Zeta', 'zeta': 0.05}, 'epsilon': 0.2}
    """
    return _described(part, DEEPEST)


def _described(part: object, depth: int) -> dict[str, Any]:
    kind = type(part)
    if depth == 0:
        raise HerosError(f"Parts must be inside each other at most {DEEPEST} deep. Got more.")
    if not _registered(kind):
        return {"own": f"{kind.__module__}.{kind.__qualname__}"}
    values = {name: _value(getattr(part, name), depth - 1) for name in parameters(kind)}
    return {"kind": kind.__name__, **values}


def _registered(kind: type[Any]) -> bool:
    return issubclass(kind, Part) and bool(kind.plain) and parts(kind.role).get(kind.__name__) is kind


def _value(value: Any, depth: int) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, tuple | list):
        return [_value(one, depth) for one in value]
    if isinstance(value, Mapping):
        return {name: _value(one, depth) for name, one in value.items()}
    return value if _is_plain(value) else _described(value, depth)


def rebuilt(description: object, role: str, given: Any = None) -> Any:
    """The part that a description describes; the `given` one, if it is the same.

    Examples
    --------
    >>> rebuilt({"kind": "Zeta", "zeta": 0.05}, "policy")
    Zeta(zeta=0.05)
    >>> rebuilt({"own": "shop.Fair"}, "policy")
    Traceback (most recent call last):
        ...
    heros.errors.HerosError: The policy shop.Fair is not one of HEROS's own: pass policy= to bring it along.
    """
    if given is not None:
        if described(given) != description:
            raise ParameterError.of(role, "load", f"the one in the file, {description}", described(given))
        return given
    return _built(description, role, DEEPEST)


def _built(description: object, role: str, depth: int) -> Any:
    """A part made of its description, and those inside it before it."""
    if not isinstance(description, dict):
        raise DataError(f"A description must be a mapping. Got {type(description).__name__} instead.")
    if depth == 0:
        raise DataError(f"A description must be at most {DEEPEST} parts deep. Got more.")
    if "own" in description:
        own = description["own"]
        raise HerosError(f"The {role} {own} is not one of HEROS's own: pass {role}= to bring it along.")
    name = description.get("kind")
    kind = parts(role).get(name) if isinstance(name, str) else None
    if kind is None or not kind.plain:
        raise DataError(f"A description must name a class of HEROS for the {role}. Got {name!r} instead.")
    settings = {key: _inside(value, role, depth - 1) for key, value in description.items() if key != "kind"}
    try:
        return _made(kind, settings)
    except (TypeError, KeyError, ValueError, RecursionError) as error:
        raise DataError(f"A description of {name} must have its parameters. Got: {error}.") from None


def _inside(value: object, role: str, depth: int) -> object:
    """A value of a description, with parts where it describes parts: of the role of the part around them."""
    if isinstance(value, list):
        return [_inside(one, role, depth) for one in value]
    if isinstance(value, dict) and ("kind" in value or "own" in value):
        return _built(value, role, depth)
    return value


def _made(kind: Any, settings: dict[str, Any]) -> Any:
    """Make a part by the constructor of the class that says what describes it, its own or one above it."""
    own = (base for base in kind.__mro__ if vars(base).get("described_by") or _is_own_dataclass(base))
    maker: Any = next(own, kind)
    if maker is kind:
        return kind.made_of(**settings)
    part = kind.__new__(kind)
    maker.__init__(part, **settings)
    return part


def _is_own_dataclass(kind: type) -> bool:
    """Whether a class is a dataclass itself, and not only below one."""
    return "__dataclass_fields__" in vars(kind)


def own_part(part: object) -> Any:
    """The user's own part, perhaps inside others, if it gives and takes back its state; else None.

    It does so with ``state()``, a mapping of names to arrays of numbers, and ``restore(state)``.
    """
    own = next(_own_parts(part, DEEPEST), None)
    return own if hasattr(own, "state") and hasattr(own, "restore") else None


def _own_parts(part: object, depth: int) -> Iterator[object]:
    kind = type(part)
    if not _registered(kind):
        yield part
        return
    for name in parameters(kind) if depth else ():
        value = getattr(part, name)
        for one in value if isinstance(value, tuple | list) else [value]:
            if not _is_plain(one) and not isinstance(one, Mapping | tuple | list):
                yield from _own_parts(one, depth - 1)


def _is_plain(value: object) -> bool:
    return value is None or isinstance(value, bool | int | float | str | np.generic)
