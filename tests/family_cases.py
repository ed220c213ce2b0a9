"""Small pools of every compiled family, used by all contract tests of families.

Every new family needs an entry here; `tests/pools/test_families_contract.py` checks that none is missing.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import cycle, islice, product

from heros import pools


@dataclass(frozen=True)
class Case:
    """The example pools of a family."""

    classes: pools.Pool | None = (
        None  # a few fast models with different settings; None if the family cannot learn classes
    )
    numbers: pools.Pool | None = None  # the same for numeric targets
    twelve_of_classes: pools.Pool | None = None  # twelve models; by default the few models, repeated
    twelve_of_numbers: pools.Pool | None = None


def every(**axes):
    """Return all combinations of these values."""
    return [dict(zip(axes, values, strict=True)) for values in product(*axes.values())]


RETRAINED = pools.Retrained(
    [
        {"every": 50, "leaves": 5, "min_leaf": 3, **one}
        for one in every(window=(50, 200), spread=(1, 20, 50), trees=(1, 3))
    ]
)
NEAR = pools.NeighboursGrid(windows=[50, 200, 300], neighbours=[3, 8], weightings=["distance", "uniform"])
LINES = [
    {"optimizer": "sgd", "learning_rate": 0.01},
    {"optimizer": "sgd", "learning_rate": 0.01, "l2": 0.01, "loss": "huber"},
    {"learning_rate": 0.01},
    {"optimizer": "ftrl", "learning_rate": 0.1, "l1": 0.001},
    {"optimizer": "pa"},
    {"optimizer": "pa", "learning_rate": 0.01, "epsilon": 0},
]
NETS = [
    {"optimizer": o, "learning_rate": r, "hidden": h, "loss": loss}
    for o, r in (("adam", 0.005), ("sgd", 0.01), ("sgd", 0.5))  # the last two models diverge
    for h in (4, 64)
    for loss in ("squared", "huber")
]

CASES = {
    "mlp": Case(
        pools.MLP([{"hidden": 4}, {"optimizer": "sgd", "hidden": 9, "learning_rate": 0.05}]),
        pools.MLP([{"hidden": 4}, {"optimizer": "sgd", "hidden": 9, "learning_rate": 0.05, "loss": "huber"}]),
        twelve_of_numbers=pools.MLP(NETS),
    ),
    "trees": Case(
        pools.Hoeffding(
            [
                {"grace_period": 20},
                {"max_bytes": 2500, "grace_period": 30, "prediction": "naive_bayes"},
                {"split_on": "change", "split_confidence": 0.2},
            ]
        ),
        twelve_of_classes=pools.HoeffdingGrid(
            max_bytes=[1024, 2048, 8192, 1 << 20], grace_periods=[20, 50, 100]
        ),
    ),
    "neighbours": Case(
        pools.Neighbours(
            [{"window": 30, "neighbours": 3}, {"window": 500, "weighting": "uniform"}], max_bytes=5000
        ),
        pools.Neighbours([{"window": 30, "neighbours": 3}, {"window": 500, "weighting": "uniform"}]),
        twelve_of_classes=NEAR,
        twelve_of_numbers=NEAR,
    ),
    "linear": Case(
        pools.Linear([{}, {"optimizer": "ftrl"}, {"optimizer": "sgd", "l2": 0.1}], own_values=4, hashed_to=3),
        pools.Linear([{}, {"optimizer": "ftrl"}, {"optimizer": "pa"}], own_values=4, hashed_to=3),
        twelve_of_classes=pools.LinearGrid(),
        twelve_of_numbers=pools.Linear([*LINES, *LINES], own_values=4, hashed_to=16),
    ),
    "bayes": Case(
        pools.NaiveBayes([{}, {"fading": 0.5}]),
        twelve_of_classes=pools.NaiveBayes(every(fading=(1, 0.999, 0.99, 0.9), smoothing=(0.1, 1, 2))),
    ),
    "labels": Case(
        pools.LabelMemory([{}, {"fading": 0.5, "order": 2}], memory=20),
        pools.LabelMemory([{}, {"fading": 0.5, "seasons": 1}], memory=20),
        twelve_of_classes=pools.LabelMemory(
            every(fading=(1, 0.9999, 0.999, 0.99, 0.9, 0.5), order=(1, 2)), memory=16
        ),
        twelve_of_numbers=pools.LabelMemory(every(fading=(1, 0.999, 0.9, 0.5), seasons=(0, 1, 2)), memory=40),
    ),
    "boosted": Case(
        pools.Boosted(
            [
                {"rounds": 3, "grace_period": 20, "horizon": 50},
                {"rounds": 2, "features": 0.5, "grace_period": 10, "max_bytes": 3000},
            ]
        ),
        pools.Boosted([{"rounds": 3, "grace_period": 20}, {"rounds": 2, "max_bytes": 4000}]),
        twelve_of_classes=pools.Boosted(
            [
                {"grace_period": 20, "max_bytes": 40_000, **one}
                for one in every(rounds=(1, 2, 5), features=(0.5, 1), horizon=(None, 50))
            ]
        ),
    ),
    "retrained": Case(
        pools.Retrained(
            [
                {"window": 100, "every": 40, "spread": 20, "trees": 2, "leaves": 4, "min_leaf": 3, "bins": 8},
                {"window": 50, "every": 30, "spread": 1, "trees": 1, "max_bytes": 200_000},
            ]
        ),
        pools.Retrained(
            [{"window": 60, "every": 40, "spread": 20, "trees": 2, "leaves": 4, "min_leaf": 3}, {"spread": 1}]
        ),
        twelve_of_classes=RETRAINED,
        twelve_of_numbers=RETRAINED,
    ),
    "forest": Case(
        pools.Forest(
            [
                {"trees": 3, "grace_period": 20, "warning": 0.9, "drift": 0.5},
                {"trees": 2, "subspace": "tree", "random_cuts": True, "max_bytes": 3000, "warning": None},
            ]
        ),
        twelve_of_classes=pools.Forest(
            [
                {"warning": 0.5, "drift": 0.1, "max_bytes": 40_000, **one}
                for one in every(trees=(1, 2, 5), subspace=("tree", "node"), bagging=(0, 3))
            ]
        ),
    ),
    "rtrees": Case(
        numbers=pools.RegressionTrees([{"grace_period": 20}, {"grace_period": 30, "max_bytes": 4000}]),
        twelve_of_numbers=pools.RegressionTrees(
            [
                {"split_confidence": 0.1, **one}
                for one in every(
                    max_bytes=(3_000, 200_000),
                    grace_period=(20, 100),
                    prediction=("mean", "linear", "adaptive"),
                )
            ]
        ),
    ),
}


def repeated(pool):
    """Return a pool of twelve models, made by repeating those of this pool."""
    family = pool.family
    return (
        replace(pool, configurations=[*islice(cycle(pool.configurations), 12)])
        if type(pool) is family
        else pool
    )


CLASSES = {name: case.classes for name, case in CASES.items() if case.classes}
"""A few models of each family that learns classes."""

NUMBERS = {name: case.numbers for name, case in CASES.items() if case.numbers}
"""A few models of each family that learns numbers."""

TWELVE_OF_CLASSES = {name: CASES[name].twelve_of_classes or repeated(pool) for name, pool in CLASSES.items()}
TWELVE_OF_NUMBERS = {name: CASES[name].twelve_of_numbers or repeated(pool) for name, pool in NUMBERS.items()}
