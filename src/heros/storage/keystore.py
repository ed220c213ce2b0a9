"""Models stored by key in one SQLite file; models and stream position are committed in one transaction."""

from __future__ import annotations

import json
import operator
import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from heros._base.errors import DataError, HerosError
from heros.storage.disk import is_in_place, with_full_disk
from heros.storage.last_number import LastNumber, in_use
from heros.storage.write_ahead_log import empty_log, remove_failed

FILE = "keys.sqlite"
FORMAT = 1
BUSY = 1000  # milliseconds to wait for another process that reads or copies the file
PAGE = 16384  # bytes: large pages are faster for large models
SUMS = (
    "instances INTEGER NOT NULL, hits INTEGER NOT NULL, spent REAL NOT NULL, absolute REAL NOT NULL, "
    "squared REAL NOT NULL, naive REAL NOT NULL"
)
SCHEMA = (  # measures and models are separate tables: measures are read often, and models are large
    "CREATE TABLE IF NOT EXISTS models (id INTEGER PRIMARY KEY, learnt BLOB NOT NULL)",
    f"CREATE TABLE IF NOT EXISTS figures (key TEXT PRIMARY KEY, model INTEGER, {SUMS}) WITHOUT ROWID",
    # changes since the last commit; a row without a model is a key to be removed
    f"CREATE TABLE IF NOT EXISTS drafts (key TEXT PRIMARY KEY, model INTEGER, {SUMS}) WITHOUT ROWID",
    "CREATE VIEW IF NOT EXISTS present AS SELECT * FROM drafts WHERE model IS NOT NULL UNION ALL "
    "SELECT * FROM figures WHERE NOT EXISTS (SELECT 1 FROM drafts WHERE drafts.key = figures.key)",
    "CREATE TABLE IF NOT EXISTS notes (name TEXT PRIMARY KEY, value TEXT NOT NULL)",
    "CREATE TABLE IF NOT EXISTS attached (piece INTEGER PRIMARY KEY, bytes BLOB NOT NULL)",
)
PIECE = 1 << 24  # bytes; a large value is divided, since SQLite copies each value and limits it to a gigabyte
DISCARD = ("DELETE FROM models WHERE id IN (SELECT model FROM drafts)", "DELETE FROM drafts")
ADOPT = (
    "DELETE FROM models WHERE id IN (SELECT figures.model FROM figures JOIN drafts USING (key))",
    "DELETE FROM figures WHERE key IN (SELECT key FROM drafts)",
    "INSERT INTO figures SELECT * FROM drafts WHERE model IS NOT NULL",
    "DELETE FROM drafts",
)


class NotKept(HerosError):
    """A write to the store failed and had no effect, for example because the disk is full."""


class StoreDamaged(NotKept, DataError):
    """The file cannot be read as a whole; the damage is not limited to the model of one key."""


class Tally(NamedTuple):
    """Sums over the instances of one key, for computing the measures of the key."""

    instances: int = 0
    hits: int = 0  # correct predictions, in classification
    spent: float = 0.0  # Σγ, the cost of all training steps
    absolute: float = 0.0  # Σ|error|, in regression
    squared: float = 0.0  # Σ error²
    naive: float = 0.0  # Σ|error| of the running mean of the targets

    def minus(self, other: Tally) -> Tally:
        """Return the difference of two tallies, field by field."""
        return Tally(*map(operator.sub, self, other))

    def plus(self, other: Tally) -> Tally:
        """Return the sum of two tallies, field by field.

        Examples
        --------
        >>> Tally(10, 7, 3.5).plus(Tally(2, 1, 0.5))
        Tally(instances=12, hits=8, spent=4.0, absolute=0.0, squared=0.0, naive=0.0)
        """
        return Tally(*map(operator.add, self, other))


FIGURES = ", ".join(Tally._fields)


