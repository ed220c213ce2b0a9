"""Ctrl-C at random times during all long operations ends in a partial result or a clean stop.

    make interrupts N=2000

Another thread sends one to three real signals at random times, during prediction and training, evaluations
with and without checkpoints, commands, and program starts. Afterwards no lock is held, and no traceback was
printed. An interrupted model can continue, and its state agrees with the number of counted instances.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from heros import Heros, HerosError, evaluate, pools, streams
from heros.__main__ import no_interrupt_lost
from heros._base.progress import progress
from heros.cli import app
from heros.ensemble.keyed import Keyed
from heros.run import checkpoints

MLP = pools.MLP([{"hidden": 4}, {"hidden": 8}])
POOLS = {
    "classification": pools.Join(MLP, pools.NaiveBayes([{}]), costs=[1, 1]),
    "regression": pools.Join(MLP, pools.RegressionTrees([{"grace_period": 50}]), costs=[1, 1]),
}
STREAMS = {"classification": lambda: streams.Agrawal(2), "regression": streams.Friedman}
TASKS = tuple(POOLS)
ROWS = 1500


def hear_ctrl_c() -> None:
    """Enable SIGINT: in a shell's background job it is ignored, and no case could fail."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def model(task: str) -> Heros:
    """Return a small model."""
    return Heros(POOLS[task], k=1, seed=1)


def csv(directory: Path, task: str) -> Path:
    """Write a file of rows."""
    path = directory / f"{task}.csv"
    if not path.exists():
        labels = [i % 5 / 7 if task == "regression" else "no" if i % 5 else "yes" for i in range(ROWS)]
        lines = (f"{i % 13},{'abc'[i % 3]},{label}\n" for i, label in enumerate(labels))
        path.write_text("x,c,y\n" + "".join(lines))
    return path


@contextlib.contextmanager
def presses(rng: random.Random, longest: float) -> Iterator[None]:
    """Send Ctrl-C once or more at random times before the block ends."""
    presser = Presser(sorted(rng.uniform(0, longest) for _ in range(rng.choice([1, 1, 1, 2, 3]))))
    presser.start()
    try:
        presser.begun = True  # start late enough: an interrupt before this line would leave signals pending
        yield
    finally:
        try:
            presser.end()
        finally:  # an interrupt may arrive during the start
            presser.end()


class Presser(threading.Thread):
    """Sends Ctrl-C at given times; communicates through plain flags, which signals cannot corrupt."""

    def __init__(self, moments: list[float]) -> None:
        super().__init__(daemon=True)
        self.moments = moments
        self.begun = self.over = self.gone = False

    def run(self) -> None:
        """Send Ctrl-C, unless the case has ended."""
        while not self.begun:
            time.sleep(1e-4)
        start = time.perf_counter()
        for moment in self.moments:
            while not self.over and time.perf_counter() - start < moment:
                time.sleep(2e-4)
            if self.over:
                break
            signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)
        self.gone = True

    def end(self) -> None:
        """Stop the thread, even if more signals arrive."""
        while True:
            try:
                self.over = True
                while not self.gone:
                    time.sleep(1e-4)
                time.sleep(0)  # a signal that was sent has arrived by now
            except KeyboardInterrupt:
                continue
            return


def learning(rng: random.Random, place: Path, task: str) -> str:
    """A user's own loop: wherever it is interrupted, the model has learnt only complete instances."""
    X, y = STREAMS[task]().draw(120)
    one, reference = (model(task).bind(STREAMS[task]().schema) for _ in range(2))
    stopped = False
    try:
        with presses(rng, 0.02):
            for i in range(len(y)):
                one.answers(X[i])
                one.learn(X[i], y[i])
    except KeyboardInterrupt:
        stopped = True
    known = one.instances
    for i in range(known):
        reference.learn(X[i], y[i])
    assert np.array_equal(one.answers(X), reference.answers(X)), "the model differs"
    return "stopped" if stopped else "finished"


def learning_by_key(rng: random.Random, place: Path, task: str) -> str:
    """A model per key: tallies agree with the models, and the number of models in memory stays limited."""
    X, y = STREAMS[task]().draw(120)
    with Keyed(model(task).bind(STREAMS[task]().schema), capacity=3) as keyed:
        said = "finished"
        try:
            with presses(rng, 0.05):
                for i in range(0, len(y), 3):
                    keyed.learn(i % 7, X[i : i + 3], y[i : i + 3])
                    keyed.answers(i % 5, X[i])
        except KeyboardInterrupt:
            said = "stopped"
        for key in keyed:
            assert keyed.figures(key).instances == keyed[key].instances, "the counts differ"
        assert keyed.in_memory <= 3
        assert keyed.bytes_in_memory == sum(one.size for one in keyed._residents.values())
    return said


def streams_of(place: Path, task: str) -> list[streams.Stream]:
    """Return a stream from a file or a generator."""
    return [streams.read(csv(place, task), task=task), STREAMS[task]().take(ROWS)]


