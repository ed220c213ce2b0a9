"""What ``record.json`` says about a run, and the run of which it says so."""

from __future__ import annotations

import math
import os
import platform
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

import numpy as np

from heros._base import core as _core
from heros._base.lazy import metadata, pa
from heros.drift import Change
from heros.measures import Confusion
from heros.measures.base import Caption
from heros.meters import Carbon, Energy
from heros.meters.cpu import cpu_model
from heros.run.commit import commit
from heros.run.records.curves import curves_from
from heros.run.records.ids import run_id
from heros.run.result import Price, Run
from heros.streams import BadRow, BadRows, DriftPoint

__all__ = ["FORMAT", "RESULTS", "document", "figures_in", "provenance", "run_from"]

FORMAT = 1
RESULTS = ("gamma_spent", "reward", "diverged")
"""What stands among a record's results beside the figures of its measures."""
PACKAGES = ("heros-learn", "numpy", "pyarrow")


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
            **provenance(),
            "stream": {
                "name": run.stream,
                "drifts": [asdict(drift) for drift in run.drifts],
                "bad_rows": asdict(run.bad_rows),
            },
            "changes": [change.plain() for change in run.changes],
            "classes": list(run.classes),
            "model": run.model,
            "settings": run.settings,
            "n_instances": run.n_instances,
            "window": run.window,
            "interrupted": run.interrupted,
            "measures": [asdict(caption) for caption in run.measures],
            "results": {**run.figures, **{name: getattr(run, name) for name in RESULTS}},
            "confusion": None if run.confusion is None else run.confusion.counts.tolist(),
            "looked": run.looked.tolist(),
            "trained": run.trained.tolist(),
            "invested": run.invested.tolist(),
            "price": None if run.price is None else asdict(run.price),
            "cpu": run.cpu,
            "energy": asdict(run.energy),
            "co2e_kg": run.energy.co2e_kg,
        }
    )
    return plain


def provenance() -> dict[str, Any]:
    """By which code and on what machine something is measured here and now.

    Examples
    --------
    >>> sorted(provenance()["machine"])
    ['cores', 'cpu', 'isa', 'system']
    """
    machine = {
        "cpu": cpu_model(),
        "cores": os.cpu_count(),
        "system": platform.system(),
        "isa": _core.isas()[0],
    }
    return {"commit": commit() or metadata.version("heros-learn"), "machine": machine}


def run_from(document: Mapping[str, Any], curves: pa.Table) -> Run:
    """The run of which `document` and `curves_table` said this.

    Examples
    --------
    >>> from heros import Heros, evaluate, pools, streams
    >>> from heros.run import records
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
    figures = figures_in(document)
    return Run(
        stream=stream["name"],
        model=document["model"],
        n_instances=document["n_instances"],
        figures={name: results.pop(name) for name in figures},
        measures=tuple(Caption(**caption) for caption in document["measures"]),
        confusion=None if counts is None else Confusion(np.array(counts, dtype=np.int64)),
        looked=np.array(document["looked"], dtype=np.int64),
        trained=np.array(document["trained"], dtype=np.int64),
        invested=np.array(document["invested"], dtype=np.float64),
        price=None if document["price"] is None else Price(**document["price"]),
        cpu=document["cpu"],
        energy=Energy(**energy, carbon=Carbon(**carbon) if carbon else None),
        curves=curves_from(curves),
        window=document["window"],
        settings=document["settings"],
        drifts=tuple(DriftPoint(**drift) for drift in stream["drifts"]),
        changes=tuple(_changes(document)),
        bad_rows=BadRows(bad["count"], tuple(BadRow(**row) for row in bad["first"])),
        interrupted=document["interrupted"],
        classes=tuple(document.get("classes", ())),  # some recorded runs do not have them
        **results,
    )


def _changes(document: Mapping[str, Any]) -> Iterator[Change]:
    """The changes of a run; some recorded runs do not have them."""
    for plain in document.get("changes", ()):
        classes = [{k: math.nan if v is None else v for k, v in moved.items()} for moved in plain["classes"]]
        yield Change.from_plain({**plain, "classes": classes})


def figures_in(document: Mapping[str, Any]) -> list[str]:
    """The names of the measures, in their order."""
    return [name for name in document["results"] if name not in RESULTS]


def _plain(value: Any) -> Any:
    """As JSON has it: no tuples, no NaN, nothing that is no text."""
    if isinstance(value, dict):
        return {_plain(str(name)): _plain(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, str) and not value.isascii():  # a file's name need not be UTF-8
        return value.encode("utf-8", "backslashreplace").decode()
    return None if isinstance(value, float) and not math.isfinite(value) else value
