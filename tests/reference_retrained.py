"""Retrained boosted trees, slow and simple: one-step trainings, histograms as dictionaries, Python sums."""

from __future__ import annotations

import itertools
import math
from bisect import bisect_left
from collections import Counter

import numpy as np

from reference import Adwin

WHOLE = 1 << 30
SAMPLE, CROWDED = 1000, 3


def between(a, b):
    middle = a / 2 + b / 2
    return middle if a < middle < b else a


def edges_of(values, bins, before):
    """Return cut points: a bin per value if there are few values, otherwise bins of about equal size."""
    counts = sorted(Counter(values).items())
    edges, left, in_bin = [], len(values), 0
    for (value, n), (following, n_following) in itertools.pairwise(counts):
        free = bins - len(edges)
        if free < 2:
            break
        in_bin += n
        if len(counts) <= bins or in_bin * free >= left or n_following * free >= left:
            known = [edge for edge in before if value <= edge < following]
            edges.append(known[0] if known else between(value, following))
            left, in_bin = left - in_bin, 0
    return edges


class Feature:
    """The bins of a feature's values, and the bins of the stored instances."""

    def __init__(self, nominal, bins, sample):
        self.nominal, self.bins, self.sample, self.edges = nominal, bins, sample, []
        self.raw, self.column = [], []  # the latest values, and the bins of all instances so far

    def bin(self, x):
        if math.isnan(x):
            return 0
        return min(int(x) + 1, 255) if self.nominal else 1 + bisect_left(self.edges, x)

    def add(self, x):
        self.raw = [*self.raw, x][-self.sample :]
        self.column.append(self.bin(x))

    def fit(self, kept):
        if self.nominal or not self._crowded(kept):
            return
        before, first = self.edges, next((x for x in self.raw if not math.isnan(x)), None)
        if before:
            inside = [between(a, b) for a, b in itertools.pairwise(before)]
            middles = [math.nan, before[0], *inside, math.nextafter(before[-1], math.inf)]
        else:
            middles = [math.nan, first]
        values = [middles[b] for b in self.column[-kept : -len(self.raw)]] + self.raw
        self.edges = edges_of([x for x in values if not math.isnan(x)], self.bins, before)
        older = [middles[b] for b in self.column[: -len(self.raw)]]
        self.column = [self.bin(x) for x in [*older, *self.raw]]

    def _crowded(self, kept):
        """Return whether a bin holds more than its share and has distinct stored values."""
        counts = Counter(b for b in self.column[-kept:] if b > 0)
        bins = {}
        for b, x in zip(self.column[-len(self.raw) :], self.raw, strict=True):
            if not math.isnan(x):
                bins.setdefault(b, []).append(x)
        most = CROWDED * sum(counts.values())
        return any(counts[b] * self.bins > most and min(own) < max(own) for b, own in bins.items())


