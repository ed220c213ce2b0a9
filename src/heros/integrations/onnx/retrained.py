"""Export of retrained boosted trees.

Each feature value is converted to a byte, each instance is passed down every tree, and the leaf values are
summed.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from heros.integrations.onnx.graph import Flags, Graph, Ints, State, prior_of
from heros.pools.retrained import BoundRetrained

INTS = 4  # integers per node, as in the core: feature, test, child if the test passes, other child
BYTES = 256


def retrained(graph: Graph, bound: BoundRetrained, i: int) -> None:
    """Export model i of a pool of retrained boosted trees, as it was after its last training."""
    prefix = f"model_{i}_"
    state = {name.removeprefix(prefix): array for name, array in bound.native.state().items()}
    numeric, classes = bound.schema.numeric, bound.schema.n_classes
    base = state["base"] if len(state["base"]) else prior_of(state["prior"], numeric)
    outputs = graph.for_each(base)
    if len(state["roots"]):
        outputs = graph("Add", outputs, _steps(graph, state, len(base)))
    if numeric:
        return graph.number(outputs)
    return graph.log_odds(outputs, classes)


def _steps(graph: Graph, state: State, outputs: int) -> str:
    nodes = state["nodes"].reshape(-1, INTS).astype(np.int64)
    n, leaves = len(nodes), len(state["steps"])
    feature = np.concatenate([np.searchsorted(state["tested"], nodes[:, 0]), np.zeros(leaves, np.int64)])
    stays = np.arange(n, n + leaves)  # both children of a leaf are the leaf itself
    below, above = (np.concatenate([_child_indices(nodes[:, side], n), stays]) for side in (2, 3))
    goes = np.concatenate([_tests(nodes[:, 1], state["sets"]), np.zeros((leaves, BYTES), bool)]).ravel()
    found, at = _bytes(graph, state), graph.for_each(_child_indices(state["roots"].astype(np.int64), n))
    for _ in range(_depth(nodes)):
        byte = graph("GatherElements", found, graph("Gather", feature, at), axis=1)
        is_below = graph("Gather", goes, graph("Add", graph("Mul", at, np.int64(BYTES)), byte))
        at = graph("Where", is_below, graph("Gather", below, at), graph("Gather", above, at))
    steps = graph("Gather", np.concatenate([np.zeros(n), state["steps"]]), at)  # (n, trees)
    return graph("MatMul", steps, np.eye(outputs)[state["outputs"]])


def _bytes(graph: Graph, state: State) -> str:
    """Return the tested features as bytes (n, features): 0 if missing, else 1 + the bin or code."""
    tested = state["tested"].astype(np.int64)
    edges = np.split(state["tested_edges"], np.cumsum(state["tested_edges_sizes"])[:-1])
    table = np.full((len(tested), max(1, *map(len, edges))), np.inf)
    for row, own in zip(table, edges, strict=True):
        row[: len(own)] = own
    x = graph("Gather", "X", tested, axis=1)
    known = graph("Not", graph("IsNaN", x))
    x = graph("Where", known, x, np.float64(0))
    beyond = graph("Greater", graph("Unsqueeze", x, np.array([2])), table)
    bins = graph("ReduceSum", graph.cast(beyond, np.int64), np.array([2]), keepdims=0)
    codes = graph.cast(graph("Clip", x, np.float64(0), np.float64(BYTES - 2)), np.int64)
    nominal = state["values"][tested] > 0
    places = graph("Add", graph("Where", nominal, codes, bins), np.int64(1))
    return graph("Where", known, places, np.int64(0))


def _child_indices(children: Ints, nodes: int) -> Ints:
    """Return the indices of the children; leaves are numbered after all other nodes."""
    return np.where(children >= 0, children, nodes + ~children)


def _tests(tests: Ints, sets: NDArray[np.uint64]) -> Flags:
    """Return a mask (nodes, 256) of the bytes that pass each node's test.

    A test passes the bytes up to a cut, or the bytes in a set.
    """
    byte = np.arange(BYTES)
    goes = byte <= (tests >> 1)[:, None]
    goes[:, 0] = tests & 1 == 1
    by_set = tests < 0
    words = sets.reshape(-1, 4)[~tests[by_set]]  # 4 × 64 bits: a bit for each byte
    goes[by_set] = (words[:, byte >> 6] >> (byte & 63).astype(np.uint64)) & np.uint64(1) == 1
    return goes


def _depth(nodes: Ints) -> int:
    """Return the number of splits above the deepest leaf; children come after their parents."""
    depth = np.ones(len(nodes), dtype=np.int64)
    for node, children in enumerate(nodes[:, 2:]):
        depth[children[children >= 0]] = depth[node] + 1
    return int(depth.max())
