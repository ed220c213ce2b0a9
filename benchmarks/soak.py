"""A long stream through a small pool: memory, time per instance and weights, early on and at the end.

The stream is rbf_f's generator without its end. Every million instances the resident memory, the CPU time
of those instances and the state of the models are noted. In the last million, pieces of a fresh model's
first million (in a process of its own) take turns with it: if the machine slows down meanwhile, both do.
"""

from __future__ import annotations

import argparse
import time
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path

import numpy as np

from heros import Heros, evaluate, meters, pools, streams
from heros.pools.mlp import BoundMLP

MILLION = 1_000_000
PIECES = 10  # of the last million and of the fresh model's first
POOLS = {
    "mlp": pools.MLPGrid(learning_rates=[0.05, 0.005], hidden=[8, 32]),
    "trees": pools.HoeffdingGrid(max_bytes=[16 << 10, 64 << 10, 256 << 10], grace_periods=[100, 400]),
}


def fresh(pool: str) -> tuple[Heros, streams.Stream]:
    return Heros(POOLS[pool], k=2, seed=1), streams.RandomRBF(classes=5, speed=0.001)


def resident_mb() -> float:
    fields = dict(line.split(":") for line in Path("/proc/self/status").read_text().splitlines())
    return int(fields["VmRSS"].split()[0]) / 1024


def weights_of(model: Heros) -> str:
    """What the weights of perceptrons look like: all numbers, and none so small that it slows arithmetic."""
    if not isinstance(model.bound, BoundMLP):
        return f"{sum(tree.nodes for tree in model.bound.stats())} nodes"
    state = model.bound.state()["weights"]
    tiny = (state != 0) & (np.abs(state) < np.finfo(np.float32).tiny)
    return f"finite: {bool(np.isfinite(state).all())}, denormal: {int(tiny.sum())} of {state.size}"


def run_pieces(pool: str, window: int, asked: Connection) -> None:
    """Another process: a piece of the first million whenever one is asked for; answers with its CPU time."""
    model, stream = fresh(pool)
    for _ in range(PIECES):
        asked.recv()
        piece = stream.take(MILLION // PIECES)
        started = time.thread_time()
        evaluate(model, piece, window=window, exact=False, progress=False)
        asked.send(time.thread_time() - started)
        stream.draw(MILLION // PIECES)


class Watch(meters.Cpu):
    """Looks at the process whenever a window is closed, and lets the fresh model run in between."""

    def __init__(self, pool: str, n: int, window: int) -> None:
        super().__init__(watts=10)
        self.model, _ = fresh(pool)
        self.n, self.window, self.done, self.reference = n, window, 0, 0.0
        self.last = time.thread_time()
        self.pipe, theirs = get_context("spawn").Pipe()
        self.other = get_context("spawn").Process(target=run_pieces, args=(pool, window, theirs), daemon=True)
        self.other.start()

    def sample(self) -> None:
        """Note the figures every million instances."""
        self.done += self.window
        if self.done > self.n - MILLION and self.done % (MILLION // PIECES) == 0:
            self.pipe.send("a piece")
            self.reference += self.pipe.recv()
        if self.done % MILLION == 0:
            now = time.thread_time()
            micros = (now - self.last) / MILLION * 1e6
            figures = f"{resident_mb():7.1f} MB, {micros:.3f} µs of CPU per instance"
            print(f"{self.done // MILLION:3} M: {figures}; {weights_of(self.model)}", flush=True)
            self.last = now


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("pool", choices=POOLS)
    parser.add_argument("--n", type=int, default=20, help="millions of instances")
    parser.add_argument("--window", type=int, default=1000)
    options = parser.parse_args()
    n = options.n * MILLION
    watch = Watch(options.pool, n, options.window)
    _, stream = fresh(options.pool)
    run = evaluate(watch.model, stream.take(n), window=options.window, meter=watch, exact=False)
    print(f"fresh model's first million, alternating with the last: {watch.reference / MILLION * 1e6:.3f} µs")
    print(f"accuracy {run.accuracy:.4f}, diverged {run.diverged}, points {len(run.curves.end)}")


if __name__ == "__main__":
    main()
