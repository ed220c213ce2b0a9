"""A long stream through a small pool: memory, time per instance and weights, at the start and at the end.

The stream is rbf_f's generator without a limit. Every million instances, the script prints the memory, the
CPU time of these instances and the state of the models. The last million alternates with the first million
of a new model in another process, so that a slower machine affects both.
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
PIECES = 10  # pieces of the last million and of the new model's first
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
    """Return a text on the weights of perceptrons: whether all are finite, and how many are denormal."""
    if not isinstance(model.bound, BoundMLP):
        return f"{sum(tree.nodes for tree in model.bound.stats())} nodes"
    state = model.bound.state()["weights"]
    tiny = (state != 0) & (np.abs(state) < np.finfo(np.float32).tiny)
    return f"finite: {bool(np.isfinite(state).all())}, denormal: {int(tiny.sum())} of {state.size}"


def run_pieces(pool: str, window: int, requests: Connection) -> None:
    """Run another process: on request, train on a piece of its first million and return the CPU time."""
    model, stream = fresh(pool)
    for _ in range(PIECES):
        requests.recv()
        piece = stream.take(MILLION // PIECES)
        started = time.thread_time()
        evaluate(model, piece, window=window, exact=False, progress=False)
        requests.send(time.thread_time() - started)
        stream.draw(MILLION // PIECES)


class Watch(meters.Cpu):
    """A callback at the end of each window, which also runs the new model in between."""

    def __init__(self, pool: str, n: int, window: int) -> None:
        super().__init__(watts=10)
        self.model, _ = fresh(pool)
        self.n, self.window, self.done, self.reference = n, window, 0, 0.0
        self.last = time.thread_time()
        self.pipe, theirs = get_context("spawn").Pipe()
        self.other = get_context("spawn").Process(target=run_pieces, args=(pool, window, theirs), daemon=True)
        self.other.start()

    def sample(self) -> None:
        """Print the results every million instances."""
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
