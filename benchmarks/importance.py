"""Importance of columns: agreement with offline permutation importance, speed of following a change, cost.

    HEROS_DATA=... python benchmarks/importance.py [--length 10000] [--seeds 3]

Agreement: the default model learns; then every column of the next 3,000 instances is permuted. The offline
importance is the rise of the same model's Brier score (squared error for numbers). The result is Spearman's
rank correlation with `Heros.importance()` over the columns. Columns with less than 1 % of the sum are tied in
both rankings, because their order is random. The second result has no ties.

Change: in the middle of a stream, the class begins to depend on other columns. The result is the number of
instances until the new columns are the most important ones.

Cost: the ratio of CPU time per instance with `explainable` to the time without it, in alternating runs.

Explanations: `Heros.explain` on instances whose class depends on one planted column. Results: how often this
column is first, the largest error of the sums, and the CPU time.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

from heros import Heros, Schema, streams
from heros.ensemble.importance import columns_of

STREAMS = {
    "agr_a": lambda: streams.load("agr_a"),
    "led_a": lambda: streams.load("led_a"),
    "rbf_m": lambda: streams.load("rbf_m"),
    "electricity": lambda: streams.load("electricity"),
    "covtype": lambda: streams.load("covtype"),
    "airlines": lambda: streams.load("airlines"),
    "Friedman": streams.Friedman,
}
TESTED = 3000


def ranks(values: np.ndarray) -> np.ndarray:
    """Return ranks; ties share the mean of their ranks."""
    order = np.argsort(values, kind="stable")
    found = np.empty(len(values))
    found[order] = np.arange(len(values))
    for value in np.unique(values):
        same = values == value
        found[same] = found[same].mean()
    return found


def spearman(a: np.ndarray, b: np.ndarray) -> float:
    return float(np.corrcoef(ranks(a), ranks(b))[0, 1])


def tied(values: np.ndarray) -> np.ndarray:
    """Return the values, with 0 for values below 1 % of the sum."""
    return np.where(values < 0.01 * np.maximum(values, 0).sum(), 0.0, values)


def losses(model: Heros, X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return the Brier score or the squared error of each instance."""
    out = model.outputs(X, np.zeros(len(X), np.int64))
    if model.task.numeric:
        return np.square(out[:, 0] - y)
    return np.square(out - np.eye(out.shape[1])[np.asarray(y, np.int64)]).sum(axis=1)


def offline(model: Heros, X: np.ndarray, y: np.ndarray, repeats: int = 2) -> np.ndarray:
    """Return the permutation importance of each column."""
    rng, usual = np.random.default_rng(7), losses(model, X, y).mean()
    found = []
    for _, features in columns_of(model.schema):
        rises = []
        for _ in range(repeats):
            other = X.copy()
            other[:, features] = X[rng.permutation(len(X))][:, features]
            rises.append(losses(model, other, y).mean() - usual)
        found.append(np.mean(rises))
    return np.array(found)


def agreement(names: list[str], length: int, seeds: int) -> None:
    print(f"rank correlation with offline permutation importance after {length:,} instances")
    for name in names:
        make = STREAMS[name]
        found, plain, running, tops = [], [], [], []
        for seed in range(1, seeds + 1):
            stream = make()
            model = Heros(explainable=True, seed=seed, schema=stream.schema)
            X, y = stream.draw(length + TESTED)
            n = min(length, len(X) - TESTED)
            model.learn(X[:n], y[:n])
            truth, values = offline(model, X[n:], y[n:]), model.importance().values
            found.append(spearman(tied(truth), tied(values)))
            plain.append(spearman(truth, values))
            running.append(spearman(tied(truth), tied(model.importance(fresh=False).values)))
            tops.append(int(truth.argmax() == values.argmax()))
        each = " ".join(f"{one:.3f}" for one in found)
        print(
            f"{name:12} {len(truth):3} columns  {np.mean(found):.3f} ({each}), without ties "
            f"{np.mean(plain):.3f}, running means {np.mean(running):.3f}; "
            f"first column agrees {sum(tops)}/{seeds}",
            flush=True,
        )


