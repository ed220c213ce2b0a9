"""The parts a model is made of: each is registered by being defined."""

from __future__ import annotations

import inspect
import re
import sys
from dataclasses import fields, is_dataclass
from importlib import import_module
from typing import Any, ClassVar

__all__ = ["Part", "name_of", "parameters", "parts", "plain_parts"]

HOMES = {
    "answer": "heros.ensemble.watch",
    "measure": "heros.measures",
    "meter": "heros.meters",
    "policy": "heros.policies",
    "pool": "heros.pools",
    "score": "heros.scores",
    "task": "heros.ensemble.task",
}
"""Where the parts of each role are exported; imported when somebody asks for them."""

_defined: list[type[Part]] = []


class Part:
    """Something that models, files, records and the command line know by its class.

    The base class of each role (`heros.pools.Pool`, `heros.scores.Score`, ...) is a subclass that says its
    `role`; every class below one of them, in a module of HEROS, is a part from the moment it is defined.
    A class of the user's own is not: it works like one, but is never made from a file.

    Examples
    --------
    >>> from heros import policies
    >>> policies.Zeta.role, parameters(policies.Zeta), parts("policy")["Zeta"]
    ('policy', ('zeta',), <class 'heros.policies.zeta.Zeta'>)
    """

    role: ClassVar[str] = ""
    """What it is to a model: "policy", "score", "pool", ..."""

    written: ClassVar[str] = ""
    """How records and the command line call it; by default its class's name: `cand_as_published`."""

    described_by: ClassVar[tuple[str, ...]] = ()
    """What it takes to make it anew, if not the fields of its dataclass: attributes of it, which are also
    arguments of the class that says this (not of classes below it: a grid is stored as what it came to)."""

    suffix: ClassVar[str] = ""
    """If it is a part around another one: what separates their numbers in text, as in ``zeta:0.05@0.2``."""

    plain: ClassVar[bool] = True
    """Whether it is plain data, which files and checkpoints can hold."""

    @classmethod
    def made_of(cls, **settings: Any) -> Any:
        """A part of this class from what it is described by."""
        return cls(**settings)

    def __init_subclass__(cls, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        if "role" not in vars(cls) and _package(cls) == _package(Part):
            _defined.append(cls)


def _package(kind: type) -> str:
    return kind.__module__.partition(".")[0]


def parts(role: str) -> dict[str, type[Any]]:
    """The parts of a role by the names of their classes, in the order of the alphabet.

    Examples
    --------
    >>> list(parts("score"))
    ['Adwin', 'Cumulative', 'Fading', 'Window']
    """
    if role in HOMES:
        import_module(HOMES[role])
    kinds = (kind for kind in _defined if kind.role == role and not inspect.isabstract(kind))
    named = {kind.__name__: kind for kind in kinds if _in_its_module(kind)}
    return dict(sorted(named.items()))


def plain_parts(role: str) -> dict[str, type[Any]]:
    """Those that files can hold."""
    return {name: kind for name, kind in parts(role).items() if kind.plain}


def _in_its_module(kind: type) -> bool:
    """Whether it is what its module has under that name; what a function or an example defines is not."""
    return getattr(sys.modules.get(kind.__module__), kind.__name__, None) is kind


def parameters(kind: type[Any]) -> tuple[str, ...]:
    """What it takes to make a part of this class.

    Examples
    --------
    >>> from heros import pools
    >>> parameters(pools.HoeffdingGrid)
    ('configurations', 'costs')
    """
    described_by: tuple[str, ...] = getattr(kind, "described_by", ())
    if described_by or not is_dataclass(kind):
        return described_by
    return tuple(field.name for field in fields(kind) if field.init)


def name_of(kind: type[Any]) -> str:
    """How records and the command line call a part, or a class of the user's own.

    Examples
    --------
    >>> from heros import policies, pools
    >>> name_of(policies.CandAsPublished), name_of(pools.MLPGrid)
    ('cand_as_published', 'mlp')
    """
    return getattr(kind, "written", "") or re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", kind.__name__).lower()