class Retrained:
    """`pools.Retrained` without a byte limit. Spreading of the work is simulated by delaying its result."""

    def __init__(self, values, classes, numeric=False, **settings):
        self.values, self.classes, self.numeric, self.settings = values, classes, numeric, settings
        self.outputs = 1 if numeric or classes <= 2 else classes
        most = settings.get("most_trees")
        self.rounds = (
            settings["trees"] if most is None else max(1, min(most // self.outputs, settings["trees"]))
        )
        rate = settings["learning_rate"]
        self.rate = max(rate, min(rate * settings["trees"] / self.rounds, 0.5))
        self.features = [Feature(n > 0, settings["bins"], min(SAMPLE, settings["window"])) for n in values]
        self.y, self.w, self.waiting, self.model = [], [], None, None
        self.next, self.postponed = 50, 0  # the time of the next training, and its delay in instances
        self.loss = Adwin(settings["drift"]) if settings.get("drift") else None
        self.start, self.errors = 0, []  # the first instance since the last change; errors for numbers

    # Predicting

    def _base(self, y, w):
        if self.numeric:
            return [sum(a * b for a, b in zip(y, w, strict=True)) / sum(w) if w else 0.0]
        counts = [
            1 + sum(b for a, b in zip(y, w, strict=True) if a == c) for c in range(max(2, self.classes))
        ]
        if self.outputs == 1:
            return [math.log(counts[1] / counts[0])]
        return [math.log(n / sum(counts)) for n in counts]

    def predict(self, x):
        if self.model is None:
            said = np.array(self._base(self.y, self.w))
        else:
            base, trees, edges = self.model
            said = np.array(base)
            for output, tree in trees:
                said[output] += self._leaf(tree, x, edges)
        if self.numeric:
            return said
        if self.outputs == 1:
            p = 1 / (1 + math.exp(-said[0]))
            return np.array([1 - p, p])
        e = np.exp(said - said.max())
        return e / e.sum()

    def _leaf(self, node, x, edges):
        while "test" in node:
            f, below = node["test"]
            twin = Feature(self.values[f] > 0, 0, 0)
            twin.edges = edges[f]
            node = node["below"] if twin.bin(x[f]) in below else node["above"]
        return node["step"]

    # Learning

    def learn(self, x, target, weight=1.0, expected=False):
        if self.loss is not None and self.model is not None:
            self._look_for_drift(x, target)
        for feature, value in zip(self.features, x, strict=True):
            feature.add(value)
        self.y.append(target)
        self.w.append(weight)
        n, settings = len(self.y), self.settings
        if expected and self.postponed < 6 * settings["every"]:
            self.next, self.postponed = self.next + 1, self.postponed + 1
        if self.waiting is None and n >= self.next:
            gap = min(n - self.start, settings["every"])
            self.next, self.postponed = n + gap, 0
            steps = max(1, min(settings["spread"], gap // 2))
            rows = range(max(n - settings["window"], self.start), n)
            calls = 8 + settings["leaves"] - 1 + math.ceil(4 * math.log2(settings["leaves"]))
            total = len(self.features) + 8 + self.rounds * self.outputs * calls
            self.waiting = {"rows": rows, "step": 0, "steps": steps, "total": total, "fitted": 0}
        if self.waiting is not None:
            self._advance(self.waiting)

    def _look_for_drift(self, x, target):
        said = self.predict(x)
        if self.numeric:
            error = abs(said[0] - target)
            self.errors.append(error)
            lost = error / (error + np.mean(self.errors)) if error > 0 else 0.0
        else:
            lost = 1 - said[int(target)]
        before = self.loss.mean if self.loss.buckets else 0.0
        after = self.loss.update(lost)
        if self.loss.changed and after > before:
            n = len(self.y)
            self.start = max(self.start, n - self.loss.width)
            self.next, self.postponed, self.waiting = max(n, self.start + 200), 0, None

    def _advance(self, job):
        """Fit each feature in its turn; grow the trees at the end, because their inputs no longer change."""
        job["step"] += 1
        due = job["total"] * job["step"] // job["steps"]
        while job["fitted"] < min(due, len(self.features)):
            self.features[job["fitted"]].fit(
                min(len(self.y), self.settings["window"] + self.settings["spread"])
            )
            job["fitted"] += 1
        if job["step"] == job["steps"]:
            self.model, self.waiting = self._train(job["rows"]), None

    def _train(self, rows):
        y, w = [self.y[t] for t in rows], [self.w[t] for t in rows]
        columns = [[feature.column[t] for t in rows] for feature in self.features]
        base, trees = self._base(y, w), []
        said = [[b] * len(rows) for b in base]
        over = [not self.numeric and self.outputs > 1 and c not in y for c in range(self.outputs)]
        for _ in range(self.rounds):
            before = [list(one) for one in said]
            for k in range(self.outputs):
                if over[k]:
                    continue
                tree = self._grow(columns, *self._derivatives(before, k, y, w))
                over[k] = tree is None
                if tree is not None:
                    trees.append((k, tree))
                    for leaf in leaves_of(tree):
                        for i in leaf["rows"]:
                            said[k][i] += leaf["step"]
        return base, trees, [feature.edges for feature in self.features]

    def _derivatives(self, said, k, y, w):
        if self.numeric:
            return [b * (s - a) for s, a, b in zip(said[0], y, w, strict=True)], list(w)
        if self.outputs == 1:
            p, hit, curvature = [1 / (1 + math.exp(-s)) for s in said[0]], 1, 1.0
        else:
            p = [math.exp(own[k]) / sum(map(math.exp, own)) for own in zip(*said, strict=True)]
            hit, curvature = k, self.classes / (self.classes - 1)
        first = [b * (q - (a == hit)) for q, a, b in zip(p, y, w, strict=True)]
        return first, [b * curvature * q * (1 - q) for q, b in zip(p, w, strict=True)]

    def _grow(self, columns, first, second):
        """Return the root of a tree, or None if it cannot be split."""
        total = sum(map(abs, first)), sum(second)
        if not (total[0] > 0 and total[1] > 0):
            return None
        self.units = total[0] / WHOLE, total[1] / WHOLE
        self.g = [round(g * (WHOLE / total[0])) for g in first]
        self.h = [round(h * (WHOLE / total[1])) for h in second]
        root = self._open(columns, range(len(first)))
        leaves = [root]
        while len(leaves) < self.settings["leaves"]:
            best = max(leaves, key=lambda leaf: leaf["gain"])  # the first of equal splits
            if best["gain"] <= 0:
                break
            f, below = best["test"] = best["found"]
            sides = [[i for i in best["rows"] if (columns[f][i] in below) == side] for side in (True, False)]
            best["below"], best["above"] = (self._open(columns, rows) for rows in sides)
            leaves[leaves.index(best)] = best["below"]
            leaves.append(best["above"])
        return root if "test" in root else None

    def _sums(self, rows):
        return sum(self.g[i] for i in rows), sum(self.h[i] for i in rows)

    def _worth(self, g, h, shrinkage):
        return (g * self.units[0]) ** 2 / (h * self.units[1] + shrinkage)

    def _open(self, columns, rows):
        """A leaf, its step, and its best split."""
        g, h = self._sums(rows)
        rate, shrinkage = self.rate, self.settings["shrinkage"]
        step = (
            -rate * (g * self.units[0]) / (h * self.units[1] + shrinkage)
            if h * self.units[1] + shrinkage
            else 0.0
        )
        leaf = {"rows": rows, "step": step, "gain": 0.0}
        if len(rows) < 2 * self.settings["min_leaf"]:
            return leaf
        each = h / len(rows)
        least = max(self.settings["min_leaf"] * each, 1e-3 / self.units[1])
        whole = self._worth(g, h, shrinkage)
        most = whole + 1e-10 * whole
        for f in range(len(columns)):
            bins = {}
            for i in rows:
                own = bins.setdefault(columns[f][i], [0, 0])
                own[0] += self.g[i]
                own[1] += self.h[i]
            offers = self._sets if self.values[f] > 0 else self._cuts
            for below, fewest, extra in offers(
                {b: own for b, own in bins.items() if own != [0, 0]}, each, least, h
            ):
                gb, hb = (sum(bins[b][j] for b in below if b in bins) for j in (0, 1))
                if hb < fewest or h - hb < fewest:
                    continue
                parted = self._worth(gb, hb, shrinkage + extra) + self._worth(
                    g - gb, h - hb, shrinkage + extra
                )
                if parted > most:
                    most, leaf["gain"] = parted, parted - whole
                    leaf["found"] = f, self._closed(below, bins, hb, h, f)
        return leaf

    def _cuts(self, bins, each, least, h):
        """Return the bins below each cut, with and without the missing values."""
        known = sorted(set(bins) - {0})
        for missing in ([0], []) if 0 in bins else ([],):
            for n in range(1 - len(missing), len(known) + 1):
                yield [*missing, *known[:n]], least, 0.0

    def _closed(self, below, bins, hb, h, f):
        """Add the bins between existing bins, and choose a side for missing values if there were none."""
        if self.values[f] > 0:
            return set(below)
        found = set(range(1, max(below) + 1)) | ({0} & set(below))
        return found | {0} if bins.get(0, [0, 0]) == [0, 0] and hb * 2 >= h else found

    def _sets(self, bins, each, least, h):
        if len(bins) < 2:
            return
        if len(bins) <= 4:
            yield from (([b], least, 0.0) for b in sorted(bins))
            return
        asking = [b for b in sorted(bins) if bins[b][1] >= 10 * each]
        asking.sort(key=lambda b: (bins[b][0] / (bins[b][1] * self.units[1] + 10), b))
        for ordered in (asking, asking[::-1]):
            for n in range(1, len(ordered) + 1):
                yield ordered[:n], max(least, 50 * each), 10.0


def leaves_of(node):
    if "test" not in node:
        return [node]
    return leaves_of(node["below"]) + leaves_of(node["above"])
