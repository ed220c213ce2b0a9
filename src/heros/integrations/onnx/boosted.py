"""Export of boosted trees: instances descend all trees in parallel, and the leaf values are summed."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from heros.integrations.onnx.binned import Binned
from heros.integrations.onnx.graph import Graph
from heros.integrations.onnx.trees import walked
from heros.pools.boosted import BoundBoosted

WEIGHT, DERIVATIVES = 2, 3  # positions among a node's real numbers


def boosted(graph: Graph, bound: BoundBoosted, i: int) -> None:
    """Export model i of a pool of boosted trees."""
    settings, prefix = bound.pool.configurations[i], f"model_{i}_"
    state = {name.removeprefix(prefix): array for name, array in bound.native.state().items()}
    numeric, classes = bound.schema.numeric, bound.schema.n_classes
    outputs = 1 if numeric or classes <= 2 else classes
    trees = [Binned(ints, reals, WEIGHT, columns, state["values"]) for columns, ints, reals in _split(state)]
    node = walked(graph, [one.walk() for one in trees])
    steps = np.concatenate([_steps(one.numbers, outputs, settings["shrinkage"]) for one in trees])
    scaled = graph("Gather", settings["learning_rate"] * steps, node, axis=0)
    total = graph("ReduceSum", scaled, np.array([1]), keepdims=0)  # (n, outputs)
    if numeric:
        return graph.number(graph("Add", total, state["prior"][1]))  # the mean of the targets
    prior = np.log(state["prior"] + 1)
    base = prior if outputs > 1 else (prior[1] if classes == 2 else 0.0) - prior[0]
    return graph.log_odds(graph("Add", total, base), classes)


def _split(state: dict[str, NDArray[Any]]) -> list[list[NDArray[Any]]]:
    """Return the columns, integers and real numbers of the nodes of each tree."""
    parts = [
        np.split(state[name], np.cumsum(state[f"{name}_sizes"])[:-1]) for name in ("columns", "ints", "reals")
    ]
    return [list(one) for one in zip(*parts, strict=True)]


def _steps(numbers: NDArray[np.float64], outputs: int, shrinkage: float) -> NDArray[np.float64]:
    pairs = numbers[:, DERIVATIVES:].reshape(-1, outputs, 2)
    steps: NDArray[np.float64] = -pairs[:, :, 0] / (pairs[:, :, 1] + shrinkage)
    return steps
