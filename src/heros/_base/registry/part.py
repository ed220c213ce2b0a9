"""The parts of a model, such as pools and policies. A part is registered when its class is defined."""

from __future__ import annotations

import inspect
import re
import sys
from dataclasses import fields, is_dataclass
from importlib import import_module
from typing import Any, ClassVar

HOMES = {
    "answer": "heros.ensemble.watch",
    "measure": "heros.measures",
    "meter": "heros.meters",
    "policy": "heros.policies",
    "pool": "heros.pools",
    "score": "heros.scores",
    "task": "heros.ensemble.task",
}
"""The module that exports the parts of each role; imported on first use."""

_defined: list[type[Part]] = []


class Part:
    """The base class of all parts that files, records and the command line identify by class name.

    The base class of each role (`heros.pools.Pool`, `heros.scores.Score`, ...) is a subclass that sets
    `role`. Each of its subclasses in a HEROS module is registered when the class is defined. A user-defined
    class can be used like a part, but is never created from a file.

    Examples
    --------
    >>> from heros import policies
    >>> policies.Zeta.role, parameters(policies.Zeta), parts("policy")["Zeta"]
    ('policy', ('zeta',), <class 'heros.policies.zeta.Zeta'>)
    """

    role: ClassVar[str] = ""
    """The role in a model: "policy", "score", "pool", ..."""

    written: ClassVar[str] = ""
    """The name in records and on the command line; by default derived from the class name, as in
    `cand_as_published`."""

    described_by: ClassVar[tuple[str, ...]] = ()
    """The attributes that describe the part, if they are not its dataclass fields. The class that sets this
    attribute takes them as arguments. Its subclasses may have other arguments: a grid is stored as its
    configurations."""

    suffix: ClassVar[str] = ""
    """For a part that wraps another part: the separator between their numbers, as in ``zeta:0.05@0.2``."""

    plain: ClassVar[bool] = True
    """Whether files and checkpoints can store the part as plain data."""

    @classmethod
    def from_settings(cls, **settings: Any) -> Any:
        """Create a part of this class from its description."""
        return cls(**settings)

    def __init_subclass__(cls, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        if "role" not in vars(cls) and _package(cls) == _package(Part):
            _defined.append(cls)


def _package(kind: type) -> str:
    return kind.__module__.partition(".")[0]


def parts(role: str) -> dict[str, type[Any]]:
    """Return the parts of a role by class name, in alphabetical order."""
    if role in HOMES:
        import_module(HOMES[role])
    kinds = (kind for kind in _defined if kind.role == role and not inspect.isabstract(kind))
    named = {kind.__name__: kind for kind in kinds if _in_its_module(kind)}
    return dict(sorted(named.items()))


def plain_parts(role: str) -> dict[str, type[Any]]:
    """Return the parts with the given role that can be stored in a file."""
    return {name: kind for name, kind in parts(role).items() if kind.plain}


def _in_its_module(kind: type) -> bool:
    """Return whether the class is defined at the top level of its module, not in a function or an example."""
    return getattr(sys.modules.get(kind.__module__), kind.__name__, None) is kind


def parameters(kind: type[Any]) -> tuple[str, ...]:
    """Return the names of the attributes that describe an instance of this class."""
    described_by: tuple[str, ...] = getattr(kind, "described_by", ())
    if described_by or not is_dataclass(kind):
        return described_by
    return tuple(field.name for field in fields(kind) if field.init)


def name_of(kind: type[Any]) -> str:
    """Return the name of a part, or of a user-defined class, in records and on the command line."""
    return getattr(kind, "written", "") or re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", kind.__name__).lower()
