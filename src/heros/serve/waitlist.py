"""Labelled instances that are stored on disk until a model is trained on them."""

from __future__ import annotations

import logging
import os
import sqlite3
import threading
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import orjson
from numpy.typing import NDArray

from heros._base.errors import DataError, HerosError
from heros.storage.disk import with_full_disk
from heros.storage.last_number import SUFFIX as LAST
from heros.streams.live.journal import Journal, Received, is_damage

LOG = logging.getLogger("heros.serve")
FILE = "waiting.sqlite"
PAGE = 1000  # instances read at a time when a service starts
WAY_OUT = (
    "Move the file away to start without its instances. The service then counts these instances as failed."
)
OVERHEAD = 50  # bytes of an instance on disk, in addition to its content


class WaitingLabel(NamedTuple):
    """A labelled instance as the client sent it, with the prediction made before the label, if any."""

    since: float  # time of the label, in seconds since 1970
    x: Any
    y: Any
    id: str | int | None = None
    key: str | int | None = None
    predicted: NDArray[np.float64] | None = None
    known: int | None = None  # number of labels the model was trained on when it predicted


class Waitlist:
    """Labelled instances in order of arrival, stored on disk until a checkpoint covers them.

    No instance is lost if the process is killed after `add` has returned. A restarted service continues after
    the last instance that its checkpoint covers, so no instance is used twice for training.
    Thread-safe.

    Parameters
    ----------
    path
        The file; None keeps the instances in memory.

    Examples
    --------
    >>> waitlist = Waitlist(None)
    >>> waitlist.add(WaitingLabel(0.0, {"size": 3}, "odd"))
    >>> waitlist.add(WaitingLabel(1.0, {"size": 4}, "even", id="order 7"))
    >>> len(waitlist), waitlist.oldest
    (2, 0.0)
    >>> [(number, one.y) for number, one in waitlist.take(1)], len(waitlist), waitlist.taken
    ([(1, 'odd')], 1, 1)
    >>> waitlist.put_back(1)
    >>> [(number, one.y) for number, one in waitlist.take(2)]
    [(1, 'odd'), (2, 'even')]
    """

    def __init__(self, path: str | os.PathLike[str] | None) -> None:
        with _with_way_out():
            self._journal = Journal(path, durable=False)
        self._lock = threading.Lock()
        self._oldest: float | None = None  # time of the next instance; None if it was not read yet
        self._blocks: deque[tuple[int, int]] = deque()  # last number and bytes of each block taken
        self.taken = 0  # number of the last instance that was taken
        self.last = self._journal.last
        self.bytes = 0
        self.lost = 0  # accepted instances that cannot be read again; known after `resume`
        self.lost_ahead = 0  # the part of `lost` after `taken`, which no checkpoint covers
        self.taken_bytes = 0  # the part of `bytes` that belongs to taken instances which are not deleted yet

    def resume(self, learnt: int, accepted: int) -> Iterator[tuple[int, WaitingLabel]]:
        """Continue after instance `learnt`; yield the waiting instances with their numbers.

        `accepted` is the number of the last instance that was accepted before the checkpoint.
        """
        if learnt < 0:
            raise DataError(f"the checkpoint must belong to {FILE}")
        if learnt > self.last:
            lost = "recently accepted labels may be missing, for example after a power failure"
            LOG.warning("%s ends before the checkpoint: %s", FILE, lost)
        last = max(learnt, accepted, self.last + self._journal.lost)
        if last > self.last:
            self._journal.skip_to(last)
            self.last = last
        self.taken = learnt
        at, intact = learnt, 0
        with _with_way_out():
            self._journal.settle(learnt, learnt)
            while found := self._intact(at, PAGE):
                for at, label, size in found:
                    intact += 1
                    self.bytes += size
                    yield at, label
        self.lost = self.lost_ahead = last - learnt - intact
        self._pass_lost()

    def _intact(self, after: int, most: int) -> list[tuple[int, WaitingLabel, int]]:
        """Return intact instances with their numbers and sizes; the list is empty if no instance is left."""
        while True:
            found = [(number, _read(one)) for number, one in self._journal.stored(after, most)]
            intact = [(number, *label) for number, label in found if label is not None]
            if intact or len(found) < most:
                return intact
            most += PAGE

    def _pass_lost(self) -> None:
        """Count lost instances as taken if no other instance follows them."""
        if len(self) == 0:
            self.taken, self.lost_ahead = self.last, 0

    def __len__(self) -> int:
        return self.last - self.taken - self.lost_ahead

    @property
    def oldest(self) -> float | None:
        """The arrival time of the label that has waited longest; None if no label is waiting."""
        with self._lock:
            if self._oldest is None and len(self):
                self._oldest = self._next(1)[0][1].since
            return self._oldest

    def add(self, label: WaitingLabel) -> None:
        """Write an instance to disk, or raise a HerosError and leave the waitlist unchanged."""
        predicted = None if label.predicted is None else label.predicted.tolist()
        payload = orjson.dumps(tuple(label._replace(predicted=predicted)))
        with self._lock:
            (self.last,) = self._journal.append([Received(0, "", payload)])
            self.bytes += OVERHEAD + len(payload)

    def take(self, most: int) -> list[tuple[int, WaitingLabel]]:
        """Return the next instances with their numbers, and stop counting these instances as waiting."""
        with self._lock:
            if most <= 0 or len(self) == 0:
                return []
            found = self._next(most)
            self._oldest = None
            self.lost_ahead -= found[-1][0] - self.taken - len(found)
            self.taken = found[-1][0]
            self._pass_lost()
            size = sum(size for _, _, size in found)
            self._blocks.append((self.taken, size))
            self.taken_bytes += size
            return [(number, label) for number, label, _ in found]

    def _next(self, most: int) -> list[tuple[int, WaitingLabel, int]]:
        found = self._intact(self.taken, most)
        if not found or found[-1][0] - self.taken - len(found) > self.lost_ahead:
            raise DataError(f"The file {self._journal.path} was damaged while in use.")
        return found

    def put_back(self, number: int) -> None:
        """Put the instances of the last `take` with this or a higher number back into the waitlist."""
        with self._lock:
            self._oldest = None
            back = [one for one in self._intact(number - 1, self.taken - number + 1) if one[0] <= self.taken]
            self.lost_ahead += self.taken - number + 1 - len(back)
            self.taken = number - 1
            _, size = self._blocks.pop()
            returned = sum(size for _, _, size in back)
            self.taken_bytes -= returned
            if size > returned:
                self._blocks.append((self.taken, size - returned))

    def settle(self, number: int) -> None:
        """Delete the instances up to this number, because training will not need them again."""
        with self._lock:
            self._journal.settle(number, number)
            while self._blocks and self._blocks[0][0] <= number:
                size = self._blocks.popleft()[1]
                self.bytes, self.taken_bytes = self.bytes - size, self.taken_bytes - size

    def close(self) -> None:
        """Close the file."""
        self._journal.close()


