"""Export of trees and forests: instances descend all trees in parallel, then the leaves predict."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from heros._base.errors import HerosError
from heros.integrations.onnx.graph import NONE, Array, Flags, Floats, Graph, Ints, codes_of, log, normalised
from heros.pools.forest import BoundForest
from heros.pools.hoeffding import BoundHoeffding
from heros.pools.tree_settings import ABSENT, AT_MOST, EACH_VALUE, LEAF

NO_SPREAD = 1e300
LEAST = -745.13  # the logarithm of the smallest product that is not 0
LARGEST = 1 << 30  # maximum bytes of the statistics, below the size limit of ONNX files


def tree(graph: Graph, bound: BoundHoeffding, i: int) -> None:
    """Export model i of a pool of Hoeffding trees."""
    state = bound.native.tree_state(i)
    features = np.arange(bound.schema.n_features)
    one = _Tree(state, features, bound.pool.configurations[i]["prediction"])
    probabilities, _ = _answers(graph, bound, [one])
    graph.probabilities(graph("Squeeze", probabilities, np.array([1])))


def forest(graph: Graph, bound: BoundForest, i: int) -> None:
    """Export model i of a pool of forests: the trees of the forest, weighted by accuracy."""
    settings, state = bound.pool.configurations[i], bound.native.state()
    grown = [bound.native.tree(i, t) for t in range(settings["trees"])]
    trees = [_Tree(one, columns.astype(np.int64), "adaptive") for columns, one in grown]
    width = state[f"forest_{i}_drift_width"].astype(np.float64)
    mean = state[f"forest_{i}_drift_total"] / np.maximum(width, 1)
    weights = (np.clip(mean, 0, 1) * width + 1) / (width + 2)
    probabilities, can_predict = _answers(graph, bound, trees)
    weight = graph("Where", can_predict, weights[:, None], np.float64(0))  # (n, trees, 1)
    total = graph("ReduceSum", weight, np.array([1]), keepdims=0)
    sums = graph("ReduceSum", graph("Mul", probabilities, weight), np.array([1]), keepdims=0)
    any_heard = graph("Greater", total, np.float64(0))
    classes = bound.schema.n_classes
    sums = graph("Where", any_heard, sums, np.full((1, classes), 1 / classes))
    graph.probabilities(graph("Div", sums, graph("Where", any_heard, total, np.float64(1))))


class _Tree:
    def __init__(self, state: Mapping[str, Array], columns: Ints, prediction: str) -> None:
        self.state, self.columns = state, columns
        self.test, self.value = state["node_test"].astype(np.int64), state["node_value"]
        self.link = state["node_link"].astype(np.int64)
        self.counts = state["node_counts"].reshape(len(self.test), -1)
        self.classes = self.counts.shape[1]
        self.splits = self.test >= 0
        self.kind = np.where(self.splits, self.test & 3, AT_MOST)
        self.feature = np.where(self.splits, columns[np.where(self.splits, self.test >> 2, 0)], 0)
        self.blocks = state["leaf_ints"].reshape(-1, 1 + self.classes)[:, 1:]
        self.hits = state["leaf_reals"].reshape(len(self.blocks), -1)[:, :2]
        self.observes = (self.test == LEAF) & (self.link >= 0)
        self.by_bayes = self._by_bayes(prediction)

    def walk(self) -> Walk:
        """Return the arrays that are needed to pass instances down the tree."""
        each, stays = self.kind == EACH_VALUE, np.full(len(self.test), -1)
        return Walk(
            self.feature, self.kind == AT_MOST, each, self.value, self.link, self.splits, stays, self.depth()
        )

    def _by_bayes(self, prediction: str) -> Flags:
        if prediction == "majority":
            return np.zeros(len(self.test), dtype=bool)
        chosen: Flags = self.observes.copy()
        if prediction == "adaptive":
            hits = self.hits[self.link[chosen]]
            chosen[chosen] = ~(hits[:, 0] > hits[:, 1])
        return chosen

    def class_counts(self) -> Floats:
        """Return the class counts of each node; an absent branch has the counts of its parent."""
        counts = self.counts.copy()
        for node in np.flatnonzero(self.splits).tolist():
            end = self.link[node] + self._branches(node)
            below = np.arange(self.link[node], end)
            counts[below[self.test[below] == ABSENT]] = self.counts[node]
        return counts

    def _branches(self, node: int) -> int:
        if self.kind[node] != EACH_VALUE:
            return 2
        return int(self.state["values"][self.test[node] >> 2])

    def depth(self) -> int:
        """Return the depth of the deepest leaf; children come after their parents."""
        depth = np.zeros(len(self.test), dtype=np.int64)
        for node in np.flatnonzero(self.splits).tolist():
            depth[self.link[node] : self.link[node] + self._branches(node)] = depth[node] + 1
        return int(depth.max())


@dataclass(frozen=True)
class _Leaf:
    """The naive Bayes statistics of a leaf, which give the log-likelihood of each feature of the schema.

    For a number x, the log-likelihood is constant − (x − mean)²·precision. A feature without values in this
    leaf has no effect. If only some classes have values of a feature, the other classes are impossible.
    """

    prior: Floats  # (classes,) logarithm of the class frequencies
    mean: Floats  # (classes, numeric features)
    precision: Floats
    constant: Floats
    has_values: Flags  # (numeric features,) whether any class has values of the feature
    rows: Floats  # (rows, classes) a row for each value of each nominal feature, and one if it is missing


class _Leaves:
    def __init__(self, values: Ints) -> None:
        self.values = values
        self.numbers, self.nominal = np.flatnonzero(values == 0), np.flatnonzero(values)
        self.begins = np.concatenate([[0], np.cumsum(values[self.nominal] + 1)]).astype(np.int64)

    def of(self, tree: _Tree) -> Iterator[_Leaf]:
        """Yield the leaves of one tree, in the order of its nodes."""
        own = self.values[tree.columns]
        numbers, nominal = tree.columns[own == 0], tree.columns[own > 0]
        slots = np.concatenate([[0], np.cumsum(self.values[nominal])]).astype(np.int64)
        width = len(numbers) + len(nominal) + slots[-1]
        ints = tree.state["block_ints"].reshape(-1, width).astype(np.float64)
        reals = tree.state["block_reals"].reshape(len(ints), 5, len(numbers))
        for node in np.flatnonzero(tree.by_bayes):
            blocks = tree.blocks[tree.link[node]]
            known = np.where((blocks >= 0)[:, None], ints[blocks], 0)
            counted, divisor, count = np.split(known, [len(numbers), len(numbers) + len(nominal)], axis=1)
            counts = tree.counts[node]
            yield _Leaf(
                log(counts / counts.sum()),
                *self._gaussians(np.searchsorted(self.numbers, numbers), reals[blocks], counted),
                self._tables(np.searchsorted(self.nominal, nominal), slots, divisor, count),
            )

    def _gaussians(self, places: Ints, reals: Floats, counted: Floats) -> tuple[Floats, Floats, Floats, Any]:
        wide = (len(counted), len(self.numbers))
        mean, precision, constant = np.zeros(wide), np.zeros(wide), np.zeros(wide)
        has_values = np.zeros(len(self.numbers), dtype=bool)
        has_values[places] = (counted > 0).any(axis=0)
        spread = np.where(counted > 1, reals[:, 2], 0)
        varies = spread > 0
        with np.errstate(divide="ignore", invalid="ignore"):
            exact = np.where(varies, (counted - 1) / (2 * spread), NO_SPREAD)
        exact = np.clip(exact, 1 / NO_SPREAD, NO_SPREAD)
        mean[:, places] = np.where(counted > 0, reals[:, 0], 0)
        precision[:, places] = np.where(counted > 0, exact, 0)
        constant[:, places] = np.where(counted > 0, np.where(varies, np.log(exact / np.pi) / 2, 0), NONE)
        return mean, precision, constant, has_values

    def _tables(self, places: Ints, slots: Ints, divisor: Floats, count: Floats) -> Floats:
        """Return the log probabilities, a row per value; each feature's last row is 0, for missing values."""
        rows = np.zeros((self.begins[-1], len(divisor)))
        for j, place in enumerate(places):
            own = divisor[:, j]
            if not own.any():
                continue
            part = np.log(count[:, slots[j] : slots[j + 1]] + 1) - np.log(np.maximum(own, 1))[:, None]
            rows[self.begins[place] : self.begins[place + 1] - 1] = np.where(own[:, None] > 0, part, NONE).T
        return rows


