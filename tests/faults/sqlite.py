"""Make SQLite's system calls fail, through the hook that SQLite's own tests use."""

from __future__ import annotations

import ctypes
import errno
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from ctypes import CFUNCTYPE, POINTER, c_char_p, c_int, c_int64, c_size_t, c_ssize_t, c_void_p
from pathlib import Path
from typing import Any

POINTERS_BEFORE = 16  # of sqlite3_vfs: three pointers after the numbers, 13 functions, then xSetSystemCall
NUMBERS = 16  # bytes of the three numbers of sqlite3_vfs, with alignment
SET = CFUNCTYPE(c_int, c_void_p, c_char_p, c_void_p)

CALLS = {
    "open": CFUNCTYPE(c_int, c_char_p, c_int, c_int, use_errno=True),
    "close": CFUNCTYPE(c_int, c_int, use_errno=True),
    "pwrite": CFUNCTYPE(c_ssize_t, c_int, c_void_p, c_size_t, c_int64, use_errno=True),
    "ftruncate": CFUNCTYPE(c_int, c_int, c_int64, use_errno=True),
    "unlink": CFUNCTYPE(c_int, c_char_p, use_errno=True),
}
NAMES = {"pwrite": ("pwrite", "pwrite64")}


def library() -> ctypes.CDLL | None:
    """Return the SQLite library of Python's `sqlite3`, or None if it is linked statically."""
    import sqlite3  # noqa: F401, PLC0415 - loads it

    try:
        lines = Path("/proc/self/maps").read_text(encoding="utf-8").splitlines()
    except OSError:
        return None
    found = [line.split()[-1] for line in lines if "/libsqlite3." in line]
    return ctypes.CDLL(found[0]) if found else None


@contextmanager
def calls_replaced(
    double: Callable[[str, Callable[..., Any]], Callable[..., Any]], real: Mapping[str, Callable[..., Any]]
) -> Iterator[None]:
    """Within this context, SQLite calls `double(name, real[name])` instead of the system function."""
    sqlite = library()
    if sqlite is None:
        yield
        return
    sqlite.sqlite3_vfs_find.restype = c_void_p
    vfs = sqlite.sqlite3_vfs_find(None)
    pointers = ctypes.cast(vfs + NUMBERS, POINTER(c_void_p))
    change = SET(pointers[POINTERS_BEFORE])
    kept = {name: kind(_called(name, double(name, real[name]))) for name, kind in CALLS.items()}
    names = [(known, name) for name in CALLS for known in NAMES.get(name, (name,))]
    try:
        for known, name in names:
            change(vfs, known.encode(), ctypes.cast(kept[name], c_void_p))
        yield
    finally:
        for known, _ in names:
            change(vfs, known.encode(), None)


def _called(name: str, real: Callable[..., Any]) -> Callable[..., int]:
    def call(first: Any, *rest: Any) -> int:
        try:
            if name == "open":
                return int(real(os.fsdecode(first), *rest))
            if name == "pwrite":
                address, size, at = rest
                return int(real(first, ctypes.string_at(address, size), at))
            real(os.fsdecode(first) if isinstance(first, bytes) else first, *rest)
        except OSError as error:
            ctypes.set_errno(error.errno or errno.EIO)
            return -1
        return 0

    return call
