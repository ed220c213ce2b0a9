"""Tables that know their types: Parquet and Arrow files, and Arrow tables in memory."""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from heros.errors import DataError, HerosError
from heros.lazy import pa, pq
from heros.streams.columns import NominalColumn, NumericColumn
from heros.streams.dates import date_column, is_date
from heros.streams.readers import CELLS, Chunk, Column, TableReader
from heros.values import label_of
from heros.vocabulary import Codes

__all__ = ["ArrowReader", "IPCReader", "MemoryReader", "ParquetReader", "readable"]

FAULTS = (
    OSError,
    ArithmeticError,
    AttributeError,
    LookupError,
    MemoryError,
    SystemError,
    TypeError,
    ValueError,
)
"""What comes up, besides Arrow's own, where the bytes of a file are not what they should be."""


@contextmanager
def readable(label: str, rule: str) -> Iterator[None]:
    """Whatever goes wrong with a file's bytes in here is a DataError.

    Examples
    --------
    >>> with readable("x.arrow", "be an Arrow file"):
    ...     pa.ipc.open_stream(b"")
    Traceback (most recent call last):
        ...
    heros.errors.DataError: x.arrow must be an Arrow file. Got: Tried reading schema message, was null...
    """
    try:
        yield
    except HerosError:
        raise
    except (pa.ArrowException, *FAULTS) as error:
        raise DataError(f"{label} must {rule}. Got: {error}") from None


