"""A bounded store of instances whose labels have not arrived yet."""

from __future__ import annotations

import math
import sys
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from numbers import Real
from typing import Generic, TypeVar

from heros._base.errors import ParameterError
from heros._base.parameters import number, whole

Id = str | int
T = TypeVar("T")


@dataclass(slots=True)
class Counts:
    """Counts of instances that were predicted, learnt or evicted, and of labels for unknown instances."""

    answered: int = 0
    learnt: int = 0
    expired: int = 0  # instances evicted before their labels arrived
    unknown: int = 0  # labels without a waiting instance


class Pending(Generic[T]):
    """A store of items by id, oldest first, with limits on the number, age and total size of the items.

    Parameters
    ----------
    most
        The maximum number of items.
    longest
        The maximum age of an item in seconds; None for no limit.
    on_evict
        A function that is called with the id and the item of each evicted item.
    clock
        A function that returns the time in seconds.
    owner
        The class that error messages name.
    most_bytes
        The maximum total size of the items and their ids in bytes; None for no limit.
    size
        A function that returns the size of an item in bytes.
    """

    def __init__(
        self,
        most: int = 100_000,
        longest: float | None = None,
        on_evict: Callable[[Id, T], object] | None = None,
        clock: Callable[[], float] = time.time,
        owner: str = "Pending",
        most_bytes: int | None = None,
        size: Callable[[T], int] | None = None,
    ) -> None:
        self.most = whole(most, "most", owner, 1)
        self.longest = None if longest is None else number(longest, "longest", owner, 0)
        self.most_bytes = None if most_bytes is None else whole(most_bytes, "most_bytes", owner, 1)
        self.bytes = 0
        self._size: Callable[[T], int] = _zero_size if size is None else size
        if not callable(clock):
            raise ParameterError.of("clock", owner, "a function that returns the time in seconds", clock)
        self._on_evict, self._clock, self._owner = on_evict, clock, owner
        self._held: OrderedDict[Id, tuple[T, float]] = OrderedDict()  # item and arrival time

    def __len__(self) -> int:
        return len(self._held)

    def __iter__(self) -> Iterator[Id]:
        return iter(self._held)

    def get(self, id: Id) -> T | None:
        """Return the item with this id, or None."""
        found = self._held.get(id)
        return None if found is None else found[0]

    def __contains__(self, id: object) -> bool:
        return id in self._held

    def pop(self, id: Id) -> tuple[T, float]:
        """Remove the item with this id; return the item and its arrival time."""
        what, since = self._held.pop(id)
        self.bytes -= self.size_of(id, what)
        return what, since

    def put(self, id: Id, what: T) -> None:
        """Add an item with the current time, then evict the items that exceed a limit, oldest first."""
        self.arrive(id, what)
        self.enforce_limits()

    def arrive(self, id: Id, what: T) -> None:
        """Add an item with the current time, without evicting other items."""
        self.hold(id, what, self._time())

    def hold(self, id: Id, what: T, since: float) -> None:
        """Add an item with a known arrival time, without evicting other items."""
        if id in self._held:
            self.take(id)
        self._held[id] = what, since
        self.bytes += self.size_of(id, what)

    def take(self, id: Id) -> T | None:
        """Remove and return the item with this id; return None if there is no such item."""
        return self.pop(id)[0] if id in self._held else None

    def evict(self, id: Id) -> bool:
        """Evict an item; return False if there is no item with this id."""
        item = self.take(id)
        if item is None:
            return False
        if self._on_evict is not None:
            self._on_evict(id, item)
        return True

    def enforce_limits(self) -> None:
        """Evict the items that exceed a limit, oldest first."""
        largest = math.inf if self.most_bytes is None else self.most_bytes
        while self._held and (len(self._held) > self.most or self.bytes > largest):
            self.evict(next(iter(self._held)))
        if self.longest is None:
            return
        now = self._time()
        while self._held:
            id, (what, since) = next(iter(self._held.items()))
            if since > now:  # the clock was set back; a future time would keep later items too long
                self._held[id] = what, now
            if since >= now - self.longest:
                return
            self.evict(id)

    def _time(self) -> float:
        now = self._clock()
        if type(now) is float and math.isfinite(now):
            return now
        if isinstance(now, bool) or not isinstance(now, Real) or not math.isfinite(now):
            raise ParameterError.of("clock", self._owner, "a function that returns the time in seconds", now)
        return float(now)

    @property
    def full(self) -> bool:
        """Whether adding an item may evict another item."""
        return len(self._held) >= self.most or (self.most_bytes is not None and self.bytes >= self.most_bytes)

    def size_of(self, id: Id, what: T) -> int:
        """Return the size of an item and its id in bytes."""
        return bytes_of(id) + self._size(what)

    def too_large(self, id: Id, what: T) -> bool:
        """Return whether an item takes more than a quarter of `most_bytes`."""
        return self.most_bytes is not None and self.size_of(id, what) > self.most_bytes // 4

    def all(self) -> list[tuple[Id, T, float]]:
        """Return all items as tuples of id, item and arrival time."""
        return [(id, what, since) for id, (what, since) in self._held.items()]


def _zero_size(_: object) -> int:
    return 0


def bytes_of(value: object) -> int:
    """Return the approximate memory size of a value in bytes, including nested values.

    Examples
    --------
    >>> bytes_of({"a": "x" * 1000}) > bytes_of({"a": ["x"] * 10}) > bytes_of({"a": 1.0})
    True
    """
    size = sys.getsizeof(value)
    if isinstance(value, str | int | float):  # most values; checking for a Mapping takes longer
        return size
    if isinstance(value, Mapping):
        return size + sum(bytes_of(name) + bytes_of(one) for name, one in value.items())
    return size + sum(map(bytes_of, value)) if isinstance(value, list | tuple) else size
