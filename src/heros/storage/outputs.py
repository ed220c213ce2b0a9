"""Output tables, written to files or returned as data frames."""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from heros._base.errors import HerosError, ParameterError
from heros._base.lazy import pa, pq
from heros.storage.disk import expect_writable, write_whole


def write_table(path: Path, table: pa.Table) -> None:
    """Write a table atomically as CSV, Parquet or Arrow, according to the file's suffix.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     path = Path(directory, "table.csv")
    ...     write_table(path, pa.table({"age": [18, 21], "label": ["no", "yes"]}))
    ...     print(path.read_text(), end="")
    "age","label"
    18,"no"
    21,"yes"
    """
    write_whole(path, [WRITERS[path.suffix.lower()](table)])


def expect_table_place(path: Path, parameter: str, owner: str) -> None:
    """Raise an error, before any work begins, if the suffix is unknown or the path is not writable."""
    if path.suffix.lower() not in WRITERS:
        rule = f"a file whose name ends in one of {', '.join(WRITERS)}"
        raise ParameterError.of(parameter, owner, rule, str(path))
    expect_writable(path)


def expect_other_files(written: Sequence[Path], read: Sequence[str | Path]) -> None:
    """Raise an error if a file is used as both input and output, or for two outputs."""
    inputs = {os.path.realpath(path) for path in read}
    for path in written:
        if (real := os.path.realpath(path)) in inputs:
            raise HerosError(
                f"The file {path} is used as both input and output, or for two outputs. "
                f"Choose another output file."
            )
        inputs.add(real)


def as_csv(table: pa.Table, header: bool = True) -> bytes:
    """Return a table as CSV; numbers have all digits, so reading the table returns the same numbers."""
    import pyarrow.csv  # noqa: PLC0415  only needed here

    plain = pa.table(
        {
            name: column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column
            for name, column in zip(table.column_names, table.columns, strict=True)
        }
    )
    memory = io.BytesIO()
    pyarrow.csv.write_csv(plain, memory, pyarrow.csv.WriteOptions(include_header=header))
    return memory.getvalue()


def _as_parquet(table: pa.Table) -> bytes:
    memory = io.BytesIO()
    pq.write_table(table, memory)
    return memory.getvalue()


def _as_arrow(table: pa.Table) -> bytes:
    memory = io.BytesIO()
    with pa.ipc.new_file(memory, table.schema) as file:
        file.write_table(table)
    return memory.getvalue()


WRITERS: dict[str, Callable[[pa.Table], bytes]] = {
    ".csv": as_csv,
    ".parquet": _as_parquet,
    ".pq": _as_parquet,
    ".arrow": _as_arrow,
    ".feather": _as_arrow,
}


def like(frame: Any, columns: Mapping[str, Any]) -> Any:
    """Return the columns as a pandas or polars data frame, like `frame`, or else as an Arrow table.

    Examples
    --------
    >>> like(pa.table({"age": [18, 21]}), {"no": [0.5, 0.2], "yes": [0.5, 0.8]}).column_names
    ['no', 'yes']
    """
    library = type(frame).__module__.partition(".")[0]
    if library == "pandas":
        import pandas as pd  # noqa: PLC0415  installed, since the caller has a pandas frame

        return pd.DataFrame(dict(columns), index=frame.index)
    if library == "polars":
        import polars as pl  # noqa: PLC0415

        return pl.DataFrame(dict(columns))
    return pa.table(dict(columns))
