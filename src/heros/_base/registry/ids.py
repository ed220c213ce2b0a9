"""Short names of a model's parts, for records and tables."""

from __future__ import annotations

import re
import zlib
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

from heros._base.registry.part import name_of


def pool_id(pool: Any) -> str:
    """Return a short name of a pool, e.g. `mlp50+trees50`; a user-defined pool is named after its class."""
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
    """Return a word for class weights; a checksum distinguishes weights that would have the same word."""
    if not isinstance(class_weight, Mapping):
        return _word(str(class_weight))
    text = ", ".join(f"{name} {weight:g}" for name, weight in sorted(class_weight.items()))
    return f"{_word(text)[:40]}-{zlib.crc32(text.encode('utf-8', 'surrogatepass')):08x}"


def _word(text: str) -> str:
    return re.sub(r"[^a-z0-9.]+", "_", text.lower()).strip("_")
