"""Write records atomically; find and read records."""

from __future__ import annotations

import errno
import io
import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heros._base.errors import DataError, HerosError
from heros._base.lazy import pa, pq
from heros.run.curves import Curves
from heros.run.records import packed
from heros.run.records.document import (
    FORMAT,
    PER_MODEL,
    document,
    expect_curves,
    expect_valid,
    run_from,
    run_id,
)
from heros.run.result import Run
from heros.storage.disk import DRAFT, reason, sync_directory, write_file
from heros.streams.arrow import readable

RECORD, CURVES = "record.json", "curves.parquet"
OLD = ".old"
THERE_ALREADY = (errno.EEXIST, errno.ENOTEMPTY)
Path_ = str | os.PathLike[str]


def save(
    run: Run, directory: Path_, *, id: str | None = None, force: bool = False, compact: bool = False
) -> Path:
    """Write a run under `directory` and return the directory of its record.

    The record is written to a temporary directory, which is renamed once complete. At any time there is
    either a complete record or no record.

    Parameters
    ----------
    run
        The result of `evaluate`.
    directory
        The directory of records.
    id
        The path of the record, relative to `directory`; by default `run_id`.
    force
        Whether to replace an existing record; otherwise, an existing record is an error.
    compact
        Whether to omit the curves of individual models and to store the other curves in single precision:
        about 20 KB instead of 400 KB. When the record is read, the omitted curves have no columns.

    Examples
    --------
    >>> import tempfile
    >>> from heros import Heros, evaluate, pools, streams
    >>> from heros.run import records
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
    repair(place)
    if (place.exists() or exists(place)) and not force:
        raise HerosError(f"The record {place} already exists; use force=True to replace it.")
    text = json.dumps(document(run, id), indent=1, ensure_ascii=False, allow_nan=False) + "\n"
    hidden: dict[str, Any] = {"prefix": f".{place.name}.", "suffix": DRAFT, "dir": place.parent}
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(**hidden, ignore_cleanup_errors=True) as name:
            draft = Path(name)
            write_file(draft / RECORD, text.encode())
            write_file(draft / CURVES, _curves_file(run.curves, compact))
            draft.chmod(0o755)
            sync_directory(draft)
            _move(draft, place, force)
    except OSError as error:
        raise HerosError(f"The record {place} cannot be written: {reason(error)}.") from None
    return place


def read(directory: Path_) -> Run:
    """Return the run recorded in this directory."""
    document = details(directory)
    label = f"The record {directory}"
    with readable(label, "cannot be read"):
        table = curves_at(Path(directory))
        left_out = {name: np.empty((table.num_rows, 0)) for name in PER_MODEL}  # for compact records
        found = {name: _values(flat, width) for (name, _, width), flat in packed.flat_curves(table).items()}
        curves = Curves.of(left_out | found)
        run = run_from(document, curves)
    expect_curves(run.curves, document, label)
    return run


def find(directory: Path_) -> list[Path]:
    """Return the sorted paths of all records at or under a directory, or in a packed file."""
    root = Path(directory)
    if root.is_file():
        return sorted(root.parent / id for id in packed.ids_in(root))
    places = set(packed.below(root))
    if not root.is_dir() and not places:
        raise DataError(f"The directory {root} does not exist.")
    return sorted(places.union(_records_below(root)) if root.is_dir() else places)


def exists(directory: Path_) -> bool:
    """Return whether there is a record in this directory, or a packed record with this path."""
    place = Path(directory)
    return (_existing(place) / RECORD).is_file() or packed.holder(place) is not None


def _records_below(root: Path) -> Iterator[Path]:
    if (root / RECORD).is_file():
        yield root
    if (root / packed.NAME).is_file():
        yield from packed.below(root)
    for path in root.iterdir():
        if path.name.endswith(OLD) and not (place := _place_of(path)).exists():
            yield place
        if path.is_dir() and not path.name.startswith("."):  # names of drafts start with a dot
            yield from _records_below(path)


def _move(draft: Path, place: Path, force: bool) -> None:
    """Rename the draft to `place`.

    An existing record at `place` is renamed first, because a directory cannot be replaced.
    """
    renamed = draft.with_suffix(OLD)
    if force and place.exists():
        place.rename(renamed)
    try:
        draft.rename(place)
    except OSError as error:
        if renamed.exists():
            renamed.rename(place)
        if error.errno not in THERE_ALREADY:
            raise
        raise HerosError(f"The record {place} already exists. Another process has written it.") from None
    sync_directory(place.parent)
    shutil.rmtree(renamed, ignore_errors=True)


def _renamed_records(place: Path) -> list[Path]:
    """Return the old records of this path that killed processes had renamed but not removed."""
    return sorted(path for path in place.parent.glob(f".{place.name}.*{OLD}") if _place_of(path) == place)


def _place_of(renamed: Path) -> Path:
    """Return the original path of a renamed record: ``.NAME.random.old`` was ``NAME``."""
    return renamed.with_name(renamed.name.removesuffix(OLD)[1:].rpartition(".")[0])


def _existing(place: Path) -> Path:
    """Return the directory of a record.

    If a process was killed while it replaced the record, return the directory of the old record.
    """
    return place if place.exists() else next(iter(_renamed_records(place)), place)


def repair(place: Path) -> None:
    """If a process was killed while it replaced this record, restore or remove the old record."""
    for renamed in _renamed_records(place):
        if place.exists():
            shutil.rmtree(renamed, ignore_errors=True)
        else:
            renamed.rename(place)


def details(directory: Path_) -> dict[str, Any]:
    """Return the checked content of `record.json` in this directory."""
    place = Path(directory)
    try:
        document = json.loads(text_at(place))
    except (OSError, ValueError, RecursionError) as error:
        raise DataError(f"The record {place} must have a readable {RECORD}. The error was: {error}") from None
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise DataError(f"The record {place} must have the format {FORMAT}.")
    expect_valid(document, f"The record {place}")
    return document


def text_at(place: Path) -> str:
    """Return the text of a record's `record.json`."""
    path = _existing(place) / RECORD
    holder = None if path.exists() else packed.holder(place)
    return path.read_text(encoding="utf-8") if holder is None else packed.document_of(*holder)


