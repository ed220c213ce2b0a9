"""Export of nearest neighbours: the file has the stored instances; a matrix product finds the nearest."""

from __future__ import annotations

import numpy as np

from heros.integrations.onnx.graph import Graph, Ints, State, numbers_of
from heros.pools.neighbours import BoundNeighbours

EPSILON, SMOOTHING, FARTHEST = 1e-3, 0.01, 6.0  # constants of the core


def neighbours(graph: Graph, bound: BoundNeighbours, i: int) -> None:
    """Export model i of a pool of neighbours."""
    state, width = bound.native.state(), bound.stats()[i].rows
    numeric, classes = bound.schema.numeric, int(state["classes"].item())
    if width == 0:
        if numeric:
            return graph.number(graph.for_each(state["target_mean"].reshape(1)))
        return graph.probabilities(graph.for_each(np.full(classes, 1 / classes)))
    nearest, distance = _nearest(graph, state, width, bound.pool.configurations[i]["neighbours"])
    weight = graph("Add", graph("Mul", distance, np.float64(0)), np.float64(1))
    if bound.pool.configurations[i]["weighting"] == "distance":
        weight = graph("Div", weight, graph("Add", distance, np.float64(EPSILON)))
    weight = graph("Unsqueeze", weight, np.array([2]))  # (n, near, 1)
    targets = state["targets"][_newest(width)]
    values = targets[:, None].copy() if numeric else np.eye(classes)[targets.astype(np.int64)]
    weighed = graph("Mul", graph("Gather", values, nearest, axis=0), weight)
    sums = graph("ReduceSum", weighed, np.array([1]), keepdims=0)
    if numeric:
        return graph.number(graph("Div", sums, graph("ReduceSum", weight, np.array([1]), keepdims=0)))
    sums = graph("Add", sums, np.float64(SMOOTHING))
    return graph.probabilities(graph("Div", sums, graph("ReduceSum", sums, np.array([1]), keepdims=1)))


def _newest(width: int) -> slice:
    """Return a slice of the last `width` rows, newest first, so that newer rows win at equal distances."""
    return slice(None, -width - 1, -1)


def _nearest(graph: Graph, state: State, width: int, k: int) -> tuple[str, str]:
    """Return the indices of the k nearest rows and their distances, both (n, min(k, width))."""
    values, n = state["values"].astype(np.int64), len(state["targets"])
    numbers, nominal = np.flatnonzero(values == 0), np.flatnonzero(values)
    rows = state["numbers"].reshape(n, len(numbers))[_newest(width)].astype(np.float64)
    codes = state["codes"].reshape(n, len(nominal))[_newest(width)]
    x = _numbers(graph, state, numbers)
    one_hot = np.concatenate(
        # the last column of a feature is for missing values, whose code is -1
        [np.zeros((width, 0)), *(np.eye(values[f] + 1)[codes[:, j]] for j, f in enumerate(nominal))],
        1,
    )
    same = _same(graph, nominal, values)
    stored = np.concatenate([rows, one_hot / 2], axis=1)  # a different value adds 1 to the squared distance
    query = graph("Concat", x, same, axis=1)
    lengths = (rows**2).sum(axis=1) + len(nominal)
    rough = graph("Sub", lengths, graph("Mul", np.float64(2), graph("MatMul", query, stored.T.copy())))
    nearest = graph.smallest(rough, min(k, width))
    off = graph("Sub", graph("Gather", rows, nearest, axis=0), graph("Unsqueeze", x, np.array([1])))
    squares = graph("ReduceSum", graph("Mul", off, off), np.array([2]), keepdims=0)  # exact, unlike `rough`
    equal = graph("Mul", graph("Gather", one_hot, nearest, axis=0), graph("Unsqueeze", same, np.array([1])))
    equal = graph("ReduceSum", equal, np.array([2]), keepdims=0)
    squares = graph("Add", squares, graph("Sub", np.float64(len(nominal)), equal))
    return nearest, graph("Sqrt", squares)


def _numbers(graph: Graph, state: State, numbers: Ints) -> str:
    """Return the numeric features, rounded as in the core."""
    if not len(numbers):
        return graph.for_each(np.zeros(0))
    return graph.cast(graph.cast(numbers_of(graph, state, numbers, FARTHEST), np.float32), np.float64)


def _same(graph: Graph, nominal: Ints, values: Ints) -> str:
    """Return the nominal values of X, one-hot encoded, with the same columns as the stored rows."""
    owner = np.repeat(nominal, values[nominal] + 1)
    code = np.concatenate([np.arange(0.0), *(np.r_[np.arange(float(values[f])), np.nan] for f in nominal)])
    x = graph("Gather", "X", owner, axis=1)
    equal = graph.boolean_where(np.isnan(code), graph("IsNaN", x), graph("Equal", x, np.nan_to_num(code)))
    return graph.cast(equal, np.float64)
