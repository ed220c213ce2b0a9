"""Files that are whole or not there, whatever happens while they are written."""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from tempfile import mkstemp

from heros.errors import HerosError

__all__ = ["DRAFT", "reason", "to_disk", "write_whole"]

DRAFT = ".draft"
"""How the name of a file ends that is still being written; it is hidden, too."""


def write_whole(path: Path, parts: Iterable[bytes | memoryview]) -> None:
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
    draft = None
    try:
        descriptor, name = mkstemp(prefix=f".{path.name}.", suffix=DRAFT, dir=path.parent)
        draft = Path(name)
        with open(descriptor, "wb") as file:
            for part in parts:
                file.write(part)
            file.flush()
            os.fsync(file.fileno())
        draft.chmod(0o644)
        os.replace(draft, path)
    except BaseException as error:
        if draft is not None:
            with suppress(OSError):
                draft.unlink()
        if isinstance(error, OSError):
            raise HerosError(f"The file {path} must be writable. Got: {reason(error)}.") from None
        raise
    to_disk(path.parent)


def to_disk(path: Path) -> None:
    """Have the system write what it keeps of a file or directory."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        with suppress(OSError):  # some file systems do not sync directories
            os.fsync(descriptor)
    finally:
        os.close(descriptor)


def reason(error: OSError) -> str:
    """What the system says, without the path: `No space left on device`."""
    return error.strerror or str(error)