def _read(message: Received | None) -> tuple[WaitingLabel, int] | None:
    """Return an instance and its size on disk in bytes, or None if the instance is damaged."""
    if message is None:
        return None
    try:
        label = WaitingLabel(*orjson.loads(message.payload))
        predicted = None if label.predicted is None else np.array(label.predicted, np.float64)
    except (TypeError, ValueError):
        return None
    if type(label.x) is not dict or type(label.since) not in (int, float):
        return None
    return label._replace(predicted=predicted), OVERHEAD + len(message.payload)


@contextmanager
def _with_way_out() -> Iterator[None]:
    try:
        yield
    except DataError as error:
        raise DataError(f"{error} {WAY_OUT}") from None


def is_at(path: Path) -> bool:
    """Return whether there is a waitlist at this path, or was one that has been removed."""
    return path.exists() or Path(f"{path}{LAST}").exists()


def expect_options(path: Path, options: Mapping[str, Any]) -> None:
    """Raise a HerosError if the file has waiting instances that were accepted with different options.

    Such instances would be read differently, and many of them would be rejected.
    """
    if not path.exists():
        return
    with _opened(path) as file:
        tables = {name for (name,) in file.execute("SELECT name FROM sqlite_master").fetchall()}
        if not tables >= {"messages", "options"}:
            return
        ((waiting,),) = file.execute("SELECT count(*) FROM messages").fetchall()
        kept = dict(file.execute("SELECT name, value FROM options").fetchall())
    for name, value in options.items():
        given = orjson.dumps(value).decode()
        if waiting and kept.get(name, given) != given:
            raise HerosError(
                f"The option --{name} must be {kept[name]}, as for the {waiting:,} labelled instances "
                f"that wait in {path}. Got {given} instead. Use the same option until the service has "
                f"trained on these instances, or use another directory."
            )


def write_options(path: Path, options: Mapping[str, Any]) -> None:
    """Write the options with which a service accepts instances to the waitlist file."""
    with _opened(path) as file:
        file.execute("CREATE TABLE IF NOT EXISTS options (name TEXT PRIMARY KEY, value TEXT NOT NULL)")
        rows = [(name, orjson.dumps(value).decode()) for name, value in options.items()]
        file.executemany("INSERT OR REPLACE INTO options VALUES (?, ?)", rows)


@contextmanager
def _opened(path: Path) -> Iterator[sqlite3.Connection]:
    try:
        with closing(sqlite3.connect(path)) as file, file:
            yield file
    except sqlite3.Error as error:
        if is_damage(error):
            raise DataError(f"The file {path} is damaged: {error}. {WAY_OUT}") from None
        told = with_full_disk(error, path)
        raise HerosError(f"The file {path} cannot be read or written: {told}.") from None
