"""CPU time per instance: HEROS's pool of 50 perceptrons against the same pool in PyTorch, in one run.

    make bench

PyTorch runs twice: as 50 separate modules, and stacked, with the models of one width in one batched product.
Prints the CPU time per instance and the ratios per stream. Then prints how the time of our step depends on
the trained models, and on the number of models, hidden units and active inputs.
"""

from __future__ import annotations

import argparse
import itertools
import os
import sys
import time
from collections.abc import Mapping

import numpy as np
from rich import box
from rich.console import Console
from rich.table import Table

from heros import Heros, HerosError, policies, pools, streams

ZETA = policies.Explore(policies.Zeta(0.05), 0.2)
STREAMS = {"agr_a": 200, "rbf_m": 140, "covtype": 30}  # and the target speedup
ROUNDS = 7  # pools take turns, so that load affects both; the median is used


def load(console: Console, name: str) -> streams.Stream | None:
    """Return the stream, or None if its data are missing."""
    try:
        return streams.load(name)
    except HerosError as error:
        console.print(f"{name}: not measured. {error}")
        return None


def our_seconds(pool: pools.Pool, policy: policies.Policy, k: int, stream: streams.Stream, n: int) -> float:
    """Return CPU seconds per instance of the whole step, without the first tenth of the instances."""
    X, y = stream.take(n).draw(n)
    model = Heros(pool, policy, k, seed=1, schema=stream.schema)
    model.learn(X[: n // 10], y[: n // 10])
    start = time.process_time()
    model.learn(X[n // 10 :], y[n // 10 :])
    return (time.process_time() - start) / (n - n // 10)


def their_seconds(peer: str, stream: streams.Stream, n: int) -> float:
    """Return CPU seconds per instance of the step in PyTorch."""
    from torch_pool import TorchPool  # noqa: PLC0415 - the rest runs without torch
    from torch_stacked import StackedPool  # noqa: PLC0415

    X, y = stream.take(n).draw(n)
    kind = {"50 modules": TorchPool, "stacked": StackedPool}[peer]
    pool = kind(pools.MLPGrid().configurations, stream.schema, ZETA, k=30)
    warm = n // 10
    pool.learn(X[:warm], y[:warm])
    start = time.process_time()
    pool.learn(X[warm:], y[warm:])
    return (time.process_time() - start) / (n - warm)


def compare(console: Console, ours_n: int, theirs_n: Mapping[str, int]) -> None:
    table = Table(title="M = 50, k = 30, ζ = .05, ε = .2: CPU time per instance", box=box.SIMPLE_HEAD)
    for heading in ("stream", "PyTorch", "time", "HEROS", "ratio", "lowest", "highest", "aim"):
        table.add_column(heading, justify="left" if heading in ("stream", "PyTorch") else "right")
    for name, aim in STREAMS.items():
        stream = load(console, name)
        if stream is None:
            continue
        ours: list[float] = []
        theirs: dict[str, list[float]] = {peer: [] for peer in theirs_n}
        for _ in range(ROUNDS):
            before = {peer: their_seconds(peer, stream, n) for peer, n in theirs_n.items()}
            ours.append(our_seconds(pools.MLPGrid(), ZETA, 30, stream, ours_n))
            for peer, n in theirs_n.items():
                theirs[peer].append((before[peer] + their_seconds(peer, stream, n)) / 2)
        for peer, times in theirs.items():
            ratios = np.array(times) / np.array(ours)
            table.add_row(
                name,
                peer,
                f"{np.median(times) * 1e3:.2f} ms",
                f"{np.median(ours) * 1e6:.1f} µs",
                *(f"{figure:.0f}×" for figure in (np.median(ratios), ratios.min(), ratios.max())),
                f"{aim}×" if peer == "50 modules" else "",
            )
    console.print(table)


def follow(console: Console, n: int) -> None:
    """Measure how the time of a step depends on the trained models."""
    pool = pools.MLPGrid()
    rows = [
        ("everything", policies.Everything(), 50),
        ("ζ(.05, .2), k = 30", ZETA, 30),
        ("perform-best, k = 30", policies.PerformBest(), 30),
        ("cheapest, k = 10", policies.Cheapest(), 10),
    ]
    table = Table(title="M = 50: time of a step by trained models", box=box.SIMPLE_HEAD)
    for heading in ("stream", "policy", "µs per instance", "of everything", "choosing"):
        table.add_column(heading, justify="left" if heading in ("stream", "policy") else "right")
    for name in STREAMS:
        stream = load(console, name)
        if stream is None:
            continue
        rounds = [[our_seconds(pool, policy, k, stream, n) for _, policy, k in rows] for _ in range(ROUNDS)]
        measured = np.min(rounds, axis=0)
        for (label, policy, k), seconds in zip(rows, measured, strict=True):
            model = Heros(pool, policy, k, seed=1, schema=stream.schema)
            model.learn(*stream.take(n).draw(n))
            choosing = model.cpu_seconds["choose"] / sum(model.cpu_seconds.values())
            table.add_row(
                name, label, f"{seconds * 1e6:.1f}", f"{seconds / measured[0]:.0%}", f"{choosing:.1%}"
            )
    console.print(table)


def growth(console: Console, n: int) -> None:
    """Measure µs per instance with all models trained by Adam; the cost grows linearly."""
    rng = np.random.default_rng(0)

    def seconds(models: int, hidden: int, inputs: int) -> float:
        stream = streams.from_arrays(rng.standard_normal((n, inputs)), rng.integers(0, 2, n))
        pool = pools.MLP([{"hidden": hidden}] * models)
        return min(our_seconds(pool, policies.Everything(), models, stream, n) for _ in range(ROUNDS))

    table = Table(title="µs per instance, all models trained with Adam", box=box.SIMPLE_HEAD)
    for heading in ("M", "hidden units", "active inputs", "µs", "ns per model, unit and row"):
        table.add_column(heading, justify="right")
    settings = itertools.chain(
        ((m, 64, 10) for m in (10, 20, 40, 80)),
        ((10, h, 10) for h in (64, 128, 256, 512)),
        ((10, 64, d) for d in (10, 20, 40, 80)),
    )
    for m, h, d in settings:
        t = seconds(m, h, d)
        rows = d + 2  # plus the bias and one row of output weights for two classes
        table.add_row(str(m), str(h), str(d), f"{t * 1e6:.1f}", f"{t * 1e9 / (m * h * rows):.3f}")
    console.print(table)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--ours", type=int, default=5000, help="instances per round for HEROS")
    parser.add_argument(
        "--theirs",
        type=int,
        default=120,
        help="instances per round for PyTorch's 50 modules; twice as many stacked",
    )
    parser.add_argument("--no-torch", action="store_true", help="only the tables without PyTorch")
    options = parser.parse_args()
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})  # one core
    console = Console()
    console.print(f"load average {os.getloadavg()[0]:.2f}, Python {sys.version.split()[0]}")
    if not options.no_torch:
        compare(console, options.ours, {"50 modules": options.theirs, "stacked": 2 * options.theirs})
    follow(console, options.ours)
    growth(console, 2000)


if __name__ == "__main__":
    main()
