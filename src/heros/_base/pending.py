"""What waits for its label, in a store that is bounded."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Generic, TypeVar

from heros._base.parameters import number, whole

__all__ = ["Counts", "Id", "Pending"]

Id = str | int
T = TypeVar("T")


@dataclass(slots=True)
class Counts:
    """What became of the instances so far."""

    answered: int = 0
    learnt: int = 0
    expired: int = 0  # their label had not come when there was no more room, or time
    unknown: int = 0  # labels of instances that are not, or no more, waiting


class Pending(Generic[T]):
    """What waits under an id, oldest first: at most so many, and none for too long.

    Parameters
    ----------
    most
        How many may wait.
    longest
        For how many seconds one may wait; None: for as long as there is room.
    given_up
        A function of the id and of what waited, called for each one that had to go.
    clock
        What tells the time, in seconds.
    owner
        Whose parameters errors say these are.
    most_bytes
        How many bytes all that waits may take, as `size` counts them; None: no limit.
    size
        A function of what waits: its bytes.

    Examples
    --------
    >>> pending = Pending(most=2, given_up=lambda id, what: print("gone:", id))
    >>> for id in ("a", "b", "c"):
    ...     pending.put(id, {"size": 1})
    gone: a
    >>> pending.take("b"), pending.take("a"), len(pending)
    ({'size': 1}, None, 1)
    """

    def __init__(
        self,
        most: int = 100_000,
        longest: float | None = None,
        given_up: Callable[[Id, T], object] | None = None,
        clock: Callable[[], float] = time.time,
        owner: str = "Pending",
        most_bytes: int | None = None,
        size: Callable[[T], int] | None = None,
    ) -> None:
        self.most = whole(most, "most", owner, 1)
        self.longest = None if longest is None else number(longest, "longest", owner, 0)
        self.most_bytes = None if most_bytes is None else whole(most_bytes, "most_bytes", owner, 1)
        self.bytes = 0
        self._size: Callable[[T], int] = _no_bytes if size is None else size
        self._given_up, self._clock = given_up, clock
        self._held: OrderedDict[Id, tuple[T, float]] = OrderedDict()  # with the time since when

    def __len__(self) -> int:
        return len(self._held)

    def __iter__(self) -> Iterator[Id]:
        return iter(self._held)

    def get(self, id: Id) -> T | None:
        """What waits under this id."""
        held = self._held.get(id)
        return None if held is None else held[0]

    def __contains__(self, id: object) -> bool:
        return id in self._held

    def since(self, id: Id) -> float:
        """Since when it waits."""
        return self._held[id][1]

    def put(self, id: Id, what: T) -> None:
        """Have it wait, from now on; the oldest go if there is no room."""
        self.hold(id, what, self._clock())
        self.let_go()

    def hold(self, id: Id, what: T, since: float) -> None:
        """Have it wait as it did before, since a time that is known; none go for it."""
        if id in self._held:
            self.take(id)
        self._held[id] = what, since
        self.bytes += self._size(what)

    def take(self, id: Id) -> T | None:
        """What waited under this id, which waits no more."""
        held = self._held.pop(id, None)
        if held is None:
            return None
        self.bytes -= self._size(held[0])
        return held[0]

    def give_up(self, id: Id) -> bool:
        """Let one go; False if none waits under this id."""
        held = self.take(id)
        if held is None:
            return False
        if self._given_up is not None:
            self._given_up(id, held)
        return True

    def let_go(self) -> None:
        """Give up those for which there is no more room or time, oldest first."""
        while self._held and (len(self._held) > self.most or self._is_full()):
            self.give_up(next(iter(self._held)))
        if self.longest is None:
            return
        too_old = self._clock() - self.longest
        while self._held:
            id, (_, since) = next(iter(self._held.items()))
            if since >= too_old:
                return
            self.give_up(id)

    def _is_full(self) -> bool:
        return self.most_bytes is not None and self.bytes > self.most_bytes

    def all(self) -> list[tuple[Id, T, float]]:
        """Everything that waits: id, what, since when."""
        return [(id, what, since) for id, (what, since) in self._held.items()]


def _no_bytes(_: object) -> int:
    return 0
