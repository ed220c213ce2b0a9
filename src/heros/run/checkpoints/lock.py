"""One directory, one run: the lock of a checkpoint directory."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from pathlib import Path

from heros._base.lazy import filelock
from heros.errors import HerosError
from heros.storage.disk import reason

__all__ = ["DirectoryLock"]


class DirectoryLock:
    """A directory, made if it is not there, in which no other run writes; a kill frees it, too.

    The system locks the directory itself, wherever it is moved to, while runs write by path: `expect_held`
    tells whether the two are still the same. On a file system without locks there is none. On Windows,
    where no directory can be opened, a file in it is locked instead.

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
    The checkpoint directory ... must be free. Got one that another run uses.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        try:
            directory.mkdir(parents=True, exist_ok=True)
            self._descriptor = self._open()
        except OSError as error:
            raise HerosError(
                f"The checkpoint directory {directory} must be writable. Got: {reason(error)}."
            ) from None
        free = True
        with suppress(OSError):  # a file system without locks
            free = filelock.lock_descriptor(self._descriptor, blocking=False)
        if not free:
            self.release()
            raise HerosError(
                f"The checkpoint directory {directory} must be free. Got one that another run uses."
            )

    @property
    def _locked(self) -> Path:
        return self._directory / ".lock" if sys.platform == "win32" else self._directory

    def _open(self) -> int:
        return os.open(self._locked, os.O_RDWR | os.O_CREAT if sys.platform == "win32" else os.O_RDONLY)

    def expect_held(self) -> None:
        """Refuse to write if another directory, which may be another run's, is now in this one's place."""
        try:
            there = os.stat(self._locked)
        except OSError:
            return  # whoever writes there hears why not
        if not os.path.samestat(there, os.fstat(self._descriptor)):
            rule = "be the one that the run began in"
            raise HerosError(f"The checkpoint directory {self._directory} must {rule}. Got another one.")

    def release(self) -> None:
        """Let others have the directory."""
        os.close(self._descriptor)
