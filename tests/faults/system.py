"""A file system with a fault at the n-th call: it fails, writes partially, stays full, or is slow.

Like SQLite's tests, a test runs the same few writes again and again, first without a fault, then with a fault at
each call in turn. In long sequences of calls from the same lines of code, the middle calls fail only if
HEROS_EVERY_CALL is set, as in `make faults`.
"""

from __future__ import annotations

import errno
import gc
import itertools
import os
import resource
import shutil
import sys
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from faults.sqlite import calls_replaced
from heros import HerosError
from heros.run.checkpoints import CheckpointWarning

MODES = ("refuse", "tear", "full", "slow")
CALLS = ("open", "write", "fsync", "ftruncate", "replace", "rename", "mkdir", "chmod", "unlink", "rmdir")
NEEDS_ROOM = ("open", "write", "pwrite", "fsync", "mkdir", "rename", "replace")


class Faulty:
    """Replaces the functions of `os` and SQLite that change files below a directory.

    Parameters
    ----------
    root
        Calls outside this directory are not changed.
    n
        The number of the call that fails, counted from 1; None for no fault.
    mode
        The kind of fault, one of `MODES`. With "full", all later calls that need disk space fail too.
    """

    def __init__(self, root: Path, n: int | None, mode: str) -> None:
        self.root, self.n, self.mode = str(root), n, mode
        self.failed = ""
        self.calls: list[tuple[object, ...]] = []  # the lines of code that made each call
        self._mine: set[int] = set()

    @property
    def happened(self) -> bool:
        """Whether the n-th call was reached."""
        return self.n is not None and len(self.calls) >= self.n

    @contextmanager
    def at_work(self) -> Iterator[Faulty]:
        """Replace the functions of `os` within this context."""
        real = {name: getattr(os, name) for name in (*CALLS, "close")}
        gc.disable()  # could close a forgotten connection while SQLite, which calls this, holds its lock
        try:
            for name, function in real.items():
                setattr(os, name, self._double(name, function))
            with calls_replaced(self._double, {**real, "pwrite": os.pwrite}):
                yield self
        finally:
            for name, function in real.items():
                setattr(os, name, function)
            gc.enable()

    def _double(self, name, real):
        def call(first, *rest, **named):
            if name == "close":
                self._mine.discard(first)
                return real(first, *rest, **named)
            if not self._is_mine(name, first, rest):
                return real(first, *rest, **named)
            self.calls.append((name, *lines_of_code()))
            if self._is_time(name):
                self.failed = self.failed or name
                if self.mode == "slow":
                    time.sleep(0.002)
                else:
                    if self.mode == "tear" and name in {"write", "pwrite"}:
                        real(first, bytes(rest[0])[: len(rest[0]) // 2], *rest[1:])
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            result = real(first, *rest, **named)
            if name == "open":
                self._mine.add(result)
            return result

        return call

    def _is_time(self, name: str) -> bool:
        return len(self.calls) == self.n or (self.mode == "full" and self.happened and name in NEEDS_ROOM)

    def _is_mine(self, name: str, first, rest) -> bool:
        if isinstance(first, int):
            return first in self._mine
        below = os.fsdecode(first).startswith(self.root)
        return below and (name != "open" or bool(rest and rest[0] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)))


def lines_of_code() -> Iterator[tuple[object, int]]:
    """Return the lines of code that are being executed, innermost first."""
    frame = sys._getframe(2)
    while frame is not None:
        yield frame.f_code, frame.f_lineno
        frame = frame.f_back


def every_call(root: Path, mode: str, stride: int = 1, every: bool = True) -> Iterator[Faulty]:
    """Run without a fault, then with a fault at each distinct call, then at calls `stride` apart."""
    through = Faulty(root, None, mode)
    yield through
    every = every and bool(os.environ.get("HEROS_EVERY_CALL"))
    for n in (range(1, len(through.calls) + 1) if every else different(through.calls))[::stride]:
        yield Faulty(root, n, mode)


def different(calls: list[tuple[object, ...]]) -> list[int]:
    """Return the numbers of the calls that are not in the middle of many calls from the same lines.

    Consecutive calls from the same lines are one write. Of all writes by these lines, only the first and the last are
    used. Of each write, the first four calls, two in the middle and the last two are used: SQLite alternates headers
    and pages, and a new log of changes begins with its own header.
    """
    writes: dict[tuple[object, ...], list[list[int]]] = {}
    for lines, write in itertools.groupby(enumerate(calls, 1), key=lambda call: call[1]):
        writes.setdefault(lines, []).append([n for n, _ in write])
    chosen = set()
    for same in writes.values():
        for write in (same[0], same[-1]):
            middle = len(write) // 2
            chosen.update(write[:4], write[middle : middle + 2], write[-2:])
    return sorted(chosen)


@contextmanager
def no_room_beyond(size: int) -> Iterator[None]:
    """Limit the size of every file of the process, including files that SQLite writes."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@contextmanager
def read_only(root: Path) -> Iterator[None]:
    """Make a directory unwritable within this context; root temporarily switches to another user."""
    closed = [parent for parent in root.parents if not parent.stat().st_mode & 0o001]
    if os.geteuid() == 0 and closed:
        pytest.skip(f"only root may enter {closed[-1]}: set TMPDIR to a directory that every user may enter")
    paths = [root, *root.rglob("*")]
    modes = {path: path.stat().st_mode for path in paths}
    me = os.geteuid()
    for path in paths:
        path.chmod(0o555 if path.is_dir() else 0o444)
    try:
        if me == 0:
            os.seteuid(65534)
        yield
    finally:
        os.seteuid(me)
        for path, mode in modes.items():
            if path.exists():
                path.chmod(mode & 0o7777)


def drafts(root: Path) -> list[Path]:
    """Return temporary files that were left behind."""
    return list(root.rglob("*.draft"))


class Scenario:
    """A scenario: prepare files, write to them, and check what must remain."""

    reasons: tuple[str, ...] = ("No space left on device",)
    every = True  # whether all calls of the scenario fail if HEROS_EVERY_CALL is set

    def __init__(self, root: Path) -> None:
        self.root = root

    def prepare(self) -> None:
        """Create the initial files."""

    def write(self) -> None:
        """Run the code that may fail."""
        raise NotImplementedError

    def check(self, failed: bool) -> None:
        """Check the files that must exist; no other files may."""
        raise NotImplementedError


def every_call_failed(kind: type[Scenario], mode: str, root: Path, stride: int = 1) -> int:
    """Run a scenario with a fault at each call in turn; return the number of faults."""
    root.mkdir()
    scenario = kind(root)
    faults = 0
    for faulty in every_call(root, mode, stride, kind.every):
        emptied(root)
        scenario.prepare()
        failed = written(scenario, faulty)
        assert mode != "slow" or not failed
        if failed and faulty.failed not in {"unlink", "rmdir"}:
            assert drafts(root) == []
        try:
            scenario.check(failed or faulty.happened)
        except BaseException as error:
            error.add_note(f"after a fault at {faulty.failed} ({faulty.n}, {mode})")
            raise
        faults += faulty.happened
    return faults


def written(scenario: Scenario, faulty: Faulty) -> bool:
    """Return whether writing failed; the error must be a HerosError with a message of one line."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CheckpointWarning)
        try:
            with faulty.at_work():
                scenario.write()
        except HerosError as error:
            if "\n" in str(error) or not any(reason in str(error) for reason in scenario.reasons):
                raise AssertionError(f"at {faulty.failed} ({faulty.n}): {error}") from error
            return True
        except OSError as error:
            raise AssertionError(f"a raw error at {faulty.failed} ({faulty.n}): {error}") from error
    return False


def emptied(root: Path) -> None:
    shutil.rmtree(root, ignore_errors=True)
    root.mkdir()
