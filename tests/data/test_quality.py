"""A model learns a table of 5,000 orders equally well through every interface."""

from __future__ import annotations

import csv
from datetime import datetime, timedelta

import numpy as np
import pandas as pd
import pytest

from heros import Heros, evaluate, streams

pytestmark = pytest.mark.filterwarnings("ignore::heros.DataNotice")


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """Return dates, amounts with €, percentages, missing values and an identifier, as text and typed."""
    rng, when = np.random.default_rng(7), datetime(2025, 1, 1, 8)
    text, typed, labels = [], [], []
    for _ in range(5000):
        when += timedelta(minutes=int(rng.integers(1, 180)))
        amount, share = round(float(rng.lognormal(3, 1)), 2), round(float(rng.random() * 60), 1)
        city, km = str(rng.choice(["Bonn", "Köln", "Mainz", "Ulm"])), round(float(rng.gamma(2, 8)), 1)
        z = 1.6 * np.sin((when.hour - 6) / 12 * np.pi) + 0.9 * (when.weekday() >= 5) + 0.02 * (amount - 25)
        z += -0.03 * (share - 30) + 0.5 * (city == "Ulm") + 0.03 * (km - 16)
        labels.append("yes" if rng.random() < 1 / (1 + np.exp(-1.4 * z)) else "no")
        order, far = f"ORD-{rng.integers(10**6)}", None if rng.random() < 0.08 else km
        typed.append(
            {"order": order, "placed": when, "amount": amount, "share": share, "city": city, "km": far}
        )
        text.append(
            {
                "order": order,
                "placed": f"{when:%d.%m.%Y %H:%M}",
                "amount": f"€{amount:,.2f}",
                "share": f"{share} %",
                "city": city,
                "km": "n/a" if far is None else str(far),
            }
        )
    path = tmp_path_factory.mktemp("table") / "orders.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, [*text[0], "late"])
        writer.writeheader()
        writer.writerows({**row, "late": y} for row, y in zip(text, labels, strict=True))
    return path, text, typed, labels


@pytest.mark.long
def test_every_entrance_learns_as_well(table):
    path, text, typed, labels = table
    found = {
        "file": streams.read(path, target="late"),
        "frame": streams.from_frame(pd.read_csv(path), target="late"),
        "frame of dates": streams.from_frame(pd.DataFrame(typed).assign(late=labels), target="late"),
        "text": streams.from_iter(list(zip(text, labels, strict=True))),
        "typed": streams.from_iter(list(zip(typed, labels, strict=True))),
    }
    auroc = {name: evaluate(Heros(seed=1), stream).auroc for name, stream in found.items()}
    assert auroc["file"] > 0.8
    assert max(auroc.values()) - min(auroc.values()) < 0.003, auroc
