"""The lock that keeps two processes from writing to the same directory."""

from __future__ import annotations

import os
import socket
import time
from contextlib import suppress
from pathlib import Path

from heros._base.errors import HerosError
from heros._base.lazy import filelock
from heros.storage.disk import reason

FILE = ".lock"


def locked(descriptor: int) -> bool:
    """Lock an open file without waiting; return False if the file is already locked.

    On a file system without locks, return True.
    """
    try:
        return bool(filelock.lock_descriptor(descriptor, blocking=False))
    except OSError:
        return True


class DirectoryLock:
    """A lock that keeps other processes out of a directory; the directory is created if it does not exist.

    The file `.lock` in the directory is locked, and names the process that holds the lock. The operating
    system releases the lock when the process ends. On a file system without locks, the directory is not
    protected.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     lock = DirectoryLock(Path(directory))
    ...     try:
    ...         DirectoryLock(Path(directory))
    ...     except HerosError as error:
    ...         print(error)
    ...     lock.release()
    The directory ... is in use: process ... on ..., since ...
    """

    def __init__(self, directory: Path, mode: int = 0o777) -> None:
        self.directory = directory
        try:
            directory.mkdir(mode=mode, parents=True, exist_ok=True)
            self._directory_found = os.stat(directory)
            self._descriptor = self._lock()
        except OSError as error:
            raise self.refused(f"cannot be written to: {reason(error)}.") from None

    def expect_held(self) -> None:
        """Raise an error if the directory or the lock file was replaced; recreate a removed lock file."""
        try:
            if not os.path.samestat(os.stat(self.directory), self._directory_found):
                raise self.refused("was replaced by another directory while in use.")
            if not (self.directory / FILE).exists():
                former, self._descriptor = self._descriptor, self._lock()
                os.close(former)
            elif not os.path.samestat(os.stat(self.directory / FILE), os.fstat(self._descriptor)):
                raise self.refused("is locked by another process.")
        except OSError as error:
            raise self.refused(f"cannot be written to: {reason(error)}.") from None

    def release(self) -> None:
        """Release the lock; further calls have no effect."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
        self._descriptor = -1

    def refused(self, rule: str) -> HerosError:
        """Return an error that names the directory and the rule that the directory breaks."""
        return HerosError(f"The directory {self.directory} {rule}")

    def _lock(self) -> int:
        """Create the lock file if needed, lock it, and write the holder into it; return its descriptor."""
        path = self.directory / FILE
        descriptor = os.open(path, os.O_RDONLY | os.O_CREAT, 0o600)
        try:
            self._expect_free(descriptor)
            now = time.strftime("%Y-%m-%d %H:%M:%S")
            with suppress(PermissionError):  # Windows: the file is locked for other descriptors
                path.write_text(f"process {os.getpid()} on {socket.gethostname()}, since {now}")
        except BaseException:
            os.close(descriptor)
            raise
        return descriptor

    def _expect_free(self, descriptor: int) -> None:
        """Lock the file, or raise an error that names the holder of the lock."""
        holder = b""
        if not locked(descriptor):
            with suppress(OSError):  # Windows does not let others read a locked file
                holder = os.read(descriptor, 200)
            raise self.refused(f"is in use: {holder.decode(errors='replace') or 'another process'}.")
