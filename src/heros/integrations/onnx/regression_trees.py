"""Export of regression trees: a leaf predicts the mean of its targets, or uses a linear model."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from heros.integrations.onnx.binned import INTS, Binned
from heros.integrations.onnx.graph import Graph, numbers_of
from heros.integrations.onnx.trees import walked
from heros.pools.regression_trees import BoundRegressionTrees

REALS = 8  # real numbers of a node, as in the core
COUNT, MEAN, MEAN_ERROR, MODEL_ERROR = 1, 2, 6, 7  # positions among a node's real numbers
FARTHEST = 3.0  # limit of a feature in standard deviations


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


def _models(
    reals: NDArray[Any], weights: NDArray[Any], prediction: str
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return slopes (nodes, numeric features) and intercepts (nodes, 1); the slopes of a mean are 0."""
    by_model = reals[:, MODEL_ERROR] < reals[:, MEAN_ERROR]
    if prediction != "adaptive":
        by_model[:] = prediction == "linear"
    slopes = np.where(by_model[:, None], weights[:, :-1], 0)
    return slopes, np.where(by_model, weights[:, -1], reals[:, MEAN])[:, None]