def following(seeds: int) -> None:
    """Numbers x0…x9; the class is the sign of x0 + x1 before the change and of x5 + x6 after it."""
    print("instances after a change until the two new columns are the most important ones")
    schema = Schema.of([f"x{i}" for i in range(10)], classes=["no", "yes"])
    for seed in range(1, seeds + 1):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(10_000, 10))
        y = np.where(np.arange(10_000) < 5000, X[:, 0] + X[:, 1], X[:, 5] + X[:, 6]) > 0
        model, after = Heros(explainable=True, seed=seed, schema=schema), {}
        for start in range(0, 10_000, 50):
            model.learn(X[start : start + 50], y[start : start + 50].astype(np.int64))
            if start < 5000:
                continue
            for fresh in (True, False):
                ranked = set(model.importance(fresh=fresh).ranked()[:2])
                if fresh not in after and ranked == {"x5", "x6"}:
                    after[fresh] = start + 50 - 5000
            if len(after) == 2:
                break
        print(f"seed {seed}: measured {after.get(True)}, running means {after.get(False)}", flush=True)


def cost(names: list[str], length: int) -> None:
    """Train two models on the same stream in turns of 500 instances; report the median ratio of CPU times."""
    print("CPU time with over without (median of pairs; all together), and microseconds per instance without")
    for name in names:
        stream = STREAMS[name]()
        X, y = stream.draw(length)
        models = [Heros(explainable=way, seed=1, schema=stream.schema) for way in (False, True)]
        took = np.zeros((len(range(0, length, 500)), 2))
        for turn, start in enumerate(range(0, length, 500)):
            for way in (0, 1) if turn % 2 else (1, 0):
                begin = time.process_time()
                models[way].learn(X[start : start + 500], y[start : start + 500])
                took[turn, way] = time.process_time() - begin
        middle, (plain, whole) = np.median(took[1:, 1] / took[1:, 0]), took[1:].sum(axis=0)
        print(
            f"{name:12} {middle:.3f}; {whole / plain:.3f}; {1e6 * plain / (length - 500):.0f} µs", flush=True
        )


def explanations() -> None:
    schema = Schema.of([f"x{i}" for i in range(10)], classes=["no", "yes"])
    rng = np.random.default_rng(3)
    X = rng.normal(size=(3100, 10))
    y = (X[:, 4] > 0).astype(np.int64)
    model = Heros(explainable=True, seed=1, schema=schema).learn(X[:3000], y[:3000])
    first, off, start = 0, 0.0, time.process_time()
    for x in X[3000:]:
        explanation = model.explain(x)
        first += explanation.columns[0].name == "x4"
        off = max(
            off,
            abs(
                explanation.base
                + sum(one.contribution for one in explanation.columns)
                - explanation.prediction
            ),
        )
        off = max(off, abs(explanation.prediction - model.predict_proba(x).max()))
    took = 1e3 * (time.process_time() - start) / 100
    print(
        f"explain: planted column first in {first} of 100, largest error of the sums {off:.1e}, "
        f"{took:.0f} CPU ms each"
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--length", type=int, default=10_000)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--streams", nargs="+", choices=STREAMS, default=list(STREAMS))
    parser.add_argument("--only", choices=("agreement", "following", "cost", "explanations"))
    arguments = parser.parse_args()
    parts = {
        "agreement": lambda: agreement(arguments.streams, arguments.length, arguments.seeds),
        "following": lambda: following(arguments.seeds),
        "cost": lambda: cost(arguments.streams, arguments.length),
        "explanations": explanations,
    }
    for name, part in parts.items():
        if arguments.only in (None, name):
            part()


if __name__ == "__main__":
    main()
