"""The executor interface, and the simplest executor: one job after the other in this process."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar, runtime_checkable

__all__ = ["ATTEMPTS", "Executor", "Item", "Result", "Serial", "WorkerDied"]

Item = TypeVar("Item")
Result = TypeVar("Result")

ATTEMPTS = 3
"""The number of attempts for an item whose workers die."""


@dataclass(frozen=True)
class WorkerDied:
    """The result of an item if every worker that ran it died."""

    reason: str


@runtime_checkable
class Executor(Protocol):
    """Runs independent jobs."""

    def results(
        self, work: Callable[[Item], Result], items: Sequence[Item]
    ) -> Iterator[tuple[int, Result | WorkerDied]]:
        """Yield ``(number of the item, work(item))`` as the items finish."""


@dataclass(frozen=True)
class Serial:
    """Runs the jobs in this process, in the order given.

    Examples
    --------
    >>> [result for _, result in Serial().results(str.upper, ["a", "b"])]
    ['A', 'B']
    """

    def results(self, work: Callable[[Item], Result], items: Sequence[Item]) -> Iterator[tuple[int, Result]]:
        """Yield ``(number of the item, work(item))`` in the order given."""
        for i, item in enumerate(items):
            yield i, work(item)