class ArrowReader(TableReader):
    """Record batches from a row on; subclasses say where they come from."""

    def __init__(self, label: str, schema: pa.Schema, ignore: tuple[str, ...] = ()) -> None:
        self.label = label
        self.names = list(schema.names)
        self._kinds = list(schema.types)
        self._chunk_rows = max(256, min(1 << 16, CELLS // max(1, len(self.names))))
        self._row = 0
        self._batches: Iterator[pa.RecordBatch] | None = None
        self._dictionaries: dict[int, list[str]] = {}
        for name, kind in zip(self.names, self._kinds, strict=True):
            if name not in ignore and not (_is_number(kind) or _is_name(kind) or is_date(kind)):
                raise DataError(
                    f"{label}: the {name!r} column must hold numbers, names or dates. "
                    f"Got the type {kind} instead (convert it, or name it in ignore=)."
                )

    @abstractmethod
    def _read_from(self, row: int) -> Iterator[pa.RecordBatch]:
        """The batches from a row on, none longer than a chunk."""

    def read(self) -> Chunk | None:
        """The next rows; None at the end."""
        if self._batches is None:
            self._batches = self._read_from(self._row)
        batch = self._next(self._batches)
        if batch is None:
            return None
        before = self._row
        self._row += batch.num_rows
        columns = [c.cast(pa.string()) if pa.types.is_string_view(c.type) else c for c in batch.columns]
        return Chunk(columns, lambda row: f"row {before + row + 1}")

    def _next(self, batches: Iterator[pa.RecordBatch]) -> pa.RecordBatch | None:
        """The next batch, if its bytes hold what they say they do: Arrow itself trusts them."""
        with readable(self.label, "be readable to its end"):
            batch = next(batches, None)
            if batch is not None:
                batch.validate(full=True)
            return batch

    def restart(self) -> None:
        """Go back to the first row."""
        self._row = 0
        self._batches = None

    def declared(self, index: int) -> Column | None:
        """The column by its type: dictionaries, strings and booleans are nominal."""
        name, kind = self.names[index], self._kinds[index]
        if _is_number(kind):
            return NumericColumn(name, missing=self._has_nulls(index))
        if is_date(kind):
            return replace(date_column(name, kind), missing=self._has_nulls(index))
        return NominalColumn(name, Codes(self._dictionary(index)), missing=self._has_nulls(index))

    def _has_nulls(self, index: int) -> bool:
        """Whether values are known to be missing before the rows are read."""
        return False

    def _dictionary(self, index: int) -> list[str]:
        """The names a dictionary column declares, whether they occur or not."""
        if pa.types.is_boolean(self._kinds[index]):
            return ["False", "True"]
        if not self._dictionaries:
            first = self._next(self._read_from(0))
            columns = [] if first is None else first.columns
            self._dictionaries = {i: _names(column) for i, column in enumerate(columns)}
        return list(self._dictionaries.get(index, []))

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_batches": None}


class ParquetReader(ArrowReader):
    """The rows of a Parquet file.

    Whether a column has missing values is seen as it is read: to ask the metadata of its chunks, where these
    are damaged, ends the process (the exception of Arrow's C++ is not caught there).
    """

    def __init__(self, path: Path, ignore: tuple[str, ...] = ()) -> None:
        self._path = path
        with readable(str(path), "be a Parquet file"), self._open() as file:
            self._group_rows = [file.metadata.row_group(g).num_rows for g in range(file.num_row_groups)]
            super().__init__(str(path), file.schema_arrow, ignore)

    @property
    def n_rows(self) -> int:
        """How many rows there are in all."""
        return sum(self._group_rows)

    def _open(self) -> pq.ParquetFile:
        return pq.ParquetFile(self._path, memory_map=True)

    def _read_from(self, row: int) -> Iterator[pa.RecordBatch]:
        group = 0
        while group < len(self._group_rows) and row >= self._group_rows[group]:
            row -= self._group_rows[group]
            group += 1
        if group == len(self._group_rows):
            return
        with self._open() as file:
            groups = list(range(group, len(self._group_rows)))
            for batch in file.iter_batches(self._chunk_rows, groups, use_threads=False):
                if row < batch.num_rows:
                    yield batch.slice(row)
                row = max(0, row - batch.num_rows)


class IPCReader(ArrowReader):
    """The rows of an Arrow or Feather file, in the file or the stream format."""

    def __init__(self, path: Path, ignore: tuple[str, ...] = ()) -> None:
        self._path = path
        with readable(str(path), "be an Arrow file"), pa.memory_map(os.fsencode(path)) as memory:
            super().__init__(str(path), self._open(memory).schema, ignore)

    def _open(self, memory: pa.MemoryMappedFile) -> pa.RecordBatchFileReader | pa.RecordBatchStreamReader:
        magic = memory.read(6)
        memory.seek(0)
        return pa.ipc.open_file(memory) if magic == b"ARROW1" else pa.ipc.open_stream(memory)

    def _read_from(self, row: int) -> Iterator[pa.RecordBatch]:
        with pa.memory_map(os.fsencode(self._path)) as memory:
            reader = self._open(memory)
            if isinstance(reader, pa.RecordBatchFileReader):
                batches = (reader.get_batch(i) for i in range(reader.num_record_batches))
            else:
                batches = iter(reader)
            yield from _sliced(batches, row, self._chunk_rows)


class MemoryReader(ArrowReader):
    """The rows of an Arrow table in memory. Copies share the table."""

    def __init__(self, table: pa.Table, label: str, ignore: tuple[str, ...] = ()) -> None:
        self._table = table
        super().__init__(label, table.schema, ignore)

    @property
    def n_rows(self) -> int:
        """How many rows there are in all."""
        return int(self._table.num_rows)

    def _read_from(self, row: int) -> Iterator[pa.RecordBatch]:
        return iter(self._table.slice(row).to_batches(max_chunksize=self._chunk_rows))

    def _has_nulls(self, index: int) -> bool:
        return bool(self._table.column(index).null_count)

    def __deepcopy__(self, memo: dict[int, Any]) -> MemoryReader:
        clone = MemoryReader.__new__(MemoryReader)
        clone.__dict__.update(self.__getstate__())
        return clone


def _names(column: pa.Array) -> list[str]:
    """The names of a dictionary column, in the order of their codes."""
    if not pa.types.is_dictionary(column.type):
        return []
    labels = (label_of(value) for value in column.dictionary.to_pylist())
    return [label for label in labels if label is not None]


def _sliced(batches: Iterator[pa.RecordBatch], row: int, most: int) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        for start in range(row, batch.num_rows, most):
            yield batch.slice(start, most)
        row = max(0, row - batch.num_rows)


def _is_number(kind: pa.DataType) -> bool:
    types = pa.types
    return bool(
        types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind) or types.is_null(kind)
    )


def _is_name(kind: pa.DataType) -> bool:
    types = pa.types
    if types.is_dictionary(kind):
        return _is_number(kind.value_type) or _is_name(kind.value_type)
    text = types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind)
    return bool(text or types.is_boolean(kind))
