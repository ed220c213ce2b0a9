"""The default pools of `Heros()`, and names for the pools of the paper."""

from __future__ import annotations

from heros.pools.base import Pool
from heros.pools.boosted import Boosted
from heros.pools.forest import Forest
from heros.pools.hoeffding import HoeffdingGrid
from heros.pools.join import Join
from heros.pools.label_memory import LabelMemory
from heros.pools.linear import Linear
from heros.pools.mlp import MLP, MLPGrid
from heros.pools.naive_bayes import NaiveBayes
from heros.pools.neighbours import Neighbours
from heros.pools.regression_trees import RegressionTrees
from heros.pools.retrained import Retrained

Paper = MLPGrid
"""The paper's 50 perceptrons: ``Heros(pools.Paper(), policies.Explore(policies.Zeta(0.05), 0.2), k=30)``."""

PaperTrees = HoeffdingGrid
"""The paper's 50 Hoeffding trees."""

FOREST_BYTES, STORE_BYTES = 32 << 20, 16 << 20
COSTS = (6, 3, 14, 33, 1, 1, 1, 41)  # CPU time of each pool in %, with ten numeric features and five classes
MOST_TREES = 60  # maximum number of retrained trees over all classes

WINDOWS = [
    {"window": 500, "neighbours": 5},
    {"window": 5000, "neighbours": 5},
    {"window": 5000, "neighbours": 20},
]
ADAM = [{"learning_rate": rate, "hidden": 256} for rate in (0.005, 0.001)]
SELDOM = {"window": 5000, "every": 2500, "trees": 15, "most_trees": 20}  # a rarely retrained model


def default() -> Join:
    """Return the default pool of `Heros()`: fourteen models of seven kinds.

    The pool has five perceptrons (with different optimisers, rates and scales), three nearest-neighbour
    models, a forest of 30 trees, a logistic regression, a naive Bayes model with fading and a label memory.
    The pool also has two models of boosted trees that are retrained on a window. One of these two models
    restarts its window after a change. docs/policies.md explains how the models were chosen, and on which
    streams.

    Examples
    --------
    >>> pool = default()
    >>> pool.n_models, [type(part).__name__ for part in pool.pools]
    (14, ['MLP', 'MLP', 'Neighbours', 'Forest', 'Linear', 'NaiveBayes', 'LabelMemory', 'Retrained'])
    """
    sgd = {"optimizer": "sgd", "learning_rate": 0.05, "hidden": 256}
    window = {"window": 20000, "every": 2000, "leaves": 31, "most_trees": MOST_TREES}
    restarting = {**window, "drift": 0.001}
    steady = {**window, "trees": 60, "learning_rate": 0.1}
    return Join(
        MLP([*ADAM, sgd]),
        MLP([{"learning_rate": 0.005, "hidden": 64}, sgd], scale=1.0),
        Neighbours(WINDOWS, max_bytes=STORE_BYTES),
        Forest([{"max_bytes": FOREST_BYTES}]),
        Linear([{"optimizer": "sgd", "learning_rate": 0.05}]),
        NaiveBayes([{"fading": 0.999}]),
        LabelMemory([{"order": 2}]),
        Retrained([restarting, steady]),
        costs=COSTS,
        bounded=True,
    )


def nested(pool: Join) -> Join:
    """Return a version of the pool with cheaper models, for `Heros(budget=...)`.

    Each forest is replaced by three smaller forests, with 1/6, 1/3 and 1/2 of the trees and memory of the
    original forest. A pool of retrained trees gets an additional model that is rarely retrained.

    Examples
    --------
    >>> pool = nested(default())
    >>> pool.n_models, [one["trees"] for one in pool.configurations if one["family"] == "Forest"]
    (17, [5, 10, 15])
    """
    return Join(*(_nested(part) for part in pool.pools), costs=pool.costs, bounded=pool.bounded)


def _nested(part: Pool) -> Pool:
    if isinstance(part, Forest):
        forests = [
            {**one, "trees": max(1, round(share * one["trees"])), "max_bytes": int(share * one["max_bytes"])}
            for one in part.configurations
            for share in (1 / 6, 1 / 3, 1 / 2)
        ]
        return Forest(forests, costs=part.costs)
    if isinstance(part, Retrained):
        return Retrained([SELDOM, *part.configurations], costs=part.costs)
    return part


REGRESSION_COSTS = (18, 6, 9, 2, 1, 4, 47, 1, 13)  # CPU time of each pool in %, with ten numeric features


def default_regression() -> Join:
    """Return the default pool of `Heros(task="regression")`: twenty models of seven kinds.

    docs/regression.md lists the measured effect of each model on each stream.

    Examples
    --------
    >>> pool = default_regression()
    >>> pool.n_models, " ".join(type(part).__name__ for part in pool.pools)
    (20, 'MLP MLP Neighbours Linear Linear RegressionTrees Boosted LabelMemory Retrained')
    """
    sgd = {"optimizer": "sgd", "learning_rate": 0.01, "hidden": 64}
    plain = [{"optimizer": "sgd", "learning_rate": rate} for rate in (0.01, 0.1, 0.3)]
    level = [{"optimizer": "sgd", "learning_rate": rate} for rate in (0.01, 0.03)]
    quick = {"prediction": "mean", "grace_period": 50, "split_confidence": 0.01}
    return Join(
        MLP([*ADAM, sgd]),
        MLP([{"learning_rate": 0.005, "hidden": 64}, {**sgd, "loss": "huber"}], scale=1.0),
        Neighbours(WINDOWS, max_bytes=STORE_BYTES),
        Linear([{"learning_rate": 0.01}, *plain, {"optimizer": "pa"}]),
        Linear(level, scale=1.0),  # with this scale, the bias does not learn faster than the weights
        RegressionTrees([{"grace_period": 50}, quick]),
        Boosted([{"max_bytes": FOREST_BYTES}]),
        LabelMemory([{}]),
        Retrained([{"most_trees": MOST_TREES}]),
        costs=REGRESSION_COSTS,
        bounded=True,
    )
