"""What ``curves.parquet`` says about a run: a row per window."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heros._base.lazy import pa, pq
from heros.run.result import Curves

__all__ = ["PER_MODEL", "curves_bytes", "curves_from", "curves_table"]

PER_MODEL = ("trained", "scores", "invested")
"""The curves with a column per model: nine tenths of a record, left out of a compact one."""


def curves_table(curves: Curves, *, compact: bool = False) -> pa.Table:
    """What `curves.parquet` says about a run; `compact` as for `save`."""
    columns = curves.columns()
    names = [name for name in columns if not (compact and name in PER_MODEL)]
    return pa.table({name: _column(columns[name], compact) for name in names})


def curves_bytes(table: pa.Table, compact: bool) -> memoryview:
    """The table as a Parquet file; `compact` as for `curves_table`."""
    file = io.BytesIO()
    if compact:  # measurements hardly repeat: a dictionary of them is only in the way
        pq.write_table(table, file, compression="zstd", use_dictionary=False)
    else:
        pq.write_table(table, file)
    return file.getbuffer()


def curves_from(table: pa.Table) -> Curves:
    """The curves of which `curves_table` said this."""
    left_out = {name: np.empty((table.num_rows, 0)) for name in PER_MODEL}
    return Curves.of(left_out | {name: _array(table[name]) for name in table.column_names})


def _column(values: NDArray[Any], single: bool) -> pa.Array:
    if single and values.dtype == np.float64:
        values = values.astype(np.float32)
    if values.ndim == 1:
        return pa.array(values)
    return pa.FixedSizeListArray.from_arrays(pa.array(values.reshape(-1)), values.shape[1])


def _array(column: pa.ChunkedArray) -> NDArray[Any]:
    array = column.combine_chunks()
    if not pa.types.is_fixed_size_list(array.type):
        return _double(np.array(array))
    return _double(np.array(array.flatten()).reshape(len(array), array.type.list_size))


def _double(values: NDArray[Any]) -> NDArray[Any]:
    return values.astype(np.float64) if values.dtype == np.float32 else values
