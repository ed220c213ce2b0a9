"""Detect input changes without labels: `heros.drift.Monitor` against River's KSWIN on every feature.

    python benchmarks/drift_inputs.py [--seeds 5]

Streams have 100,000 instances with three abrupt changes at the quarters: RBF (ten numbers), LED (24
categories), and ten normal numbers with five categories, where one of each changes. In AGR, only labels
change. KSWIN tests each feature with alpha divided by the number of features, once with its default alpha
(0.005) and once with Monitor's alpha, 1e-4. An alarm within 2,000 instances after a change finds the change;
other alarms are false. Several alarms at one instance count as one.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np

from heros import Schema, streams
from heros.drift import KSWIN, Monitor

LENGTH, LATE = 100_000, 2_000
KNOWN = [LENGTH // 4 * i for i in (1, 2, 3)]
Data = tuple[Schema, np.ndarray]


def joined(concepts: list[streams.Stream]) -> Data:
    parts = [stream.draw(LENGTH // 4)[0] for stream in concepts]
    return concepts[0].schema, np.concatenate(parts)


def normal(seed: int) -> Data:
    """Shift a number by half a standard deviation, and a category by a share of 0.2."""
    rng = np.random.default_rng(seed)
    numbers, categories = rng.normal(size=(LENGTH, 10)), rng.integers(0, 4, (LENGTH, 5)).astype(float)
    for i, at in enumerate(KNOWN):
        numbers[at:, i] += 0.5
        moved = at + np.flatnonzero(rng.random(LENGTH - at) < 0.25)
        categories[moved, i] = 0
    names = [f"number{i}" for i in range(10)]
    nominal = [(f"category{i}", "a", "b", "c", "d") for i in range(5)]
    return Schema.of([*names, *nominal], classes=["no", "yes"]), np.column_stack([numbers, categories])


STREAMS: dict[str, Callable[[int], Data]] = {
    "rbf": lambda s: joined(
        [streams.RandomRBF(model_seed=10 * s + i, instance_seed=10 * s + i) for i in range(4)]
    ),
    "led": lambda s: joined([streams.LED(d, seed=10 * s + i) for i, d in enumerate((1, 3, 5, 7))]),
    "normal": normal,
    "agr (no change)": lambda s: joined(
        [streams.Agrawal(f, seed=10 * s + i) for i, f in enumerate((2, 4, 6, 8))]
    ),
}


def monitor(data: Data) -> list[int]:
    schema, X = data
    return [change.at for change in Monitor(schema).update(X)]


def kswin(alpha: float) -> Callable[[Data], list[int]]:
    def alarms(data: Data) -> list[int]:
        X, found = data[1], set()
        for i, column in enumerate(X.T):
            found |= set(KSWIN(alpha / X.shape[1], seed=i).update_many(column).tolist())
        return sorted(found)

    return alarms


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", type=int, default=5)
    seeds = parser.parse_args().seeds
    ways = {"Monitor": monitor, "KSWIN 0.005/d": kswin(0.005), "KSWIN 1e-4/d": kswin(1e-4)}
    print("found drifts / false alarms / missed drifts over all seeds; CPU µs per instance")
    print("| | " + " | ".join(STREAMS) + " | F1 | µs |\n" + "|---" * (len(STREAMS) + 3) + "|")
    for name, way in ways.items():
        cells, total, spent = [], np.zeros(3, dtype=int), 0.0
        for stream, make in STREAMS.items():
            counts = np.zeros(3, dtype=int)
            for seed in range(1, seeds + 1):
                known = [] if "no change" in stream else KNOWN
                data, start = make(seed), time.process_time()
                found = way(data)
                spent += time.process_time() - start
                hits = {at for at in known if any(at < alarm <= at + LATE for alarm in found)}
                false = sum(not any(at < alarm <= at + LATE for at in known) for alarm in found)
                counts += [len(hits), false, len(known) - len(hits)]
            total += counts
            cells.append(" / ".join(map(str, counts)))
        f1 = 2 * total[0] / (2 * total[0] + total[1] + total[2])
        each = 1e6 * spent / (LENGTH * seeds * len(STREAMS))
        print(f"| {name} | " + " | ".join(cells) + f" | {f1:.3f} | {each:.2f} |", flush=True)


if __name__ == "__main__":
    main()
