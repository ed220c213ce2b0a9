"""CSV and its kin: one record a line, cells between delimiters."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from heros.errors import DataError, ParameterError
from heros.data.columns import Column
from heros.data.values import BLANKS, MISSING, checked_words
from heros.streams.text import LONGEST, RawRecords, Record, TextReader

if TYPE_CHECKING:
    import _csv

__all__ = ["DelimitedReader"]

DELIMITERS = ",;\t| "
LINES_LOOKED_AT = 20
"""So many lines, if there are so many, tell the delimiter."""

BOM = b"\xef\xbb\xbf"


class DelimitedReader(TextReader):
    """The records of a CSV file."""

    def __init__(
        self,
        path: Path,
        *,
        delimiter: str | None = None,
        quote: str = '"',
        header: bool = True,
        missing: Sequence[str] = (),
        encoding: str = "utf-8",
    ) -> None:
        if delimiter is not None and (len(delimiter) != 1 or not delimiter.isascii() or delimiter in '\r\n"'):
            raise ParameterError.of("delimiter", "read", "one ASCII character", delimiter)
        if len(quote) > 1 or not quote.isascii():
            raise ParameterError.of("quote", "read", "one ASCII character or ''", quote)
        super().__init__(path, encoding, delimiter or ",", quote)
        self._missing = checked_words((*MISSING, *checked_words(missing)))
        line, lines = self._first_lines()
        self._delimiter = delimiter or _likeliest_delimiter(lines, quote)
        self.decimal_comma = self._delimiter != ","
        cells = next(self._reader(lines[:1]))
        if header:
            self.names = self._distinct([cell.strip(BLANKS) for cell in cells])
            self._start = self._at = (self._at[0] + self._length, line + 1)
        else:
            self.names = [f"x{i + 1}" for i in range(len(cells))]

    def declared(self, index: int) -> Column | None:
        """Nothing: a CSV file does not declare types."""
        return None

    def _first_lines(self) -> tuple[int, list[str]]:
        """The first lines from one that is not blank; `_at` stands before it, behind a byte order mark."""
        file = self._open()
        head = b""
        while (start := head.removeprefix(BOM).lstrip(b"\r\n")).count(b"\n") < LINES_LOOKED_AT:
            more = self._read(file, 1 << 16)
            if not more or len(head) > LONGEST:
                break
            head += more
        self._close()
        if not start.strip():
            raise DataError(
                f"{self.label} must have a header and at least one row. Got an empty file instead."
            )
        skipped = len(head) - len(start)
        line = 1 + head[:skipped].count(b"\n")
        self._start = self._at = (skipped, line)
        first = start[: start.find(b"\n") + 1] or start
        if b"\r" in first.rstrip(b"\r\n"):
            raise DataError(f"{self.label} must end its lines with a newline. Got carriage returns alone.")
        self._length = len(first)
        lines = [first, *start[len(first) :].split(b"\n")[: LINES_LOOKED_AT - 1]]
        return line, [one.decode(self._encoding, "replace") for one in lines]

    def _is_plain(self, data: bytes) -> bool:
        return True

    def _end_of_records(self, data: bytes) -> int:
        if not self._quote or self._quote.encode() not in data:
            return data.rfind(b"\n") + 1
        ends = self._ends(data)
        return int(ends[-1]) if len(ends) else 0

    def _ends(self, data: bytes) -> NDArray[np.intp]:
        """The bytes behind newlines that are not inside a quoted value."""
        characters = np.frombuffer(data, np.uint8)
        newlines = np.flatnonzero(characters == ord("\n"))
        if not self._quote:
            return newlines + 1
        quotes = np.flatnonzero(characters == ord(self._quote))
        outside: NDArray[np.bool_] = np.searchsorted(quotes, newlines) % 2 == 0
        return np.asarray(newlines[outside] + 1)

    def _records(self, records: RawRecords) -> Iterator[Record]:
        reader = self._reader(records.text)
        before = 0
        try:
            for cells in reader:
                line = records.line + before
                before = reader.line_num
                if len(cells) > 1 or (cells and cells[0].strip()):
                    yield self._checked(line, cells)
        except csv.Error as error:
            raise DataError(f"{self.label}, line {records.line + before}: {error}.") from None

    def _reader(self, lines: Iterable[str]) -> _csv.Reader:
        if not self._quote:
            return csv.reader(lines, delimiter=self._delimiter, quoting=csv.QUOTE_NONE)
        return csv.reader(lines, delimiter=self._delimiter, quotechar=self._quote)


def _likeliest_delimiter(lines: Sequence[str], quote: str) -> str:
    """The delimiter that splits the most lines into as many cells as the first one, and into the most cells.

    Blanks only count where nothing else splits the lines: names and values may have them inside.

    Examples
    --------
    >>> _likeliest_delimiter(["First Name,Age Group,Is Late", "Ann Lee,20 to 30,no", ""], '"')
    ','
    >>> _likeliest_delimiter(["a;b;c", "1,5;2,5;x"], '"'), _likeliest_delimiter(["a b", "1 2"], '"')
    (';', ' ')
    """
    filled = [line.rstrip("\r\n") for line in lines if line.strip()]
    if not filled:
        return DELIMITERS[0]

    def agreement(delimiter: str) -> tuple[float, bool, int]:
        counts = [_cells_in(line, delimiter, quote) for line in filled]
        same = sum(count == counts[0] for count in counts) / len(counts)
        return (same if counts[0] > 1 else 0.0), delimiter != " ", counts[0]

    return max(DELIMITERS, key=agreement)


def _cells_in(line: str, delimiter: str, quote: str) -> int:
    """How many cells a line has; delimiters between quotes do not count."""
    unquoted = "".join(line.split(quote)[::2]) if quote else line
    return 1 + (unquoted.strip() if delimiter == " " else unquoted).count(delimiter)
