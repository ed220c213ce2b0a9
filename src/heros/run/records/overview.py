"""All records below a directory in one table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from heros._base.lazy import pa
from heros._base.phases import PHASES
from heros.run.records.documents import RESULTS, figures_in
from heros.run.records.files import Path_, details, find
from heros.streams.arrow import readable

__all__ = ["load"]


def load(directory: Path_) -> pa.Table:
    """One table of all runs below this directory: a row each, with settings, figures and the bill.

    It has a column for every measure that a run has; of runs without it the cell is empty.
    """
    documents = [(place, details(place)) for place in find(directory)]
    figures: dict[str, None] = {}
    for place, document in documents:
        with readable(f"The record {place}", "be whole"):
            figures |= dict.fromkeys(figures_in(document))
    schema, rows = _schema(list(figures)), []
    for place, document in documents:
        with readable(f"The record {place}", "be whole"):
            rows.append(pa.Table.from_pylist([_row(document)], schema=schema))
    return pa.concat_tables(rows) if rows else schema.empty_table()


def _schema(figures: list[str]) -> pa.Schema:
    """Of the table of runs that have these measures."""
    return pa.schema(
        [
            *((name, pa.string()) for name in ("id", "stream", "pool", "policy", "watch", "answer")),
            *((name, pa.int64()) for name in ("k", "seed", "n_instances", "bad_rows")),
            *((name, pa.float64()) for name in figures),
            *((name, pa.int64() if name == "diverged" else pa.float64()) for name in RESULTS),
            *((name, pa.float64()) for name in ("gamma_share", "price_looking", "price_training")),
            ("cpu_seconds", pa.float64()),
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
        "watch": str(settings.get("watch", "all")),
        "answer": settings["answer"],
        "n_instances": document["n_instances"],
        "bad_rows": document["stream"]["bad_rows"]["count"],
        **document["results"],
        "gamma_share": document["results"]["gamma_spent"] / document["n_instances"],
        **{f"price_{name}": value for name, value in (document["price"] or {}).items()},
        "cpu_seconds": sum(document["cpu"].values()),
        **{f"cpu_{phase}": seconds for phase, seconds in document["cpu"].items()},
        "wall_seconds": energy["wall_seconds"],
        "kwh": energy["kwh"],
        "co2e_kg": document["co2e_kg"],
        "energy_source": energy["source"],
    }
