"""Meters that measure the whole machine, one run at a time."""

from __future__ import annotations

import threading
from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from heros._base.errors import HerosError
from heros.meters.base import Meter
from heros.meters.energy import Carbon

_at_work = threading.Lock()


@dataclass
class Counter:
    """A hardware counter, and its increase since `start`."""

    name: str
    read: Callable[[], int]
    joules: float  # per count
    largest: int | None = None  # the counter restarts at 0 after this value; None if it never restarts
    last: int = 0
    counts: int = 0

    def start(self) -> None:
        """Start counting."""
        self.last, self.counts = self.read(), 0

    def sample(self) -> None:
        """Add the counts since the last reading."""
        now = self.read()
        wrapped = 0 if self.largest is None or now >= self.last else self.largest + 1
        self.counts, self.last = self.counts + now - self.last + wrapped, now


class MachineMeter(Meter):
    """A meter of the whole machine, including idle power: no other work should be running.

    A process cannot use two such meters at the same time, because each would measure the other's run.
    """

    whole_machine: ClassVar[bool] = True
    counter: ClassVar[str]  # the name of the counter in error messages

    @abstractmethod
    def __init__(self, counters: Sequence[Counter], carbon: Carbon | None = None) -> None:
        super().__init__(carbon)
        self._counters = counters
        self._owns_meter = False

    def sample(self) -> None:
        """Read the counters; call this often enough for at most one wrap-around between calls."""
        for one in self._counters:
            one.sample()

    def abandon(self) -> None:
        if self._owns_meter:
            self._owns_meter = False
            _at_work.release()

    def _start(self) -> None:
        if not _at_work.acquire(blocking=False):
            raise HerosError(
                f"{self.counter} measures the whole machine, so two runs cannot use it at the same time. Run "
                "them one after the other, or use the 'cpu' meter."
            )
        self._owns_meter = True
        try:
            for one in self._counters:
                one.start()
        except BaseException:
            self.abandon()
            raise

    def _stop(self, cpu_seconds: float) -> tuple[float, str]:
        try:
            self.sample()
        finally:
            self.abandon()
        spent = {one.name: one.counts * one.joules for one in self._counters}
        return sum(spent.values()), ", ".join(f"{name} {joules:.3g} J" for name, joules in spent.items())
