"""Excel workbooks: the first sheet, with the types of its cells."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from datetime import date, datetime, time, timedelta
from itertools import islice
from pathlib import Path
from typing import Any

from heros._base.errors import DataError
from heros._base.extras import needed
from heros._base.lazy import pa
from heros.data.columns import trimmed
from heros.data.values import label_of
from heros.streams.arrow import readable
from heros.streams.bad_rows import BrokenOff
from heros.streams.readers import CELLS, Chunk, TableReader

__all__ = ["ExcelReader"]

ERRORS = frozenset({"#DIV/0!", "#N/A", "#NAME?", "#NULL!", "#NUM!", "#REF!", "#VALUE!"})
"""Error values of Excel formulas; they are missing values."""

Row = tuple[int, Sequence[Any]]
"""The 1-based number of a row in its sheet, and its cells."""


class ExcelReader(TableReader):
    """A reader of the rows of the first sheet of an Excel workbook, below the header.

    Empty rows are skipped. Rows before the header with at most half as many values, such as titles, are
    skipped with a notice.
    """

    def __init__(self, path: Path, missing: Sequence[str] = ()) -> None:
        super().__init__(str(path), missing)
        self._path = path
        rows = list(islice(self._sheet(1), 50))
        usual = max((_filled(cells) for _, cells in rows), default=0)
        header = next(((at, cells) for at, cells in rows if 2 * _filled(cells) > usual), None)
        if header is None:
            raise DataError(f"{self.label} must have a header and at least one row. Got an empty sheet.")
        self._start, names = header
        width = max(at for at, value in enumerate(names) if value is not None) + 1
        self.names = self._distinct(
            [label_of(value) or f"x{at + 1}" for at, value in enumerate(names[:width])]
        )
        skipped = sum(at < self._start for at, _ in rows)
        if skipped:
            self._tell_skipped(skipped, "row", self._start)
        self._at = self._start + 1  # the next row
        self._rows: Iterator[Row] | None = None

    def _sheet(self, first: int) -> Iterator[Row]:
        """Yield the non-empty rows from a row on."""
        openpyxl = needed("openpyxl", "Reading Excel files", "excel")
        with readable(self.label, "cannot be read as an Excel workbook (.xlsx)"):
            book = openpyxl.load_workbook(self._path, read_only=True, data_only=True)
        with closing(book), readable(self.label, "cannot be read to its end", BrokenOff):
            sheet = book.worksheets[0]
            sheet.reset_dimensions()  # some programs write wrong dimensions
            for number, cells in enumerate(sheet.iter_rows(min_row=first, values_only=True), first):
                if _filled(cells):
                    yield number, cells

    def read(self) -> Chunk | None:
        """Return the next rows; None at the end."""
        if self._rows is None:
            self._rows = self._sheet(self._at)
        rows = list(islice(self._rows, max(256, CELLS // (4 * len(self.names)))))
        if not rows:
            return None
        self._at = rows[-1][0] + 1
        columns = [
            self._array([cells[at] if at < len(cells) else None for _, cells in rows])
            for at in range(len(self.names))
        ]
        return Chunk(columns, "row", [number for number, _ in rows])

    def _array(self, values: list[Any]) -> pa.Array:
        """Return the cells of a column as numbers, dates or booleans, or as text if they are mixed."""
        values = [None if isinstance(value, str) and value in ERRORS else value for value in values]
        kinds = {type(value) for value in values if value is not None}
        if kinds == {bool}:
            return pa.array(values, pa.bool_())
        if kinds and kinds <= {int, float}:
            return pa.array([None if value is None else float(value) for value in values], pa.float64())
        if kinds and kinds <= {datetime, date}:
            return pa.array(values, pa.timestamp("us"))
        if kinds in ({time}, {timedelta}):
            return pa.array(values)
        return trimmed(pa.array(list(map(label_of, values)), pa.string()), self.words)

    def restart(self) -> None:
        """Go back to the first row."""
        self._at, self._rows = self._start + 1, None

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_rows": None}


def _filled(cells: Sequence[Any]) -> int:
    return sum(value is not None and value != "" for value in cells)
