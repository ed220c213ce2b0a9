"""Retrained boosted trees against LightGBM: the same windows and settings, alternating on one core.

    python benchmarks/retrained.py [--streams agr_a,covtype] [--length 20000]      (needs lightgbm)
    python benchmarks/retrained.py --steps                                  print the longest steps

Both are trained at the same instances on the same windows, without delay (`spread=1`), and predict every
instance before its label is seen. CPU time is training time. LightGBM reads a NumPy array with one thread.
The time of HEROS includes all work to add instances. AUROC excludes the first 1,000 instances.
"""

from __future__ import annotations

import argparse
import time
import warnings
from typing import Any

import lightgbm
import numpy as np
from sklearn.metrics import roc_auc_score

from heros import Heros, Schema, policies, pools, streams

STREAMS = "agr_a,rbf_m,covtype,electricity,airlines"
SETTINGS = {"window": 5000, "every": 1000, "trees": 30, "leaves": 15, "learning_rate": 0.2, "bins": 63}
EQUAL = {"spread": 1, "min_leaf": 20, "shrinkage": 0.0}
FROM = 1000


def single(schema: Schema, settings: dict[str, Any]) -> Heros:
    """A pool of one model, which is trained on every instance."""
    return Heros(pools.Retrained([settings]), policies.Everything(), 1, seed=1, schema=schema, warmup=0)


def ours(schema: Schema, X: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, float]:
    model = single(schema, SETTINGS | EQUAL)
    return model.test_then_train(X, y).probabilities, model.cpu_seconds["train"]


def lightgbms(schema: Schema, X: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, float]:
    classes = len(schema.classes)
    nominal = [i for i, feature in enumerate(schema.features) if feature.values is not None]
    parameters = {
        "num_leaves": SETTINGS["leaves"],
        "learning_rate": SETTINGS["learning_rate"],
        "max_bin": SETTINGS["bins"],
        "min_data_in_leaf": EQUAL["min_leaf"],
        "lambda_l2": EQUAL["shrinkage"],
        "num_threads": 1,
        "verbosity": -1,
        "objective": "binary" if classes == 2 else "multiclass",
        **({} if classes == 2 else {"num_class": classes}),
    }
    predicted = np.full((len(y), classes), 1 / classes)
    spent, following, model, since = 0.0, 50, None, 0
    for t in range(1, len(y) + 1):
        if t != following and t != len(y):
            continue
        if model is not None:
            p = model.predict(X[since:t], num_threads=1)
            predicted[since:t] = np.column_stack([1 - p, p]) if classes == 2 else p
        following, since = t + min(t, int(SETTINGS["every"])), t
        rows = slice(max(0, t - int(SETTINGS["window"])), t)
        began = time.process_time()
        data = lightgbm.Dataset(X[rows], y[rows], categorical_feature=nominal)
        model = lightgbm.train(parameters, data, SETTINGS["trees"])
        spent += time.process_time() - began
    return predicted, spent


def auroc(y: np.ndarray, predicted: np.ndarray) -> float:
    y, predicted = y[FROM:], predicted[FROM:]
    if predicted.shape[1] == 2:
        return float(roc_auc_score(y, predicted[:, 1]))
    present = [c for c in range(predicted.shape[1]) if 0 < (y == c).sum() < len(y)]
    return float(np.mean([roc_auc_score(y == c, predicted[:, c]) for c in present]))


def compare(names: list[str], length: int, turns: int) -> None:
    print("stream       AUROC HEROS  LightGBM  difference   CPU s HEROS  LightGBM   ratio")
    for name in names:
        stream = streams.load(name, length=length)
        X, y = stream.draw(length)
        times = []
        for _ in range(turns):
            (mine, seconds), (theirs, others) = ours(stream.schema, X, y), lightgbms(stream.schema, X, y)
            times.append((seconds, others))
        a, b = auroc(y, mine), auroc(y, theirs)
        seconds, others = (min(column) for column in zip(*times, strict=True))
        print(
            f"{name:12} {a:11.4f} {b:9.4f} {a - b:+11.4f} {seconds:13.2f} {others:9.2f}"
            f" {seconds / others:7.2f}"
        )


def longest_steps(length: int) -> None:
    """Print the longest training step between two retrainings, as the median over the retrainings."""
    print("features  classes  spread  mean step  longest step (CPU ms)")
    cases = ((10, 2, None), (100, 2, 1), (100, 2, None), (100, 2, 1000), (100, 10, None))
    for features, classes, spread in cases:
        rng = np.random.default_rng(1)
        X = rng.normal(size=(length, features))
        y = np.digitize(np.sin(3 * X[:, 0]) + X[:, 1] * X[:, 2], np.linspace(-1.5, 1.5, classes + 1)[1:-1])
        schema = Schema.of([f"f{i}" for i in range(features)], classes=[str(c) for c in range(classes)])
        model = single(schema, SETTINGS | {"spread": spread})
        took = []
        for x, target in zip(X, y, strict=True):
            began = time.thread_time()
            model.learn(x[None], [target])
            took.append(1e3 * (time.thread_time() - began))
        full = np.array(took[6000 : length // 1000 * 1000]).reshape(-1, 1000)
        longest = np.median(full.max(axis=1))
        print(f"{features:8} {classes:8} {spread or 'auto':>7} {full.mean():10.3f} {longest:10.2f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--streams", default=STREAMS)
    parser.add_argument("--length", type=int, default=20_000)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--steps", action="store_true")
    arguments = parser.parse_args()
    warnings.filterwarnings("ignore", category=UserWarning)  # LightGBM warns about nominal features
    if arguments.steps:
        longest_steps(min(arguments.length, 13_000))
    else:
        compare(arguments.streams.split(","), arguments.length, arguments.turns)


if __name__ == "__main__":
    main()
