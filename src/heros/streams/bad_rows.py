"""Records of invalid rows, and the errors that invalid rows cause."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from heros._base.errors import DataError, DataNotice
from heros._base.notices import notice
from heros._base.parameters import one_of, whole
from heros.data.values import NO_TARGET, SHOWN

__all__ = ["KEPT", "BadRow", "BadRows", "BrokenOff", "TooManyBadRows", "checked_skip", "notify_skipped"]

KEPT = 10
"""The number of skipped rows that are stored. Later skipped rows are only counted."""

MOST = 100
"""The maximum number of columns, and of values per column, for which bad rows are counted separately."""

FEWEST, ONE_IN = 20, 20
"""A stream ends after `FEWEST` bad rows, if more than one row in `ONE_IN` with a target is bad."""

UNLABELLED = 1000
"""If no row has a target, the stream ends after this many rows. The target name may be misspelt."""


class BrokenOff(DataError):
    """Raised if the rest of a stream cannot be read. `heros.evaluate` then returns the results so far."""


class TooManyBadRows(BrokenOff):
    """Raised if more than one row in twenty cannot be read, or if no row has a target."""


@dataclass(frozen=True, slots=True)
class BadRow:
    """An invalid row.

    Parameters
    ----------
    source
        The file or other source of the row.
    place
        The location in the source: ``"line 17"`` of a text file, ``"row 17"`` otherwise, counted from 1.
    column
        The invalid column; None if the whole row is invalid.
    value
        The invalid value, as a string.
    rule
        The rule that the value violates.

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

    @property
    def unlabelled(self) -> bool:
        """Whether the row is valid except for a missing target."""
        return self.rule == NO_TARGET

    def __str__(self) -> str:
        what = "the row" if self.column is None else f"the {self.column!r} column"
        value = self.value if len(self.value) <= SHOWN else f"{self.value[:SHOWN]}…"
        return f"{self.source}, {self.place}: {what} must {self.rule}. Got {value} instead."