def curves_at(place: Path) -> pa.Table:
    """Return the table of a record's curves, with one row per window."""
    path = _existing(place)
    holder = None if (path / RECORD).exists() else packed.holder(place)
    return pq.read_table(path / CURVES) if holder is None else packed.curves_of(*holder)


# -- curves ------------------------------------------------------------------------------------------------


def _curves_file(curves: Curves, compact: bool) -> memoryview:
    """Return the bytes of `curves.parquet`; `compact` has the same meaning as in `save`."""
    columns = curves.columns()
    compact = compact or not columns[PER_MODEL[0]].shape[1]  # a compact record stays compact
    names = [name for name in columns if not (compact and name in PER_MODEL)]
    table = pa.table({name: _column(columns[name], compact) for name in names})
    file = io.BytesIO()
    # measured values rarely repeat, so that dictionary encoding would increase the size
    pq.write_table(table, file, **({"compression": "zstd", "use_dictionary": False} if compact else {}))
    return file.getbuffer()


def _column(values: NDArray[Any], single: bool) -> pa.Array:
    if single and values.dtype == np.float64:
        values = values.astype(np.float32)
    if values.ndim == 1:
        return pa.array(values)
    return pa.FixedSizeListArray.from_arrays(pa.array(values.reshape(-1)), values.shape[1])


def _values(flat: pa.Array, width: int | None) -> NDArray[Any]:
    values = np.array(flat) if width is None else np.array(flat).reshape(-1, width)
    return values.astype(np.float64) if values.dtype == np.float32 else values
