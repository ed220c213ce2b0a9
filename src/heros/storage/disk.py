"""Files that are whole or not there, whatever happens while they are written.

All that HEROS writes goes through here or through `os` itself, one call after the other: the tests put a
system in its place that fails, tears or delays any of them (`tests/faults`).
"""

from __future__ import annotations

import errno
import io
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import mkstemp

from heros.errors import HerosError

__all__ = [
    "AS_IS",
    "DRAFT",
    "Output",
    "drafted",
    "expect_place",
    "reason",
    "to_disk",
    "write_file",
    "write_whole",
]

DRAFT = ".draft"
"""How the name of a file ends that is still being written; it is hidden, too."""
AS_IS: int = getattr(os, "O_BINARY", 0)
"""For `os.open`: Windows takes bytes for text unless it is told, and changes the ends of lines."""


class Output(io.RawIOBase):
    """A file to write to: what `write` has taken, the system has.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     path = Path(directory, "file")
    ...     with Output(os.open(path, os.O_WRONLY | os.O_CREAT)) as file:
    ...         file.write(b"all of it")
    ...     path.read_bytes()
    9
    b'all of it'
    """

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def writable(self) -> bool:
        """It is."""
        return True

    def write(self, data: bytes | memoryview) -> int:  # type: ignore[override]
        """Write all of it."""
        left = memoryview(data).cast("B")
        while left:
            left = left[os.write(self._descriptor, left) :]
        return memoryview(data).nbytes

    def tell(self) -> int:
        """How far it is written."""
        return os.lseek(self._descriptor, 0, os.SEEK_CUR)

    def fileno(self) -> int:
        """Its descriptor."""
        return self._descriptor

    def close(self) -> None:
        """Have it closed; what was written may not be on disk yet."""
        if not self.closed:
            super().close()
            os.close(self._descriptor)


def write_file(path: Path, data: bytes | memoryview) -> None:
    """Write a file and have it on disk; half of it may be there if that fails."""
    with Output(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | AS_IS, 0o666)) as file:
        file.write(data)
        os.fsync(file.fileno())


def write_whole(path: Path, parts: Iterable[bytes | memoryview], *, private: bool = False) -> None:
    """Write a file under another name, and give it its own once all of it is on disk.

    A file that was there stays as it was until then. What goes wrong is a HerosError with the path and
    the reason, and nothing is left behind.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     path = Path(directory, "file")
    ...     write_whole(path, [b"all ", b"of it"])
    ...     path.read_bytes(), len(os.listdir(directory))
    (b'all of it', 1)
    """
    with drafted(path, private=private) as file:
        for part in parts:
            file.write(part)


@contextmanager
def drafted(path: Path, *, private: bool = False) -> Iterator[Output]:
    """A file to write to that gets its name when the ``with`` is over, as for `write_whole`.

    Others may read the file as the umask of the process says; with `private`, only its owner may.
    """
    draft = None
    try:
        descriptor, name = mkstemp(prefix=f".{path.name}.", suffix=DRAFT, dir=path.parent)
        draft = Path(name)
        with Output(descriptor) as file:
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
            raise HerosError(f"The file {path} must be writable. Got: {reason(error)}.") from None
        raise
    to_disk(path.parent)


def _umask() -> int:
    """The umask of the process. It can only be read by setting it, which the other threads would notice."""
    try:
        for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
            if line.startswith("Umask:"):
                return int(line.split()[1], 8)
    except (OSError, ValueError):
        pass
    return _AT_START


_AT_START = os.umask(0o077)
os.umask(_AT_START)


def expect_place(path: Path) -> None:
    """Refuse a place where no file could be written, before the work whose results are to go there.

    What is missing of its directories is not made yet: the nearest one that is there has to take files.

    Examples
    --------
    >>> expect_place(Path(__file__, "model.heros"))
    Traceback (most recent call last):
        ...
    heros.errors.HerosError: The file .../disk.py/model.heros must be writable. Got: Not a directory.
    """
    try:
        if path.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        near = path.parent
        while not near.exists() and near != near.parent:
            near = near.parent
        descriptor, name = mkstemp(prefix=f".{path.name[:100]}.", suffix=DRAFT, dir=near)
        os.close(descriptor)
        os.unlink(name)
    except OSError as error:
        raise HerosError(f"The file {path} must be writable. Got: {reason(error)}.") from None


def to_disk(directory: Path) -> None:
    """Have the system write what it keeps of a directory."""
    with suppress(OSError):  # some file systems do not sync directories, and what is in it is on disk
        descriptor = os.open(directory, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def reason(error: OSError) -> str:
    """What the system says, without the path: `No space left on device`."""
    return error.strerror or str(error)
