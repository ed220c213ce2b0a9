"""Runs on disk: one directory each, complete or not there at all.

A record is ``record.json`` (settings, versions, CPU, meter, results) and ``curves.parquet`` (what happened
over time, a row per window). Tables and reports read records; they never run a learner. Many records can be
packed into one file (`heros.storage.packing`); whoever looks for one finds it at the same place.
"""

from __future__ import annotations

import json
import math
import os
import platform
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heros import core as _core
from heros.ensemble import Heros
from heros.errors import DataError, HerosError
from heros.lazy import metadata, pa, pq
from heros.measures import Confusion
from heros.measures.base import Caption
from heros.meters import Carbon, Energy
from heros.meters.cpu import cpu_model
from heros.phases import PHASES
from heros.registry import policy_id, pool_id
from heros.run.result import Curves, Run
from heros.storage import record_tables
from heros.storage.commit import commit
from heros.storage.disk import to_disk
from heros.streams import BadRow, BadRows, DriftPoint, Stream
from heros.streams.arrow import readable

__all__ = [
    "curves_at",
    "curves_table",
    "details",
    "document",
    "exists",
    "find",
    "id_from",
    "id_of",
    "load",
    "mend",
    "read",
    "run_from",
    "run_id",
    "save",
    "text_at",
]

FORMAT = 1
RECORD, CURVES = "record.json", "curves.parquet"
OLD = ".old"
RESULTS = ("gamma_spent", "reward", "diverged")
"""What stands among a record's results beside the figures of its measures."""
PACKAGES = ("heros-learn", "numpy", "pyarrow")
PER_MODEL = ("trained", "scores", "invested")
"""The curves with a column per model: nine tenths of a record, left out of a compact one."""
Path_ = str | os.PathLike[str]


def run_id(run: Run) -> str:
    """Stream, pool, policy, k and seed: ``agr_a/mlp50/zeta_0.05_0.2/k30/seed1``."""
    return id_from(run.stream, run.settings)


def id_from(stream: str, settings: Mapping[str, Any]) -> str:
    """The `run_id` of runs on a stream of this name with these settings.

    Examples
    --------
    >>> id_from("agr_a", {"pool": "mlp50", "policy": "cand", "k": 30, "seed": 1})
    'agr_a/mlp50/cand/k30/seed1'
    """
    return _id(stream, *(settings[name] for name in ("pool", "policy", "k", "seed")))


def id_of(model: Heros, stream: Stream) -> str:
    """The `run_id` that a run of this model on this stream will have.

    Examples
    --------
    >>> from heros import Heros, streams
    >>> from heros.storage import records
    >>> records.id_of(Heros(k=30, seed=1), streams.load("agr_a"))
    'agr_a/mlp50/zeta_0.05_0.2/k30/seed1'
    """
    return _id(stream.name, pool_id(model.pool), policy_id(model.policy), model.k, model.seed)


def _id(stream: str, pool: str, policy: str, k: int, seed: int | None) -> str:
    name = "".join(c if c.isalnum() or c in "._-" else "_" for c in stream).lstrip(".") or "stream"
    return f"{name}/{pool}/{policy}/k{k}/seed{seed}"


