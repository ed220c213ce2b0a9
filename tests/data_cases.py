"""One table in every supported form, for every interface that accepts it."""

from __future__ import annotations

import csv
import json
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from heros import Heros, pools
from heros.data.values import is_missing

Row = dict[str, Any]


def model(**settings: Any) -> Heros:
    """Return a small ensemble that uses every kind of input."""
    return Heros(pools.MLPGrid(hidden=[4]), k=3, seed=1, **settings)


@dataclass
class Case:
    """The same rows as typed values and as text, with their labels."""

    typed: list[Row]
    text: list[Row]
    labels: list[str]
    names: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.names = list(dict.fromkeys(name for row in self.text for name in row))

    def part(self, start: int, stop: int) -> Case:
        """Return some of the rows, with the columns of all rows."""
        return Case(self.typed[start:stop], self.text[start:stop], self.labels[start:stop])


def orders(n: int = 120, seed: int = 1, new_from: int | None = None) -> Case:
    """Return orders with dates, amounts, percentages, booleans, gaps and nested values, some only later."""
    rng = np.random.default_rng(seed)
    new_from = n // 2 if new_from is None else new_from
    typed, text, labels = [], [], []
    for i in range(n):
        when = datetime(2026, 10, 28, 12, 30) + timedelta(minutes=int(rng.integers(-90_000, 90_000)))
        amount = Decimal(int(rng.integers(100, 500_000))) / 100
        share, lag = float(rng.integers(0, 1000)) / 10, int(rng.integers(0, 5000))
        paid, size = bool(rng.random() < 0.5), float(rng.normal())
        city = ["Bonn", "Köln", "Mainz", "Trier"][int(rng.integers(2 if i < new_from else 4))]
        one: Row = {
            "placed": when,
            "due": when.date(),
            "amount": amount,
            "share": share,
            "paid": paid,
            "size": size,
            "city": city,
            "lag": timedelta(seconds=lag),
            "address": {"zone": "ABC"[i % 3], "km": i % 17},
        }
        whole, cents = divmod(int(amount * 100), 100)
        written: Row = {
            "placed": when.strftime("%d.%m.%Y %H:%M"),
            "due": when.strftime("%Y-%m-%d"),
            "amount": f"{whole:,}".replace(",", ".") + f",{cents:02} €",
            "share": f"{share} %",
            "paid": "true" if paid else "false",
            "size": repr(size),
            "city": city,
            "lag": str(lag),
            "address.zone": "ABC"[i % 3],
            "address.km": str(i % 17),
        }
        if i >= new_from:
            one["gift"] = written["gift"] = "card" if i % 3 else "box"
        for name, nothing, word in (("share", None, "n/a"), ("size", float("nan"), ""), ("city", None, "NA")):
            if rng.random() < 0.1:
                one[name], written[name] = nothing, word
        if rng.random() < 0.1:
            one["placed"], written["placed"] = pd.NaT, "-"
        typed.append(one)
        text.append(written)
        labels.append("late" if (when.hour > 12) ^ (amount > 2000) ^ (city == "Bonn") else "on time")
    return Case(typed, text, labels)


# -- forms of a table ---------------------------------------------------------------------------------------


def pandas_of(rows: list[Row]) -> pd.DataFrame:
    """Return a data frame of text or typed columns, with dotted names for nested mappings."""
    return pd.json_normalize(rows).reindex(columns=_names(rows))


def _names(rows: list[Row]) -> list[str]:
    names: dict[str, None] = {}
    for row in rows:
        for name, value in row.items():
            names |= dict.fromkeys(
                [f"{name}.{inner}" for inner in value] if isinstance(value, dict) else [name]
            )
    return list(names)


def arrow_of(rows: list[Row]) -> pa.Table:
    """Return an Arrow table of typed columns, including structs."""
    columns: dict[str, list[Any]] = {}
    for name in dict.fromkeys(name for row in rows for name in row):
        values = [row.get(name) for row in rows]
        columns[name] = [None if is_missing(value) else value for value in values]
    return pa.table(columns)


def csv_of(case: Case, path: Path) -> Path:
    """Write the text as a CSV file."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, [*case.names, "target"], restval="")
        writer.writeheader()
        writer.writerows({**row, "target": y} for row, y in zip(case.text, case.labels, strict=True))
    return path


def json_of(case: Case, path: Path) -> Path:
    """Write the text as JSON lines, with every column in every line."""
    lines = [
        json.dumps({**dict.fromkeys(case.names), **row, "target": y})
        for row, y in zip(case.text, case.labels, strict=True)
    ]
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


def parquet_of(case: Case, path: Path) -> Path:
    """Write the typed values as a Parquet file."""
    table = arrow_of(case.typed)
    pq.write_table(table.append_column("target", pa.array(case.labels)), path)
    return path
