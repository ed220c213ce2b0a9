"""A small locked file beside an SQLite file, to detect whether the SQLite file lost its newest records."""

from __future__ import annotations

import os
import zlib
from contextlib import suppress
from pathlib import Path

from heros._base.errors import HerosError
from heros.storage.disk import AS_IS, OutputFile
from heros.storage.locks import locked

SUFFIX = "-last"


def in_use(path: Path) -> HerosError:
    """Return the error for a file that is already open."""
    return HerosError(f"The file {path} is already in use. Only one process at a time can open it.")


class LastNumber:
    """The number of the last record that was committed to an SQLite file, stored in a separate file.

    SQLite ignores a damaged or missing write-ahead log without an error. If the number in this file is larger
    than the number of the last record in the SQLite file, newer records are lost.

    The file is locked until `close`, so that only one object at a time can open the SQLite file. The locks
    of SQLite are not sufficient: they are released when the same process closes any descriptor of the SQLite
    file, for example after a copy. Open this file before the SQLite file.

    Parameters
    ----------
    path
        The SQLite file; the number is stored beside it. With None, nothing is stored.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     last = LastNumber(Path(directory, "file"))
    ...     last.write(25)
    ...     last.read(), os.listdir(directory)
    ...     last.close()
    (25, ['file-last'])
    """

    def __init__(self, path: Path | None) -> None:
        self._file = None
        if path is not None:
            descriptor = os.open(f"{path}{SUFFIX}", os.O_RDWR | os.O_CREAT | AS_IS, 0o600)
            self._file = OutputFile(descriptor)
            if not locked(descriptor):
                self._file.close()
                raise in_use(path)

    def read(self) -> int:
        """Return the number; 0 if the file is empty or damaged."""
        with suppress(OSError, ValueError):
            if self._file is not None:
                os.lseek(self._file.fileno(), 0, os.SEEK_SET)
                number, digest = os.read(self._file.fileno(), 100).split()
                if zlib.crc32(number) == int(digest, 16):
                    return int(number)
        return 0

    def write(self, number: int) -> None:
        """Write the number of a committed record. If this fails, a later loss may go undetected."""
        if self._file is not None:
            with suppress(OSError):
                text = b"%020d" % number
                os.lseek(self._file.fileno(), 0, os.SEEK_SET)
                self._file.write(b"%b %08x" % (text, zlib.crc32(text)))

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()
