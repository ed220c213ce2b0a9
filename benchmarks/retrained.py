"""Retrained boosted trees against LightGBM: the same windows, the same settings, in turns on one core.

    python benchmarks/retrained.py [--streams agr_a,covtype] [--length 20000]      (needs lightgbm)

Both are trained at the same instances on the same windows, at once (`spread=1`), and predict every instance before its
label is seen. LightGBM's CPU time is that of its trainings alone (from a NumPy array, as everybody calls it; one thread);
HEROS's is that of the whole loop, predicting included. AUROC over all instances after the first 1,000.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import lightgbm
import numpy as np
from sklearn.metrics import roc_auc_score

from heros import Heros, policies, pools, streams

STREAMS = "agr_a,rbf_m,covtype,electricity,airlines"
SETTINGS = {"window": 5000, "every": 1000, "trees": 30, "leaves": 15, "learning_rate": 0.2, "bins": 63}
EQUAL = {"spread": 1, "min_leaf": 20, "shrinkage": 0.0}
FROM = 1000


def ours(stream: Any, X: np.ndarray, y: np.ndarray, settings: dict[str, Any]) -> tuple[np.ndarray, float]:
    model = Heros(
        pools.Retrained([settings]), policies.Everything(), 1, seed=1, schema=stream.schema, warmup=0
    )
    began = time.process_time()
    said = model.test_then_train(X, y).probabilities
    return said, time.process_time() - began


def lightgbms(
    stream: Any, X: np.ndarray, y: np.ndarray, settings: dict[str, Any]
) -> tuple[np.ndarray, float]:
    classes = len(stream.schema.classes)
    nominal = [i for i, feature in enumerate(stream.schema.features) if feature.values is not None]
    parameters = {
        "num_leaves": settings["leaves"],
        "learning_rate": settings["learning_rate"],
        "max_bin": settings["bins"],
        "min_data_in_leaf": EQUAL["min_leaf"],
        "lambda_l2": EQUAL["shrinkage"],
        "num_threads": 1,
        "verbosity": -1,
        "objective": "binary" if classes == 2 else "multiclass",
        **({} if classes == 2 else {"num_class": classes}),
    }
    said = np.full((len(y), classes), 1 / classes)
    spent, following, model, since = 0.0, 50, None, 0
    for t in range(1, len(y) + 1):
        if t != following and t != len(y):
            continue
        if model is not None:
            p = model.predict(X[since:t], num_threads=1)
            said[since:t] = np.column_stack([1 - p, p]) if classes == 2 else p
        following, since = t + min(t, settings["every"]), t
        rows = slice(max(0, t - settings["window"]), t)
        began = time.process_time()
        data = lightgbm.Dataset(X[rows], y[rows], categorical_feature=nominal)
        model = lightgbm.train(parameters, data, settings["trees"])
        spent += time.process_time() - began
    return said, spent


def auroc(y: np.ndarray, said: np.ndarray) -> float:
    y, said = y[FROM:], said[FROM:]
    if said.shape[1] == 2:
        return float(roc_auc_score(y, said[:, 1]))
    present = [c for c in range(said.shape[1]) if 0 < (y == c).sum() < len(y)]
    return float(np.mean([roc_auc_score(y == c, said[:, c]) for c in present]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--streams", default=STREAMS)
    parser.add_argument("--length", type=int, default=20_000)
    parser.add_argument("--turns", type=int, default=2)
    arguments = parser.parse_args()
    print("stream       AUROC HEROS  LightGBM  difference   CPU s HEROS  LightGBM   ratio")
    for name in arguments.streams.split(","):
        stream = streams.load(name, length=arguments.length)
        X, y = stream.draw(arguments.length)
        times: list[tuple[float, float]] = []
        for _ in range(arguments.turns):
            (mine, seconds), (theirs, others) = (
                run(stream, X, y, SETTINGS | extra) for run, extra in ((ours, EQUAL), (lightgbms, {}))
            )
            times.append((seconds, others))
        a, b = auroc(y, mine), auroc(y, theirs)
        seconds, others = (min(column) for column in zip(*times, strict=True))
        print(f"{name:12} {a:11.4f} {b:9.4f} {a - b:+11.4f} {seconds:13.2f} {others:9.2f} {seconds / others:7.2f}")


if __name__ == "__main__":
    main()
