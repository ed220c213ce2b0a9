"""Many records in one Parquet file: one row per record, with measures, ``record.json`` and curves.

The file ``records.parquet`` replaces the single records under its directory. A row's id, e.g.
``agr_a/mlp50/cand/k30/seed1``, is the path of the record relative to the directory. `heros.run.records` finds
and reads both kinds of records; `heros.run.records.pack` packs single records.

A row has plain columns (stream, policy, seed, AUROC, CPU seconds, ...) for other programs. The column
``document`` has the unchanged text of ``record.json``, and each curve is a list. Curves with a value per
model or per phase are flattened, and the metadata of the column holds their width. If a record does not have
a curve, its cell is null.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

from heros._base.lazy import pa, pq
from heros.storage.disk import write_whole
from heros.streams.arrow import readable

NAME = "records.parquet"
MARK, FORMAT = b"heros_records", b"1"
ROWS = 64  # rows per row group, the unit in which curves are read
LEVEL = 19  # zstd level: the file is written once and read often
CURVE, WIDTH = b"curve", b"width"  # metadata of a column that holds a curve


class Packed(NamedTuple):
    """One record as a row of the file."""

    plain: pa.Table  # the plain columns, in one row
    document: str  # the text of record.json
    curves: pa.Table


class _Curve(NamedTuple):
    """The name, type and width of a curve; curves that agree in all three share a column."""

    name: str
    values: pa.DataType
    width: int | None  # number of values per window; None for a single value

    @property
    def field(self) -> pa.Field:
        wide = "" if self.width is None else f"_x{self.width}"
        about = {CURVE: self.name, **({} if self.width is None else {WIDTH: str(self.width)})}
        return pa.field(f"curve_{self.name}_{self.values}{wide}", pa.list_(self.values), metadata=about)


# -- where records are -----------------------------------------------------------------------------------


def holder(place: Path) -> tuple[Path, str] | None:
    """Return the packed file that contains the record of this path, and the id of the record.

    Return None if no packed file contains the record.
    """
    for path in _packed_files_above(place):
        if (id := place.relative_to(path.parent).as_posix()) in _index(path):
            return path, id
    return None


def below(root: Path) -> Iterator[Path]:
    """Yield the paths of the packed records at or under `root`.

    The packed files are in `root` or its parent directories.
    """
    for path in _packed_files_above(root):
        yield from (place for id in _index(path) if (place := path.parent / id).is_relative_to(root))


def ids_in(path: Path) -> list[str]:
    """Return the ids of the records in a Parquet file; an empty list if the file has no records."""
    return list(_index(path))


def _packed_files_above(place: Path) -> list[Path]:
    """Return the packed files in this directory and its parents, nearest first."""
    return [path for folder in (place, *place.parents) if (path := folder / NAME).is_file()]


# -- reading ---------------------------------------------------------------------------------------------


def document_of(path: Path, id: str) -> str:
    """Return the original text of a record's `record.json`."""
    return _index(path)[id][1]


def curves_of(path: Path, id: str) -> pa.Table:
    """Return the curves of a record with their original columns and types."""
    with readable(f"The file {path}", "cannot be read as a table of records"):
        number = _index(path)[id][0]
        group = _group(path, _file_version(path), number // ROWS).slice(number % ROWS, 1)
        columns = zip(group.schema, group.columns, strict=True)
        valid = [(field, column) for field, column in columns if column[0].is_valid]
        return pa.table({field.metadata[CURVE].decode(): _shaped(column, field) for field, column in valid})


def _index(path: Path) -> Mapping[str, tuple[int, str]]:
    with readable(f"The file {path}", "cannot be read as a table of records"):
        return _rows(path, _file_version(path))


def _file_version(path: Path) -> tuple[int, int]:
    """Return the modification time and the inode, which change when the file is replaced."""
    stat = path.stat()
    return stat.st_mtime_ns, stat.st_ino


@lru_cache(maxsize=16)
def _rows(path: Path, stamp: tuple[int, int]) -> Mapping[str, tuple[int, str]]:
    if (pq.read_schema(path).metadata or {}).get(MARK) != FORMAT:
        return {}  # a Parquet file without records
    table = pq.read_table(path, columns=["id", "document"])
    pairs = zip(table["id"].to_pylist(), table["document"].to_pylist(), strict=True)
    return {id: (number, document) for number, (id, document) in enumerate(pairs)}


@lru_cache(maxsize=2)
def _group(path: Path, stamp: tuple[int, int], number: int) -> pa.Table:
    """Return the curves of all records in a row group of the file.

    The result is cached, because neighbouring records are often read next.
    """
    file = pq.ParquetFile(path)
    names = [field.name for field in file.schema_arrow if CURVE in (field.metadata or {})]
    return file.read_row_group(number, columns=names)


def _shaped(column: pa.ChunkedArray, field: pa.Field) -> pa.Array:
    values = column.combine_chunks().flatten()
    width = field.metadata.get(WIDTH)
    return values if width is None else pa.FixedSizeListArray.from_arrays(values, int(width))


# -- writing ---------------------------------------------------------------------------------------------


def write_table(path: Path, records: Mapping[str, Packed]) -> None:
    """Write records to one file; `records` maps ids to records.

    Measured values rarely repeat, so curves are not dictionary-encoded; byte-stream splitting compresses them
    better.
    """
    rows = dict(sorted(records.items()))
    curves = [flat_curves(row.curves) for row in rows.values()]
    names = list(dict.fromkeys(kind.name for found in curves for kind in found))
    kinds = sorted({kind: None for found in curves for kind in found}, key=lambda k: names.index(k.name))
    plain = pa.concat_tables([row.plain for row in rows.values()], promote_options="default")
    table = plain.set_column(plain.column_names.index("id"), "id", pa.array(list(rows), pa.string()))
    table = table.append_column("document", pa.array([row.document for row in rows.values()], pa.string()))
    for kind in kinds:
        table = table.append_column(kind.field, _list_array(kind, [found.get(kind) for found in curves]))
    file = io.BytesIO()
    pq.write_table(
        table.replace_schema_metadata({MARK: FORMAT}),
        file,
        row_group_size=ROWS,
        compression="zstd",
        compression_level=LEVEL,
        use_dictionary=[field.name for field in plain.schema if pa.types.is_string(field.type)],
        column_encoding={f"{kind.field.name}.list.element": _encoding(kind.values) for kind in kinds},
    )
    write_whole(path, [file.getbuffer()])


def flat_curves(table: pa.Table) -> dict[_Curve, pa.Array]:
    """Return the values of each curve of a record, without the structure of curves with several values."""
    found = {}
    for name, column in zip(table.column_names, table.columns, strict=True):
        array, width = column.combine_chunks(), None
        if pa.types.is_fixed_size_list(array.type):
            array, width = array.flatten(), array.type.list_size
        found[_Curve(name, array.type, width)] = array
    return found


def _list_array(kind: _Curve, arrays: Sequence[pa.Array | None]) -> pa.Array:
    offsets = np.cumsum([0, *(0 if array is None else len(array) for array in arrays)])
    joined = pa.concat_arrays([array for array in arrays if array is not None])
    mask = pa.array([array is None for array in arrays])
    return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), joined, mask=mask)


def _encoding(values: pa.DataType) -> str:
    if pa.types.is_floating(values):
        return "BYTE_STREAM_SPLIT"
    return "DELTA_BINARY_PACKED" if pa.types.is_integer(values) else "PLAIN"