def save(
    run: Run, directory: Path_, *, id: str | None = None, force: bool = False, compact: bool = False
) -> Path:
    """Write a run below `directory` and return its own directory.

    It is written beside its place and moved there when it is complete and on disk: whoever looks, and
    whatever happens, there is a whole record or none.

    Parameters
    ----------
    run
        What `evaluate` gave.
    directory
        Where records are kept.
    id
        The record's place below it; by default `run_id`.
    force
        Whether to replace a record that is there; else that is an error.
    compact
        Whether to leave out the curves of the single models and to keep the others in single precision:
        some 20 KB instead of some 400. Read back, the curves left out have no columns.

    Examples
    --------
    >>> import tempfile
    >>> from heros import Heros, evaluate, pools, streams
    >>> from heros.storage import records
    >>> model = Heros(pools.MLPGrid(hidden=[8], optimizers=["adam"]), k=2, seed=1)
    >>> run = evaluate(model, streams.load("agr_a").take(2000))
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     place = records.save(run, directory)
    ...     again, table = records.read(place), records.load(directory)
    >>> again.auroc == run.auroc, table["id"].to_pylist()
    (True, ['agr_a/mlp5/zeta_0.05_0.2/k2/seed1'])
    """
    id = run_id(run) if id is None else id
    place = Path(directory, id)
    mend(place)
    if (place.exists() or exists(place)) and not force:
        raise HerosError(f"The record {place} must not exist (or say 'force' to replace it). Got one.")
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        draft = Path(mkdtemp(prefix=f".{place.name}.", suffix=".draft", dir=place.parent))
    except OSError as error:
        raise HerosError(f"The directory {place.parent} must be writable. Got: {error}") from None
    try:
        text = json.dumps(document(run, id), indent=1, ensure_ascii=False, allow_nan=False)
        (draft / RECORD).write_text(text + "\n", encoding="utf-8")
        _write_curves(curves_table(run.curves, compact=compact), draft / CURVES, compact)
        draft.chmod(0o755)
        for path in (draft / RECORD, draft / CURVES, draft):
            to_disk(path)
        _move(draft, place, force)
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    return place


def read(directory: Path_) -> Run:
    """The run recorded in this directory."""
    document = details(directory)
    with readable(f"The record {directory}", "be whole"):
        return run_from(document, curves_at(Path(directory)))


def find(directory: Path_) -> list[Path]:
    """The directories of all records below this one, or its own, sorted; or those in a packed file."""
    root = Path(directory)
    if root.is_file():
        return sorted(root.parent / id for id in record_tables.ids_in(root))
    packed = set(record_tables.packed_below(root))
    if not root.is_dir() and not packed:
        raise DataError(f"The directory {root} must exist. Got no such directory instead.")
    return sorted(packed.union(_records_below(root)) if root.is_dir() else packed)


def load(directory: Path_) -> pa.Table:
    """One table of all runs below this directory: a row each, with settings, figures and the bill.

    It has a column for every measure that a run has; of runs without it the cell is empty.
    """
    documents = [(place, details(place)) for place in find(directory)]
    figures: dict[str, None] = {}
    for place, document in documents:
        with readable(f"The record {place}", "be whole"):
            figures |= dict.fromkeys(_figures(document))
    schema, rows = _schema(list(figures)), []
    for place, document in documents:
        with readable(f"The record {place}", "be whole"):
            rows.append(pa.Table.from_pylist([_row(document)], schema=schema))
    return pa.concat_tables(rows) if rows else schema.empty_table()


# -- on disk --------------------------------------------------------------------------------------------


def exists(directory: Path_) -> bool:
    """Whether there is a record in this directory, or packed under its name."""
    place = Path(directory)
    return (_there(place) / RECORD).is_file() or record_tables.packed_at(place) is not None


def _records_below(root: Path) -> Iterator[Path]:
    if (root / RECORD).is_file():
        yield root
    if (root / record_tables.NAME).is_file():
        yield from record_tables.packed_below(root)
    for path in root.iterdir():
        if path.name.endswith(OLD) and not (place := _place_of(path)).exists():
            yield place
        if path.is_dir() and not path.name.startswith("."):  # drafts are hidden
            yield from _records_below(path)


def _move(draft: Path, place: Path, force: bool) -> None:
    """Put the draft in its place. A directory is replaced only by an empty one, so the old goes aside."""
    aside = draft.with_suffix(OLD)
    if force and place.exists():
        place.rename(aside)
    try:
        draft.rename(place)
    except OSError:
        if aside.exists():
            aside.rename(place)
        raise HerosError(f"The record {place} must not exist. Got one written meanwhile.") from None
    to_disk(place.parent)
    shutil.rmtree(aside, ignore_errors=True)


