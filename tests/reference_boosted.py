"""Boosted trees, slow and simple: a tree is nested dictionaries, bins are lists."""

from __future__ import annotations

import math

import numpy as np

BINS = 24


class Bins:
    """The instances in the bins of one number: lists of (weight, G and H per output)."""

    def __init__(self, outputs):
        self.low, self.high, self.sums = None, None, [np.zeros(1 + 2 * outputs) for _ in range(BINS)]

    def add(self, x, amounts):
        if self.low is None:
            self.low = self.high = x
        elif self.low == self.high != x:
            if x < self.low:
                self.sums[0], self.sums[-1] = self.sums[-1], self.sums[0]
            self.low, self.high = min(x, self.low), max(x, self.high)
        while not self.low <= x <= self.high:
            width, down = self.high - self.low, x < self.low
            pairs = [self.sums[b] + self.sums[b + 1] for b in range(0, BINS, 2)]
            empty = [np.zeros_like(pairs[0]) for _ in pairs]
            self.sums = empty + pairs if down else pairs + empty
            self.low, self.high = (self.low - width, self.high) if down else (self.low, self.high + width)
        self.sums[self._bin(x)] = self.sums[self._bin(x)] + amounts

    def _bin(self, x):
        if self.low == self.high:
            return 0
        return min(int((x - self.low) / (self.high - self.low) * BINS), BINS - 1)

    def parts(self):
        """Return the cuts: the sums before each cut and the remainder."""
        total = sum(self.sums)
        for b in range(BINS - 1):
            below = sum(self.sums[: b + 1])
            cut = None if self.low is None else self.low + (self.high - self.low) * (b + 1) / BINS
            yield cut, below, total - below


class Values:
    """The instances with each value of a nominal feature."""

    def __init__(self, n, outputs):
        self.sums = [np.zeros(1 + 2 * outputs) for _ in range(n)]

    def add(self, x, amounts):
        self.sums[int(x)] = self.sums[int(x)] + amounts

    def parts(self):
        for value, own in enumerate(self.sums):
            yield value, own, sum(self.sums) - own


class Boosted:
    """`pools.Boosted` without a byte limit, for the columns known to its trees."""

    def __init__(self, values, classes, columns, numeric=False, **settings):
        self.values, self.numeric, self.settings = values, numeric, settings
        self.classes = classes
        self.outputs = 1 if numeric or classes == 2 else classes
        self.prior = [0.0, 0.0] if numeric else [0.0] * classes
        self.columns = columns
        self.trees = [self._leaf(own, 0, np.zeros(1 + 2 * self.outputs)) for own in columns]

    def _leaf(self, columns, depth, sums):
        seen = [
            Bins(self.outputs) if self.values[f] == 0 else Values(self.values[f], self.outputs)
            for f in columns
        ]
        return {"columns": columns, "depth": depth, "sums": sums, "seen": seen, "new": 0.0, "test": None}

    def _find(self, node, x):
        while node["test"] is not None:
            feature, cut = node["test"]
            below, above = node["children"]
            if np.isnan(x[feature]):
                first = below["sums"][0] >= above["sums"][0]
            else:
                first = x[feature] <= cut if self.values[feature] == 0 else x[feature] == cut
            node = below if first else above
        return node

    def _step(self, leaf):
        return np.array([-g / (h + self.settings["shrinkage"]) for g, h in leaf["sums"][1:].reshape(-1, 2)])

    def _stages(self, x):
        """Return the prediction before the first tree, after the first tree, and so on."""
        if self.numeric:
            said = np.array([self.prior[1]])
        elif self.outputs == 1:
            said = np.array([math.log((self.prior[1] + 1) / (self.prior[0] + 1))])
        else:
            said = np.log(np.array(self.prior) + 1)
        stages = [said]
        for tree in self.trees:
            step = self._step(self._find(tree, x))
            stages.append(stages[-1] + self.settings["learning_rate"] * step)
        return stages

    def _probabilities(self, said):
        if self.outputs == 1:
            p = 1 / (1 + math.exp(-said[0]))
            return np.array([1 - p, p])
        e = np.exp(said - said.max())
        return e / e.sum()

    def predict(self, x):
        said = self._stages(x)[-1]
        return said if self.numeric else self._probabilities(said)

    def _derivatives(self, said, target):
        if self.numeric:
            return [said[0] - target, 1.0]
        p = self._probabilities(said)
        pairs = [(p[c] - (c == target), max(p[c] * (1 - p[c]), 1e-6)) for c in range(self.classes)]
        if self.outputs == 1:
            return list(pairs[1])
        return [number for pair in pairs for number in pair]

    def learn(self, x, target, weight=1.0):
        for tree, said in zip(self.trees, self._stages(x), strict=False):
            amounts = weight * np.array([1.0, *self._derivatives(said, target)])
            self._learn(self._find(tree, x), x, amounts)
        self._learn_prior(target, weight)

    def _learn_prior(self, target, weight):
        horizon = self.settings.get("horizon")
        if self.numeric:
            self.prior[0] += weight
            self.prior[1] += weight * (target - self.prior[1]) / self.prior[0]
            self.prior[0] = min(self.prior[0], horizon) if horizon else self.prior[0]
            return
        if horizon:
            self.prior = [n * (1 - 1 / horizon) for n in self.prior]
        self.prior[int(target)] += weight

    def _learn(self, leaf, x, amounts):
        horizon = self.settings.get("horizon")
        if horizon and leaf["sums"][0] >= horizon:
            leaf["sums"] = leaf["sums"] * (1 - 1 / horizon)
        leaf["sums"] = leaf["sums"] + amounts
        for f, seen in zip(leaf["columns"], leaf["seen"], strict=True):
            if not np.isnan(x[f]):
                seen.add(x[f], amounts)
        leaf["new"] += amounts[0]
        if leaf["new"] >= self.settings["grace_period"]:
            leaf["new"] = 0.0
            self._try(leaf)

    def _worth(self, sums):
        return sum(g * g / (h + self.settings["shrinkage"]) for g, h in sums[1:].reshape(-1, 2))

    def _try(self, leaf):
        best = [
            max((self._offers(f, seen)), key=lambda offer: offer[0], default=(0.0,))
            for f, seen in zip(leaf["columns"], leaf["seen"], strict=True)
        ]
        ranked = sorted(best, key=lambda offer: -offer[0])
        if not ranked or ranked[0][0] <= 0:
            return
        merit, feature, cut, below, above = ranked[0]
        second = ranked[1][0] if len(ranked) > 1 else 0.0
        bound = math.sqrt(math.log(1 / self.settings["split_confidence"]) / (2 * (below[0] + above[0])))
        if second / merit >= 1 - bound and bound >= self.settings["tie_threshold"]:
            return
        leaf["test"] = (feature, cut)
        leaf["children"] = [
            self._leaf(leaf["columns"], leaf["depth"] + 1, self._sound(sums)) for sums in (below, above)
        ]

    def _offers(self, feature, seen):
        for cut, below, above in seen.parts():
            if below[0] < 5 or above[0] < 5:
                continue
            parted = self._worth(below) + self._worth(above)
            merit = parted - self._worth(below + above)
            if merit > 0 and merit > 1e-12 * parted:
                yield merit, feature, cut, below, above

    @staticmethod
    def _sound(sums):
        sums = sums.copy()
        sums[2::2] = np.maximum(sums[2::2], 0)
        return sums