def _answers(graph: Graph, bound: BoundHoeffding | BoundForest, trees: Sequence[_Tree]) -> tuple[str, str]:
    """Return the probabilities of each tree (n, trees, classes), and a mask of the trees that can predict."""
    values = np.array([len(f.values or ()) for f in bound.schema.features], dtype=np.int64)
    classes = bound.schema.n_classes
    node = walked(graph, [one.walk() for one in trees])
    counts = np.concatenate([one.class_counts() for one in trees])
    total = counts.sum(axis=1, keepdims=True)
    shares = np.where(total > 0, counts / np.where(total > 0, total, 1), 1 / classes)
    probabilities = graph("Gather", shares, node, axis=0)
    can_predict = graph("Gather", total > 0, node, axis=0)
    by_bayes = np.concatenate([one.by_bayes for one in trees])
    if not by_bayes.any():
        return probabilities, can_predict
    which = graph("Gather", np.where(by_bayes, np.cumsum(by_bayes) - 1, 0), node, axis=0)  # leaf indices
    shares_by_bayes, possible = _bayes(graph, _Leaves(values), trees, which, classes)
    chosen = graph("Unsqueeze", graph("Gather", by_bayes, node, axis=0), np.array([2]))
    probabilities = graph("Where", chosen, shares_by_bayes, probabilities)
    return probabilities, graph.boolean_where(chosen, possible, can_predict)


@dataclass(frozen=True)
class Walk:
    """The nodes of a tree: the test of each node, and the index of the node's first child."""

    feature: Ints
    at_most: Flags  # whether x <= value goes to the first branch; otherwise x == value goes there
    each: Flags  # whether the node has a branch per value
    value: Floats
    link: Ints
    splits: Flags
    missing: Ints  # the branch for a missing value; -1: the instance stays at the node
    depth: int


