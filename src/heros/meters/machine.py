"""Meters that count the whole machine, one run at a time."""

from __future__ import annotations

import threading
from abc import abstractmethod
from typing import ClassVar

from heros.errors import HerosError
from heros.meters.base import Meter
from heros.meters.carbon import Carbon

__all__ = ["MachineMeter"]

_at_work = threading.Lock()


class MachineMeter(Meter):
    """A meter of the whole machine, including idle power: nothing else should be running.

    A second such meter at the same time in one process is refused: each would count the other's run.
    """

    alone: ClassVar[bool] = True
    counter: ClassVar[str]  # its name in error messages

    def __init__(self, carbon: Carbon | None = None) -> None:
        super().__init__(carbon)
        self._mine = False

    def abandon(self) -> None:
        """Stop counting, so that another meter can."""
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
        """Start to count."""

    @abstractmethod
    def _end(self) -> tuple[float, str]:
        """Return joules since the start, and how they were obtained."""
