"""Typed tables: Parquet and Arrow files, Excel workbooks, and Arrow tables in memory."""

from __future__ import annotations

import os
from abc import abstractmethod
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from datetime import date, datetime, time, timedelta
from itertools import accumulate, islice, repeat
from pathlib import Path
from typing import Any

from heros._base.errors import DataError, HerosError
from heros._base.extras import needed
from heros._base.lazy import pa, pq
from heros.data.columns import trimmed
from heros.data.frames import flat_table, joined_chunks
from heros.data.values import label_of, listed
from heros.streams.bad_rows import BrokenOff
from heros.streams.readers import CELLS, Chunk, TableReader, written

__all__ = ["readable"]

BUFFERS = 1 << 26  # bytes read at once from all columns of a Parquet file; a smaller file needs no buffers


@contextmanager
def readable(label: str, rule: str, kind: type[DataError] = DataError) -> Iterator[None]:
    """Convert any exception caused by a damaged file to a DataError."""
    try:
        yield
    except HerosError:
        raise
    except Exception as error:
        raise kind(f"{label} {rule}: {error}") from None


class ArrowReader(TableReader):
    """A reader of Arrow record batches; subclasses open the file or the table."""

    def __init__(self, label: str, schema: pa.Schema, missing: Sequence[str] = ()) -> None:
        super().__init__(label, missing)
        self._nested = any(pa.types.is_struct(kind) for kind in schema.types)
        self.names = self._distinct(flat_table(schema.empty_table()).column_names)
        self._chunk_rows = max(256, min(1 << 16, CELLS // max(1, len(self.names))))
        self._row = 0
        self._batches: Iterator[pa.RecordBatch] | None = None

    @abstractmethod
    def _read_from(self, row: int) -> Iterator[pa.RecordBatch]:
        """Yield the record batches, starting at this row."""

    def _chunks_from(self, row: int) -> Iterator[pa.RecordBatch]:
        """Yield batches of `_chunk_rows` rows, regardless of the table's own batch sizes."""
        parts, missing = list[pa.RecordBatch](), self._chunk_rows
        try:
            for one in self._read_from(row):
                one.validate(full=True)  # Arrow itself does not validate the data that it reads
                rest = one
                while rest.num_rows >= missing:
                    yield _joined([*parts, rest.slice(0, missing)])
                    rest, parts, missing = rest.slice(missing), [], self._chunk_rows
                if rest.num_rows:
                    parts.append(rest)
                    missing -= rest.num_rows
        except Exception:
            if parts:  # return the rows before the damaged part
                yield _joined(parts)
            raise
        if parts:
            yield _joined(parts)

    def read(self) -> Chunk | None:
        if self._batches is None:
            self._batches = self._chunks_from(self._row)
        with readable(self.label, "cannot be read completely", BrokenOff):
            batch = next(self._batches, None)
        if batch is None:
            return None
        columns = batch.columns
        if self._nested:
            flat = flat_table(pa.Table.from_batches([batch]))
            columns = [column.combine_chunks() for column in flat.columns]
        rows = range(self._row + 1, self._row + batch.num_rows + 1)
        self._row += batch.num_rows
        return Chunk([trimmed(column, self.words) for column in columns], "row", rows)

    def restart(self) -> None:
        self._row = 0
        self._batches = None

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_batches": None}


def _joined(parts: Sequence[pa.RecordBatch]) -> pa.RecordBatch:
    return parts[0] if len(parts) == 1 else joined_chunks(pa.Table.from_batches(parts)).to_batches()[0]


class _FileReader(ArrowReader):
    """A file reader without memory mapping, because truncating a mapped file would crash the process."""

    def __init__(self, path: Path, schema: pa.Schema, missing: Sequence[str] = ()) -> None:
        self._path, self._schema = path, schema
        super().__init__(str(path), schema, missing)

    def _unchanged(self, schema: pa.Schema, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the batches; raise an error if the file changes while it is read."""
        if not schema.equals(self._schema):
            raise BrokenOff(
                f"The columns of {self.label} have changed since the file was opened. Read the file again."
            )
        before = written(self._path)
        for batch in batches:
            now = written(self._path)
            if now[0] == before[0] and now != before:  # with a new inode, the open file is unchanged
                raise BrokenOff(f"{self.label} was modified while it was being read.")
            yield batch


class ParquetReader(_FileReader):
    """A reader of the rows of a Parquet file.

    Missing values are detected while reading, and not from the statistics of the row groups. Damaged
    statistics would crash the process, because Arrow does not catch the C++ exception.
    """

    def __init__(self, path: Path, missing: Sequence[str] = ()) -> None:
        with readable(str(path), "cannot be read as a Parquet file"), pq.ParquetFile(path) as file:
            self.n_rows = sum(_group_rows(file))
            super().__init__(path, file.schema_arrow, missing)
            some = max(1 << 14, BUFFERS // max(1, file.metadata.num_columns))
            self._buffer = some if path.stat().st_size > BUFFERS else 0

    def _read_from(self, row: int) -> Iterator[pa.RecordBatch]:
        with pq.ParquetFile(self._path, buffer_size=self._buffer) as file:
            rows = _group_rows(file)
            group = bisect_right(list(accumulate(rows)), row)  # the group that holds the row
            row -= sum(rows[:group])
            groups = list(range(group, len(rows)))
            batches = file.iter_batches(self._chunk_rows, groups, use_threads=False)
            for batch in self._unchanged(file.schema_arrow, batches):
                if row < batch.num_rows:
                    yield batch.slice(row)
                row = max(0, row - batch.num_rows)


def _group_rows(file: pq.ParquetFile) -> list[int]:
    return [file.metadata.row_group(group).num_rows for group in range(file.num_row_groups)]


class IPCReader(_FileReader):
    """A reader of the rows of an Arrow or Feather file, in the file or the stream format."""

    def __init__(self, path: Path, missing: Sequence[str] = ()) -> None:
        rule = "cannot be read as an Arrow file"
        with readable(str(path), rule), pa.OSFile(os.fsencode(path)) as file:
            super().__init__(path, self._open(file).schema, missing)

    def _open(self, file: pa.NativeFile) -> pa.RecordBatchFileReader | pa.RecordBatchStreamReader:
        magic = file.read(6)
        file.seek(0)
        return pa.ipc.open_file(file) if magic == b"ARROW1" else pa.ipc.open_stream(file)

    def _read_from(self, row: int) -> Iterator[pa.RecordBatch]:
        with pa.OSFile(os.fsencode(self._path)) as file:
            reader = self._open(file)
            if isinstance(reader, pa.RecordBatchFileReader):
                batches = (reader.get_batch(i) for i in range(reader.num_record_batches))
            else:
                batches = iter(reader)
            for batch in self._unchanged(reader.schema, batches):
                if row < batch.num_rows:
                    yield batch.slice(row)
                row = max(0, row - batch.num_rows)


class MemoryReader(ArrowReader):
    """A reader of the rows of an Arrow table in memory. Copies of the reader share the table."""

    def __init__(self, table: pa.Table, label: str, missing: Sequence[str] = ()) -> None:
        self._table = table
        self.n_rows = int(table.num_rows)
        super().__init__(label, table.schema, missing)

    def _read_from(self, row: int) -> Iterator[pa.RecordBatch]:
        return iter(self._table.slice(row).to_batches())

    def has_nulls(self, index: int) -> bool:
        return bool(self._table.column(index).null_count)

    def __deepcopy__(self, memo: dict[int, Any]) -> MemoryReader:
        clone = MemoryReader.__new__(MemoryReader)
        clone.__dict__.update(self.__getstate__())
        return clone


ERRORS = frozenset({"#DIV/0!", "#N/A", "#NAME?", "#NULL!", "#NUM!", "#REF!", "#VALUE!"})
"""Error values of Excel formulas, which are read as missing values."""

Row = tuple[int, Sequence[Any]]
"""The 1-based number of a row in its sheet, and its cells."""


class ExcelReader(TableReader):
    """A reader of the rows of the first sheet of an Excel workbook, below the header.

    Empty rows are skipped. Titles above the header are skipped with a notice. A row is a title if it has at
    most half as many values as the fullest of the first 50 rows.
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
            [label_of(value) or f"x{at}" for at, value in enumerate(names[:width], 1)]
        )
        if skipped := sum(at < self._start for at, _ in rows):
            self._notify_skipped(skipped, "row", self._start)
        if self._sheets[1:]:
            others = listed(self._sheets[1:])
            self._notify(
                f"{self.label}: only the first sheet {self._sheets[0]!r} is read. Other sheets: {others}."
            )
        self._at = self._start + 1  # the number of the next row
        self._rows: Iterator[Row] | None = None

    def _sheet(self, first: int) -> Iterator[Row]:
        """Yield the non-empty rows, starting at row `first`."""
        openpyxl = needed("openpyxl", "Reading Excel files", "excel")
        with readable(self.label, "cannot be read as an Excel workbook (.xlsx)"):
            workbook = openpyxl.load_workbook(self._path, read_only=True, data_only=True)
        with closing(workbook), readable(self.label, "cannot be read completely", BrokenOff):
            self._sheets = [sheet.title for sheet in workbook.worksheets]
            sheet = workbook.worksheets[0]
            sheet.reset_dimensions()  # some programs write wrong dimensions
            for number, cells in enumerate(sheet.iter_rows(min_row=first, values_only=True), first):
                if _filled(cells):
                    yield number, cells

    def read(self) -> Chunk | None:
        if self._rows is None:
            self._rows = self._sheet(self._at)
        rows = list(islice(self._rows, max(256, CELLS // (4 * len(self.names)))))
        if not rows:
            return None
        self._at = rows[-1][0] + 1
        width = len(self.names)
        full = ([*cells[:width], *repeat(None, width - len(cells))] for _, cells in rows)
        columns = [self._array(column) for column in zip(*full, strict=True)]
        return Chunk(columns, "row", [number for number, _ in rows])

    def _array(self, cells: Sequence[Any]) -> pa.Array:
        """Convert the cells of a column to numbers, dates or booleans, or to strings if the types differ."""
        values = [None if isinstance(value, str) and value in ERRORS else value for value in cells]
        kinds = {type(value) for value in values if value is not None}
        if kinds == {bool}:
            return pa.array(values, pa.bool_())
        if kinds and kinds <= {int, float}:
            numbers = [None if value is None else float(value) for value in values]
            return trimmed(pa.array(numbers, pa.float64()), self.words)
        if kinds and kinds <= {datetime, date}:
            return pa.array(values, pa.timestamp("us"))
        if kinds in ({time}, {timedelta}):
            return pa.array(values)
        return trimmed(pa.array(list(map(label_of, values)), pa.string()), self.words)

    def restart(self) -> None:
        self._at, self._rows = self._start + 1, None

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_rows": None}


def _filled(cells: Sequence[Any]) -> int:
    return sum(value is not None and value != "" for value in cells)
