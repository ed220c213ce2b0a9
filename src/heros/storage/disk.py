"""Atomic file writes: readers find the complete new file or the previous one.

HEROS writes all files with functions of this module or of `os`. Tests replace these functions with functions
that fail, truncate or delay a write (`tests/faults`).
"""

from __future__ import annotations

import errno
import io
import os
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import mkstemp

from heros._base.errors import HerosError

DRAFT = ".draft"
"""The suffix of a file that is still being written; its name also begins with a dot."""
LITTLE = 1_000_000
"""A disk with fewer free bytes counts as full, because SQLite needs hundreds of kB to create a file."""
AS_IS: int = getattr(os, "O_BINARY", 0)
"""A flag of `os.open` that prevents Windows from translating line endings."""


class OutputFile(io.RawIOBase):
    """An unbuffered output file: `write` passes all bytes to the system.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     path = Path(directory, "file")
    ...     with OutputFile(os.open(path, os.O_WRONLY | os.O_CREAT)) as file:
    ...         file.write(b"all of it")
    ...     path.read_bytes()
    9
    b'all of it'
    """

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def writable(self) -> bool:
        """Return True."""
        return True

    def write(self, data: bytes | memoryview) -> int:  # type: ignore[override]
        """Write all bytes and return their number."""
        remaining = memoryview(data).cast("B")
        while remaining:
            remaining = remaining[os.write(self._descriptor, remaining) :]
        return memoryview(data).nbytes

    def tell(self) -> int:
        """Return the current position in the file."""
        return os.lseek(self._descriptor, 0, os.SEEK_CUR)

    def fileno(self) -> int:
        """Return the file descriptor."""
        return self._descriptor

    def close(self) -> None:
        """Close the file without syncing it to disk."""
        if not self.closed:
            super().close()
            os.close(self._descriptor)


def write_file(path: Path, data: bytes | memoryview) -> None:
    """Write and sync a file; an error may leave a partial file."""
    with OutputFile(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | AS_IS, 0o666)) as file:
        file.write(data)
        os.fsync(file.fileno())


def write_whole(path: Path, parts: Iterable[bytes | memoryview], *, private: bool = False) -> None:
    """Write a file atomically: write it under a temporary name, sync it to disk, then rename it.

    An existing file is unchanged until the rename. If writing fails, the temporary file is removed and a
    HerosError names the path and the reason.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     path = Path(directory, "file")
    ...     write_whole(path, [b"all ", b"of it"])
    ...     path.read_bytes(), len(os.listdir(directory))
    (b'all of it', 1)
    """
    with temporary_file(path, private=private) as file:
        for part in parts:
            file.write(part)


@contextmanager
def temporary_file(path: Path, *, private: bool = False) -> Iterator[OutputFile]:
    """Open a temporary file that is synced and renamed to `path` at the end of the ``with`` block.

    Permissions follow the umask of the process; with `private`, only the owner may read the file.
    """
    draft = None
    try:
        _expect_file(path)
        descriptor, name = mkstemp(prefix=f".{path.name}.", suffix=DRAFT, dir=path.parent)
        draft = Path(name)
        with OutputFile(descriptor) as file:
            yield file
            os.fsync(descriptor)
        if not private:
            os.chmod(draft, 0o666 & ~_umask())
        os.replace(draft, path)
    except BaseException as error:
        if draft is not None:
            with suppress(OSError):
                os.unlink(draft)
        if isinstance(error, OSError):
            raise HerosError(f"The file {path} cannot be written: {reason(error)}.") from None
        raise
    sync_directory(path.parent)


def _umask() -> int:
    """Return the umask of the process without setting it, because setting it would affect other threads."""
    try:
        for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
            if line.startswith("Umask:"):
                return int(line.split()[1], 8)
    except (OSError, ValueError):
        pass
    return _AT_START


_AT_START = os.umask(0o077)
os.umask(_AT_START)


def expect_writable(path: Path) -> None:
    """Raise an error, before any work begins, if a file cannot be written at this path.

    Missing directories are not created; the nearest existing parent directory must be writable.

    Examples
    --------
    >>> expect_writable(Path(__file__, "model.heros"))
    Traceback (most recent call last):
        ...
    heros.HerosError: The file .../disk.py/model.heros cannot be written: Not a directory.
    """
    try:
        _expect_file(path)
        near = path.parent
        while not near.exists() and near != near.parent:
            near = near.parent
        descriptor, name = mkstemp(prefix=f".{path.name[:100]}.", suffix=DRAFT, dir=near)
        os.close(descriptor)
        os.unlink(name)
    except OSError as error:
        raise HerosError(f"The file {path} cannot be written: {reason(error)}.") from None


def _expect_file(path: Path) -> None:
    """Raise an OSError if the path is a directory, or a device such as `/dev/null`."""
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    if path.exists() and not path.is_file():
        raise OSError(errno.EINVAL, "Not a regular file")


def sync_directory(directory: Path) -> None:
    """Sync a directory to disk."""
    with suppress(OSError):  # some file systems cannot sync directories; the files themselves are synced
        descriptor = os.open(directory, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def is_in_place(path: Path, opened: os.stat_result) -> bool:
    """Return whether the path still refers to the opened file; False if the file was removed or replaced."""
    try:
        return os.path.samestat(os.stat(path), opened)
    except OSError:
        return False


def reason(error: OSError) -> str:
    """Return the system's error message without the path, such as `No space left on device`."""
    return error.strerror or str(error)


def with_full_disk(error: Exception, path: Path) -> str:
    """Return the text of an SQLite error; if the disk of `path` is full, the text says so.

    If the disk is full when SQLite opens a file, the error is only "disk I/O error" or "unable to open
    database file".
    """
    with suppress(OSError):
        if "full" not in str(error) and shutil.disk_usage(path.parent).free < LITTLE:
            return f"{error} ({os.strerror(errno.ENOSPC)})"
    return str(error)
