"""Where records are, and how one comes there: complete or not at all."""

from __future__ import annotations

import errno
import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

from heros._base.lazy import pa, pq
from heros.errors import DataError, HerosError
from heros.run import record_tables
from heros.run.records.checks import expect_curves, expect_whole
from heros.run.records.curves import curves_bytes, curves_table
from heros.run.records.documents import FORMAT, document, run_from
from heros.run.records.ids import run_id
from heros.run.result import Run
from heros.storage.disk import DRAFT, reason, to_disk, write_file
from heros.streams.arrow import readable

__all__ = ["curves_at", "details", "exists", "find", "mend", "read", "save", "text_at"]

RECORD, CURVES = "record.json", "curves.parquet"
OLD = ".old"
THERE_ALREADY = (errno.EEXIST, errno.ENOTEMPTY)
Path_ = str | os.PathLike[str]


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
    mend(place)
    if (place.exists() or exists(place)) and not force:
        raise HerosError(f"The record {place} must not exist (or say 'force' to replace it). Got one.")
    text = json.dumps(document(run, id), indent=1, ensure_ascii=False, allow_nan=False) + "\n"
    table = curves_table(run.curves, compact=compact)
    draft = None
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        draft = Path(mkdtemp(prefix=f".{place.name}.", suffix=DRAFT, dir=place.parent))
        write_file(draft / RECORD, text.encode())
        write_file(draft / CURVES, curves_bytes(table, compact))
        draft.chmod(0o755)
        to_disk(draft)
        _move(draft, place, force)
    except OSError as error:
        raise HerosError(f"The record {place} must be writable. Got: {reason(error)}.") from None
    finally:
        if draft is not None:
            shutil.rmtree(draft, ignore_errors=True)
    return place


def read(directory: Path_) -> Run:
    """The run recorded in this directory."""
    document = details(directory)
    label = f"The record {directory}"
    with readable(label, "be whole"):
        run = run_from(document, curves_at(Path(directory)))
    expect_curves(run.curves, document, label)
    return run


def find(directory: Path_) -> list[Path]:
    """The directories of all records below this one, or its own, sorted; or those in a packed file."""
    root = Path(directory)
    if root.is_file():
        return sorted(root.parent / id for id in record_tables.ids_in(root))
    packed = set(record_tables.packed_below(root))
    if not root.is_dir() and not packed:
        raise DataError(f"The directory {root} must exist. Got no such directory instead.")
    return sorted(packed.union(_records_below(root)) if root.is_dir() else packed)


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
    except OSError as error:
        if aside.exists():
            aside.rename(place)
        if error.errno not in THERE_ALREADY:
            raise
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
    except (OSError, ValueError, RecursionError) as error:
        raise DataError(f"The record {place} must have a readable {RECORD}. Got: {error}") from None
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise DataError(f"The record {place} must have the format {FORMAT}. Got another one.")
    expect_whole(document, f"The record {place}")
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
