"""Hoeffding trees for regression, slow and simple: nodes are objects, and a leaf stores all its targets."""

from __future__ import annotations

import math

import numpy as np

from reference_boosted import BINS, Bins, Values

RATE, FADING, FEWEST, FARTHEST = 0.1, 0.995, 5, 3.0


class Node:
    """A leaf, until it is split. It inherits (count, mean, squared deviations) of its part."""

    def __init__(self, tree, depth, inherited=(0.0, 0.0, 0.0), weights=None, errors=(0.0, 0.0)):
        self.depth, self.inherited, self.targets = depth, inherited, []
        self.weights = np.zeros(1 + tree.numbers) if weights is None else weights.copy()
        self.mean_error, self.model_error = errors
        self.origin = inherited[1] if inherited[0] > 0 else None
        self.count, self.off = (
            inherited[0],
            0.0,
        )  # Σ of deviations from the origin: keeps the digits of large targets
        self.tried = inherited[0]
        self.observers, self.feature, self.cut, self.children = None, None, None, ()

    def add(self, y, weight):
        self.targets.append((y, weight))
        self.count += weight
        self.off += weight * (y - self.origin)

    @property
    def mean(self):
        return self.origin + self.off / self.count if self.count > 0 else 0.0

    @property
    def squares(self):
        n, before, squares = self.inherited
        mean = self.mean
        return squares + n * (before - mean) ** 2 + sum(w * (y - mean) ** 2 for y, w in self.targets)


class RegressionTree:
    """One model of `pools.RegressionTrees`; `values`: the number of values of each feature, 0 if numeric."""

    def __init__(self, values, **settings):
        self.values, self.settings = values, settings
        self.numbers = sum(n == 0 for n in values)
        self.seen = [np.zeros(0) for _ in values]  # all values of each feature
        self.nodes = [Node(self, 0)]  # in order of creation
        if self._fits(self._observer_bytes()):
            self._observe(self.nodes[0])

    # -- predicting ---------------------------------------------------------------------------------------

    def predict(self, x):
        leaf = self._leaf(x)
        kind = self.settings["prediction"]
        if kind == "linear" or (kind == "adaptive" and leaf.model_error < leaf.mean_error):
            return self._model(leaf, self._standardised(x))
        return leaf.mean

    def _leaf(self, x):
        node = self.nodes[0]
        while node.children:
            first, second = node.children
            value = x[node.feature]
            if math.isnan(value):
                node = first if first.count >= second.count else second
            elif self.values[node.feature] > 0:
                node = first if value == node.cut else second
            else:
                node = first if value <= node.cut else second
        return node

    def _standardised(self, x):
        """Return numbers as deviations from their running means, which include this instance, and a one."""
        z = []
        for n, value, seen in zip(self.values, x, self.seen, strict=True):
            if n > 0:
                continue
            column = np.append(seen, value)
            sd = column.std()
            z.append(np.clip((value - column.mean()) / sd, -FARTHEST, FARTHEST) if sd > 0 else 0.0)
        return np.array([*z, 1.0])

    def _model(self, leaf, z):
        return float(leaf.weights @ z)

    # -- learning -----------------------------------------------------------------------------------------

    def learn(self, x, y, weight=1.0):
        leaf, z = self._leaf(x), self._standardised(x)
        if leaf.origin is None:
            leaf.origin = y
            leaf.weights[-1] = y
        self._learn_model(leaf, z, y, weight)
        leaf.add(y, weight)
        known = np.isfinite(x)
        self.seen = [np.append(seen, x[f]) if known[f] else seen for f, seen in enumerate(self.seen)]
        if leaf.observers is None:
            return
        off = y - leaf.origin
        for value, observer in zip(x, leaf.observers, strict=True):
            if not math.isnan(value):
                observer.add(value, weight * np.array([1.0, off, off * off]))
        if leaf.count - leaf.tried >= self.settings["grace_period"]:
            leaf.tried = leaf.count
            if self.settings["max_depth"] is None or leaf.depth < self.settings["max_depth"]:
                self._try(leaf)

    def _learn_model(self, leaf, z, y, weight):
        error = y - self._model(leaf, z)
        leaf.mean_error = FADING * leaf.mean_error + weight * abs(y - leaf.mean)
        leaf.model_error = FADING * leaf.model_error + weight * abs(error)
        leaf.weights += (1 - (1 - RATE) ** weight) * error * z / (z @ z)

    # -- splitting ----------------------------------------------------------------------------------------

    def _try(self, leaf):
        best_of = [self._best(observer) for observer in leaf.observers]
        merits = [merit for merit, *_ in best_of]
        feature = int(np.argmax(merits))
        first, second = (*sorted(merits, reverse=True), 0.0)[:2]
        if not first > 1e-12 * leaf.squares:
            return
        _, cut, below, above = best_of[feature]
        epsilon = math.sqrt(math.log(1 / self.settings["split_confidence"]) / (2 * (below[0] + above[0])))
        if second / first >= 1 - epsilon and epsilon >= self.settings["tie_threshold"]:
            return
        while not self._fits(2 * self._node_bytes() + self._observer_bytes()):
            others = [node for node in self.nodes if node.observers is not None and node is not leaf]
            if not others:
                return
            min(others, key=lambda node: node.squares).observers = None
        self._split(leaf, feature, cut, below, above)

    def _best(self, observer):
        """Return the split with the largest reduction of squared deviations: reduction, place, sums on both sides."""
        found = (0.0, None, None, None)
        for cut, below, above in observer.parts():
            if below[0] < FEWEST or above[0] < FEWEST:
                continue
            merit = deviations(below + above) - deviations(below) - deviations(above)
            if merit > found[0]:
                found = (merit, cut, below, above)
        return found

    def _split(self, leaf, feature, cut, *sides):
        leaf.feature, leaf.cut, leaf.observers = feature, cut, None
        errors = leaf.mean_error, leaf.model_error
        leaf.children = tuple(
            Node(
                self,
                leaf.depth + 1,
                (side[0], leaf.origin + side[1] / side[0], deviations(side)),
                leaf.weights,
                errors,
            )
            for side in sides
        )
        for child in leaf.children:
            self.nodes.append(child)
            self._observe(child)

    def _observe(self, node):
        node.observers = [Bins(1) if n == 0 else Values(n, 1) for n in self.values]

    # -- bytes: four whole numbers and eight others per node, its model, and what is observed --------------

    def _node_bytes(self):
        return 4 * 4 + 8 * (8 + self.numbers + 1)

    def _observer_bytes(self):
        return 8 * sum(2 + 3 * BINS if n == 0 else 3 * n for n in self.values)

    @property
    def bytes(self):
        observed = sum(node.observers is not None for node in self.nodes)
        return len(self.nodes) * self._node_bytes() + observed * self._observer_bytes()

    def _fits(self, more):
        return self.bytes + more <= self.settings["max_bytes"]


def deviations(sums):
    """Return the squared deviations from the mean, from the count, the sum and the sum of squares."""
    n, total, squares = sums
    return max(squares - total * total / n, 0.0) if n > 0 else 0.0
