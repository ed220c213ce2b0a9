"""A journal on disk for messages from a broker that cannot send them again."""

from __future__ import annotations

import os
import secrets
import sqlite3
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from heros._base.errors import DataError, HerosError
from heros.storage.disk import is_in_place, with_full_disk
from heros.storage.last_number import LastNumber
from heros.storage.write_ahead_log import empty_log, remove_failed

__all__ = ["Journal", "Received"]

BUSY = 1000  # milliseconds to wait for another process that has locked the file


@dataclass(frozen=True, slots=True)
class Received:
    """A received message."""

    number: int  # message id, which the sender reuses after the acknowledgement; 0 for a message without id
    topic: str
    payload: bytes

    def digest(self, sequence: int) -> int:
        """Return a checksum of the message and its position in a journal."""
        return zlib.crc32(self.payload, zlib.crc32(f"{sequence} {self.number} {self.topic}".encode()))


class Journal:
    """A journal of messages in order of arrival.

    Messages are on disk when `append` returns, and stay there until they are trimmed. Without a `path`,
    messages are stored in memory. The `recent` newest messages are never trimmed, because the broker may
    send these messages again. Without `durable`, `append` does not wait for the disk. Messages then survive
    if the process is killed, but the newest messages may be lost in a power failure.

    Each message has a checksum. SQLite ignores a damaged end of its write-ahead log. The number of the last
    message is therefore also written to a small file. If the journal ends before this
    number, `lost` is the number of newest messages that are missing.

    Examples
    --------
    >>> journal = Journal(None)
    >>> journal.append([Received(1, "t", b"a"), Received(2, "t", b"b"), Received(3, "t", b"c")])
    [1, 2, 3]
    >>> journal.settle(2, trim=1)
    >>> [(sequence, message.payload) for sequence, message in journal.after(1)]
    [(2, b'b'), (3, b'c')]
    >>> journal.settled, journal.last
    (2, 3)
    """

    def __init__(self, path: str | os.PathLike[str] | None, recent: int = 0, *, durable: bool = True) -> None:
        self.path = None if path is None else Path(path)
        self.recent = recent
        with self._expected("opened as a separate file"):
            if self.path is not None:
                self.path.parent.mkdir(parents=True, exist_ok=True)
            self._last_number = LastNumber(self.path)
            try:
                self._open(durable)
            except BaseException:
                self._last_number.close()
                raise
        self.lost = max(0, self._last_number.read() - self.last)  # number of lost newest messages

    def _open(self, durable: bool) -> None:
        if self.path is not None:
            descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT, 0o600)  # only the owner has access
            self._opened = os.fstat(descriptor)
            os.close(descriptor)  # before SQLite opens the file, as closing releases locks
        self._file = sqlite3.connect(self.path or ":memory:", BUSY / 1000, check_same_thread=False)
        self._is_patient, self._is_log_long = True, False
        try:
            self._create(durable)
        except BaseException:
            self._file.close()
            raise

    def _create(self, durable: bool) -> None:
        self._file.execute("PRAGMA journal_mode = WAL")
        with self._file:
            self._file.execute(f"PRAGMA synchronous = {'FULL' if durable else 'NORMAL'}")
            self._file.execute(
                "CREATE TABLE IF NOT EXISTS messages (sequence INTEGER PRIMARY KEY AUTOINCREMENT, "
                "number INTEGER NOT NULL, topic TEXT NOT NULL, payload BLOB NOT NULL, "
                "digest INTEGER NOT NULL)"
            )
            self._file.execute("CREATE TABLE IF NOT EXISTS reader (name TEXT, settled INTEGER)")
            self._file.execute("CREATE TABLE IF NOT EXISTS source (topic TEXT NOT NULL)")
            if not self._file.execute("SELECT 1 FROM reader").fetchone():
                self._file.execute("INSERT INTO reader VALUES (?, 0)", [f"heros-{secrets.token_hex(8)}"])

    @property
    def reader(self) -> str:
        """The unique name of this journal."""
        return str(self._rows("SELECT name FROM reader")[0][0])

    @property
    def topic(self) -> str | None:
        """The topic to which this journal belongs; None if `belong_to` was never called."""
        return next((str(topic) for (topic,) in self._rows("SELECT topic FROM source")), None)

    def belong_to(self, topic: str) -> None:
        """Store the name of the topic whose messages this journal holds."""
        with self._transaction():
            self._file.execute("INSERT INTO source VALUES (?)", [topic])

    @property
    def settled(self) -> int:
        """The sequence number of the last message that a checkpoint covers."""
        return int(self._rows("SELECT settled FROM reader")[0][0])

    @property
    def last(self) -> int:
        """The sequence number of the last message; 0 if no message has arrived."""
        kept = "SELECT seq FROM sqlite_sequence WHERE name = 'messages'"
        rows = self._rows(f"SELECT max(seq) FROM ({kept} UNION ALL SELECT max(sequence) FROM messages)")
        return int(rows[0][0] or 0)

    def append(self, messages: Sequence[Received]) -> list[int]:
        """Write the messages in one transaction, and return their sequence numbers."""
        numbers = [*range(first := self.last + 1, first + len(messages))]
        with self._transaction():
            for sequence, one in zip(numbers, messages, strict=True):
                row = (sequence, one.number, one.topic, one.payload, one.digest(sequence))
                self._file.execute("INSERT INTO messages VALUES (?, ?, ?, ?, ?)", row)
        if numbers:
            self._last_number.write(numbers[-1])
        return numbers

    def after(self, sequence: int, most: int = -1) -> list[tuple[int, Received]]:
        """Return the messages after this number; raise a DataError if a message is missing."""
        found = [(number, one) for number, one in self.stored(sequence, most) if one is not None]
        last = self.last
        wanted = range(sequence + 1, last + 1)[: None if most < 0 else most]
        if sequence > last or [number for number, _ in found] != [*wanted]:
            missing = min({*wanted} - {number for number, _ in found}, default=None)
            got = f"{last:,} as the last number" if missing is None else f"no message with number {missing:,}"
            rule = f"The journal {self.path} must hold all messages after number {sequence}"
            raise DataError(f"{rule}. Got {got}.")
        return found

    def stored(self, sequence: int, most: int = -1) -> list[tuple[int, Received | None]]:
        """Return at most `most` stored messages after this number, with None for each damaged message."""
        wanted = "SELECT sequence, number, CAST(topic AS BLOB), payload, digest FROM messages"
        rows = self._rows(f"{wanted} WHERE sequence > ? ORDER BY sequence LIMIT ?", [sequence, most])
        return [(number, _intact(number, *rest)) for number, *rest in rows]

    def newest(self) -> list[Received]:
        """Return the messages that the broker may send again."""
        return [message for _, message in self.after(max(0, self.last - self.recent))] if self.last else []

    def settle(self, sequence: int, trim: int = 0) -> None:
        """Mark messages up to `sequence` as checkpointed; delete messages up to `trim`.

        The `recent` newest messages are not deleted.
        """
        with self._transaction():
            self._file.execute("UPDATE reader SET settled = ?", [sequence])
            upto = min(trim, self.last - self.recent)
            self._file.execute("DELETE FROM messages WHERE sequence <= ?", [upto])

    def skip_to(self, sequence: int) -> None:
        """Set the number of the next message to `sequence` + 1."""
        with self._transaction():
            self._file.execute("DELETE FROM sqlite_sequence WHERE name = 'messages'")
            self._file.execute("INSERT INTO sqlite_sequence VALUES ('messages', ?)", [sequence])
        self._last_number.write(sequence)

    def go_on(self) -> None:
        """Continue without the `lost` messages; later messages reuse their numbers."""
        self._last_number.write(self.last)
        self.lost = 0

    def _rows(self, query: str, values: Sequence[int] = ()) -> list[tuple[Any, ...]]:
        """Return the rows that a query selects."""
        with self._expected("read"):
            return self._file.execute(query, values).fetchall()

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        """Execute the block as one transaction.

        If another process has locked the file, the first transaction waits for the lock. Later transactions
        fail at once, because waiting for each of many messages would block the event loop.
        """
        self._expect_same_file()
        with self._expected("written"):
            try:
                with self._file:
                    yield
            except sqlite3.OperationalError:
                self._wait_for_locks(False)
                self._is_log_long = not remove_failed(self._file, self.path)
                raise
            if self._is_log_long:
                self._is_log_long = not empty_log(self._file)
            self._wait_for_locks(True)

    def _wait_for_locks(self, patient: bool) -> None:
        if patient is not self._is_patient:
            self._file.execute(f"PRAGMA busy_timeout = {BUSY if patient else 0}")
            self._is_patient = patient

    @contextmanager
    def _expected(self, rule: str) -> Iterator[None]:
        """Convert errors of SQLite and the operating system, such as a full disk, to a HerosError."""
        try:
            yield
        except (OSError, sqlite3.Error) as error:
            if is_damage(error):
                raise DataError(f"The journal {self.path} is damaged: {error}.") from None
            told = str(error) if self.path is None else with_full_disk(error, self.path)
            raise HerosError(f"The journal {self.path} cannot be {rule}: {told}.") from None

    def _expect_same_file(self) -> None:
        """Raise an error if the file was removed or replaced, because SQLite would write to the old file."""
        if self.path is not None and not is_in_place(self.path, self._opened):
            raise HerosError(f"The journal {self.path} was removed or replaced while in use.")

    def close(self) -> None:
        """Close the files."""
        self._file.close()
        self._last_number.close()


def is_damage(error: Exception) -> bool:
    """Return whether an SQLite error reports a damaged file, not a locked file or a full disk."""
    return isinstance(error, sqlite3.DatabaseError) and not isinstance(error, sqlite3.OperationalError)


def _intact(sequence: int, number: Any, topic: Any, payload: Any, digest: Any) -> Received | None:
    """Return the message of a row, or None if the row is damaged."""
    try:
        message = Received(number, bytes(topic).decode(), payload)
        return message if message.digest(sequence) == digest else None
    except (TypeError, ValueError):
        return None
