"""Create, use and delete models of every family for the leak checker: `make leaks`."""

from __future__ import annotations

import copy
import gc
import pickle

import numpy as np

from fuzz.targets import KINDS, POOLS, SCHEMA, _exercise
from heros import Feature, Heros, HerosError, Schema, policies, streams

LIVES = 20
LARGER = Schema((*SCHEMA.features, Feature("e", ("p", "q", "r"))), (*SCHEMA.classes, "never"))


def live(kind: str, seed: int) -> None:
    """Create a pool, train and copy it, pass invalid input, extend the schema, restore it, and delete it."""
    policy = policies.Explore(policies.Zeta(0.05), 0.2)
    model = Heros(POOLS[kind], policy, k=1, seed=seed, warmup=2, watch="trained", schema=SCHEMA)
    rng = np.random.default_rng(seed)
    columns = [rng.normal(size=200), rng.integers(0, 3, 200), rng.normal(size=200), rng.integers(0, 2, 200)]
    X, y = np.column_stack(columns), rng.integers(0, 3, 200)
    model.learn(X, y)
    _exercise(model)
    for wrong in (X[:, :2], X + np.inf, "text"):
        try:
            model.learn(wrong, y)
        except HerosError:
            continue
    pickle.loads(pickle.dumps(copy.deepcopy(model))).learn(X, y)
    model.bind(LARGER).learn(np.column_stack([X, rng.integers(0, 3, 200)]), rng.integers(0, 4, 200))


def main() -> None:
    """Run all families, and streams."""
    for kind in KINDS:
        for seed in range(LIVES):
            live(kind, seed)
    for stream in (streams.Agrawal(2), streams.RandomRBF(3, 4, 5, speed=0.01), streams.LED(3)):
        pickle.loads(pickle.dumps(stream.take(100))).draw(50)
    gc.collect()
    print(f"{LIVES} lives of each of {len(KINDS)} families are over")


if __name__ == "__main__":
    main()
