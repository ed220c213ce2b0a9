"""Boosted trees: all are walked down side by side, and their steps added up."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from heros.export.graph import Graph
from heros.export.trees import Walk, walked
from heros.pools.boosted import BoundBoosted

__all__ = ["boosted"]

CUT, WEIGHT, DERIVATIVES = 0, 2, 3  # where a node's numbers begin


def boosted(graph: Graph, bound: BoundBoosted, i: int) -> None:
    """Model i of a pool of boosted trees."""
    settings, prefix = bound.pool.configurations[i], f"model_{i}_"
    state = {name.removeprefix(prefix): array for name, array in bound.native.state().items()}
    values, classes = state["values"], bound.schema.n_classes
    outputs = 1 if classes <= 2 else classes
    trees = [_Tree(columns, ints, reals, values, outputs) for columns, ints, reals in _split(state)]
    node = walked(graph, [one.walk() for one in trees])
    steps = settings["learning_rate"] * np.concatenate([one.steps(settings["shrinkage"]) for one in trees])
    said = graph("ReduceSum", graph("Gather", steps, node, axis=0), np.array([1]), keepdims=0)
    prior = np.log(state["prior"] + 1)
    if outputs > 1:
        return graph.probabilities(graph("Softmax", graph("Add", said, prior), axis=1))
    odds = graph("Add", said, (prior[1] if classes == 2 else 0.0) - prior[0])
    second = graph("Sigmoid", odds)
    both = graph("Concat", graph("Sub", np.float64(1), second), second, axis=1)
    return graph.probabilities(both if classes == 2 else graph("Exp", graph("Mul", odds, np.float64(0))))


def _split(state: dict[str, NDArray[Any]]) -> list[list[NDArray[Any]]]:
    """Columns, whole numbers and numbers of the nodes, of each tree."""
    parts = [
        np.split(state[name], np.cumsum(state[f"{name}_sizes"])[:-1]) for name in ("columns", "ints", "reals")
    ]
    return [list(one) for one in zip(*parts, strict=True)]


class _Tree:
    """One tree, its features by their numbers in the schema."""

    def __init__(
        self,
        columns: NDArray[Any],
        ints: NDArray[Any],
        reals: NDArray[Any],
        values: NDArray[Any],
        outputs: int,
    ) -> None:
        self.tested, self.child, _, self.depth = ints.astype(np.int64).reshape(-1, 4).T
        self.numbers = reals.reshape(len(self.tested), -1)
        self.splits = self.tested >= 0
        self.feature = np.where(self.splits, columns.astype(np.int64)[np.maximum(self.tested, 0)], 0)
        self.at_most = values[self.feature] == 0
        self.outputs = outputs

    def walk(self) -> Walk:
        """How instances go down: without the feature, where more came."""
        weight, first = self.numbers[:, WEIGHT], np.where(self.splits, self.child, 0)
        second = np.minimum(first + 1, len(first) - 1)
        missing = np.where(weight[first] >= weight[second], 0, 1)
        each = np.zeros(len(first), dtype=bool)
        cut = self.numbers[:, CUT]
        return Walk(
            self.feature, self.at_most, each, cut, self.child, self.splits, missing, int(self.depth.max())
        )

    def steps(self, shrinkage: float) -> NDArray[np.float64]:
        """What each node says, (nodes, outputs)."""
        pairs = self.numbers[:, DERIVATIVES:].reshape(-1, self.outputs, 2)
        steps: NDArray[np.float64] = -pairs[:, :, 0] / (pairs[:, :, 1] + shrinkage)
        return steps
