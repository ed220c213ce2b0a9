"""Energy estimated from CPU time, which works everywhere and is not affected by parallel runs."""

from __future__ import annotations

import math
import os
import platform
from functools import cache
from pathlib import Path
from typing import ClassVar

from heros._base.errors import ParameterError
from heros._base.parameters import number
from heros.meters.base import Meter
from heros.meters.energy import Carbon, Reading

WATTS = "HEROS_WATTS"

DEFAULT_WATTS = 10.0

POWER = {
    "Core(TM) i5-1135G7": (28, 4),
    "Core(TM) i7-1165G7": (28, 4),
    "Core(TM) i7-8700": (65, 6),
    "Core(TM) i7-9750H": (45, 6),
    "Core(TM) i9-9900K": (95, 8),
    "EPYC 7742": (225, 64),
    "EPYC 7763": (280, 64),
    "EPYC 9654": (360, 96),
    "Ryzen 7 3700X": (65, 8),
    "Ryzen 9 5950X": (105, 16),
    "Ryzen 9 7950X": (170, 16),
    "Xeon(R) CPU E5-2680 v4": (120, 14),
    "Xeon(R) CPU E5-2690 v3": (135, 12),
    "Xeon(R) Gold 6248": (150, 20),
    "Xeon(R) Platinum 8380": (270, 40),
    "Xeon(R) Platinum 8480": (350, 56),
}
"""The thermal design power in watts and the number of cores, from the manufacturers."""


ARM = "0x41"
ARM_DESIGNS = {
    "0xd03": "Cortex-A53",
    "0xd05": "Cortex-A55",
    "0xd07": "Cortex-A57",
    "0xd08": "Cortex-A72",
    "0xd0b": "Cortex-A76",
    "0xd0c": "Neoverse-N1",
    "0xd40": "Neoverse-V1",
    "0xd49": "Neoverse-N2",
    "0xd4f": "Neoverse-V2",
}
"""ARM designs by part number, for machines without a model name in Linux."""


@cache
def cpu_model() -> str:
    """Return the name of this machine's CPU."""
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        text = ""
    # The lines are reversed, so that the entries of the first CPU are kept.
    pairs = (line.partition(":") for line in reversed(text.splitlines()))
    fields = {name.strip(): value.strip() for name, _, value in pairs}
    design = ARM_DESIGNS.get(fields.get("CPU part", "")) if fields.get("CPU implementer") == ARM else None
    return fields.get("model name") or design or platform.processor() or platform.machine()


def core_watts() -> tuple[float, str]:
    """Return the power of one busy core of this machine in watts, and the source of this number.

    The environment variable ``HEROS_WATTS`` takes precedence over the table of CPUs.
    """
    stated = os.environ.get(WATTS)
    if not stated:
        return watts_per_core(cpu_model())
    try:
        watts = float(stated)
    except ValueError:
        watts = math.nan
    if not 0 < watts < math.inf:
        raise ParameterError.of(WATTS, "the environment", "a number > 0", stated)
    return watts, "stated"


def watts_per_core(model: str) -> tuple[float, str]:
    """Return the power of one core of this CPU in watts, and the source of this number."""
    for name, (watts, cores) in POWER.items():
        if name in model:
            return round(watts / cores, 2), f"{model}: {watts} W over {cores} cores"
    return DEFAULT_WATTS, f"default, no data for {model}"


class Cpu(Meter):
    """A meter that computes the energy as CPU seconds × watts per core.

    This is a model, not a measurement: it ignores clock rates, memory and idle power. The result does not
    depend on other work on the machine.

    Parameters
    ----------
    watts
        The power of a busy core; by default, the value of the environment variable ``HEROS_WATTS``. If the
        variable is not set, the power is the CPU's design power divided by its number of cores. For a CPU
        that is not in the built-in table, the power is 10 W. The reading names the source of the power.
    carbon
        The carbon intensity; without it, CO2e is not computed.
    process
        Whether to count the CPU seconds of the whole process. By default only the run's thread is counted,
        because HEROS does all its work in that thread. Set `process` for models that start threads, such as
        Java models.

    Examples
    --------
    >>> meter = Cpu(watts=15)
    >>> meter.start()
    >>> reading = meter.stop()
    >>> reading.joules == 15 * reading.cpu_seconds, reading.detail
    (True, '... CPU seconds × 15 W per core (stated)')
    """

    source: ClassVar[str] = "cpu-model"
    basis: ClassVar[str] = "modelled"

    def __init__(
        self, watts: float | None = None, carbon: Carbon | None = None, *, process: bool = False
    ) -> None:
        super().__init__(carbon, process=process)
        if watts is None:
            self.watts, self.origin = core_watts()
        else:
            self.watts, self.origin = number(watts, "watts", "Cpu", 0), "stated"
        if self.watts == 0:
            raise ParameterError.of("watts", "Cpu", "a number > 0", watts)

    def so_far(self) -> Reading:
        return self.stop()

    def _start(self) -> None:
        return None

    def _stop(self, cpu_seconds: float) -> tuple[float, str]:
        seconds = "CPU seconds of the process" if self.process else "CPU seconds"
        detail = f"{cpu_seconds:.3g} {seconds} × {self.watts:g} W per core ({self.origin})"
        return cpu_seconds * self.watts, detail
