"""Read all records under a directory as a table, and pack single records into one file."""

from __future__ import annotations

import os
import shutil
from itertools import takewhile
from pathlib import Path
from typing import Any

import numpy as np

from heros._base.errors import HerosError
from heros._base.lazy import pa
from heros._base.phases import PHASES
from heros.run.records import files
from heros.run.records.document import RESULTS, at, figures_in
from heros.run.records.files import Path_, details, find
from heros.run.records.packed import NAME, Packed, curves_of, document_of, flat_curves, ids_in, write_table
from heros.storage.disk import DRAFT, reason
from heros.streams.arrow import readable

SETTINGS = ("pool", "policy", "watch", "answer")
TEXTS = {"id": "id", "stream": "stream/name", **{name: f"settings/{name}" for name in SETTINGS}}
COUNTS = {"n_instances": "n_instances", "bad_rows": "stream/bad_rows/count"}
WHOLE = {"k": "settings/k", "seed": "settings/seed", **COUNTS}
NUMBERS = {"wall_seconds": "energy/wall_seconds", "kwh": "energy/kwh", "co2e_kg": "co2e_kg"}
"""Columns of the table and their paths in `record.json`."""


def load(directory: Path_) -> pa.Table:
    """Return a table with one row per run under this directory: settings, measures and costs.

    The table has a column for every measure that at least one run has. If a run lacks a measure, the cell is
    empty.
    """
    documents = [(place, details(place)) for place in find(directory)]
    figures = dict.fromkeys(name for _, document in documents for name in figures_in(document))
    schema, rows = _schema(list(figures)), []
    for place, document in documents:
        with readable(f"The record {place}", "cannot be read"):
            rows.append(pa.Table.from_pylist([_row(document)], schema=schema))
    return pa.concat_tables(rows) if rows else schema.empty_table()


def _schema(figures: list[str]) -> pa.Schema:
    shares, seconds = ("gamma_share", "price_looking", "price_training"), [f"cpu_{one}" for one in PHASES]
    return pa.schema(
        [
            *((name, pa.string()) for name in TEXTS),
            *((name, pa.int64()) for name in WHOLE),
            *((name, pa.float64()) for name in figures),
            *((name, pa.int64() if name == "diverged" else pa.float64()) for name in RESULTS),
            *((name, pa.float64()) for name in (*shares, "cpu_seconds", *seconds, *NUMBERS)),
            ("energy_source", pa.string()),
        ]
    )


def _row(document: dict[str, Any]) -> dict[str, Any]:
    return {
        **{name: str(at(document, path)) for name, path in TEXTS.items()},
        **{name: at(document, path) for name, path in {**WHOLE, **NUMBERS}.items()},
        **document["results"],
        "gamma_share": document["results"]["gamma_spent"] / document["n_instances"],
        **{f"price_{name}": value for name, value in (document["price"] or {}).items()},
        "cpu_seconds": sum(document["cpu"].values()),
        **{f"cpu_{phase}": seconds for phase, seconds in document["cpu"].items()},
        "energy_source": document["energy"]["source"],
    }


def pack(directory: str | os.PathLike[str]) -> int:
    """Collect the single records under a directory in its `records.parquet`; return the number of records.

    A packed record keeps its content and its path. A single record replaces a packed record with the same id.
    A single record is removed only after it has been read back from the file unchanged.

    Examples
    --------
    >>> import tempfile
    >>> from heros import Heros, evaluate, pools, records, streams
    >>> model = Heros(pools.MLPGrid(hidden=[8], optimizers=["adam"]), k=2, seed=1)
    >>> run = evaluate(model, streams.load("agr_a").take(2000))
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     place = records.save(run, directory)
    ...     count, left = records.pack(directory), os.listdir(directory)
    ...     again = records.read(place)
    >>> count, left, again.auroc == run.auroc
    (1, ['records.parquet'], True)
    """
    root = Path(directory)
    if files.exists(root):
        raise HerosError(f"The directory {root} is a record. Pass a directory that contains records.")
    places = files.find(root)
    for place in places:
        files.repair(place)
    single = {place.relative_to(root).as_posix(): place for place in places if place.is_dir()}
    table = root / NAME
    ids = ids_in(table) if table.is_file() else []
    if table.is_file() and not ids:
        raise HerosError(f"The file {table} must be a table of records. Got another Parquet file.")
    before = {id: _packed(root / id) for id in ids}
    new = {id: _packed(place) for id, place in single.items()}
    if new:
        write_table(table, before | new)
    for id, place in single.items():
        same = _bytes(curves_of(table, id)) == _bytes(new[id].curves)
        if document_of(table, id) != new[id].document or not same:
            raise HerosError(f"The record {id} in the file {table} differs from the original, which is kept.")
        _remove(place, root)
    return len(before | new)


def _packed(place: Path) -> Packed:
    with readable(f"The record {place}", "cannot be read"):
        return Packed(load(place), files.text_at(place), files.curves_at(place))


def _bytes(table: pa.Table) -> dict[Any, bytes]:
    """Return the bytes of each curve; comparing bytes makes NaN equal to NaN."""
    return {curve: np.asarray(values).tobytes() for curve, values in flat_curves(table).items()}


def _remove(place: Path, root: Path) -> None:
    """Remove a record atomically, then remove empty parent directories."""
    hidden = place.with_name(f".{place.name}.packed{DRAFT}")
    try:
        shutil.rmtree(hidden, ignore_errors=True)
        place.rename(hidden)
        shutil.rmtree(hidden)
        for folder in takewhile(lambda folder: folder != root and not any(folder.iterdir()), place.parents):
            folder.rmdir()
    except OSError as error:
        raise HerosError(f"The record {place} could not be removed: {reason(error)}.") from None