class KeyStore:
    """A database for the models of a `heros.ensemble.keyed.Keyed` that are not in memory, and for notes.

    The notes include the position of the source, the schema and the template.

    A stored model is visible to this process at once and durable after `commit`. If the process is killed,
    all changes since the last commit are lost. `put` writes a draft beside the committed model in a small
    transaction, and `commit` makes all drafts permanent in one transaction. If a transaction fails, for
    example because the disk is full, the call raises `NotKept` and has no effect; the drafts of earlier calls
    remain.

    SQLite ignores a damaged or missing write-ahead log. `commit` therefore moves its changes from the log to
    the file itself, and writes the number of commits to a second, small file. `lost` is the number of
    missing commits.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     store = KeyStore(directory)
    ...     store.put("a", b"bytes", Tally(10, 7, 3.5))
    ...     store.commit({"offset": 10})
    ...     store.put("a", b"later", Tally(20, 15, 7.0))
    ...     store.close()
    ...     again = KeyStore(directory)
    ...     again.get("a"), again.note(), again.tally("a").hits
    ...     again.close()
    (b'bytes', {'offset': 10}, 7)
    """

    def __init__(self, directory: str | os.PathLike[str]) -> None:
        self.path = Path(directory, FILE)
        self._is_open = self.closed = False
        with self._said():
            try:
                self.path.parent.mkdir(parents=True, exist_ok=True)
                self._last_number = LastNumber(self.path)
                try:
                    descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT, 0o600)  # only for the owner
                except OSError:
                    self._last_number.close()
                    raise
                self._opened = os.fstat(descriptor)
                os.close(descriptor)  # before SQLite opens the file, as closing releases locks
            except OSError as error:
                raise HerosError(f"The directory {self.path.parent} cannot be written to: {error}.") from None
            self._file = sqlite3.connect(self.path, timeout=0, isolation_level=None, check_same_thread=False)
        try:
            self._open()
            self._file.execute(f"PRAGMA busy_timeout={BUSY}")
            self._is_open = True
            self._commits: int = (self.note("commits") or {}).get("count", 0)
        except BaseException:
            self.close()
            raise
        self.lost: int = max(0, self._last_number.read() - self._commits)  # number of lost commits

    def _open(self) -> None:
        with self._said():
            self._file.execute(f"PRAGMA page_size={PAGE}")  # has an effect in a new file only
            self._file.execute("PRAGMA journal_mode=WAL")
        with self._transaction():
            kept = self._file.execute("PRAGMA user_version").fetchone()[0]
            if kept not in {0, FORMAT}:  # a new file has the format 0
                raise HerosError(f"The file {self.path} must have the format {FORMAT}. Got {kept}.")
            for statement in (*SCHEMA, *DISCARD, f"PRAGMA user_version={FORMAT}"):
                self._file.execute(statement)
        self._expect_readable()

    def _expect_readable(self) -> None:
        """Raise `StoreDamaged` if the first or the last model cannot be found."""
        with self._said():
            for end in ("min", "max"):
                self._file.execute(f"SELECT {end}(id) FROM models").fetchone()

    def put(self, key: str, learnt: bytes, tally: Tally) -> None:
        """Write a model (as bytes) and the sums of its key as a draft; raise `NotKept` if this fails."""
        with self._transaction():
            self._draft(key, learnt, tally)

    def _draft(self, key: str, learnt: bytes | None, tally: Tally) -> None:
        self._file.execute("DELETE FROM models WHERE id = (SELECT model FROM drafts WHERE key = ?)", (key,))
        model = None
        if learnt is not None:
            model = self._file.execute("INSERT INTO models (learnt) VALUES (?)", (learnt,)).lastrowid
        row = f"INSERT OR REPLACE INTO drafts (key, model, {FIGURES}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
        self._file.execute(row, (key, model, *tally))

    def get(self, key: str) -> bytes | None:
        """Return the bytes of the model of a key, or None if the key is new.

        Raise a DataError if this model cannot be read, and `StoreDamaged` if no model can be read.
        """
        query = "SELECT (SELECT learnt FROM models WHERE id = model) FROM present WHERE key = ?"
        try:
            with self._said():
                row = self._file.execute(query, (key,)).fetchone()
        except StoreDamaged as error:
            self._expect_readable()
            raise DataError(str(error)) from None
        if row is None:
            return None
        if row[0] is None:
            raise DataError(f"The file {self.path} is damaged: the model for the key {key} is missing.")
        return bytes(row[0])

    def tally(self, key: str) -> Tally | None:
        """Return the sums of a key, or None if the key has no model."""
        with self._said():
            query = f"SELECT {FIGURES} FROM present WHERE key = ?"
            row = self._file.execute(query, (key,)).fetchone()
        return None if row is None else Tally(*row)

    def tallies(self) -> Iterator[tuple[str, Tally]]:
        """Yield all keys with their sums, ordered by key."""
        with self._said():
            for key, *tally in self._file.execute(f"SELECT key, {FIGURES} FROM present ORDER BY key"):
                yield key, Tally(*tally)

    def total(self) -> tuple[int, Tally]:
        """Return the number of keys, and the sums over all keys."""
        sums = ", ".join(f"total({name})" for name in Tally._fields)
        with self._said():
            count, *tally = self._file.execute(f"SELECT count(*), {sums} FROM present").fetchone()
        return count, Tally(int(tally[0]), int(tally[1]), *tally[2:])

    def busiest(self, n: int) -> list[tuple[str, Tally]]:
        """Return the n keys with the most instances, with their sums."""
        query = f"SELECT key, {FIGURES} FROM present ORDER BY instances DESC LIMIT ?"
        with self._said():
            return [(key, Tally(*tally)) for key, *tally in self._file.execute(query, (n,))]

    def remove(self, key: str) -> None:
        """Delete the model and the sums of a key; the deletion is permanent after `commit`."""
        with self._transaction():
            self._draft(key, None, Tally())

    def note(self, name: str = "position") -> Mapping[str, Any] | None:
        """Return a note of the last commit: ``position`` (of the source), ``schema`` or ``template``."""
        with self._said():
            row = self._file.execute("SELECT value FROM notes WHERE name = ?", (name,)).fetchone()
        note: Mapping[str, Any] | None = None if row is None else json.loads(row[0])
        return note

    def attached(self) -> bytes:
        """Return the bytes that were attached to the last commit, or an empty string of bytes."""
        with self._said():
            return b"".join(row[0] for row in self._file.execute("SELECT bytes FROM attached ORDER BY piece"))

    def commit(
        self,
        note: Mapping[str, Any] | None,
        notes: Mapping[str, Any] | None = None,
        models: Iterable[tuple[str, bytes, Tally]] = (),
        attached: Iterable[bytes] | None = None,
    ) -> None:
        """Commit all drafts, `models`, `note`, other `notes` and, if given, `attached` in one transaction."""
        commits = self._commits + 1
        notes = {"position": note, "commits": {"count": commits}, **(notes or {})}
        with self._transaction("FULL"):
            for model in models:
                self._draft(*model)
            for statement in ADOPT:
                self._file.execute(statement)
            for name, value in notes.items():
                self._file.execute("INSERT OR REPLACE INTO notes VALUES (?, ?)", (name, json.dumps(value)))
            if attached is not None:
                self._file.execute("DELETE FROM attached")
                pieces = (
                    memoryview(one)[at : at + PIECE] for one in attached for at in range(0, len(one), PIECE)
                )
                self._file.executemany("INSERT INTO attached (bytes) VALUES (?)", ((one,) for one in pieces))
        self._commits = commits
        self._last_number.write(commits)

    def copy(self, path: str | os.PathLike[str]) -> None:
        """Write the state of the last commit to another file."""
        with self._said():
            self._roll_back()
            try:
                self._file.execute("VACUUM INTO ?", (os.fspath(path),))
            except sqlite3.OperationalError as error:
                if "already exists" not in str(error):
                    Path(path).unlink(missing_ok=True)  # remove a partial copy
                raise
            finally:
                self._begin()

    def close(self) -> None:
        """Close the file; uncommitted changes are discarded."""
        self.closed = True
        self._file.close()
        self._last_number.close()

    @contextmanager
    def _transaction(self, synchronous: str = "NORMAL") -> Iterator[None]:
        """Execute the block as one transaction; with "FULL", wait until the commit is on disk."""
        with self._said():
            if not is_in_place(self.path, self._opened):  # SQLite would still write to the old file
                raise NotKept(f"The file {self.path} was removed or replaced while in use.")
            self._begin(synchronous)
            try:
                yield
                self._file.execute("COMMIT")
                if synchronous == "FULL":
                    self._empty_log(empty_log)
            except sqlite3.OperationalError:
                self._roll_back()
                self._empty_log(lambda file: remove_failed(file, self.path))
                raise
            finally:
                self._begin()

    def _empty_log(self, how: Callable[[sqlite3.Connection], bool]) -> None:
        """Move all commits from the write-ahead log to the file, unless another process reads the file."""
        self._file.execute("PRAGMA busy_timeout=0")
        how(self._file)
        self._file.execute(f"PRAGMA busy_timeout={BUSY}")

    def _begin(self, synchronous: str = "NORMAL") -> None:
        """Roll back an open transaction and begin a new one, which locks the file for other writers."""
        self._roll_back()
        self._file.execute(f"PRAGMA synchronous={synchronous}")
        self._file.execute("BEGIN IMMEDIATE")

    def _roll_back(self) -> None:
        if self._file.in_transaction:  # after some errors SQLite has already rolled back
            self._file.execute("ROLLBACK")

    @contextmanager
    def _said(self) -> Iterator[None]:
        if self.closed:
            raise NotKept(
                f"The file {self.path} has been closed. Create a new object to open the file again."
            )
        try:
            yield
        except sqlite3.OperationalError as error:
            if "locked" in str(error) and not self._is_open:
                raise in_use(self.path) from None
            told = with_full_disk(error, self.path)
            raise NotKept(f"The file {self.path} cannot be written: {told}.") from None
        except (sqlite3.DatabaseError, ValueError) as error:
            way = "Restore it from a copy, or use another directory"
            raise StoreDamaged(f"The file {self.path} is damaged: {error}. {way}.") from None
