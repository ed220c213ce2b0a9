"""Keep a model inside a budget of time or energy: measure the cost and adapt k at intervals."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext

from heros._base import core as _core
from heros.meters import Meter
from heros.policies import Policy
from heros.policies.calls import layers_of
from heros.policies.pace import Pace

__all__ = ["fresh_pace", "metered", "seconds_of", "set_pace"]

UNMETERED = nullcontext()  # created once, since it is used for every instance


def fresh_pace(policy: Policy, models: int) -> Pace | None:
    """Return the pace of a policy with a budget, or None; raise an error if no meter can measure it."""
    within = layers_of(policy).within
    if within is None:
        return None
    if within.unit == "joules":
        Meter.of(within.meter)  # raises an error now if this machine has no such meter
    return Pace(within, models)


def set_pace(pace: Pace, step: _core.Step, most: int) -> None:
    """Set k for the next stretch of instances."""
    spent = 1e6 * seconds_of(step) if pace.within.unit == "microseconds" else pace.joules
    step.set_k(pace.begin(step.instances, spent, int(step.trained.sum()), most))


def metered(pace: Pace | None) -> AbstractContextManager[None]:
    """Return a context that measures joules if the budget is in joules."""
    return UNMETERED if pace is None or pace.within.unit != "joules" else _metered(pace)


@contextmanager
def _metered(pace: Pace) -> Iterator[None]:
    meter = Meter.of(pace.within.meter)
    meter.start()
    try:
        yield
    finally:
        pace.joules += meter.stop().joules


def seconds_of(step: _core.Step) -> float:
    """Return the CPU seconds of all steps so far."""
    return float(step.cpu_seconds.sum())