def walked(graph: Graph, walks: Sequence[Walk]) -> str:
    """Return the index of each instance's final node in each tree (n, trees), counted over all trees."""
    begins = np.cumsum([0, *(len(one.feature) for one in walks[:-1])]).astype(np.int64)
    link = [np.where(one.splits, one.link + begin, 0) for one, begin in zip(walks, begins, strict=True)]
    walks = [replace(one, link=own) for one, own in zip(walks, link, strict=True)]
    node = graph.for_each(begins)
    arrays = [
        graph.constant(np.concatenate([getattr(one, name) for one in walks]))
        for name in ("feature", "at_most", "each", "value", "link", "splits", "missing")
    ]
    for _ in range(max(one.depth for one in walks)):
        tested, number, every, against, below, goes, without = (
            graph("Gather", array, node) for array in arrays
        )
        x = graph("GatherElements", "X", tested, axis=1)
        known = graph("Not", graph("IsNaN", x))
        x = graph("Where", known, x, np.float64(0))
        hit = graph.boolean_where(number, graph("LessOrEqual", x, against), graph("Equal", x, against))
        code = graph.cast(graph("Clip", x, np.float64(0), np.float64(1 << 24)), np.int64)
        branch = graph("Where", every, code, graph.cast(graph("Not", hit), np.int64))
        branch = graph("Where", known, branch, without)
        goes = graph("And", goes, graph("GreaterOrEqual", branch, np.int64(0)))
        node = graph("Where", goes, graph("Add", below, branch), node)
    return node


def _bayes(
    graph: Graph, leaves: _Leaves, trees: Sequence[_Tree], which: str, classes: int
) -> tuple[str, str]:
    """Return the naive Bayes probabilities (n, trees, classes), and a mask of trees with a possible class."""
    leaf_count = sum(int(one.by_bayes.sum()) for one in trees)
    size = 8 * leaf_count * classes * (3 * len(leaves.numbers) + int(leaves.begins[-1]))
    if size > LARGEST:
        rule = f"at most {LARGEST >> 20} MB for the export"
        raise HerosError(f"The leaf statistics of a tree must be {rule}. Got {size >> 20} MB instead.")
    found = [leaf for one in trees for leaf in leaves.of(one)]
    logs: list[str] = []
    if len(leaves.numbers):
        logs.append(_numbers(graph, leaves, found, which))
    if len(leaves.nominal):
        logs.append(_names(graph, leaves, found, which))
    order = np.argsort(np.concatenate([leaves.numbers, leaves.nominal]))  # the order of the schema
    factors = graph("Gather", graph("Concat", *logs, axis=3), order, axis=3)  # (n, trees, classes, features)
    prior = graph("Gather", np.stack([leaf.prior for leaf in found]), which)
    prior = graph("Unsqueeze", prior, np.array([3]))
    partial = graph("Add", prior, graph("CumSum", factors, np.array(3)))
    least = graph("ReduceMin", partial, axes=[3], keepdims=0)
    least = graph("Min", least, graph("Squeeze", prior, np.array([3])))
    votes = graph("Gather", partial, np.array(-1), axis=3)
    votes = graph("Where", graph("Less", least, np.float64(LEAST)), np.float64(NONE), votes)
    return normalised(graph, votes, 2, np.full((1, 1, classes), 1 / classes))


def _numbers(graph: Graph, leaves: _Leaves, found: Sequence[_Leaf], which: str) -> str:
    """Return the log densities (n, trees, classes, numeric features); 0 for a missing value."""
    x = graph("Gather", "X", leaves.numbers, axis=1)
    known = graph("Unsqueeze", graph("Not", graph("IsNaN", x)), np.array([1]))
    has_values = graph("And", known, graph("Gather", np.stack([leaf.has_values for leaf in found]), which))
    mean, precision, constant = (
        graph("Gather", np.stack([getattr(leaf, name) for leaf in found]), which)
        for name in ("mean", "precision", "constant")
    )
    off = graph("Sub", graph("Unsqueeze", x, np.array([1, 2])), mean)
    away = graph("Mul", graph("Mul", off, off), precision)
    logs = graph("Max", graph("Sub", constant, away), np.float64(NONE))
    return graph("Where", graph("Unsqueeze", has_values, np.array([2])), logs, np.float64(0))


def _names(graph: Graph, leaves: _Leaves, found: Sequence[_Leaf], which: str) -> str:
    """Return the log probabilities of the values (n, trees, classes, nominal features)."""
    rows = np.concatenate([leaf.rows for leaf in found])
    at = graph("Mul", which, np.array(leaves.begins[-1]))
    codes = codes_of(graph, leaves.nominal, leaves.values[leaves.nominal])
    places = graph("Add", graph("Unsqueeze", at, np.array([2])), graph("Unsqueeze", codes, np.array([1])))
    return graph("Transpose", graph("Gather", rows, places), perm=[0, 1, 3, 2])
