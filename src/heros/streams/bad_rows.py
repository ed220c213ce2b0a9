"""Records and errors of invalid rows."""

from __future__ import annotations

from dataclasses import dataclass

from heros._base.notices import notice
from heros._base.parameters import one_of
from heros.errors import DataError, DataNotice

__all__ = ["KEPT", "BadRow", "BadRows", "BrokenOff", "TooManyBadRows", "checked_skip", "tell_skipped"]

KEPT = 10
"""The number of skipped rows that are stored; the rest are only counted."""

FEWEST, ONE_IN = 20, 20
"""A stream ends if at least `FEWEST` rows, and more than one row in `ONE_IN`, are bad."""


class BrokenOff(DataError):
    """The rest of a stream cannot be read; `heros.evaluate` ends with the results so far."""


class TooManyBadRows(BrokenOff):
    """More than one row in twenty could not be read."""


@dataclass(frozen=True, slots=True)
class BadRow:
    """An invalid row.

    Parameters
    ----------
    source
        The file or other source of the row.
    place
        The location in the source: ``"line 17"`` of a text, ``"row 17"`` otherwise, counted from 1.
    column
        The invalid column; None if the whole row is invalid.
    value
        The invalid value, as text.
    rule
        The rule for valid values.

    Examples
    --------
    >>> print(BadRow("people.csv", "line 17", "age", "'abc'", "be a number"))
    people.csv, line 17: the 'age' column must be a number. Got 'abc' instead.
    """

    source: str
    place: str
    column: str | None
    value: str
    rule: str

    def __str__(self) -> str:
        what = "the row" if self.column is None else f"the {self.column!r} column"
        return f"{self.source}, {self.place}: {what} must {self.rule}. Got {self.value} instead."


@dataclass(frozen=True, slots=True)
class BadRows:
    """The rows that a stream has skipped so far: their number, and the first of them."""

    count: int = 0
    first: tuple[BadRow, ...] = ()

    def plus(self, row: BadRow) -> BadRows:
        """Return the skipped rows with one more row; only the first ten are stored."""
        return BadRows(self.count + 1, self.first if len(self.first) >= KEPT else (*self.first, row))

    def __add__(self, other: BadRows) -> BadRows:
        return BadRows(self.count + other.count, (*self.first, *other.first)[:KEPT])

    def are_too_many(self, rows: int) -> bool:
        """Return whether there are too many bad rows among `rows` rows.

        Examples
        --------
        >>> BadRows(19).are_too_many(19), BadRows(20).are_too_many(399), BadRows(20).are_too_many(400)
        (False, True, False)
        """
        return self.count >= FEWEST and ONE_IN * self.count > rows

    def error(self, name: str, rows: int) -> TooManyBadRows:
        """Return the error for too many bad rows among the first `rows` of a stream."""
        return TooManyBadRows(
            f"{name} must have at most one bad row in {ONE_IN}. Got {self.count:,} in {rows:,} rows, "
            f"the first: {self.first[0]}"
        )

    def text(self, most: int = 3) -> str:
        """Return the number of skipped rows and the first of them, one per line; empty if there are none.

        Examples
        --------
        >>> print(BadRows().plus(BadRow("people.csv", "line 17", "age", "'abc'", "be a number")).text())
        1 bad row was skipped:
          people.csv, line 17: the 'age' column must be a number. Got 'abc' instead.
        """
        if not self.count:
            return ""
        what = "1 bad row was skipped" if self.count == 1 else f"{self.count:,} bad rows were skipped"
        shown = self.first[:most]
        head = f"{what}:" if self.count == len(shown) else f"{what}, the first {len(shown)}:"
        return "\n  ".join([head, *map(str, shown)])


def tell_skipped(row: BadRow) -> None:
    """Warn that the first bad row of a stream is skipped."""
    text = f"{row} Bad rows are skipped and counted (on_bad_row='raise' stops at the first)."
    notice(text, DataNotice)


def checked_skip(on_bad_row: str, owner: str) -> bool:
    """Validate `on_bad_row`, and return whether bad rows are skipped."""
    return one_of(on_bad_row, "on_bad_row", owner, ("skip", "raise"), "'skip' or 'raise'") == "skip"
