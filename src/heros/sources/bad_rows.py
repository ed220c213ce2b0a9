"""Rows that break a rule: what is said about them and what is kept of them."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["KEPT", "BadRow", "BadRows"]

KEPT = 10
"""How many skipped rows are kept; the rest are only counted."""


@dataclass(frozen=True, slots=True)
class BadRow:
    """One row that broke a rule.

    Parameters
    ----------
    source
        The file (or other source) it stands in.
    place
        Where in the source: ``"line 17"`` of a text, ``"row 17"`` of anything else, counted from 1.
    column
        The column that broke the rule; None if the whole row did.
    value
        What stood there, as text.
    rule
        What should have stood there.

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
    """The rows a stream has skipped so far.

    Examples
    --------
    >>> skipped = BadRows().plus(BadRow("people.csv", "line 17", "age", "'abc'", "be a number"))
    >>> skipped.count, len(skipped.first)
    (1, 1)
    """

    count: int = 0
    first: tuple[BadRow, ...] = ()

    def plus(self, row: BadRow) -> BadRows:
        """With one more row; only the first ten are kept."""
        return BadRows(self.count + 1, self.first if len(self.first) >= KEPT else (*self.first, row))

    def __add__(self, other: BadRows) -> BadRows:
        return BadRows(self.count + other.count, (*self.first, *other.first)[:KEPT])
