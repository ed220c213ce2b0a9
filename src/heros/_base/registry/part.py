"""The parts of a model, such as pools and policies, and their names in records and tables.

A part is registered when its class is defined.
"""

from __future__ import annotations

import inspect
import re
import sys
import zlib
from collections.abc import Mapping
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
    attribute takes them as arguments. Its subclasses may have other arguments: for example, a grid has other
    arguments, but is stored as a list of configurations."""

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
    """Return the parts of a role by class name, in alphabetical order.

    Classes that are defined in a function or in an example are left out.
    """
    if role in HOMES:
        import_module(HOMES[role])
    kinds = (kind for kind in _defined if kind.role == role and not inspect.isabstract(kind))
    outer = (kind for kind in kinds if getattr(sys.modules.get(kind.__module__), kind.__name__, None) is kind)
    return {kind.__name__: kind for kind in sorted(outer, key=lambda kind: kind.__name__)}


def plain_parts(role: str) -> dict[str, type[Any]]:
    """Return the parts with the given role that can be stored in a file."""
    return {name: kind for name, kind in parts(role).items() if kind.plain}


def parameters(kind: type[Any]) -> tuple[str, ...]:
    """Return the names of the attributes that describe an instance of this class."""
    described_by: tuple[str, ...] = getattr(kind, "described_by", ())
    if described_by or not is_dataclass(kind):
        return described_by
    return tuple(field.name for field in fields(kind) if field.init)


def name_of(kind: type[Any]) -> str:
    """Return the name of a part, or of a user-defined class, in records and on the command line."""
    return getattr(kind, "written", "") or re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", kind.__name__).lower()


def pool_id(pool: Any) -> str:
    """Return a short name for a pool, e.g. `mlp50+trees50`; a user-defined pool is named after its class."""
    joined = getattr(pool, "pools", ())
    if joined:
        return "+".join(pool_id(part) for part in joined)
    return f"{name_of(type(pool))}{pool.n_models}"


def policy_id(policy: object) -> str:
    """Return a short name of a policy.

    Examples
    --------
    >>> from heros import policies
    >>> policy_id(policies.Explore(policies.Zeta(0.05), 0.2)), policy_id(policies.PerformBest())
    ('zeta_0.05_0.2', 'perform_best')
    """
    kind = type(policy)
    values = [getattr(policy, field.name) for field in fields(policy)] if is_dataclass(policy) else []
    numbers = [f"{value:g}" for value in values if isinstance(value, int | float)]
    inside = [policy_id(value) for value in values if hasattr(value, "choose")]
    suffix: str = getattr(kind, "suffix", "")
    name = _word(suffix) if inside and suffix else name_of(kind)
    return "_".join([*inside[:1], *([name] if name else []), *numbers])


def variant_id(
    watch: object,
    answer: object,
    burst: int = 0,
    warmup: int = 100,
    budget: str | None = None,
    class_weight: object = None,
) -> str:
    """Return a short name of settings that may differ from the paper; "" for the settings of the paper.

    Examples
    --------
    >>> from heros import Top
    >>> variant_id("all", "best"), variant_id("trained", "best"), variant_id(8, Top(5))
    ('', '-watch_trained', '-watch_8-top_5_60')
    >>> variant_id("trained", "best", burst=300), variant_id("all", "best", budget="500 J/h")
    ('-watch_trained-burst_300', '-budget_500_j_per_h')
    """
    name = "" if watch == "all" else f"-{_word(f'watch {watch}')}"
    name += f"-burst_{burst}" if burst else ""
    name += f"-warmup_{warmup}" if warmup != 100 else ""
    name += "" if budget is None else f"-budget_{_word(budget.replace('µ', 'u').replace('/', ' per '))}"
    name += "" if class_weight is None else f"-weights_{_weights_word(class_weight)}"
    return name + ("" if answer == "best" else f"-{_word(str(answer))}")


def _weights_word(class_weight: object) -> str:
    """Return a word for class weights; a checksum distinguishes mappings that would have the same word."""
    if not isinstance(class_weight, Mapping):
        return _word(str(class_weight))
    text = ", ".join(f"{name} {weight:g}" for name, weight in sorted(class_weight.items()))
    return f"{_word(text)[:40]}-{zlib.crc32(text.encode('utf-8', 'surrogatepass')):08x}"


def _word(text: str) -> str:
    return re.sub(r"[^a-z0-9.]+", "_", text.lower()).strip("_")