def _set_aside(place: Path) -> list[Path]:
    """The records that were replaced here, if a kill came before they were removed."""
    return sorted(path for path in place.parent.glob(f".{place.name}.*{OLD}") if _place_of(path) == place)


def _place_of(aside: Path) -> Path:
    """Where a record that was set aside had been: ``.NAME.random.old`` was ``NAME``."""
    return aside.with_name(aside.name.removesuffix(OLD)[1:].rpartition(".")[0])


def _there(place: Path) -> Path:
    """Where the record of this place is: set aside, if a kill came just before the new one was in place."""
    return place if place.exists() else next(iter(_set_aside(place)), place)


def mend(place: Path) -> None:
    """Put back, or remove, what a kill left while a record was replaced."""
    for aside in _set_aside(place):
        if place.exists():
            shutil.rmtree(aside, ignore_errors=True)
        else:
            aside.rename(place)


def details(directory: Path_) -> dict[str, Any]:
    """What the `record.json` in this directory says."""
    place = Path(directory)
    try:
        document = json.loads(text_at(place))
    except (OSError, ValueError) as error:
        raise DataError(f"The record {place} must have a readable {RECORD}. Got: {error}") from None
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise DataError(f"The record {place} must have the format {FORMAT}. Got another one.")
    return document


def text_at(place: Path) -> str:
    """The text of a record's `record.json`."""
    path = _there(place) / RECORD
    packed = None if path.exists() else record_tables.packed_at(place)
    return path.read_text(encoding="utf-8") if packed is None else record_tables.document_of(*packed)


def curves_at(place: Path) -> pa.Table:
    """The table of a record's curves."""
    path = _there(place)
    packed = None if (path / RECORD).exists() else record_tables.packed_at(place)
    return pq.read_table(path / CURVES) if packed is None else record_tables.curves_of(*packed)


# -- as JSON --------------------------------------------------------------------------------------------


def document(run: Run, id: str | None = None) -> dict[str, Any]:
    """What `record.json` says about a run."""
    plain: dict[str, Any] = _plain(
        {
            "format": FORMAT,
            "id": run_id(run) if id is None else id,
            "written": datetime.now(UTC).isoformat(timespec="seconds"),
            "versions": {
                "python": platform.python_version(),
                **{name: metadata.version(name) for name in PACKAGES},
            },
            "commit": commit() or metadata.version("heros-learn"),
            "machine": {
                "cpu": cpu_model(),
                "cores": os.cpu_count(),
                "system": platform.system(),
                "isa": _core.isas()[0],
            },
            "stream": {
                "name": run.stream,
                "drifts": [asdict(drift) for drift in run.drifts],
                "bad_rows": asdict(run.bad_rows),
            },
            "model": run.model,
            "settings": run.settings,
            "n_instances": run.n_instances,
            "window": run.window,
            "interrupted": run.interrupted,
            "measures": [asdict(caption) for caption in run.measures],
            "results": {**run.figures, **{name: getattr(run, name) for name in RESULTS}},
            "confusion": None if run.confusion is None else run.confusion.counts.tolist(),
            "trained": run.trained.tolist(),
            "invested": run.invested.tolist(),
            "cpu": run.cpu,
            "energy": asdict(run.energy),
            "co2e_kg": run.energy.co2e_kg,
        }
    )
    return plain


