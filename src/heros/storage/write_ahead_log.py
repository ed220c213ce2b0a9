"""Removal of failed transactions from SQLite's write-ahead log, which could otherwise fill the disk."""

from __future__ import annotations

import os
import sqlite3
from contextlib import suppress
from pathlib import Path

HEADER, FRAME = 32, 24  # bytes; see "The WAL File Format" on sqlite.org


def empty_log(file: sqlite3.Connection) -> bool:
    """Move all commits from the log to the file, and truncate the log; return whether it is empty."""
    with suppress(sqlite3.Error):
        return not file.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
    return False


def remove_failed(file: sqlite3.Connection, path: Path | None) -> bool:
    """Remove rolled-back transactions from the log, then empty the log; return whether it is empty.

    Emptying the log may fail, because the commits may need space in the file, or another process may read
    them. Rolled-back transactions are therefore removed first.
    """
    if path is not None:
        log = Path(f"{path}-wal")
        with suppress(sqlite3.Error, OSError):
            file.execute("BEGIN IMMEDIATE")  # until the ROLLBACK, no other process can write
            try:
                if (end := _end_of_commits(log)) < log.stat().st_size:
                    os.truncate(log, end)
            finally:
                file.execute("ROLLBACK")
    return empty_log(file)


def _end_of_commits(log: Path) -> int:
    """Return the number of bytes up to the end of the last frame that ends a commit."""
    with log.open("rb") as file:
        header = file.read(HEADER)
        page, salts, end, at = int.from_bytes(header[8:12], "big"), header[16:24], HEADER, HEADER
        while len(frame := file.read(FRAME)) == FRAME and frame[8:16] == salts:
            at = file.seek(at + FRAME + page)
            if any(frame[4:8]):  # these bytes are not 0 only in the last frame of a commit
                end = at
    return end
