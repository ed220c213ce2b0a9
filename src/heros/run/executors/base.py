"""The executor interface, and `Serial`, which runs one job after the other in this process."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar, runtime_checkable

Item = TypeVar("Item")
Result = TypeVar("Result")

ATTEMPTS = 3
"""The maximum number of attempts for an item whose worker dies."""


@dataclass(frozen=True)
class WorkerDied:
    """The result of an item if every worker that tried it died."""

    reason: str


@runtime_checkable
class Executor(Protocol):
    """An object that runs independent jobs."""

    def results(
        self, work: Callable[[Item], Result], items: Sequence[Item]
    ) -> Iterator[tuple[int, Result | WorkerDied]]:
        """Yield ``(index of the item, work(item))`` as the items finish."""


@dataclass(frozen=True)
class Serial:
    """An executor that runs all jobs in this process, in the given order.

    Examples
    --------
    >>> [result for _, result in Serial().results(str.upper, ["a", "b"])]
    ['A', 'B']
    """

    def results(self, work: Callable[[Item], Result], items: Sequence[Item]) -> Iterator[tuple[int, Result]]:
        """Yield ``(index of the item, work(item))`` in the given order."""
        for i, item in enumerate(items):
            yield i, work(item)
