"""Meters by name."""

from __future__ import annotations

from heros.meters.base import Meter
from heros.meters.carbon import Carbon
from heros.meters.codecarbon import CodeCarbon
from heros.meters.cpu import Cpu
from heros.meters.rapl import Rapl
from heros.parameters import one_of

__all__ = ["METERS", "named"]

METERS = ("cpu", "rapl", "codecarbon")


def named(name: str, *, watts: float | None = None, carbon: Carbon | None = None) -> Meter:
    """The meter of this name; an error that says why where this machine does not have it.

    Examples
    --------
    >>> named("cpu", watts=15).source
    'cpu-model'
    """
    one_of(name, "name", "named", METERS, f"one of {', '.join(METERS)}")
    if name == "rapl":
        return Rapl(carbon=carbon)
    if name == "codecarbon":
        return CodeCarbon(carbon)
    return Cpu(watts, carbon)
