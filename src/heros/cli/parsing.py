"""What people write for streams, pools, policies and meters."""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Callable
from dataclasses import fields
from io import BufferedIOBase
from pathlib import Path
from typing import Any, cast

from heros import policies, pools, streams
from heros.cli.app import say
from heros.errors import DataError, HerosError, ParameterError
from heros.meters import Carbon, Cpu, Meter, named
from heros.policies import CompiledPolicy, Explore, Policy
from heros.pools import Pool
from heros.streams import Stream
from heros.streams.pipe import read_pipe

__all__ = ["POLICIES", "POOLS", "few_enough", "meter_of", "policy_of", "pool_of", "stream_of"]

POLICIES: dict[str, type[CompiledPolicy]] = {
    "".join(f"-{c.lower()}" if c.isupper() else c for c in name).lstrip("-"): getattr(policies, name)
    for name in policies.__all__
    if name not in {"CompiledPolicy", "Explore", "Policy", "compiled"}
}
POOLS: dict[str, tuple[Callable[..., Pool], Callable[..., Pool]]] = {
    "mlp": (pools.MLPGrid, pools.MLP),
    "trees": (pools.HoeffdingGrid, pools.Hoeffding),
}
PROBABILITIES_KEPT = 50_000_000
"""400 MB; a longer stream gets its AUROC from a histogram."""

NOT_EXPLORING = ("everything", "random")
"""Exploring trains k random models now and then: of no use to these two."""


def policy_of(text: str, epsilon: float | None = None) -> Policy:
    """A policy from ``name[:parameter][@epsilon]``; `epsilon` where the text has none.

    Examples
    --------
    >>> print(policy_of("zeta:0.05@0.2"), policy_of("cheapest"), policy_of("zeta:0.1", epsilon=0.3))
    Explore(Zeta(0.05), 0.2) Cheapest() Explore(Zeta(0.1), 0.3)
    """
    head, _, exploring = text.partition("@")
    name, _, rest = head.partition(":")
    name = name.replace("_", "-")
    if name not in POLICIES:
        raise ParameterError.of("policy", "heros", f"one of {', '.join(POLICIES)}", text)
    kind = POLICIES[name]
    values = [_number(part, text) for part in rest.split(":") if part]
    names = [field.name for field in fields(kind)]  # type: ignore[arg-type]
    try:
        policy: Policy = kind(*values)
    except TypeError:
        form = ":".join([name, *map(str.upper, names)])
        raise ParameterError.of("policy", "heros", f"written {form}", text) from None
    share = _number(exploring, text) if exploring else epsilon
    return policy if share is None or (name in NOT_EXPLORING and not exploring) else Explore(policy, share)


def _number(text: str, whole: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ParameterError.of("policy", "heros", "a name with numbers, e.g. zeta:0.05@0.2", whole) from None


def pool_of(text: str) -> Pool:
    """A pool: ``mlp`` or ``trees`` (the paper's), or a TOML file that describes one.

    The file has ``kind = "mlp"`` or ``"trees"``, perhaps ``costs``, and either a table ``[grid]`` with the
    arguments of the grid or tables ``[[models]]`` with the settings of each model.
    """
    if text in POOLS:
        return POOLS[text][0]()
    path = Path(text)
    if path.suffix != ".toml":
        raise ParameterError.of("pool", "heros", f"one of {', '.join(POOLS)} or a .toml file", text)
    try:
        settings = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise DataError(f"The pool file {path} must be readable TOML. Got: {error}") from None
    return _described(settings, path)


def _described(settings: dict[str, Any], path: Path) -> Pool:
    unknown = sorted(set(settings) - {"kind", "costs", "grid", "models"})
    if settings.get("kind") not in POOLS or unknown or ("grid" in settings) == ("models" in settings):
        rule = 'have kind = "mlp" or "trees", perhaps costs, and either [grid] or [[models]]'
        raise DataError(f"The pool file {path} must {rule}. Got {sorted(settings)} instead.")
    grid, models = POOLS[settings["kind"]]
    costs = {"costs": settings["costs"]} if "costs" in settings else {}
    try:
        if "grid" in settings:
            return grid(**settings["grid"], **costs)
        return models(settings["models"], **costs)
    except TypeError as error:
        raise DataError(f"The pool file {path} must have the arguments of its kind. Got: {error}") from None


def stream_of(
    text: str, *, target: str | None = None, n: int | None = None, skip_bad_rows: bool = False
) -> Stream:
    """A stream: a name, a file, or ``-`` for CSV on standard input; its first n instances."""
    on_bad_row = "skip" if skip_bad_rows else "raise"
    if text == "-":
        stream = read_pipe(cast(BufferedIOBase, sys.stdin.buffer), target=target, on_bad_row=on_bad_row)
    elif text in streams.NAMES:
        if target is not None:
            raise ParameterError.of("target", "heros", f"left out, for {text} has its own", target)
        stream = streams.load(text)
    elif Path(text).exists() or "." in text or "/" in text:
        stream = streams.read(text, target=target, on_bad_row=on_bad_row)
    else:
        rule = f"a file, - or one of {', '.join(streams.NAMES)}"
        raise ParameterError.of("stream", "heros", rule, text)
    return stream if n is None else stream.take(n)


def few_enough(stream: Stream) -> bool:
    """Whether all probabilities are kept for an exact AUROC; a file of unknown length counts as short."""
    return (stream.n_instances or 0) * stream.schema.n_classes <= PROBABILITIES_KEPT


def meter_of(
    name: str, watts: float | None = None, carbon_intensity: float | None = None, country: str | None = None
) -> Meter:
    """A meter by name; where this machine has no RAPL, the CPU meter, and a line that says so."""
    carbon = Carbon.of(intensity=carbon_intensity, country=country)
    if watts is not None and name != "cpu":
        raise ParameterError.of("watts", "heros", "left out unless the meter is cpu", watts)
    if name != "rapl":
        return named(name, watts=watts, carbon=carbon)
    try:
        return named(name, carbon=carbon)
    except HerosError as error:
        say(f"heros: {error} The cpu meter is used instead.", style="yellow")
        return Cpu(carbon=carbon)
