"""Meters: what a run cost in energy, measured from outside the learner."""

from heros.meters.apple import Apple
from heros.meters.base import Energy, Meter, Reading
from heros.meters.carbon import Carbon
from heros.meters.codecarbon import CodeCarbon
from heros.meters.cpu import Cpu
from heros.meters.hwmon import Hwmon
from heros.meters.perf import Perf
from heros.meters.pmic import Pmic
from heros.meters.rapl import Rapl

__all__ = [
    "Apple",
    "Carbon",
    "CodeCarbon",
    "Cpu",
    "Energy",
    "Hwmon",
    "Meter",
    "Perf",
    "Pmic",
    "Rapl",
    "Reading",
]
