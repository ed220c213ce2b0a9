"""Labelled instances on disk that wait to be learnt."""

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
from heros.streams.live.journal import LAST, Journal, Received

LOG = logging.getLogger("heros.serve")
FILE = "waiting.sqlite"
PAGE = 1000  # instances read at a time when a service starts
OVERHEAD = 50  # bytes of an instance on disk, in addition to its content


class WaitingLabel(NamedTuple):
    """A labelled instance as it was sent, with the prediction that was made for it earlier."""

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
    the last instance that its checkpoint covers, so that no instance is learnt twice. Thread-safe.

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
    >>> [one.y for one in waitlist.take(1)], len(waitlist), waitlist.taken
    (['odd'], 1, 1)
    >>> waitlist.put_back(1)
    >>> [one.y for one in waitlist.take(2)]
    ['odd', 'even']
    """

    def __init__(self, path: str | os.PathLike[str] | None) -> None:
        self._journal = Journal(path, durable=False)
        self._lock = threading.Lock()
        self._oldest: float | None = None  # time of the next instance, once it is read
        self._blocks: deque[tuple[int, int]] = deque()  # number and bytes of the instances taken, by block
        self.taken = 0  # number of the last instance that was taken
        self.last = self._journal.last
        self.bytes = 0
        self.lost = 0  # accepted instances that a damaged file has lost; known after `resume`
        self.taken_bytes = 0  # the part of `bytes` that belongs to taken instances which are not deleted yet

    def resume(self, taken: int) -> Iterator[tuple[int, WaitingLabel]]:
        """Continue after the instance with this number; yield the waiting instances with their numbers."""
        if taken < 0:
            raise DataError(f"the checkpoint must belong to {FILE}")
        self.lost = max(0, self.last + self._journal.lost - max(self.last, taken))
        if self._journal.lost:
            self._journal.go_on()
        if taken > self.last:
            lost = "labels that were accepted shortly before may be missing, as after a power failure"
            LOG.warning("%s ends before the checkpoint: %s", FILE, lost)
            self._journal.skip_to(taken)
            self.last = taken
        self.taken = taken
        self._journal.settle(taken, taken)
        at = taken
        while at < self.last:
            for at, message in self._journal.after(at, PAGE):  # noqa: B020 - continues after the page
                self.bytes += OVERHEAD + len(message.payload)
                yield at, _read(message.payload)

    def __len__(self) -> int:
        return self.last - self.taken

    @property
    def oldest(self) -> float | None:
        """The time of the oldest waiting label; None if no instance waits."""
        with self._lock:
            if self._oldest is None and self.last > self.taken:
                ((_, message),) = self._journal.after(self.taken, 1)
                self._oldest = _read(message.payload).since
            return self._oldest

    def add(self, label: WaitingLabel) -> None:
        """Write an instance to disk; if this fails, raise a HerosError and change nothing."""
        predicted = None if label.predicted is None else label.predicted.tolist()
        payload = orjson.dumps(tuple(label._replace(predicted=predicted)))
        with self._lock:
            (self.last,) = self._journal.append([Received(0, "", payload)])
            self.bytes += OVERHEAD + len(payload)

    def take(self, most: int) -> list[WaitingLabel]:
        """Return the next instances, which are then no longer counted as waiting."""
        with self._lock:
            if most <= 0 or self.last == self.taken:
                return []
            found = self._journal.after(self.taken, most)
            self._oldest = None
            self.taken = found[-1][0]
            size = sum(OVERHEAD + len(message.payload) for _, message in found)
            self._blocks.append((self.taken, size))
            self.taken_bytes += size
            return [_read(message.payload) for _, message in found]

    def put_back(self, n: int) -> None:
        """Count the last n instances that `take` returned as waiting again."""
        with self._lock:
            if n == 0:
                return
            self._oldest = None
            self.taken -= n
            _, size = self._blocks.pop()
            returned = sum(OVERHEAD + len(one.payload) for _, one in self._journal.after(self.taken, n))
            self.taken_bytes -= returned
            if size > returned:
                self._blocks.append((self.taken, size - returned))

    def settle(self, number: int) -> None:
        """Delete the instances up to this number, which will not have to be learnt again."""
        with self._lock:
            self._journal.settle(number, number)
            while self._blocks and self._blocks[0][0] <= number:
                size = self._blocks.popleft()[1]
                self.bytes, self.taken_bytes = self.bytes - size, self.taken_bytes - size

    def close(self) -> None:
        """Close the file."""
        self._journal.close()


def _read(payload: bytes) -> WaitingLabel:
    try:
        label = WaitingLabel(*orjson.loads(payload))
        predicted = None if label.predicted is None else np.array(label.predicted, np.float64)
    except (TypeError, ValueError) as error:
        raise _damaged(str(error)) from None
    if type(label.x) is not dict or type(label.since) not in (int, float):
        raise _damaged("it must have a time and an object")
    return label._replace(predicted=predicted)


def _damaged(why: str) -> DataError:
    return DataError(f"The file {FILE} is damaged: a waiting instance cannot be read: {why}.")


def is_at(path: Path) -> bool:
    """Return whether there is a waitlist at this path, or was one that has been removed."""
    return path.exists() or Path(f"{path}{LAST}").exists()


def expect_options(path: Path, options: Mapping[str, Any]) -> None:
    """Raise a HerosError if the file has waiting instances that were accepted with other options.

    Such instances would be read differently, and many of them refused.
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
                f"The option --{name} must be the same as for the {waiting:,} labelled instances that wait "
                f"in {path}: {kept[name]}. Got {given}: continue with the same option until they are learnt, "
                "or use another directory."
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
        raise HerosError(f"The file {path} cannot be read or written: {error}.") from None
