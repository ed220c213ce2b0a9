"""The base class of table readers, which return raw rows in chunks."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path

from heros._base.errors import DataError, DataNotice
from heros._base.lazy import pa
from heros._base.notices import notice
from heros.data.columns import Column, trimmed
from heros.data.values import MISSING, Words, checked_words
from heros.streams.bad_rows import BadRow
from heros.streams.live.base import END, Signal

__all__ = ["CELLS", "Chunk", "TableReader", "written"]

CELLS = 1 << 20
"""The approximate number of values in a chunk. A larger chunk is faster but needs more memory."""


@dataclass(frozen=True)
class Chunk:
    """A chunk of raw rows of a table."""

    columns: Sequence[pa.Array]  # one per column of the table
    what: str  # "line" or "row"
    numbers: Sequence[int] | Callable[[], Sequence[int]]  # line or row numbers, or a function returning them
    faults: Sequence[tuple[int, BadRow]] = ()  # (rows before it, error) for each row that could not be split

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return len(self.columns[0])

    def place(self, row: int) -> str:
        """Return the location of a row in the table, for messages."""
        numbers = self.numbers() if callable(self.numbers) else self.numbers
        return f"{self.what} {numbers[row]}"


class TableReader(ABC):
    """A reader of the rows of a table. A copied or unpickled reader continues from the same row."""

    names: Sequence[str]
    n_rows: int | None = None  # total number of rows; None if unknown
    notes: tuple[str, ...] = ()  # notices about how the table is read
    decimal_comma: bool = False  # whether a comma is more likely a decimal mark than a separator

    def __init__(self, label: str, missing: Sequence[str] = (), usual: Sequence[str] = MISSING) -> None:
        self.label = label
        words = checked_words((*usual, *checked_words(missing)))
        self.words = Words(words)  # strings read as missing values
        self._kept_names: dict[str, set[str]] = {}
        self._kept_in_other_columns = Words()
        self.given_words = tuple(word for word in words if word not in MISSING)

    def keep_names(self, values: Mapping[str, Collection[str]]) -> None:
        """Never read the listed values of a column as missing, even if they usually mean missing."""
        listed = {name: Words(names) for name, names in values.items()}
        self._kept_names = {
            name: {word for word in self.words if word in names} for name, names in listed.items()
        }
        self._kept_in_other_columns = Words(chain.from_iterable(self._kept_names.values()))
        self.words = Words(self.words - self._kept_in_other_columns)

    def use_words(self, words: Collection[str], values: Mapping[str, Collection[str]]) -> bool:
        """Read these words as missing, too, except the listed values. Return whether anything changes."""
        before = self.words, self._kept_names
        self.words = Words((*self.words, *self._kept_in_other_columns, *words))
        self.keep_names(values)
        return before != (self.words, self._kept_names)

    def without_missing_words(self, chunk: Chunk) -> Chunk:
        """Replace the strings of `keep_names` with null in the columns that do not list them as values."""
        if not self._kept_in_other_columns:
            return chunk
        words = (
            Words(self._kept_in_other_columns - self._kept_names.get(name, set())) for name in self.names
        )
        return replace(chunk, columns=[*map(trimmed, chunk.columns, words)])

    @abstractmethod
    def read(self) -> Chunk | None:
        """Return the next rows; None at the end."""

    def read_within(self, wanted: int, timeout: float | None) -> Chunk | Signal:
        """Return the next rows, or END; only a pipe may wait for `wanted` rows."""
        chunk = self.read()
        return END if chunk is None else chunk

    @abstractmethod
    def restart(self) -> None:
        """Go back to the first row."""

    def reread(self) -> Chunk | None:
        """Return the first rows again."""
        self.restart()
        return self.read()

    def declared(self, index: int) -> Column | None:
        """Return the column that the table declares; None if the kind of the column must be inferred."""
        return None

    def has_nulls(self, index: int) -> bool:
        """Return whether a column is known to have missing values before its rows are read."""
        return False

    def _distinct(self, names: Sequence[str]) -> Sequence[str]:
        twice = sorted(name for name, times in Counter(names).items() if times > 1)
        if twice:
            raise DataError(
                f"{self.label}: the columns must have distinct names. Got {twice} more than once."
            )
        return names

    def _notify(self, text: str) -> None:
        """Warn that the table may be read in an unexpected way."""
        self.notes += (text,)
        notice(text, DataNotice)

    def _notify_skipped(self, skipped: int, what: str, header: int) -> None:
        """Warn that lines or rows above the header are skipped."""
        which = f"{what} is" if skipped == 1 else f"{skipped} {what}s are"
        self._notify(f"The first {which} skipped: the header of {self.label} is in {what} {header}.")


def written(path: Path) -> tuple[int, int, int]:
    """Return the inode number, the size and the modification time of a file; zeros if it does not exist."""
    try:
        found = path.stat()
    except FileNotFoundError:
        return (0, 0, 0)
    return (found.st_ino, found.st_size, found.st_mtime_ns)
