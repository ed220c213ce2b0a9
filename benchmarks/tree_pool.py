"""CPU time per instance: our pool of 50 trees, and loops over 50 CapyMOA trees and 50 River trees.

One run on one core with the paper's grid of trees, k = 20 and the ζ policy: every tree predicts, 20 are
trained. The loops use our compiled code for scores and choices, so that only the trees differ. All three see
the same instances; CapyMOA first gets other instances to warm up its compiler. Real streams are read from
HEROS_DATA; --quick uses fewer instances.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from capymoa.classifier import HoeffdingTree
from capymoa.core import LabeledInstance
from capymoa.stream import Schema
from river.tree import HoeffdingTreeClassifier

from heros import Heros, policies, pools, scores, streams

K = 20
POLICY = policies.Explore(policies.Zeta(0.01), 0.1)
STREAMS = ("agr_a", "electricity", "covtype")
WARM_UP = 1000

Step = Callable[[np.ndarray, int, np.ndarray | None], np.ndarray]


def first(name: str, n: int) -> tuple[streams.Stream, np.ndarray, np.ndarray]:
    stream = streams.load(name)
    X, y = next(iter(stream.take(n).blocks(n)))
    return stream, X, y


def ours(stream: streams.Stream, X: np.ndarray, y: np.ndarray) -> tuple[float, float]:
    """Return the CPU seconds per instance, and the share of choosing."""
    model = Heros(pools.HoeffdingGrid(), POLICY, K, seed=1, schema=stream.schema)
    start = time.process_time()
    for at in range(0, len(y), 4096):
        model.test_then_train(X[at : at + 4096], y[at : at + 4096])
    seconds = (time.process_time() - start) / len(y)
    return seconds, model.cpu_seconds["choose"] / sum(model.cpu_seconds.values())


def loop(trees: list[Any], step: Step, X: np.ndarray, y: np.ndarray) -> float:
    """Return the CPU seconds per instance of predicting with all trees and training k of them."""
    rng = np.random.default_rng(1)
    running = scores.Adwin().bind(len(trees))
    costs = pools.HoeffdingGrid().bind(streams.Agrawal().schema, rng).costs
    start = time.process_time()
    for t, (x, label) in enumerate(zip(X, y.tolist(), strict=True)):
        votes = step(x, label, None)
        running.update((votes == label).astype(float))
        chosen = np.ones(len(trees), dtype=bool) if t < 100 else POLICY.choose(running.values, costs, K, rng)
        step(x, label, np.flatnonzero(chosen))
    return (time.process_time() - start) / len(y)


def capymoa_loop(stream: streams.Stream, X: np.ndarray, y: np.ndarray) -> float:
    features = stream.schema.features
    names = [f"x{i}" for i in range(len(features))]
    nominal = {name: list(f.values) for name, f in zip(names, features, strict=True) if f.values}
    schema = Schema.from_custom([*names, "class"], "class", {**nominal, "class": list(stream.schema.classes)})

    def timed(X: np.ndarray, y: np.ndarray) -> float:
        trees = [
            HoeffdingTree(schema, grace_period=c["grace_period"])
            for c in pools.HoeffdingGrid().configurations
        ]

        def step(x: np.ndarray, label: int, chosen: np.ndarray | None) -> np.ndarray:
            instance = LabeledInstance.from_array(schema, x, label)
            if chosen is None:
                votes = [tree.predict(instance) for tree in trees]
                return np.array([-1 if vote is None else vote for vote in votes])
            for i in chosen:
                trees[i].train(instance)
            return chosen

        return loop(trees, step, X, y)

    timed(X[:WARM_UP], y[:WARM_UP])
    return timed(X, y)


def river_loop(stream: streams.Stream, X: np.ndarray, y: np.ndarray) -> float:
    nominal = [i for i, feature in enumerate(stream.schema.features) if feature.nominal]
    trees = [
        HoeffdingTreeClassifier(grace_period=c["grace_period"], nominal_attributes=nominal)
        for c in pools.HoeffdingGrid().configurations
    ]

    def step(x: np.ndarray, label: int, chosen: np.ndarray | None) -> np.ndarray:
        row = dict(enumerate(x.tolist()))
        if chosen is None:
            votes = [tree.predict_one(row) for tree in trees]
            return np.array([-1 if vote is None else vote for vote in votes])
        for i in chosen:
            trees[i].learn_one(row, label)
        return chosen

    return loop(trees, step, X, y)


def main(quick: bool) -> None:
    n_capymoa, n_river = (1500, 300) if quick else (6000, 1000)
    heads = ("ours, µs", "choosing", "CapyMOA, µs", "ratio", "River, µs", "ratio")
    print("stream      ", *(f"{head:>11}" for head in heads))
    for name in STREAMS:
        stream, X, y = first(name, 40_000)
        long, share = ours(stream, X, y)
        capymoa = capymoa_loop(stream, X[:n_capymoa], y[:n_capymoa])
        river = river_loop(stream, X[:n_river], y[:n_river])
        against_capymoa = capymoa / ours(stream, X[:n_capymoa], y[:n_capymoa])[0]
        against_river = river / ours(stream, X[:n_river], y[:n_river])[0]
        figures = (
            f"{long * 1e6:.1f}",
            f"{share:.1%}",
            f"{capymoa * 1e6:.0f}",
            f"{against_capymoa:.0f}×",
            f"{river * 1e6:.0f}",
            f"{against_river:.0f}×",
        )
        print(f"{name:12}", *(f"{figure:>11}" for figure in figures), flush=True)


if __name__ == "__main__":
    main("--quick" in sys.argv)
