"""What reads a table: its rows, raw, a chunk at a time."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from heros._base.lazy import pa
from heros.data.columns import Column
from heros.data.values import MISSING, checked_words
from heros.errors import DataError, DataNotice
from heros.streams.live.bad_rows import BadRow

__all__ = ["CELLS", "Chunk", "TableReader", "places"]

CELLS = 1 << 20
"""About how many values a chunk has: large enough to be fast, small enough to keep memory flat."""


@dataclass(frozen=True)
class Chunk:
    """The next rows of a table, raw."""

    columns: Sequence[pa.Array]  # one per column of the table
    place: Callable[[int], str]  # where a row stands in the table, for messages
    faults: Sequence[tuple[int, BadRow]] = ()  # what could not be split into columns; rows before it

    @property
    def n_rows(self) -> int:
        """How many rows there are."""
        return len(self.columns[0])


def places(what: str, numbers: Sequence[int]) -> Callable[[int], str]:
    """Return where rows stand, from the number of the line or row of each."""
    return partial(_place, what, numbers)


def _place(what: str, numbers: Sequence[int], row: int) -> str:
    return f"{what} {numbers[row]}"


class TableReader(ABC):
    """Where the rows of a table come from. A copy or pickle goes on from the same row."""

    names: Sequence[str]
    n_rows: int | None = None  # how many rows there are in all; None if unknown
    notes: tuple[str, ...] = ()  # what was told about how the table is read
    decimal_comma: bool = False  # whether a comma is likelier to stand before decimals than between thousands

    def __init__(self, label: str, missing: Sequence[str] = (), usual: Sequence[str] = MISSING) -> None:
        self.label = label
        self.words = checked_words((*usual, *checked_words(missing)))  # that stand for a missing value
        self.said_words = tuple(word for word in self.words if word not in MISSING)

    @abstractmethod
    def read(self) -> Chunk | None:
        """The next rows; None at the end."""

    @abstractmethod
    def restart(self) -> None:
        """Go back to the first row."""

    def declared(self, index: int) -> Column | None:
        """A column as the table itself declares it; None if its values must tell."""
        return None

    def has_nulls(self, index: int) -> bool:
        """Return whether a column is known to have missing values before its rows are read."""
        return False

    def _distinct(self, names: Sequence[str]) -> Sequence[str]:
        twice = sorted(name for name, times in Counter(names).items() if times > 1)
        if twice:
            raise DataError(f"{self.label}: the columns must have distinct names. Got {twice} twice.")
        return names

    def _tell(self, text: str) -> None:
        """Tell how the table is read, where that may be a surprise."""
        self.notes += (text,)
        warnings.warn(text, DataNotice, stacklevel=4)

    def _tell_skipped(self, skipped: int, what: str, header: int) -> None:
        """Tell that the header stands below other lines or rows."""
        which = f"{what} is" if skipped == 1 else f"{skipped} {what}s are"
        self._tell(f"The first {which} skipped: the header of {self.label} is in {what} {header}.")
