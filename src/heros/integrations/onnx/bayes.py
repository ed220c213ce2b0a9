"""Export of naive Bayes: sums of logarithms, precomputed if they do not depend on the instance."""

from __future__ import annotations

import numpy as np

from heros.integrations.onnx.graph import NONE, Floats, Graph, Ints, codes_of, log, normalised
from heros.pools.naive_bayes import BoundNaiveBayes

LEAST_VARIANCE = 1e-9  # minimum variance, as a share of the variance of all classes; as in the core


def naive_bayes(graph: Graph, bound: BoundNaiveBayes, i: int) -> None:
    """Export model i of a pool of naive Bayes models."""
    state = bound.native.state()
    values, classes = state["values"].astype(np.int64), int(state["classes"].item())
    blocks = state["statistics"].reshape(bound.pool.n_models, 1 + classes, -1)[i]
    places = 1 + np.concatenate([[0], np.cumsum(np.where(values == 0, 3, 1 + values))[:-1]])
    weight, settings = float(state["weight"][i]), bound.pool.configurations[i]
    counts = blocks[1:, 0]
    logs = graph.for_each(log(counts / blocks[0, 0]))
    numbers, nominal = np.flatnonzero(values == 0), np.flatnonzero(values)
    if len(numbers):
        density = _densities(graph, blocks, places, numbers, settings["variance_prior"] * weight)
        logs = graph("Add", logs, density)
    if len(nominal):
        smoothing = settings["smoothing"] * weight
        tables = [_table(blocks[1:, places[f] :], int(values[f]), smoothing) for f in nominal]
        rows = graph("Gather", np.concatenate(tables), codes_of(graph, nominal, values[nominal]), axis=0)
        logs = graph("Add", logs, graph("ReduceSum", rows, np.array([1]), keepdims=0))
    logs = graph("Where", graph("IsNaN", logs), np.float64(NONE), logs)
    logs = graph("Max", logs, np.float64(NONE))  # lower limit of the logarithm
    logs = graph("Where", counts > 0, logs, np.float64(NONE))
    shares, _ = normalised(graph, logs, 1, counts)
    graph.probabilities(shares)


def _densities(graph: Graph, blocks: Floats, places: Ints, numbers: Ints, prior: float) -> str:
    """Return the sum of the log densities (n, classes); a missing value adds 0."""
    # each array has the shape (1 + classes, numeric features)
    count, mean, squares = (blocks[:, places[numbers] + part] for part in range(3))
    with np.errstate(divide="ignore", invalid="ignore"):
        usual = np.where(count[0] > 0, squares[0] / count[0], 0.0)
    usual = np.where(np.isfinite(usual) & (usual > 0), usual, 0.0)
    never = count[1:] == 0  # classes without values use the values of all classes
    own = [np.where(never, part[0], part[1:]) for part in (count, mean, squares)]
    with np.errstate(divide="ignore", invalid="ignore"):
        variance = np.maximum((own[2] + prior * usual) / (own[0] + prior), LEAST_VARIANCE * usual)
    tells = usual > 0  # a constant feature has no effect
    variance = np.where(tells, variance, 1.0)
    x = graph("Gather", "X", numbers, axis=1)
    known = graph("And", graph("Not", graph("IsNaN", x)), tells)
    off = graph("Sub", graph("Unsqueeze", x, np.array([1])), own[1])
    parts = graph("Add", graph("Div", graph("Mul", off, off), variance), np.log(variance))
    parts = graph("Where", graph("Unsqueeze", known, np.array([1])), parts, np.float64(0))
    return graph("Mul", graph("ReduceSum", parts, np.array([2]), keepdims=0), np.float64(-0.5))


def _table(block: Floats, values: int, smoothing: float) -> Floats:
    """Return the log probability of each value (values + 1, classes); the row for missing values is 0."""
    table = np.log((block[:, 1 : 1 + values] + smoothing) / (block[:, :1] + smoothing * values)).T
    return np.concatenate([table, np.zeros((1, len(block)))])
