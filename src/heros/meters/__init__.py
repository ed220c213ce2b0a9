"""Energy meters, which measure the energy of a run."""

from heros.meters.base import Meter
from heros.meters.carbon_signal import CarbonSignal
from heros.meters.codecarbon import CodeCarbon
from heros.meters.cpu import Cpu
from heros.meters.energy import Carbon, Energy, Reading
from heros.meters.rapl import Perf, Rapl

__all__ = [
    "Carbon", "CarbonSignal", "CodeCarbon", "Cpu", "Energy", "Meter", "Perf", "Rapl", "Reading",
]  # fmt: skip