def evaluating(rng: random.Random, place: Path, task: str, **kept: object) -> str:
    """A run or an interrupt; the model has learnt the counted instances and can continue."""
    one = model(task)
    stream = streams_of(place, task)[rng.random() >= 0.5]
    try:
        with presses(rng, 0.06):
            run = evaluate(one, stream, window=100, block=rng.choice([10, 100]), progress=False, **kept)
    except KeyboardInterrupt:
        said = "stopped"
    else:
        assert run.n_instances == one.instances, "the counts differ"
        said = "so far" if run.interrupted else "finished"
    if one.schema is not None:
        one.learn(np.zeros((1, one.schema.n_features)), [0])
    return said


def keeping(rng: random.Random, place: Path, task: str) -> str:
    """A run with checkpoints, which continues as if it had not been interrupted."""
    with tempfile.TemporaryDirectory(dir=place) as directory:
        said = evaluating(random.Random(rng.random()), place, task, checkpoint=directory, every=300)
        assert [one.fault for one in checkpoints.found(directory) if one.fault] == []
        for stream in streams_of(place, task):
            with contextlib.suppress(HerosError):  # the checkpoint belongs to the other stream
                evaluate(model(task), stream, window=100, progress=False, checkpoint=directory, resume=True)
                break
        else:
            raise AssertionError("no run can go on")
    return said


def commanding(rng: random.Random, place: Path, task: str) -> str:
    """Run a command in this process."""
    out = place / f"out{rng.random()}"
    rows = [str(csv(place, task)), "--task", task, "--pool", "linear"]
    arguments = rng.choice(
        [
            ["run", *rows, "--out", str(out), "--n", "600"],
            ["compare", *rows, "--policy", "cheapest", "--policy", "random"],
            ["report", str(place), "--out", str(place / "report.html")],
            ["streams", "agr_a"],
        ]
    )
    said, complained, code = io.StringIO(), io.StringIO(), 0
    try:
        with (
            contextlib.redirect_stdout(said),
            contextlib.redirect_stderr(complained),
            no_interrupt_lost(),
            presses(rng, 0.25),
        ):
            app(arguments)
    except SystemExit as end:
        code = end.code
    except KeyboardInterrupt:  # before the command begins or after it ends: see `heros.__main__`
        code = 130
    assert code in (0, 2, 130), f"exit code {code}"
    assert "Traceback" not in complained.getvalue(), complained.getvalue()
    assert code != 0 or said.getvalue(), "no message"
    return {0: "finished", 2: "refused"}.get(code, "stopped")


def starting(rng: random.Random, place: Path, task: str) -> str:
    """Interrupt a separate program from its start; before HEROS is imported, Python handles the signal."""
    program = "from heros.__main__ import main\nprint(flush=True)\nmain()"
    arguments = ["run", str(csv(place, task)), "--pool", "linear", "--task", task]
    process = subprocess.Popen(
        [sys.executable, "-c", program, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdout is not None
    process.stdout.readline()
    time.sleep(0.15 + rng.uniform(0, 2.0))
    process.send_signal(signal.SIGINT)
    said, complained = process.communicate(timeout=120)
    assert process.returncode in (0, 130), process.returncode
    assert b"Traceback" not in complained, complained.decode()
    assert process.returncode or ("RMSE" if task == "regression" else "AUROC").encode() in said
    return "stopped" if process.returncode else "so far"


Kind = Callable[[random.Random, Path, str], str]
KINDS: dict[Kind, int] = {
    learning: 8,
    learning_by_key: 4,
    evaluating: 6,
    keeping: 3,
    commanding: 4,
    starting: 1,
}


def check(number: int, place: Path, kinds: dict[Kind, int] = KINDS) -> tuple[str, str]:
    """Run one case; return what was interrupted and the outcome."""
    rng = random.Random(number)
    (kind,) = rng.choices(list(kinds), list(kinds.values()))
    threads = threading.active_count()
    said = kind(rng, place, TASKS[number % 2])
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler, "the handler was not restored"
    assert threading.active_count() <= threads + 1, "a thread is still running"
    return kind.__name__, said


def main() -> None:
    """Run a number of cases and print the outcomes."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--n", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    hear_ctrl_c()
    counts: dict[tuple[str, str], int] = {}
    faults = []
    with tempfile.TemporaryDirectory() as directory, progress() as bar:
        for number in bar.track(range(asked.n), description="interrupts"):
            try:
                what = check(asked.seed * 10**9 + number, Path(directory))
                counts[what] = counts.get(what, 0) + 1
            except (Exception, KeyboardInterrupt) as error:
                faults.append(f"case {number}: {type(error).__name__}: {error}")
    for (kind, said), count in sorted(counts.items()):
        print(f"{kind:12} {said:10} {count:6}")
    print(f"{asked.n} interrupts: {len(faults)} faults")
    print(*faults, sep="\n", end="")
    raise SystemExit(bool(faults))


if __name__ == "__main__":
    os.environ.setdefault("COLUMNS", "140")
    main()
