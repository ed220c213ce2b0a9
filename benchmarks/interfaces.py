"""The cost of each interface: the same ensemble on electricity through all interfaces, in one run.

    python benchmarks/interfaces.py

M = 10 perceptrons with 64 hidden units, k = 6. Every interface predicts probabilities and then learns, by
instance or by block. The time to create dictionaries, frames and instances is not counted. CapyMOA is
measured if it is installed.

    python benchmarks/interfaces.py --rows

One row through each interface: the median wall-clock time of a prediction and of a training step.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pandas as pd
from rich import box
from rich.console import Console
from rich.table import Table

from heros import Heros, Schema, evaluate, pools, streams

POOL = pools.MLPGrid(hidden=[64])  # M = 10
SETTINGS: dict[str, Any] = {"pool": POOL, "k": 6}
ROUNDS = 7  # interfaces take turns, so that load affects all of them; the median is used
BLOCK = 1000

Step = Callable[[], object]


class Electricity:
    """The first n instances in the form of each interface."""

    def __init__(self, n: int) -> None:
        stream = streams.load("electricity").take(n)
        self.schema: Schema = stream.schema
        self.X, self.y = stream.draw(n)
        self.stream = streams.from_arrays(self.X, self.y, schema=self.schema)
        self.dicts = [self._dict(row) for row in self.X]
        self.labels = [self.schema.classes[index] for index in self.y]
        self.frame = pd.DataFrame(self.dicts)
        self.series = pd.Series(self.labels)

    def _dict(self, row: np.ndarray) -> dict[str, float | str]:
        cells = zip(self.schema.features, row.tolist(), strict=True)
        return {f.name: value if f.values is None else f.values[int(value)] for f, value in cells}

    def blocks(self) -> Iterator[slice]:
        """Return the slices of the blocks."""
        return (slice(start, start + BLOCK) for start in range(0, len(self.y), BLOCK))


def core_evaluate(data: Electricity) -> Step:
    model, stream = Heros(**SETTINGS, seed=1, schema=data.schema), data.stream.take(len(data.y))
    return lambda: evaluate(model, stream, progress=False)


def core_one(data: Electricity) -> Step:
    model = Heros(**SETTINGS, seed=1, schema=data.schema)
    return lambda: [(model.predict_proba(x), model.learn(x, y)) for x, y in zip(data.X, data.y, strict=True)]


def _river(data: Electricity) -> Any:
    from heros.integrations.river import HerosClassifier  # noqa: PLC0415

    return HerosClassifier(**SETTINGS, seed=1, features=data.schema.features, classes=data.schema.classes)


def river_one(data: Electricity) -> Step:
    model, pairs = _river(data), list(zip(data.dicts, data.labels, strict=True))
    return lambda: [(model.predict_proba_one(x), model.learn_one(x, y)) for x, y in pairs]


def river_many(data: Electricity) -> Step:
    model = _river(data)
    parts = [(data.frame[part], data.series[part]) for part in data.blocks()]
    return lambda: [(model.predict_proba_many(X), model.learn_many(X, y)) for X, y in parts]


def _sklearn(data: Electricity, parts: list[slice]) -> Step:
    from heros.integrations.sklearn import HerosClassifier  # noqa: PLC0415

    model = HerosClassifier(**SETTINGS, random_state=1).partial_fit(data.X[:1], data.y[:1], classes=[0, 1])
    blocks = [(data.X[part], data.y[part]) for part in parts]
    return lambda: [(model.predict_proba(X), model.partial_fit(X, y)) for X, y in blocks]


def sklearn_row(data: Electricity) -> Step:
    return _sklearn(data, [slice(i, i + 1) for i in range(len(data.y))])


def sklearn_block(data: Electricity) -> Step:
    return _sklearn(data, list(data.blocks()))


def capymoa_one(data: Electricity) -> Step:
    from capymoa.stream import NumpyStream  # noqa: PLC0415

    from heros.integrations.capymoa import HEROS  # noqa: PLC0415

    stream = NumpyStream(data.X, data.y)
    model, instances = HEROS(stream.get_schema(), **SETTINGS), list(stream)
    return lambda: [(model.predict_proba(i), model.train(i)) for i in instances]


INTERFACES: dict[str, Callable[[Electricity], Step]] = {
    "core: evaluate": core_evaluate,
    "core: one instance at a time": core_one,
    "River: one dict at a time": river_one,
    f"River: frames of {BLOCK}": river_many,
    "scikit-learn: one row at a time": sklearn_row,
    f"scikit-learn: arrays of {BLOCK}": sklearn_block,
    "CapyMOA: one instance at a time": capymoa_one,
}


def _sklearn_row(data: Electricity, X: Any, y: Any) -> tuple[Callable[[Any], object], Callable[..., object]]:
    from heros.integrations.sklearn import HerosClassifier  # noqa: PLC0415

    model = HerosClassifier(**SETTINGS, random_state=1).fit(X, y)
    return model.predict_proba, model.partial_fit


def rows(data: Electricity, n: int, console: Console) -> None:
    """Measure one row through each interface."""
    core = Heros(**SETTINGS, seed=1, schema=data.schema).learn(data.X, data.y)
    river = _river(data)
    river.learn_many(data.frame, data.series)
    one = [slice(i, i + 1) for i in range(n)]
    arrays, frames = [data.X[part] for part in one], [data.frame[part] for part in one]
    labels = np.array(data.labels)
    named = [labels[part] for part in one]
    cases: dict[str, tuple[Any, Any, list[Any], list[Any]]] = {
        "Heros: an array": (core.predict_proba, core.learn, list(data.X[:n]), data.y[:n].tolist()),
        "Heros: a dictionary": (core.predict_proba, core.learn, data.dicts[:n], data.labels[:n]),
        "Heros: a frame of one row": (core.predict_proba, core.learn, frames, named),
        "River: a dictionary": (river.predict_proba_one, river.learn_one, data.dicts[:n], data.labels[:n]),
        "scikit-learn: an array of one row": (*_sklearn_row(data, data.X, labels), arrays, named),
        "scikit-learn: a frame of one row": (*_sklearn_row(data, data.frame, labels), frames, named),
    }
    table = Table(title=f"one row of electricity, M = 10, k = 6: median of {n} rows", box=box.SIMPLE_HEAD)
    for heading in ("interface", "predict µs", "learn µs"):
        table.add_column(heading, justify="left" if heading == "interface" else "right")
    for name, (predict, learn, instances, targets) in cases.items():
        predicting = _median(lambda x, _, predict=predict: predict(x), instances, targets)
        table.add_row(name, f"{predicting:.0f}", f"{_median(learn, instances, targets):.0f}")
    console.print(table)


def _median(work: Callable[[Any, Any], object], instances: list[Any], targets: list[Any]) -> float:
    """In microseconds."""
    took = []
    for x, y in zip(instances, targets, strict=True):
        start = time.perf_counter()
        work(x, y)
        took.append(time.perf_counter() - start)
    return 1e6 * float(np.median(took))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--n", type=int, default=10_000, help="instances per round")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--rows", action="store_true", help="one row, predicting and learning apart")
    options = parser.parse_args()
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})  # one core
    data, console = Electricity(options.n), Console()
    console.print(f"load average {os.getloadavg()[0]:.2f}, Python {sys.version.split()[0]}")
    if options.rows:
        rows(data, min(options.n, 500), console)
        return
    available = [name for name in INTERFACES if "CapyMOA" not in name or importlib.util.find_spec("capymoa")]
    seconds: dict[str, list[float]] = {name: [] for name in available}
    for _ in range(options.rounds):
        for name in available:
            step = INTERFACES[name](data)
            start = time.process_time()
            step()
            seconds[name].append((time.process_time() - start) / options.n)
    first = np.array(seconds[available[0]])
    table = Table(title=f"electricity, {options.n:,} instances, M = 10, k = 6: CPU time", box=box.SIMPLE_HEAD)
    for heading in ("interface", "µs per instance", "instances/s", "to evaluate"):
        table.add_column(heading, justify="left" if heading == "interface" else "right")
    for name in available:
        median, ratio = np.median(seconds[name]), np.median(np.array(seconds[name]) / first)
        table.add_row(name, f"{median * 1e6:.1f}", f"{1 / median:,.0f}", f"{ratio:.1f}×")
    console.print(table)


if __name__ == "__main__":
    main()
