"""The base class of energy meters. Export new meters in `__init__.py`; see CONTRIBUTING.md."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from typing import Any, ClassVar

from heros._base.parameters import one_of
from heros._base.registry import Part, name_of, parts
from heros.meters.energy import Carbon, Reading


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
    whole_machine: ClassVar[bool] = False  # whether parallel runs are measured, too

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
        """Return the meter with this name; raise an error if it does not work on this machine."""
        return Meter.kind(name)(carbon=carbon, **settings)

    @staticmethod
    def kind(name: str) -> type[Meter]:
        """Return the class of the meter with this name."""
        one_of(name, "name", "Meter.of", Meter.names(), f"one of {', '.join(Meter.names())}")
        kind: type[Meter] = next(kind for kind in parts("meter").values() if name_of(kind) == name)
        return kind

    def clock(self) -> float:
        """Return the CPU seconds of the calling thread or, if `process` is true, of the whole process."""
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
        """Return the reading since `start`; the meter keeps running."""
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
        """Return the joules since the start, and a description of how they were obtained."""
