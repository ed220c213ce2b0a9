"""Export of trees that split by bins: boosted trees and regression trees.

Instances descend all trees in parallel. The leaf values of boosted trees are summed. A leaf of a regression
tree predicts the mean of the leaf's targets, or uses a linear model.
"""

from __future__ import annotations

import numpy as np

from heros.integrations.onnx.graph import Array, Floats, Graph, State, numbers_of, prior_of
from heros.integrations.onnx.trees import Walk, walked
from heros.pools.boosted import BoundBoosted
from heros.pools.regression_trees import BoundRegressionTrees

INTS = 4  # number of integers of a node, as in the core
CUT = 0  # position of the cut among a node's real numbers
WEIGHT, DERIVATIVES = 2, 3  # positions of these numbers in a node of a boosted tree
REALS = 8  # number of real numbers of a node of a regression tree, as in the core
COUNT, MEAN, MEAN_ERROR, MODEL_ERROR = 1, 2, 6, 7  # positions of these numbers in such a node
FARTHEST = 3.0  # limit of a feature of a linear model, in standard deviations


class Binned:
    """The nodes of one tree, with the schema's feature indices.

    `came` is the position of the instance count among the real numbers of a node. `columns` has the schema
    index of each feature of the tree. `values` has the number of values of each feature of the schema.
    """

    def __init__(self, ints: Array, reals: Array, came: int, columns: Array, values: Array) -> None:
        self.tested, self.child, _, self.depth = ints.astype(np.int64).reshape(-1, INTS).T
        self.numbers = reals.reshape(len(self.tested), -1)
        self.came = self.numbers[:, came]
        self.splits = self.tested >= 0
        self.feature = np.where(self.splits, columns.astype(np.int64)[np.maximum(self.tested, 0)], 0)
        self.at_most = values[self.feature] == 0

    def walk(self) -> Walk:
        """Return the tests of the nodes; a missing value goes to the branch with more instances."""
        first = np.where(self.splits, self.child, 0)
        second = np.minimum(first + 1, len(first) - 1)
        missing = np.where(self.came[first] >= self.came[second], 0, 1)
        each = np.zeros(len(first), dtype=bool)
        cut = self.numbers[:, CUT]
        return Walk(
            self.feature, self.at_most, each, cut, self.child, self.splits, missing, int(self.depth.max())
        )


def boosted(graph: Graph, bound: BoundBoosted, i: int) -> None:
    """Export model i of a pool of boosted trees."""
    settings, prefix = bound.pool.configurations[i], f"model_{i}_"
    state = {name.removeprefix(prefix): array for name, array in bound.native.state().items()}
    numeric, classes = bound.schema.numeric, bound.schema.n_classes
    base = prior_of(state["prior"], numeric)
    trees = [Binned(ints, reals, WEIGHT, columns, state["values"]) for columns, ints, reals in _split(state)]
    node = walked(graph, [one.walk() for one in trees])
    steps = np.concatenate([_steps(one.numbers, len(base), settings["shrinkage"]) for one in trees])
    scaled = graph("Gather", settings["learning_rate"] * steps, node, axis=0)
    total = graph("ReduceSum", scaled, np.array([1]), keepdims=0)  # (n, outputs)
    outputs = graph("Add", total, base)
    return graph.number(outputs) if numeric else graph.log_odds(outputs, classes)


def _split(state: State) -> list[list[Array]]:
    """Return, for each tree, the columns, the integers and the real numbers of the nodes."""
    parts = [
        np.split(state[name], np.cumsum(state[f"{name}_sizes"])[:-1]) for name in ("columns", "ints", "reals")
    ]
    return [list(one) for one in zip(*parts, strict=True)]


def _steps(numbers: Floats, outputs: int, shrinkage: float) -> Floats:
    pairs = numbers[:, DERIVATIVES:].reshape(-1, outputs, 2)
    steps: Floats = -pairs[:, :, 0] / (pairs[:, :, 1] + shrinkage)
    return steps


def regression_tree(graph: Graph, bound: BoundRegressionTrees, i: int) -> None:
    """Export model i of a pool of regression trees."""
    state = bound.native.state()
    values, nodes = state["values"], state["nodes"]
    numbers = np.flatnonzero(values == 0)
    own = slice(int(nodes[:i].sum()), int(nodes[: i + 1].sum()))
    ints, reals = state["ints"].reshape(-1, INTS)[own], state["reals"].reshape(-1, REALS)[own]
    weights = state["weights"].reshape(-1, len(numbers) + 1)[own]
    slopes, constant = _models(reals, weights, bound.pool.configurations[i]["prediction"])
    tree = Binned(ints, reals, COUNT, np.arange(len(values)), values)
    leaf = graph("Squeeze", walked(graph, [tree.walk()]), np.array([1]))
    outputs = graph("Gather", constant, leaf, axis=0)  # (n, 1)
    if len(numbers):
        x = numbers_of(graph, state, numbers, FARTHEST)
        shares = graph("Mul", graph("Gather", slopes, leaf, axis=0), x)
        outputs = graph("Add", outputs, graph("ReduceSum", shares, np.array([1]), keepdims=1))
    graph.number(outputs)


def _models(reals: Array, weights: Array, prediction: str) -> tuple[Floats, Floats]:
    """Return slopes (nodes, numeric features) and intercepts (nodes, 1).

    The slopes are 0 in nodes that predict the mean of the targets.
    """
    by_model = reals[:, MODEL_ERROR] < reals[:, MEAN_ERROR]
    if prediction != "adaptive":
        by_model[:] = prediction == "linear"
    slopes = np.where(by_model[:, None], weights[:, :-1], 0)
    return slopes, np.where(by_model, weights[:, -1], reals[:, MEAN])[:, None]
