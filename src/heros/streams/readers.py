"""What reads a table: its rows, raw, a chunk at a time."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from heros._base.lazy import pa
from heros.data.columns import Column
from heros.errors import DataNotice
from heros.streams.live.bad_rows import BadRow

__all__ = ["CELLS", "Chunk", "TableReader"]

CELLS = 1 << 20
"""About how many values a chunk has: large enough to be fast, small enough to keep memory flat."""


@dataclass(frozen=True)
class Chunk:
    """The next rows of a table, raw.

    Parameters
    ----------
    columns
        One array per column of the table.
    place
        Where a row stands in the table, for messages.
    faults
        Rows that could not even be split into columns, each with the number of rows before it.
    """

    columns: Sequence[pa.Array]
    place: Callable[[int], str]
    faults: Sequence[tuple[int, BadRow]] = ()

    @property
    def n_rows(self) -> int:
        """How many rows there are."""
        return len(self.columns[0])


class TableReader(ABC):
    """Where the rows of a table come from. A copy or pickle goes on from the same row."""

    label: str
    names: Sequence[str]
    notes: tuple[str, ...] = ()
    """What was told about how the table is read."""
    decimal_comma: bool = False
    """Whether a comma is likelier to stand before decimals than between thousands."""

    @property
    def n_rows(self) -> int | None:
        """How many rows there are in all; None if unknown."""
        return None

    @property
    def said_words(self) -> tuple[str, ...]:
        """The words that stand for a missing value beside the usual ones."""
        return ()

    def has_nulls(self, index: int) -> bool:
        """Return whether a column is known to have missing values before its rows are read."""
        return False

    def _tell(self, text: str) -> None:
        """Tell how the table is read, where that may be a surprise."""
        self.notes += (text,)
        warnings.warn(text, DataNotice, stacklevel=4)

    @abstractmethod
    def read(self) -> Chunk | None:
        """The next rows; None at the end."""

    @abstractmethod
    def restart(self) -> None:
        """Go back to the first row."""

    @abstractmethod
    def declared(self, index: int) -> Column | None:
        """A column as the table itself declares it; None if its values must tell."""