def run_from(document: Mapping[str, Any], curves: pa.Table) -> Run:
    """The run of which `document` and `curves_table` said this.

    Examples
    --------
    >>> from heros import Heros, evaluate, pools, streams
    >>> from heros.storage import records
    >>> run = evaluate(Heros(pools.MLP([{}]), k=1, seed=1), streams.load("agr_a").take(500))
    >>> again = records.run_from(records.document(run), records.curves_table(run.curves))
    >>> again.figures == run.figures
    True
    """
    stream, energy = document["stream"], dict(document["energy"])
    carbon, bad, counts = energy.pop("carbon"), stream["bad_rows"], document["confusion"]
    results: dict[str, Any] = {
        name: math.nan if value is None else value for name, value in document["results"].items()
    }
    figures = _figures(document)
    captions = document.get("measures", [{"name": name} for name in figures])
    return Run(
        stream=stream["name"],
        model=document["model"],
        n_instances=document["n_instances"],
        figures={name: results.pop(name) for name in figures},
        measures=tuple(_caption(**caption) for caption in captions),
        confusion=None if counts is None else Confusion(np.array(counts, dtype=np.int64)),
        trained=np.array(document["trained"], dtype=np.int64),
        invested=np.array(document["invested"], dtype=np.float64),
        cpu=document["cpu"],
        energy=Energy(**energy, carbon=Carbon(**carbon) if carbon else None),
        curves=_curves(curves),
        window=document["window"],
        settings=document["settings"],
        drifts=tuple(DriftPoint(**drift) for drift in stream["drifts"]),
        bad_rows=BadRows(bad["count"], tuple(BadRow(**row) for row in bad["first"])),
        interrupted=document.get("interrupted", False),
        **results,
    )


def _figures(document: Mapping[str, Any]) -> list[str]:
    """The names of the measures, in their order."""
    return [name for name in document["results"] if name not in RESULTS]


def _caption(name: str, **said: Any) -> Caption:
    """What a record says about a measure; records of HEROS 0.1 say only its name."""
    return Caption(name, **said) if said else Caption.named(name)


def _plain(value: Any) -> Any:
    """As JSON has it: no tuples, no NaN."""
    if isinstance(value, dict):
        return {str(name): _plain(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, np.generic):
        value = value.item()
    return None if isinstance(value, float) and not math.isfinite(value) else value


# -- as tables --------------------------------------------------------------------------------------------


def curves_table(curves: Curves, *, compact: bool = False) -> pa.Table:
    """What `curves.parquet` says about a run; `compact` as for `save`."""
    columns = curves.columns()
    names = [name for name in columns if not (compact and name in PER_MODEL)]
    return pa.table({name: _column(columns[name], compact) for name in names})


def _write_curves(table: pa.Table, path: Path, compact: bool) -> None:
    if compact:  # measurements hardly repeat: a dictionary of them is only in the way
        pq.write_table(table, path, compression="zstd", use_dictionary=False)
    else:
        pq.write_table(table, path)


def _curves(table: pa.Table) -> Curves:
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


def _schema(figures: list[str]) -> pa.Schema:
    """Of the table of runs that have these measures."""
    return pa.schema(
        [
            *((name, pa.string()) for name in ("id", "stream", "pool", "policy")),
            *((name, pa.int64()) for name in ("k", "seed", "n_instances", "bad_rows")),
            *((name, pa.float64()) for name in figures),
            *((name, pa.int64() if name == "diverged" else pa.float64()) for name in RESULTS),
            *((name, pa.float64()) for name in ("gamma_share", "cpu_seconds")),
            *((f"cpu_{phase}", pa.float64()) for phase in PHASES),
            *((name, pa.float64()) for name in ("wall_seconds", "kwh", "co2e_kg")),
            ("energy_source", pa.string()),
        ]
    )


def _row(document: Mapping[str, Any]) -> dict[str, Any]:
    settings, energy = document["settings"], document["energy"]
    return {
        "id": document["id"],
        "stream": document["stream"]["name"],
        **{name: settings[name] for name in ("pool", "policy", "k", "seed")},
        "n_instances": document["n_instances"],
        "bad_rows": document["stream"]["bad_rows"]["count"],
        **document["results"],
        "gamma_share": document["results"]["gamma_spent"] / document["n_instances"],
        "cpu_seconds": sum(document["cpu"].values()),
        **{f"cpu_{phase}": seconds for phase, seconds in document["cpu"].items()},
        "wall_seconds": energy["wall_seconds"],
        "kwh": energy["kwh"],
        "co2e_kg": document["co2e_kg"],
        "energy_source": energy["source"],
    }
