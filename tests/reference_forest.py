"""A forest, slow and simple: bagging, subspaces, background trees, weights; no byte limit.

The compiled forest uses single precision, this version double precision. If two cuts are nearly equal, the trees may
therefore differ.
"""

from __future__ import annotations

import math
import struct

import numpy as np

from reference import Adwin
from reference_trees import Node, NumericObserver, ReferenceTree, Settings, highest

CUTS = 12
WORD = (1 << 64) - 1


def mixed(z):
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & WORD
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & WORD
    return z ^ (z >> 31)


class Draws:
    """SplitMix64."""

    def __init__(self, state):
        self.state = state

    def next(self):
        self.state = (self.state + 0x9E3779B97F4A7C15) & WORD
        return mixed(self.state)

    def uniform(self):
        return (self.next() >> 11) * 2.0**-53

    def below(self, n):
        return ((self.next() >> 32) * n) >> 32

    def poisson(self, mean):
        u, n, p = self.uniform(), 0, math.exp(-mean)
        total = p
        while total <= u and total < 1:
            n += 1
            p *= mean / n
            total += p
        return n


class ForestTree(ReferenceTree):
    """A tree that gets some features per leaf, uses twelve cuts or a random one, and delays split checks."""

    def __init__(self, settings, classes, key, columns, offered, random_cuts):
        super().__init__(settings, classes)
        self.key, self.columns, self.offered, self.random_cuts = key, columns, offered, random_cuts
        self.numbers, self.size = {id(self.root): 0}, 1

    def split(self, node):
        self.waiting = (self.size, node)
        self.size += 2

    def look_for_split(self, node, depth):
        self.waiting = None
        super().look_for_split(node, depth)
        if self.waiting is not None:
            first, parent = self.waiting
            for b, child in parent.children.items():
                self.numbers[id(child)] = first + b

    def offers(self, node: Node):
        number = mixed((self.key + self.numbers[id(node)]) & WORD)
        seen = struct.unpack("<Q", struct.pack("<d", node.weight()))[0]
        features, cuts = Draws(number), Draws(mixed(number ^ seen))
        wanted, out = self.offered or len(self.columns), []
        for f in range(len(self.columns)):
            left = len(self.columns) - f
            if wanted < left and features.below(left) >= wanted:
                continue
            wanted -= 1
            if f in node.observers:
                tests = self.tests(node.observers[f], cuts)
                merits = [self.merit(node, node.observers[f].branches(*test)) for test in tests]
                if merits:
                    best = int(np.argmax(merits))
                    out.append((merits[best], f, tests[best]))
        return out

    def tests(self, observer, cuts):
        if not isinstance(observer, NumericObserver):
            tests = observer.tests(True)
            return tests[:1] if len(tests) == 2 else tests
        low, high = observer.range()
        if not low < high:
            return []
        if self.random_cuts:
            values = [(high - low) * cuts.uniform() + low]
        else:
            values = [(high - low) / (CUTS + 1.0) * (k + 1) + low for k in range(CUTS)]
        return [("at_most", v) for v in values if low < v < high]

    def put_off(self, node, gap, bound):
        ratio = bound / max(self.settings.tie_threshold, gap if gap > 0 else 0)
        lacking = node.weight() * min(ratio * ratio - 1, 100)
        node.last_look = node.weight() + max(lacking / 2 - self.settings.grace_period, 0)

    def own(self, x):
        return [x[f] for f in self.columns]


class Hits:
    def __init__(self, delta):
        self.delta = delta
        self.forget()

    def forget(self):
        self.adwin, self.mean, self.fell = Adwin(self.delta or 1e-300), 0.0, False

    def update(self, hit):
        before, self.mean = self.mean, self.adwin.update(hit)
        self.fell = self.adwin.changed and self.mean < before

    def accuracy(self):
        return (self.mean * self.adwin.width + 1) / (self.adwin.width + 2)


class Forest:
    def __init__(self, values, classes, seed, **settings):
        self.values, self.classes, self.settings = list(values), classes, settings
        self.draws = Draws(seed)
        self.trees = [self.sprout() for _ in range(settings["trees"])]
        self.background = [None] * len(self.trees)
        self.drift = [Hits(settings["drift"]) for _ in self.trees]
        self.warning = [Hits(settings["warning"]) for _ in self.trees]
        self.replaced = self.warnings = 0

    def sprout(self):
        s, every = self.settings, list(range(len(self.values)))
        key = self.draws.next()
        share = s["features"]
        n = min(max(math.floor(share * len(every) + 0.5), 1), len(every))
        columns = every
        if s["subspace"] == "tree" and n < len(every):
            for j in range(n):
                other = j + self.draws.below(len(every) - j)
                every[j], every[other] = every[other], every[j]
            columns = sorted(every[:n])
        tree = Settings(
            [self.values[f] for f in columns],
            s["grace_period"],
            s["split_confidence"],
            s["tie_threshold"],
            binary_splits=True,
        )
        return ForestTree(
            tree, self.classes, key, columns, n if s["subspace"] == "node" else 0, s["random_cuts"]
        )

    def predict(self, x):
        total, out = 0.0, np.zeros(self.classes)
        for tree, hits in zip(self.trees, self.drift, strict=True):
            votes = np.array(tree.votes(tree.own(x)))
            if votes.sum() > 0:
                out += hits.accuracy() * votes / votes.sum()
                total += hits.accuracy()
        return out / total if total > 0 else np.full(self.classes, 1 / self.classes)

    def learn(self, x, y):
        for t, tree in enumerate(self.trees):
            hit = float(highest(tree.votes(tree.own(x))) == y)
            times = self.draws.poisson(self.settings["bagging"]) if self.settings["bagging"] else 1
            if times > 0:
                tree.learn(tree.own(x), y, times)
                if self.background[t] is not None:
                    self.background[t].learn(self.background[t].own(x), y, times)
            self.drift[t].update(hit)
            self.warning[t].update(hit)
        for t in range(len(self.trees)):
            if self.settings["drift"] and self.drift[t].fell:
                self.replaced += 1
                self.trees[t] = self.background[t] or self.sprout()
                self.background[t] = None
                self.drift[t].forget()
                self.warning[t].forget()
            elif self.settings["warning"] and self.warning[t].fell:
                self.warnings += 1
                self.background[t] = self.sprout()
                self.warning[t].forget()
