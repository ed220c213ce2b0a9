"""One job after the other, in this process."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

__all__ = ["Serial"]

Item = TypeVar("Item")
Result = TypeVar("Result")


@dataclass(frozen=True)
class Serial:
    """The process at hand.

    Examples
    --------
    >>> [result for _, result in Serial().results(str.upper, ["a", "b"])]
    ['A', 'B']
    """

    def results(self, work: Callable[[Item], Result], items: Sequence[Item]) -> Iterator[tuple[int, Result]]:
        """``(number of the item, work(item))``, in the order given."""
        for i, item in enumerate(items):
            yield i, work(item)
