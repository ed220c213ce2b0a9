"""The base class of energy meters, and the energy of a run."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from heros._base.parameters import one_of
from heros._base.registry import Part, name_of, parts
from heros.meters.carbon import Carbon

__all__ = ["JOULES_PER_KWH", "Energy", "Meter", "Reading"]

JOULES_PER_KWH = 3.6e6


@dataclass(frozen=True, slots=True)
class Reading:
    """The reading of a meter between its start and its stop."""

    joules: float
    detail: str  # how the energy was obtained, as text
    cpu_seconds: float  # CPU time of the thread that started the meter, or of the process
    wall_seconds: float

    def after(self, earlier: Reading | None) -> Reading:
        """Add an earlier reading."""
        if earlier is None:
            return self
        return Reading(
            self.joules + earlier.joules,
            f"{self.detail}, and {earlier.joules:.3g} J before",
            self.cpu_seconds + earlier.cpu_seconds,
            self.wall_seconds + earlier.wall_seconds,
        )


@dataclass(frozen=True)
class Energy:
    """The energy of a run.

    Parameters
    ----------
    kwh
        The total energy in kilowatt-hours.
    by_phase
        The energy of each phase: the total times the phase's share of CPU time.
    source
        The name of the meter: "cpu-model", "rapl", "codecarbon" and so on.
    detail
        How the energy was obtained.
    carbon
        The carbon intensity, or None.
    cpu_seconds, wall_seconds
        The CPU time (by the meter's clock) and the duration of the run.

    Examples
    --------
    >>> reading = Reading(joules=3.6e6, detail="an hour at 1000 W", cpu_seconds=3600, wall_seconds=3600)
    >>> energy = Energy.of(reading, "cpu-model", {"evaluate": 1, "train": 3}, Carbon.of(intensity=400))
    >>> energy.by_phase, energy.co2e_kg
    ({'evaluate': 0.25, 'train': 0.75}, 0.4)
    >>> energy.basis
    'modelled'
    """

    kwh: float
    by_phase: Mapping[str, float]
    source: str
    detail: str
    carbon: Carbon | None = None
    cpu_seconds: float = field(default=0.0, repr=False)
    wall_seconds: float = field(default=0.0, repr=False)

    @classmethod
    def of(cls, reading: Reading, source: str, cpu: Mapping[str, float], carbon: Carbon | None) -> Energy:
        """Divide a reading among the phases by their CPU seconds."""
        kwh, total = reading.joules / JOULES_PER_KWH, sum(cpu.values())
        by_phase = {phase: kwh * seconds / total if total else 0.0 for phase, seconds in cpu.items()}
        return cls(kwh, by_phase, source, reading.detail, carbon, reading.cpu_seconds, reading.wall_seconds)

    @property
    def basis(self) -> str:
        """Whether the energy is "measured" or "modelled"; "" if the meter is unknown."""
        kinds = parts("meter").values()
        return next((kind.basis for kind in kinds if kind.source == self.source), "")

    @property
    def joules(self) -> float:
        """The total energy in joules."""
        return self.kwh * JOULES_PER_KWH

    @property
    def co2e_kg(self) -> float | None:
        """Kilograms of CO2e; None without a carbon intensity."""
        return None if self.carbon is None else self.kwh * self.carbon.grams_per_kwh / 1000


class Meter(Part, ABC):
    """A meter of the energy between `start` and `stop`, for one run at a time.

    Examples
    --------
    >>> Meter.names()
    ('codecarbon', 'cpu', 'perf', 'rapl')
    >>> Meter.of("cpu", watts=15).source
    'cpu-model'
    """

    role: ClassVar[str] = "meter"
    plain: ClassVar[bool] = False  # a meter depends on clocks and counters of this machine

    source: ClassVar[str]
    basis: ClassVar[str] = "measured"  # or "modelled"
    alone: ClassVar[bool] = False  # whether it measures the whole machine, so that parallel runs disturb it

    def __init__(self, carbon: Carbon | None = None, *, process: bool = False) -> None:
        self.carbon = carbon
        self.process = process
        self._cpu = self._wall = 0.0
        self._earlier: Reading | None = None

    @staticmethod
    def names() -> tuple[str, ...]:
        """Return the names of all meters."""
        return tuple(name_of(kind) for kind in parts("meter").values())

    @staticmethod
    def of(name: str, carbon: Carbon | None = None, **settings: Any) -> Meter:
        """Return the meter of this name; raise an error with the reason if this machine lacks it."""
        return Meter.kind(name)(carbon=carbon, **settings)

    @staticmethod
    def kind(name: str) -> type[Meter]:
        """Return the class of the meter of this name."""
        one_of(name, "name", "Meter.of", Meter.names(), f"one of {', '.join(Meter.names())}")
        kind: type[Meter] = next(kind for kind in parts("meter").values() if name_of(kind) == name)
        return kind

    def clock(self) -> float:
        """Return the CPU seconds of the calling thread or, if `process`, of all threads of the process."""
        return time.process_time() if self.process else time.thread_time()

    def start(self, earlier: Reading | None = None) -> None:
        """Start measuring; an `earlier` reading is added to the result."""
        self._start()
        self._earlier = earlier
        self._cpu, self._wall = self.clock(), time.perf_counter()

    def sample(self) -> None:
        """Read the counters; call this regularly, because some counters wrap around."""
        return

    def stop(self) -> Reading:
        """Stop measuring; return the reading since `start`."""
        cpu, wall = self.clock() - self._cpu, time.perf_counter() - self._wall
        joules, detail = self._stop(cpu)
        return Reading(joules, detail, cpu, wall).after(self._earlier)

    def so_far(self) -> Reading:
        """Return the reading since `start`, and continue."""
        reading = self.stop()
        self.start(reading)
        return reading

    def abandon(self) -> None:
        """Stop measuring a run that failed. A call after `stop` has no effect."""
        return

    @abstractmethod
    def _start(self) -> None:
        """Start measuring."""

    @abstractmethod
    def _stop(self, cpu_seconds: float) -> tuple[float, str]:
        """Return the joules since the start, and a text on how they were obtained."""
