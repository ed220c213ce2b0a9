"""What keeping inside a budget asks of a model: a clock, a meter, and another k every so often."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext

from heros._base import core as _core
from heros.meters import Meter
from heros.policies import Policy
from heros.policies.calls import layers_of
from heros.policies.pace import Pace

__all__ = ["fresh_pace", "metered", "seconds_of", "set_pace"]

UNMETERED = nullcontext()  # once for all: this is met at every single instance


def fresh_pace(policy: Policy, models: int) -> Pace | None:
    """The pace of a policy that has a budget, if this machine can measure what it is of."""
    within = layers_of(policy).within
    if within is None:
        return None
    if within.unit == "joules":
        Meter.of(within.meter)  # if this machine has none, now is the time to say so
    return Pace(within, models)


def set_pace(pace: Pace, step: _core.Step, most: int) -> None:
    """The k of the stretch that begins."""
    spent = 1e6 * seconds_of(step) if pace.within.unit == "microseconds" else pace.joules
    step.set_k(pace.begin(step.instances, spent, int(step.trained.sum()), most))


def metered(pace: Pace | None) -> AbstractContextManager[None]:
    """Read the joules of what is done meanwhile, where there is a budget of them."""
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
    """CPU seconds of all steps so far."""
    return float(step.cpu_seconds.sum())
