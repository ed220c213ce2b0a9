"""Meters that count the whole machine, one run at a time."""

from __future__ import annotations

import threading
import time
from abc import abstractmethod
from typing import ClassVar

from heros.errors import HerosError
from heros.meters.base import Meter
from heros.meters.carbon import Carbon

__all__ = ["MachineMeter", "PowerMeter"]

_at_work = threading.Lock()


class MachineMeter(Meter):
    """A meter of the whole machine, idle power included: nothing else should be running.

    A second one at the same time in one process is refused, for each would count the other's run.
    """

    alone: ClassVar[bool] = True
    counter: ClassVar[str]  # what counts, as errors call it

    def __init__(self, carbon: Carbon | None = None) -> None:
        super().__init__(carbon)
        self._mine = False

    def abandon(self) -> None:
        """Let another meter count."""
        if self._mine:
            self._mine = False
            _at_work.release()

    def _start(self) -> None:
        if not _at_work.acquire(blocking=False):
            raise HerosError(
                f"{self.counter} counts the whole machine: of two runs at a time each would count the other's"
                " energy. Run them one after the other, or use the 'cpu' meter."
            )
        self._mine = True
        try:
            self._begin()
        except BaseException:
            self.abandon()
            raise

    def _stop(self, cpu_seconds: float) -> tuple[float, str]:
        try:
            return self._end()
        finally:
            self.abandon()

    @abstractmethod
    def _begin(self) -> None:
        """Begin to count."""

    @abstractmethod
    def _end(self) -> tuple[float, str]:
        """Joules since the beginning, and how they came about."""


class PowerMeter(MachineMeter):
    """A meter of something that shows watts, not joules: they are read at intervals and summed up.

    A thread looks every `every` seconds; between two looks the power is taken to change evenly.
    """

    every: ClassVar[float] = 0.1

    def __init__(self, carbon: Carbon | None = None) -> None:
        super().__init__(carbon)
        self._lock = threading.Lock()
        self._done = threading.Event()
        self._thread: threading.Thread | None = None
        self._joules = self._last = self._watts = 0.0
        self._looks = 0
        self._failed: HerosError | None = None

    def sample(self) -> None:
        """Look at the power now."""
        with self._lock:
            watts, now = self.watts(), time.monotonic()
            if self._looks:
                self._joules += (watts + self._watts) / 2 * (now - self._last)
            self._watts, self._last = watts, now
            self._looks += 1

    def abandon(self) -> None:
        """Stop looking, and let another meter count."""
        self._done.set()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join()
            self._thread = None
        super().abandon()

    @abstractmethod
    def watts(self) -> float:
        """The power drawn now."""

    @abstractmethod
    def _how(self) -> str:
        """What is read, for people."""

    def _begin(self) -> None:
        self._joules, self._looks, self._failed = 0.0, 0, None
        self.sample()
        self._done.clear()
        self._thread = threading.Thread(target=self._watch, name="heros power meter", daemon=True)
        self._thread.start()

    def _watch(self) -> None:
        while not self._done.wait(self.every):
            try:
                self.sample()
            except HerosError as error:
                self._failed = error
                return

    def _end(self) -> tuple[float, str]:
        self._done.set()
        if self._failed is not None:
            raise self._failed
        self.sample()
        return self._joules, f"{self._how()}, {self._looks} looks"
