"""Drift detectors: the ratio of our time per value to River's, in alternating runs.

    python benchmarks/drift.py [--rounds 7]

Each round runs River's detector, ours value by value and ours on the whole array over the same numbers. The
result is the median ratio over the rounds. The detected changes are also compared.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable

import numpy as np
from river import drift as river

from heros import drift

SETTINGS = [
    ("ADWIN", {}, 200_000),
    ("PageHinkley", {}, 200_000),
    ("KSWIN", {"seed": 1}, 2_000),
]


def numbers(n: int) -> np.ndarray:
    """Return hits whose rate changes ten times."""
    rng = np.random.default_rng(1)
    return (rng.random(n) < np.repeat(rng.random(10), n // 10)).astype(float)


def theirs(name: str, settings: dict, values: list[float]) -> list[int]:
    detector, found = getattr(river, name)(**settings), []
    for i, value in enumerate(values):
        detector.update(value)
        if detector.drift_detected:
            found.append(i)
    return found


def one_by_one(name: str, settings: dict, values: list[float]) -> list[int]:
    detector, found = getattr(drift, name)(**settings), []
    for i, value in enumerate(values):
        if detector.update(value):
            found.append(i)
    return found


def at_once(name: str, settings: dict, values: np.ndarray) -> list[int]:
    return getattr(drift, name)(**settings).update_many(values).tolist()


def nanoseconds(run: Callable[[], list[int]], n: int) -> tuple[float, list[int]]:
    """Return the CPU time per value and the detected changes."""
    start = time.process_time()
    found = run()
    return 1e9 * (time.process_time() - start) / n, found


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=7)
    rounds = parser.parse_args().rounds
    print("detector       River      ours, value by value      ours, an array    (CPU ns per value)")
    for name, settings, n in SETTINGS:
        values = numbers(n)
        listed = values.tolist()
        ways = (
            lambda n=name, s=settings, v=listed: theirs(n, s, v),
            lambda n=name, s=settings, v=listed: one_by_one(n, s, v),
            lambda n=name, s=settings, v=values: at_once(n, s, v),
        )
        times, ratios = [], []
        for _ in range(rounds):
            (a, found), (b, same), (c, again) = (nanoseconds(way, n) for way in ways)
            if not found == same == again:
                raise SystemExit(f"{name} detects other changes than River: {found[:5]}, {same[:5]}")
            times.append((a, b, c))
            ratios.append((a / b, a / max(c, 1e-3)))
        a, b, c = (statistics.median(column) for column in zip(*times, strict=True))
        single, array = (statistics.median(column) for column in zip(*ratios, strict=True))
        print(f"{name:11} {a:9.0f} {b:12.0f} ({single:.0f} times) {c:12.1f} ({array:.0f} times)", flush=True)


if __name__ == "__main__":
    main()
