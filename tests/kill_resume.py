"""Kill and resume a run with checkpoints repeatedly, and compare it with an undisturbed run.

    python tests/kill_resume.py --kills 200

Every run must end with the same results, bit for bit (except CPU time and energy). After every kill, each
checkpoint must be complete. The delays before the kills are seeded; the exit code is 1 if any result differs.
"""

from __future__ import annotations

import argparse
import dataclasses
import hashlib
import itertools
import json
import multiprocessing
import os
import random
import signal
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from family_cases import NUMBERS
from heros import Heros, evaluate, measures, policies, pools, streams
from heros._base.progress import progress
from heros.ensemble import serialization
from heros.run import checkpoints
from heros.run.predictions import Predictions
from heros.storage.disk import write_whole

N = 1500
SETTINGS = {"window": 150, "block": 64}
STEPS = ("open", "fsync", "replace", "unlink")


def perceptrons():
    pool = pools.MLPGrid(hidden=[4, 8], learning_rates=[0.05, 0.005])
    return (
        Heros(pool, policies.Explore(policies.Zeta(0.05), 0.2), 4, seed=1),
        streams.load("agr_a").take(N),
        {},
    )


def trees():
    pool = pools.HoeffdingGrid(max_bytes=[4096, 16384], grace_periods=[50, 100], costs="bytes")
    stream = streams.Drift(streams.LED(drift=1), streams.LED(drift=5), position=N // 2, width=300)
    return Heros(pool, policies.Random(), 2, seed=2), stream.take(N), {"exact": False}


def long_curves():
    """A run with more windows than points of a curve: points are merged during the run and again after it."""
    pool = pools.MLP([{"hidden": 4}, {"hidden": 8, "optimizer": "sgd"}])
    measured = [measures.Auroc(), measures.Kappa(), measures.F1(), measures.PrAuc()]
    settings = {"exact": False, "window": 1, "measures": measured}
    return Heros(pool, k=1, seed=4), streams.LED().take(N), settings


def growing():
    """New values, features and classes during the run, and skipped bad rows."""

    def pairs():
        rng = random.Random(3)
        for i in range(N):
            x = {
                "a": "?" if i % 101 == 50 else rng.gauss(0, 1),
                "b": "abcdef"[rng.randrange(2 + 4 * (i > N / 3))],
            }
            if i > N / 2:
                x["c"] = rng.random()
            yield x, ("no", "yes", "maybe")[rng.randrange(2 + (i > N * 0.6))]

    stream = streams.from_iter(pairs, on_bad_row="skip")
    return Heros(pools.MLP([{"hidden": 8}, {"optimizer": "sgd"}]), k=1, seed=3), stream, {}


def numbers():
    """All families that support regression; for one, the unit of the target changes during the run."""
    pool = pools.Join(*NUMBERS.values(), costs=[1] * len(NUMBERS))
    X, y = streams.Friedman("global", length=N).draw(N)
    y[N // 2 :] *= 1000.0
    stream = streams.from_arrays(X, y, task="regression", name="numbers")
    return Heros(pool, policies.Explore(policies.Zeta(0.05), 0.2), 4, seed=5), stream, {}


def growing_numbers():
    """New values and features during the run, and bad rows, some because of their targets."""

    def pairs():
        rng = random.Random(4)
        for i in range(N):
            x = {"a": rng.gauss(0, 1), "b": "abcdef"[rng.randrange(2 + 4 * (i > N / 3))]}
            if i > N / 2:
                x["c"] = rng.random()
            yield x, "much" if i % 101 == 50 else 10 * x["a"] + rng.random()

    pool = pools.Join(pools.MLP([{"hidden": 8}]), pools.RegressionTrees([{"grace_period": 50}]), costs=[1, 1])
    stream = streams.from_iter(pairs, on_bad_row="skip", task="regression")
    return Heros(pool, k=1, seed=3), stream, {"exact": False}


CASES = (perceptrons, trees, growing, long_curves, numbers, growing_numbers)


def outcome(run, model) -> dict[str, str]:
    """Return digests of all results of a run except time and energy."""
    found = {}
    of_run = {field.name: getattr(run, field.name) for field in dataclasses.fields(run)}
    for owner, values in (("run", of_run | run.figures), ("curves", run.curves.columns())):
        for name, value in values.items():
            if name not in {"cpu", "price", "energy", "curves", "figures", "confusion", "settings"}:
                found[f"{owner}.{name}"] = _bits(value)
    found["confusion"] = "none" if run.confusion is None else _bits(run.confusion.counts)
    document, arrays = serialization.pack(model)
    found["model"] = _bits(json.dumps(document, sort_keys=True))
    found |= {name: _bits(array) for name, array in arrays.items() if name != "ensemble/cpu"}
    return found


def _bits(value) -> str:
    if isinstance(value, Predictions):
        return _bits(value.targets) + _bits(value.outputs)
    if isinstance(value, np.ndarray):
        return hashlib.sha256(f"{value.dtype}{value.shape}".encode() + value.tobytes()).hexdigest()
    return value.hex() if isinstance(value, float) else repr(value)


def work(
    case: int, directory: str, kept: dict[str, int] | None, death: tuple[str, int] | None = None
) -> None:
    """Execute one run, resume it if there is a checkpoint, and write its outcome to a file.

    A `death` is a kill at the n-th call of a function of `os`.
    """
    place = Path(directory)
    if death is not None:
        _die_at(*death)
    model, stream, settings = CASES[case]()
    keeping = {"checkpoint": place, "resume": True, **kept} if kept else {}
    run = evaluate(model, stream, progress=False, **SETTINGS | settings, **keeping)
    write_whole(place / "outcome.json", [json.dumps(outcome(run, model)).encode()])


def _die_at(name: str, n: int) -> None:
    calls, real = itertools.count(1), getattr(os, name)

    def counted(*args, **named):
        if next(calls) == n:
            os.kill(os.getpid(), signal.SIGKILL)
        return real(*args, **named)

    setattr(os, name, counted)


class Killer:
    """Start runs, kill and resume them, and compare their results."""

    def __init__(self, root: Path, seed: int, every: int = 100, keep: int = 3) -> None:
        self.kept = {"every": every, "keep": keep}
        self.root, self.rng = root, random.Random(seed)
        self.context = multiprocessing.get_context("forkserver")
        self.context.set_forkserver_preload(sorted(name for name in sys.modules if name.startswith("heros.")))
        self.kills = self.runs = self.in_writing = self.most = 0
        self.faults: list[str] = []
        both = [self._undisturbed(case) for case in range(len(CASES))]
        self.expected, self.seconds = [expected for expected, _ in both], [seconds for _, seconds in both]

    def _undisturbed(self, case: int) -> tuple[dict[str, str], float]:
        """Return the results of a run without checkpoints, and the duration with them."""
        plain, kept = self._fresh(), self._fresh()
        self._finish(self._start(case, plain, kept=False))
        start = time.perf_counter()
        self._finish(self._start(case, kept))
        seconds = time.perf_counter() - start
        expected = self._outcome(plain)
        self._compare(expected, self._outcome(kept), f"{CASES[case].__name__} with checkpoints")
        return expected, seconds

    def run(self, kills: int, task) -> None:
        """Run with random kills until a run survives, and compare its results."""
        case = self.runs % len(CASES)
        directory, mine = self._fresh(), 0
        while True:
            process, start = self._start(case, directory), time.perf_counter()
            if self.kills < kills and self.rng.random() < 0.9:
                process.join(self.rng.uniform(0, self.seconds[case]))
                if process.is_alive():
                    process.kill()
                    process.join()
                    self.kills, mine = self.kills + 1, mine + 1
                    self._look(directory)
                    task()
                    continue
            self._finish(process)
            break
        if mine == 0:  # the load of the machine changes the durations
            self.seconds[case] = time.perf_counter() - start
        self.runs, self.most = self.runs + 1, max(self.most, mine)
        text = f"{CASES[case].__name__}, killed {mine} times"
        self._compare(self.expected[case], self._outcome(directory), text)

    def at_every_step(self, name: str, stride: int) -> int:
        """Kill at the first call of a function while checkpoints are written, then `stride` calls later, and so on."""
        for kills, n in enumerate(itertools.count(1, stride)):
            directory = self._fresh()
            process = self._start(0, directory, death=(name, n))
            process.join()
            if process.exitcode == 0:
                return kills
            self._look(directory)
            self._finish(self._start(0, directory))
            self._compare(self.expected[0], self._outcome(directory), f"killed at {name} {n}")
        raise AssertionError

    def _look(self, directory: Path) -> None:
        self.in_writing += any(directory.glob(".*.draft"))
        self.faults += (
            [str(one.fault) for one in checkpoints.found(directory) if one.fault]
            if directory.exists()
            else []
        )

    def _compare(self, expected: dict[str, str], got: dict[str, str], text: str) -> None:
        differ = sorted(name for name in expected | got if expected.get(name) != got.get(name))
        self.faults += [f"{text}: {', '.join(differ)} differ"] if differ else []

    def _fresh(self) -> Path:
        return Path(tempfile.mkdtemp(dir=self.root))

    def _start(self, case: int, directory: Path, kept: bool = True, death=None):
        process = self.context.Process(
            target=work, args=(case, str(directory), self.kept if kept else None, death)
        )
        process.start()
        return process

    def _finish(self, process) -> None:
        process.join()
        self.faults += [f"a run ended with exit code {process.exitcode}"] if process.exitcode else []

    @staticmethod
    def _outcome(directory: Path) -> dict[str, str]:
        path = directory / "outcome.json"
        return json.loads(path.read_text()) if path.exists() else {"outcome": "none"}


def steps(seed: int, stride: int) -> int:
    """Kill at every call that writes a checkpoint, and print the results."""
    with tempfile.TemporaryDirectory() as root:
        killer = Killer(Path(root), seed, every=700, keep=1)
        killed = {name: killer.at_every_step(name, stride) for name in STEPS}
    print(f"{sum(killed.values())} kills ({killed}): {len(killer.faults)} faults")
    print(*killer.faults, sep="\n", end="")
    return bool(killer.faults)


def main() -> int:
    """Kill a number of times, and print the results."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--steps", action="store_true", help="kill at every write call")
    parser.add_argument("--stride", type=int, default=1, help="with --steps: kill at every n-th call")
    asked = parser.parse_args()
    if asked.steps:
        return steps(asked.seed, asked.stride)
    with tempfile.TemporaryDirectory() as root, progress() as bar:
        task = bar.add_task("killing", total=asked.kills)
        killer = Killer(Path(root), asked.seed)
        while killer.kills < asked.kills:
            killer.run(asked.kills, lambda: bar.advance(task))
    print(
        f"{killer.kills} kills in {killer.runs} runs (up to {killer.most} in one, {killer.in_writing} while a "
        f"checkpoint was being written): {len(killer.faults)} faults"
    )
    print(*killer.faults, sep="\n", end="")
    return bool(killer.faults)


if __name__ == "__main__":
    sys.exit(main())
