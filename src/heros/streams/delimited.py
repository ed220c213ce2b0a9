"""CSV and similar formats: records of cells separated by a delimiter."""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from heros._base.errors import DataError, ParameterError
from heros.data.number_format import parsed_number
from heros.data.values import BLANKS, SHOWN, listed
from heros.streams.bad_rows import BadRow
from heros.streams.text import BOM, LONGEST, READ_BYTES, RawRecords, Record, TextReader

if TYPE_CHECKING:
    import _csv

__all__ = ["DelimitedReader"]

# The limit of csv applies to the whole process; its default is 128 kB. `LONGEST` limits the length of a row.
csv.field_size_limit(max(csv.field_size_limit(), LONGEST + READ_BYTES))

LONG_LINES, LONG_BYTES = 1000, 1 << 20
"""If a quoted value is longer and most of its lines look like rows, its quote is probably unclosed."""

NOTHING_SCANNED = b"", np.empty(0, np.intp)
"""The bytes that were last searched for quotes, and the offsets of their quotes."""

LINES_LOOKED_AT = 50
"""The number of lines that are inspected to find the delimiter and the header."""


class DelimitedReader(TextReader):
    """A reader of the records of a CSV file."""

    def __init__(
        self,
        path: Path,
        *,
        delimiter: str | None = None,
        quote: str = '"',
        header: bool = True,
        missing: Sequence[str] = (),
        encoding: str | None = None,
    ) -> None:
        if delimiter is not None and (len(delimiter) != 1 or not delimiter.isascii() or delimiter in '\r\n"'):
            raise ParameterError.of("delimiter", "read", "one ASCII character", delimiter)
        if len(quote) > 1 or not quote.isascii():
            raise ParameterError.of("quote", "read", "one ASCII character or ''", quote)
        super().__init__(path, encoding, missing=missing)
        self._quote = quote
        self._scanned = NOTHING_SCANNED
        lines = self._first_lines()
        # Excel may write the delimiter into the first line.
        if declared := re.fullmatch(rb'"?sep=([!-~\t])"?\s*', lines[0], re.IGNORECASE):
            delimiter = delimiter or declared[1].decode()
            lines = self._skip_lines(1, lines)
        texts = [one.decode(self._encoding, "replace") for one in lines]
        self._delimiter = delimiter or _likeliest_delimiter(texts, quote)
        self.decimal_comma = self._delimiter != ","
        if header and (skipped := self._preamble(texts)):
            lines = self._skip_lines(skipped, lines)
            self._notify_skipped(skipped, "line", self._at[1])
        reader = self._reader(one.decode(self._encoding, "replace") for one in lines)
        try:
            cells = next(reader)
        except (csv.Error, StopIteration) as error:
            what = f"{self.label}, line {self._at[1]}: the header cannot be read"
            raise DataError(f"{what}: {error}.") from None
        if header:
            cells = [cell.strip(BLANKS) for cell in cells]
            if self._looks_like_a_row(cells, texts[len(texts) - len(lines) + reader.line_num :]):
                self._notify_of_missing_header(cells)
            self.names = self._distinct(cells)
            self._start_after(lines[: reader.line_num])  # a name may span several lines
        else:
            self.names = [f"x{i + 1}" for i in range(len(cells))]

    def _looks_like_a_row(self, names: Sequence[str], below: Sequence[str]) -> bool:
        """Return whether every column name is a number or also occurs as a value in its column.

        Consecutive numbers count as names, because pandas writes them for unnamed columns.
        """
        try:
            rows = [[cell.strip(BLANKS) for cell in row] for row in self._reader(below)]
        except csv.Error:  # the error is reported later, with the line number
            rows = []
        columns = [*zip(*(row for row in rows if len(row) == len(names)), strict=True)] or [()] * len(names)
        filled = [pair for pair in zip(names, columns, strict=True) if pair[0] not in self.words]
        like_values = all(parsed_number(name) is not None or name in values for name, values in filled)
        counted = any([*names] == [str(i + first) for i in range(len(names))] for first in (0, 1))
        return bool(filled) and like_values and not counted

    def _notify_of_missing_header(self, names: Sequence[str]) -> None:
        """Warn that the header seems to be missing; raise an error if the first line cannot be a header."""
        way = "(pass header=False if the file has no header)"
        if len(set(names)) < len(names):
            what = f"{self.label}, line {self._at[1]}: the header must have distinct names"
            raise DataError(f"{what}. Got a line that looks like a row {way}.")
        self._notify(f"The column names of {self.label} look like values {way}: {listed(names)}.")

    def _skip_lines(self, n: int, lines: list[bytes]) -> list[bytes]:
        """Skip the first n lines, and return the remaining lines."""
        if not any(one.strip() for one in lines[n:]):
            raise DataError(f"{self.label} must have a header and at least one row. Got only blank lines.")
        self._start_after(lines[:n])
        return lines[n:]

    def _start_after(self, lines: list[bytes]) -> None:
        self._start = self._at = (self._at[0] + sum(map(len, lines)), self._at[1] + len(lines))

    def _preamble(self, lines: Sequence[str]) -> int:
        """Return the number of lines above the header, e.g. titles, that have an unusual number of cells.

        The first line with the usual number of cells must have only distinct names. Otherwise no line is
        skipped, because this line is probably a row below a header with fewer cells. If the
        number of non-empty cells in a skipped line is more than half of the usual number of cells, a number
        must also occur below the header.
        """
        try:
            rows = [[cell.strip() for cell in next(self._reader([line]), [])] for line in lines]
        except csv.Error:  # the error is reported later, with the line number
            return 0
        usual, fullest = _usual(len(row) for row in rows if row), 0
        for at, row in enumerate(rows):
            filled = [cell for cell in row if cell]
            if self._quote and lines[at].count(self._quote) % 2:
                return 0  # the header spans several lines
            if len(row) == usual and 2 * len(filled) > usual:
                has_number = any(parsed_number(cell) is not None for cell in filled)
                names = len(set(filled)) == len(filled) and not has_number
                below = [cell for other in rows[at + 1 :] if len(other) == usual for cell in other]
                clear = 2 * fullest <= max(usual, 2) or any(parsed_number(cell) is not None for cell in below)
                return at if names and below and clear else 0
            fullest = max(fullest, len(filled))
        return 0

    def _first_lines(self) -> list[bytes]:
        """Skip leading blank lines, and return the first lines after them; set `_at` to their start."""
        head = self._first_bytes(lambda head: _filled(head).count(b"\n") >= LINES_LOOKED_AT)
        start = _filled(head)
        if not start.strip():
            must = f"{self.label} must have a header and at least one row."
            raise DataError(f"{must} Got an empty file instead.")
        skipped = len(head) - len(start)
        self._start = self._at = (skipped, 1 + head[:skipped].count(b"\n"))
        lines = start.split(b"\n", LINES_LOOKED_AT)
        lines = [one + b"\n" for one in lines[:-1]] or lines  # only complete lines are kept
        if b"\r" in lines[0].rstrip(b"\r\n"):
            raise DataError(f"{self.label} must end its lines with a newline. Got only carriage returns.")
        return lines

    def _end_of_records(self, data: bytes) -> int:
        if not self._quote or self._quote.encode() not in data:
            return super()._end_of_records(data)
        ends = self._ends(data)
        return int(ends[-1]) if len(ends) else 0

    def _ends(self, data: bytes) -> NDArray[np.intp]:
        """Return the offsets after newlines that are not inside a quoted value."""
        ends = super()._ends(data)
        if not self._quote:
            return ends
        quotes = self._quotes_around_cells(data)
        return np.asarray(ends[np.searchsorted(quotes, ends) % 2 == 0])

    def _closed(self, data: bytes, ended: bool) -> bytes:
        while (found := self._unclosed_row(data, ended)) is not None:
            start, end = found
            line = self._at[1] + data.count(b"\n", 0, end) - 1
            row = repr(data[start:end].decode(self._encoding, "replace").strip())
            rule = "have a closing quote (or pass quote='' if quotes have no special meaning)"
            self._unclosed.append((line, BadRow(self.label, f"line {line}", None, row[:SHOWN], rule)))
            lines = (self._filler * len(one) for one in data[start:end].split(b"\n"))
            data = data[:start] + b"\n".join(lines) + data[end:]
        return data

    def _unclosed_row(self, data: bytes, ended: bool) -> tuple[int, int] | None:
        """Return the start of the first row with an unclosed quote and the end of the line with the quote.

        A quote counts as unclosed under two conditions. The quoted value is very long or extends to the end
        of the file. In addition, most lines of the value have as many cells as a row.
        """
        if not self._quote or len(self.names) < 2 or self._quote.encode() not in data:
            return None
        quotes = self._quotes_around_cells(data)
        is_open = len(quotes) % 2 == 1
        opened, closed = quotes[::2], (np.append(quotes, len(data)) if is_open else quotes)[1::2]
        longest = closed - opened > min(LONG_BYTES, LONG_LINES * len(self.names))
        if is_open and ended:
            longest[-1] = True
        for at in np.flatnonzero(longest).tolist():
            first, last = data.find(b"\n", opened[at]) + 1, int(closed[at])
            lines = data[first:last].split(b"\n", LONG_LINES)[:-1] if 0 < first < last else []
            is_long = last - opened[at] > LONG_BYTES or len(lines) == LONG_LINES
            never = is_open and ended and at == len(opened) - 1
            rows = sum(one.count(self._delimiter.encode()) == len(self.names) - 1 for one in lines)
            if (is_long or never) and 2 * rows > len(lines):
                ends = self._ends(data)
                before = int(np.searchsorted(ends, opened[at], "right"))
                return (int(ends[before - 1]) if before else 0), first
        return None

    def _quotes_around_cells(self, data: bytes) -> NDArray[np.intp]:
        """Return the offsets of the quotes around cells: an opening quote, its closing quote, and so on."""
        if self._scanned[0] is not data:
            self._scanned = data, self._quotes_by_search(data)
        return self._scanned[1]

    def _quotes_by_search(self, data: bytes) -> NDArray[np.intp]:
        """Return the offsets of the quotes around cells: an opening quote, its closing quote, and so on.

        Inside an unquoted cell, a quote is part of the text, for example in ``5" pipe``.
        """
        quote, around = ord(self._quote), np.frombuffer(b"\n" + data + b"\n", np.uint8)
        quotes = np.flatnonzero(around[1:-1] == quote)
        before, after = around[quotes], around[quotes + 2]
        opens = (before == ord("\n")) | (before == ord(self._delimiter))
        closes = (after == ord("\n")) | (after == ord("\r")) | (after == ord(self._delimiter))
        if (opens | (before == quote))[::2].all() and (closes | (after == quote))[1::2].all():
            return quotes
        found, inside, doubled = list[int](), False, -1
        for at, may_open, following in zip(quotes.tolist(), opens.tolist(), after.tolist(), strict=True):
            if at == doubled:
                continue
            if inside and following == quote:
                doubled = at + 1
            elif inside or may_open:
                inside = not inside
                found.append(at)
        return np.array(found, np.intp)

    def _records(self, records: RawRecords) -> Iterator[Record]:
        reader = self._reader(records.text)
        at, rule = records.line, "have no carriage return outside quotes"
        while True:
            try:
                cells = next(reader, None)
            except csv.Error:  # the reader continues at the next line
                yield self._error_of(at, "one", rule)
            else:
                if cells is None:
                    return
                if len(cells) > 1 or (cells and cells[0].strip()):
                    yield self._checked(at, cells)
            at = records.line + reader.line_num

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "_scanned": NOTHING_SCANNED}

    def _reader(self, lines: Iterable[str]) -> _csv.Reader:
        if not self._quote:
            return csv.reader(lines, delimiter=self._delimiter, quoting=csv.QUOTE_NONE)
        return csv.reader(lines, delimiter=self._delimiter, quotechar=self._quote)


def _filled(head: bytes) -> bytes:
    """Remove a byte order mark and leading empty lines."""
    return head.removeprefix(BOM).lstrip(b"\r\n")


def _likeliest_delimiter(lines: Sequence[str], quote: str) -> str:
    """Return the delimiter that gives most lines the same number of cells (in a tie: the most cells)."""
    filled = [line.rstrip("\r\n") for line in lines if line.strip()]
    if quote:  # delimiters between quotes are ignored
        filled = ["".join(line.split(quote)[::2]) for line in filled]

    def agreement(delimiter: str) -> tuple[float, bool, int]:
        counts = [1 + (line.strip() if delimiter == " " else line).count(delimiter) for line in filled]
        usual = _usual(counts)
        same = sum(count == usual for count in counts) / max(1, len(counts))
        # A space counts only if nothing else splits the lines, since names and values may contain spaces.
        return (same if usual > 1 else 0.0), delimiter != " ", usual

    return max(",;\t| ", key=agreement)


def _usual(counts: Iterable[int]) -> int:
    """Return the most frequent number of cells, or the largest of several equally frequent numbers."""
    times = Counter(counts)
    return max(times, key=lambda count: (times[count], count), default=0)
