"""Results depend only on the rows: any source, any block sizes, any delays, with kills in between.

    make arrival N=5000

Every case has a number and one task. Values, classes, missing values and bad rows appear at any time.
In regression, targets change their scale and some are not numbers. Rows are
read from a file, a pipe or an iterator, in blocks of any length and with checkpoints. The run is killed up to
three times and resumed. Its result must equal, bit for bit, that of an undisturbed run on all rows at once.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import random
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from heros import Heros, evaluate, meters, policies, pools, streams
from heros._base.progress import progress
from heros.streams.pipe import read_pipe
from kill_resume import outcome

Row = tuple[dict[str, object], str | float]
TASKS = ("classification", "regression")
KINDS = ("file", "pipe", "pairs", "generator", "later")


class Killed(BaseException):
    """Raised in place of a kill: no code handles it, and only files on disk remain."""


class Deadly(meters.Cpu):
    """A meter that ends the run at its n-th reading."""

    reads = 1 << 60

    def sample(self) -> None:
        """Return a reading, or end the run."""
        super().sample()
        self.reads -= 1
        if self.reads == 0:
            raise Killed


def rows_of(rng: random.Random, task: str) -> list[Row]:
    """Generate rows in which new values, features and classes appear at any time."""
    n, rows = rng.randrange(20, 300), []
    for i in range(n):
        x: dict[str, object] = {
            "a": round(rng.gauss(0, 1), 3),
            "b": "bcdefgh"[rng.randrange(1 + min(6, i // 30))],
        }
        if rng.random() < 0.02:
            x[rng.choice("ab")] = None
        if rng.random() < 0.02:
            x["a"] = "bad"
        rows.append((x, label_of(rng, task, i)))
    return rows


def label_of(rng: random.Random, task: str, i: int) -> str | float:
    """Return a row's label: new classes appear; numbers change their scale, and some are invalid."""
    if task == "classification":
        return "xyz"[rng.randrange(1 + min(2, i // 70))]
    if rng.random() < 0.02:
        return "much"
    return round(rng.gauss(5, 2) * (1000 if i > 150 else 1), 3)


def csv_of(rows: list[Row]) -> bytes:
    """Return the rows as text."""
    lines = (",".join("" if v is None else str(v) for v in (x["a"], x["b"], y)) for x, y in rows)
    return ("a,b,label\n" + "".join(f"{line}\n" for line in lines)).encode()


class Pieces:
    """A file that returns its bytes in pieces, some of them with a delay."""

    def __init__(self, data: bytes, rng: random.Random) -> None:
        self.data, self.rng, self.at = data, rng, 0

    def read1(self, _: int) -> bytes:
        """Return the next bytes."""
        if self.rng.random() < 0.05:
            time.sleep(0.001)
        n = self.rng.choice([1, 7, 100, 1000, 10**6])
        piece = self.data[self.at : self.at + n]
        self.at += n
        return piece


def late(rows: list[Row], rng: random.Random) -> Iterator[Row]:
    """Yield the rows, some of them with a delay."""
    for row in rows:
        if rng.random() < 0.005:
            time.sleep(0.001)
        yield row


def source_of(kind: str, rows: list[Row], path: Path, rng: random.Random | None, task: str):
    """Return a stream of the rows from the start; without a random generator there are no delays."""
    how = {"on_bad_row": "skip", "name": "rows", "task": task}
    if kind == "file":
        return streams.read(path, nominal=["b"], **how)
    if kind == "pipe":
        data = csv_of(rows)
        file = io.BytesIO(data) if rng is None else Pieces(data, rng)
        return read_pipe(file, nominal=["b"], **how)
    pairs: object = rows
    if rng is not None and kind == "generator":
        pairs = late(rows, rng)
    elif rng is not None and kind == "later":

        async def later():
            for row in late(rows, rng):
                yield row

        pairs = later
    elif rng is not None:
        pairs = lambda: late(rows, rng)  # noqa: E731
    return streams.from_iter(pairs, **how)


MLP = pools.MLP([{"hidden": 4}, {"hidden": 4, "optimizer": "sgd", "learning_rate": 0.1}])
POOLS = {
    "classification": (
        MLP,
        pools.Hoeffding([{"grace_period": 20}, {"max_bytes": 8192}]),
        pools.Join(pools.MLP([{"hidden": 4}]), pools.NaiveBayes([{}]), costs=[1, 1]),
    ),
    "regression": (
        MLP,
        pools.RegressionTrees([{"grace_period": 20, "split_confidence": 0.5}, {"max_bytes": 8192}]),
        pools.Join(pools.Neighbours([{"window": 50}]), pools.Linear([{}]), costs=[1, 1]),
    ),
}


def model_of(rng: random.Random, task: str) -> Callable[[], Heros]:
    """Return a function that creates the same model each time."""
    pool, watch, seed = rng.randrange(3), rng.choice(["all", "trained", 3]), rng.randrange(100)
    made = POOLS[task][pool]
    return lambda: Heros(
        made, policies.Explore(policies.Zeta(0.05), 0.2), k=1, warmup=3, seed=seed, watch=watch
    )


def check(number: int, task: str) -> int:
    """Run one case and return the number of kills; an AssertionError describes differences."""
    rng = random.Random(number)
    rows, kind, model = rows_of(rng, task), rng.choice(KINDS), model_of(rng, task)
    settings = {
        "window": rng.choice([1, 13, 13, 60, 60, 1000]),
        "exact": rng.random() < 0.5,
        "progress": False,
    }
    with tempfile.TemporaryDirectory() as directory:
        path, kept = Path(directory, "rows.csv"), Path(directory, "kept")
        path.write_bytes(csv_of(rows))
        alone = model()
        try:
            expected = outcome(evaluate(alone, source_of(kind, rows, path, None, task), **settings), alone)
        except Exception as error:
            expected = {"error": f"{type(error).__name__}: {error}"}
        for kills in range(4):
            other, meter = model(), Deadly()
            if kills < 3:
                meter.reads = rng.choice([1, 2, 3, 5, 10, 20, 40])
            try:
                run = evaluate(
                    other,
                    source_of(kind, rows, path, rng, task),
                    block=rng.choice([1, 7, 64, 1000]),
                    meter=meter,
                    checkpoint=kept,
                    every=rng.choice([20, 50, 130]),
                    resume=True,
                    **settings,
                )
                found = outcome(run, other)
                break
            except Killed:
                continue
            except Exception as error:
                found = {"error": f"{type(error).__name__}: {error}"}
                break
    differ = sorted(name for name in expected | found if expected.get(name) != found.get(name))
    assert not differ, (
        f"case {number} ({task}, {kind}, {kills} kills): {differ}: {expected.get('error')} {found.get('error')}"
    )
    return kills


def main() -> None:
    """Run a number of cases and print the results."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--n", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    cases, kills, faults = 0, 0, []
    with progress() as bar, contextlib.suppress(KeyboardInterrupt):  # the argument is the number of cases
        for number in bar.track(range(asked.n), description="arrival"):
            try:
                kills += check(asked.seed * 10**9 + number, TASKS[number % 2])
            except AssertionError as error:
                faults.append(str(error))
            cases += 1
    print(f"{cases} cases, {kills} kills: {len(faults)} faults")
    print(*faults, sep="\n", end="")
    raise SystemExit(bool(faults))


if __name__ == "__main__":
    main()