@dataclass(frozen=True, slots=True)
class BadRows:
    """The rows that a stream has skipped so far: bad rows, and rows without a target.

    Parameters
    ----------
    count
        The number of skipped rows.
    first
        The first ten bad rows, and the first row without a target.
    unlabelled
        The number of skipped rows that are valid except for a missing target. They end a stream only if no
        row has a target.
    columns
        For each column, a mapping from invalid values to numbers of rows. The column "" stands for rows that
        are invalid as a whole, and the value "" for all values that are not counted separately. If there are
        very many columns, some are not listed, but `count` includes their bad rows.
    """

    count: int = 0
    first: tuple[BadRow, ...] = ()
    unlabelled: int = 0
    columns: Mapping[str, Mapping[str, int]] = field(default_factory=dict, hash=False)

    @classmethod
    def of(cls, plain: Mapping[str, Any]) -> BadRows:
        """Create a record from the result of `plain`; raise an error if the data are damaged.

        Examples
        --------
        >>> skipped = BadRows().plus(BadRow("people.csv", "line 17", "age", "'abc'", "be a number"))
        >>> BadRows.of(skipped.plain()) == skipped
        True
        """
        count, unlabelled = (whole(plain[name], name, "BadRows", 0) for name in ("count", "unlabelled"))
        columns = {name: dict(values) for name, values in plain["columns"].items()}
        return cls(count, tuple(BadRow(**row) for row in plain["first"]), unlabelled, columns)

    def plain(self) -> dict[str, Any]:
        """Return the record as JSON data."""
        return {**asdict(self), "first": [asdict(row) for row in self.first]}

    def plus(self, row: BadRow) -> BadRows:
        """Return a copy of this record with one more skipped row."""
        columns = {} if row.unlabelled else {row.column or "": {row.value[:SHOWN]: 1}}
        return self + BadRows(1, (row,), int(row.unlabelled), columns)

    def __add__(self, other: BadRows) -> BadRows:
        most = {True: 1, False: KEPT}
        first = self.first
        for row in other.first:
            if sum(row.unlabelled == one.unlabelled for one in first) < most[row.unlabelled]:
                first = (*first, row)
        columns = {**self.columns}
        for name, values in other.columns.items():
            if name and name not in columns and len(columns) >= MOST:
                continue
            counts = columns[name] = {**columns.get(name, {})}
            for value, n in values.items():
                place = value if value in counts or len(counts) < MOST else ""
                counts[place] = counts.get(place, 0) + n
        return BadRows(self.count + other.count, first, self.unlabelled + other.unlabelled, columns)

    def are_too_many(self, rows: int) -> bool:
        """Return whether the stream must end, because too many rows are bad or no row has a target.

        Examples
        --------
        >>> BadRows(19).are_too_many(19), BadRows(20).are_too_many(399), BadRows(20).are_too_many(400)
        (False, True, False)
        >>> BadRows(20, unlabelled=1).are_too_many(20), BadRows(1000, unlabelled=1000).are_too_many(1000)
        (False, True)
        """
        bad = self.count - self.unlabelled
        no_target = self.unlabelled == rows >= UNLABELLED
        return no_target or (bad >= FEWEST and ONE_IN * bad > rows - self.unlabelled)

    def error(self, name: str, rows: int) -> TooManyBadRows:
        """Return the error for too many bad rows among the first `rows` rows of a stream."""
        bad, among = self.count - self.unlabelled, rows - self.unlabelled
        if not among:
            return TooManyBadRows(f"{name} must have rows with a target. Got {rows:,} rows without a target.")
        which = " with a target" if self.unlabelled else ""
        return TooManyBadRows(
            f"{name} must have at most one bad row in {ONE_IN} rows. Got {bad:,} bad rows in {among:,} rows"
            f"{which}. The first bad row: {next(row for row in self.first if not row.unlabelled)}"
        )

    def text(self, most: int = 3) -> str:
        """Return the number of skipped rows and the first bad rows, one per line; "" if no row was skipped.

        Examples
        --------
        >>> skipped = BadRows().plus(BadRow("people.csv", "line 17", "age", "'abc'", "be a number"))
        >>> print((skipped + BadRows(950, unlabelled=950)).text())
        950 rows without a target were skipped.
        1 bad row was skipped:
          people.csv, line 17: the 'age' column must be a number. Got 'abc' instead.
        """
        lines, bad = [], self.count - self.unlabelled
        if self.unlabelled:
            lines.append(f"{_counted(self.unlabelled, 'row{s} without a target')} skipped.")
        if bad:
            shown = [row for row in self.first if not row.unlabelled][:most]
            which = "" if bad == len(shown) else ", the first" if most == 1 else f", the first {len(shown)}"
            lines += [f"{_counted(bad, 'bad row{s}')} skipped{which}:", *(f"  {row}" for row in shown)]
            if bad > len(shown) and self.columns:
                lines.append(f"  bad rows by column: {self._by_column()}")
        return "\n".join(lines)

    def _by_column(self) -> str:
        """Return the number of bad rows per column, and the invalid value that most rows share, if any."""
        parts, rest = [], self.count - self.unlabelled
        by_count = sorted(self.columns.items(), key=lambda pair: -sum(pair[1].values()))
        for name, values in by_count[:KEPT]:
            n, most = sum(values.values()), max(values, key=lambda value: values[value])
            rest -= n
            which = f" ({values[most]:,} of them {most})" if 1 < values[most] > n / 2 and most else ""
            parts.append(f"{n:,} in {f'the column {name!r}' if name else 'whole rows'}{which}")
        more = [f"{rest:,} in other columns"] if rest else []
        return ", ".join(parts + more)


def _counted(n: int, what: str) -> str:
    return f"1 {what.format(s='')} was" if n == 1 else f"{n:,} {what.format(s='s')} were"


def notify_skipped(skipped: BadRows, reported: set[bool]) -> None:
    """Warn about the first bad row and the first row without a target, unless already `reported`."""
    for row in skipped.first:
        if row.unlabelled not in reported:
            reported.add(row.unlabelled)
            what = "Rows without a target" if row.unlabelled else "Bad rows"
            counted = (
                f"{what} are skipped and counted (set on_bad_row='raise' to stop at the first such row)."
            )
            notice(f"{row} {counted}", DataNotice)


def checked_skip(on_bad_row: str, owner: str) -> bool:
    """Validate `on_bad_row`, and return whether bad rows are skipped."""
    return one_of(on_bad_row, "on_bad_row", owner, ("skip", "raise"), "'skip' or 'raise'") == "skip"
