"""What an executor is."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar, runtime_checkable

__all__ = ["ATTEMPTS", "Executor", "WorkerDied"]

Item = TypeVar("Item")
Result = TypeVar("Result")

ATTEMPTS = 3
"""How many workers an item may take with it before it is given up."""


@dataclass(frozen=True)
class WorkerDied:
    """Comes instead of a result if the workers that had the item died, again and again."""

    reason: str


@runtime_checkable
class Executor(Protocol):
    """Runs independent jobs."""

    def results(
        self, work: Callable[[Item], Result], items: Sequence[Item]
    ) -> Iterator[tuple[int, Result | WorkerDied]]:
        """``(number of the item, work(item))``, as they finish."""
