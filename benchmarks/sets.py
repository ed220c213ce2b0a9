"""Prediction sets: coverage and size of `Classification(level=0.9)`, also within windows with a drift.

    python benchmarks/sets.py [--length 100000]

The default model learns every stream. The sets of HEROS are compared with plain split conformal prediction on
the same probabilities. Its threshold is computed once, from the first 5,000 instances.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path

import numpy as np

from heros import Heros, streams
from heros.ensemble.task import Classification

LEVEL, WINDOW, FIRST = 0.9, 5_000, 5_000
SYNTHETIC = ("agr_a", "agr_g", "led_a", "led_g", "rbf_f", "rbf_m")
REAL = ("airlines", "electricity", "wisdm", "covtype", "nomao")


def split_conformal(p: np.ndarray, y: np.ndarray) -> tuple[float, float]:
    """Return the coverage and the mean size of sets with a threshold from the first instances."""
    lost = 1 - p[np.arange(len(y)), y]
    threshold = np.sort(lost[:FIRST])[int(np.ceil((FIRST + 1) * LEVEL)) - 1]
    later = slice(FIRST, None)
    return float((lost[later] <= threshold).mean()), float((1 - p[later] <= threshold).sum(axis=1).mean())


def measured(name: str, length: int) -> str:
    """Return a row of the table."""
    stream = streams.load(name, length=length if name in SYNTHETIC else None)
    X, y = stream.draw(min(stream.n_instances, length))
    model = Heros(task=Classification(level=LEVEL), seed=1, schema=stream.schema)
    outputs, held, last = [], [], 0.0
    for start in range(0, len(y), 500):
        outputs.append(model.test_then_train(X[start : start + 500], y[start : start + 500]).outputs)
        sets = model.sets
        total = sets["coverage"] * sets["instances"]
        held.append((total - last, len(outputs[-1])))
        last = total
    counts = np.array(held)
    steps = WINDOW // 500
    windows = [counts[i : i + steps].sum(axis=0) for i in range(max(len(counts) - steps + 1, 1))]
    lowest = min(inside / n for inside, n in windows)
    coverage, size = split_conformal(np.concatenate(outputs), y)
    sets = model.sets
    return (
        f"| {name} | {len(y):,} | {len(stream.schema.classes)} | {sets['coverage']:.3f} | {lowest:.3f} | "
        f"{sets['size']:.2f} | {coverage:.3f} | {size:.2f} |"
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--length", type=int, default=100_000)
    length = parser.parse_args().length
    print("| stream | instances | classes | coverage | lowest in 5,000 | size | split conformal | size |")
    print("|---|---|---|---|---|---|---|---|")
    data = Path(os.environ.get("HEROS_DATA", ""))
    real = [name for name in REAL if (data / f"{name}.parquet").is_file()]
    for name in (*SYNTHETIC, *real):
        print(measured(name, length), flush=True)


if __name__ == "__main__":
    main()
