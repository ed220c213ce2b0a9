"""Conversion of parts to JSON data and back, for files that contain no code.

Only registered parts are created from a description. A user-defined part is described by its class name, and
must be passed as an argument when the file is loaded. A description can only call registered classes, with
plain data or with other parts as arguments.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from heros._base.errors import DataError, HerosError, ParameterError
from heros._base.registry.part import Part, parameters, parts

DEEPEST = 32
"""The maximum nesting depth of parts, well below Python's recursion limit."""


def described(part: object) -> dict[str, Any]:
    """Return the description of a part as plain data."""
    return _described(part, DEEPEST)


def _described(part: object, depth: int) -> dict[str, Any]:
    kind = type(part)
    if depth == 0:
        raise HerosError(f"The parts of a model must be nested at most {DEEPEST} levels deep.")
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
    """Create a part from its description, or return the `given` part if it has the same description."""
    if given is not None:
        if described(given) != description:
            rule = f"equal to the {role} in the file, {description}"
            raise ParameterError.of(role, "load", rule, described(given))
        return given
    return _part_from(description, role, DEEPEST)


def _part_from(description: object, role: str, depth: int) -> Any:
    if not isinstance(description, dict):
        raise DataError(f"The description of the {role} must be a mapping. Got {type(description).__name__}.")
    if depth == 0:
        raise DataError(f"The description of the {role} must be nested at most {DEEPEST} levels deep.")
    if "own" in description:
        own = description["own"]
        raise HerosError(f"The {role} {own} is not a class of HEROS. Pass the object as {role}=.")
    name = description.get("kind")
    kind = parts(role).get(name) if isinstance(name, str) else None
    if kind is None or not kind.plain:
        raise DataError(f"The description of the {role} must name a class of HEROS. Got {name!r} instead.")
    settings = {
        key: _nested_value(value, role, depth - 1) for key, value in description.items() if key != "kind"
    }
    try:
        return _constructed(kind, settings)
    except (TypeError, KeyError, ValueError, RecursionError) as error:
        rule = f"The description of {name} must have valid parameters."
        raise DataError(f"{rule} The error was: {error}") from None


def _nested_value(value: object, role: str, depth: int) -> object:
    """Return a value of a description, with each nested description replaced by the part it describes."""
    if isinstance(value, list):
        return [_nested_value(one, role, depth) for one in value]
    if isinstance(value, dict) and ("kind" in value or "own" in value):
        return _part_from(value, role, depth)
    return value


def _constructed(kind: Any, settings: dict[str, Any]) -> Any:
    """Create a part with the constructor of the class, or of the base class that defines the description."""
    marks = ("described_by", "__dataclass_fields__")  # the class itself must have one of these
    own = (base for base in kind.__mro__ if not vars(base).keys().isdisjoint(marks))
    maker: Any = next(own, kind)
    if maker is kind:
        return kind.from_settings(**settings)
    part = kind.__new__(kind)
    maker.__init__(part, **settings)
    return part


def own_part(part: object) -> Any:
    """Return the first user-defined part in `part` (or `part` itself) if its state can be saved; else None.

    The state can be saved if the part has ``state()``, which returns a mapping of names to arrays of
    numbers, and ``restore(state)``.
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
