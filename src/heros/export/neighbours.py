"""Nearest neighbours: the file has the instances, and the nearest are found by a product of matrices."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from heros.export.graph import Graph, standardised
from heros.pools.neighbours import BoundNeighbours

__all__ = ["neighbours"]

EPSILON, SMOOTHING, FARTHEST = 1e-3, 0.01, 6.0  # as in the core


def neighbours(graph: Graph, bound: BoundNeighbours, i: int) -> None:
    """Model i of a pool of neighbours."""
    state = bound.native.state()
    values, classes = state["values"].astype(np.int64), int(state["classes"].item())
    width = bound.stats()[i].rows
    if width == 0:
        graph.probabilities(graph.for_each(np.full(classes, 1 / classes)))
        return
    k, weighting = bound.pool.configurations[i]["neighbours"], bound.pool.configurations[i]["weighting"]
    newest = slice(None, -width - 1, -1)  # first: it comes first of those as near
    targets = state["targets"][newest].astype(np.int64)
    numbers, nominal = np.flatnonzero(values == 0), np.flatnonzero(values)
    n = len(state["targets"])
    rows = state["numbers"].reshape(n, len(numbers))[newest].astype(np.float64)
    codes = state["codes"].reshape(n, len(nominal))[newest]
    x = _numbers(graph, state, numbers)
    hot = np.concatenate(
        [np.zeros((width, 0)), *(_hot(codes[:, j], values[f]) for j, f in enumerate(nominal))], 1
    )
    same = _same(graph, nominal, values)
    stored = np.concatenate([rows, hot / 2], axis=1)  # a value that differs counts 1 in the square
    asked = graph("Concat", x, same, axis=1)
    lengths = (rows**2).sum(axis=1) + len(nominal)
    rough = graph("Sub", lengths, graph("Mul", np.float64(2), graph("MatMul", asked, stored.T.copy())))
    who = graph.smallest(rough, min(k, width))
    off = graph("Sub", graph("Gather", rows, who, axis=0), graph("Unsqueeze", x, np.array([1])))
    squares = graph("ReduceSum", graph("Mul", off, off), np.array([2]), keepdims=0)  # exact, of those few
    alike = graph("Mul", graph("Gather", hot, who, axis=0), graph("Unsqueeze", same, np.array([1])))
    alike = graph("ReduceSum", alike, np.array([2]), keepdims=0)
    squares = graph("Add", squares, graph("Sub", np.float64(len(nominal)), alike))
    distance = graph("Sqrt", squares)
    one = graph("Add", graph("Mul", distance, np.float64(0)), np.float64(1))
    weight = (
        graph("Div", one, graph("Add", distance, np.float64(EPSILON))) if weighting == "distance" else one
    )
    votes = graph("Gather", np.eye(classes)[targets], who, axis=0)  # (n, near, classes)
    votes = graph("Mul", votes, graph("Unsqueeze", weight, np.array([2])))
    sums = graph("Add", graph("ReduceSum", votes, np.array([1]), keepdims=0), np.float64(SMOOTHING))
    graph.probabilities(graph("Div", sums, graph("ReduceSum", sums, np.array([1]), keepdims=1)))


def _numbers(graph: Graph, state: dict[str, NDArray[Any]], numbers: NDArray[np.int64]) -> str:
    """The numbers in standard deviations, rounded as the core keeps them; a missing one is at the mean."""
    if not len(numbers):
        return graph.for_each(np.zeros(0))
    scaled = graph("Clip", standardised(graph, state, 1.0), np.float64(-FARTHEST), np.float64(FARTHEST))
    scaled = graph("Where", graph("IsNaN", "X"), np.float64(0), scaled)
    scaled = graph("Gather", scaled, numbers, axis=1)
    return graph.cast(graph.cast(scaled, np.float32), np.float64)


def _hot(codes: NDArray[Any], values: int) -> NDArray[np.float64]:
    """A column per value, and one for a missing one."""
    return np.asarray(np.eye(values + 1)[codes])  # -1 is the last


def _same(graph: Graph, nominal: NDArray[np.int64], values: NDArray[np.int64]) -> str:
    """The nominal values of X (n, columns of _hot)."""
    owner = np.repeat(nominal, values[nominal] + 1)
    code = np.concatenate([np.arange(0.0), *(np.r_[np.arange(float(values[f])), np.nan] for f in nominal)])
    x = graph("Gather", "X", owner, axis=1)
    alike = graph.either(np.isnan(code), graph("IsNaN", x), graph("Equal", x, np.nan_to_num(code)))
    return graph.cast(alike, np.float64)
