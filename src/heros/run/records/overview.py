"""A table of all records below a directory."""

from __future__ import annotations

from typing import Any

from heros._base.lazy import pa
from heros._base.phases import PHASES
from heros.run.records.document import RESULTS, at, figures_in
from heros.run.records.files import Path_, details, find
from heros.streams.arrow import readable

SETTINGS = ("pool", "policy", "watch", "answer")
TEXTS = {"id": "id", "stream": "stream/name", **{name: f"settings/{name}" for name in SETTINGS}}
COUNTS = {"n_instances": "n_instances", "bad_rows": "stream/bad_rows/count"}
WHOLE = {"k": "settings/k", "seed": "settings/seed", **COUNTS}
NUMBERS = {"wall_seconds": "energy/wall_seconds", "kwh": "energy/kwh", "co2e_kg": "co2e_kg"}
"""Columns of the table and their paths in `record.json`."""


def load(directory: Path_) -> pa.Table:
    """Return a table with one row per run below this directory: settings, measures and costs.

    The table has a column for every measure that any run has; the cells of runs without this measure are
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
