"""A Hoeffding tree, slow and simple: one tree, no byte limit. The compiled pool must agree with it.

It follows the published algorithm (Domingos and Hulten 2000) with MOA's choices, including naive-Bayes
products in plain double precision.
"""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass, field
from itertools import accumulate

CUTS = 10
SMALLEST_BRANCH = 0.01


@dataclass
class Settings:
    values: list[int]  # number of values per feature, 0 if numeric
    grace_period: int = 200
    split_confidence: float = 1e-7
    tie_threshold: float = 0.05
    criterion: str = "information_gain"
    prediction: str = "adaptive"
    binary_splits: bool = False
    max_depth: int = -1
    on_change: bool = False


@dataclass
class Gaussian:
    n: int = 0
    mean: float = 0.0
    spread: float = 0.0
    low: float = math.inf
    high: float = -math.inf

    def add(self, x: float, times: int = 1) -> None:
        self.n += times
        away = x - self.mean
        self.mean += times * away / self.n if self.n > times else away
        self.spread += times * away * (x - self.mean)
        self.low, self.high = min(self.low, x), max(self.high, x)

    @property
    def sd(self) -> float:
        return math.sqrt(self.spread / (self.n - 1)) if self.n > 1 else 0.0

    def density(self, x: float) -> float:
        if self.sd == 0:
            return 1.0 if x == self.mean else 0.0
        exponent = -((x - self.mean) ** 2 / (2 * self.sd * self.sd))
        return 1 / (math.sqrt(2 * math.pi) * self.sd) * math.exp(exponent)

    def sides(self, cut: float) -> tuple[float, float]:
        """Return the weight up to a cut and above it, by the normal distribution within the observed range."""
        if cut < self.low:
            return 0.0, self.n
        if cut >= self.high:
            return self.n, 0.0
        equal = self.density(cut) * self.n
        away = (cut - self.mean) / self.sd * math.sqrt(0.5)
        tail = math.erfc(abs(away)) / 2  # the last bits decide between cuts of equal merit
        less = (1 - tail if away > 0 else tail) * self.n - equal
        return less + equal, max(self.n - equal - less, 0.0)


class NumericObserver:
    def __init__(self) -> None:
        self.of: dict[int, Gaussian] = defaultdict(Gaussian)

    def add(self, x: float, y: int, times: int = 1) -> None:
        self.of[y].add(x, times)

    def probability(self, x: float, c: int) -> float:
        return self.of[c].density(x) if c in self.of else 0.0

    def range(self) -> tuple[float, float]:
        low = min((g.low for g in self.of.values()), default=0.0)
        return low, max((g.high for g in self.of.values()), default=0.0)

    def tests(self, binary: bool) -> list[tuple[str, float]]:
        low, high = self.range()
        cuts = [(high - low) / (CUTS + 1.0) * (k + 1) + low for k in range(CUTS)]
        return [("at_most", cut) for cut in cuts if low < cut < high]

    def branches(self, test: str, value: float) -> list[dict[int, float]]:
        left: dict[int, float] = {}
        right: dict[int, float] = {}
        for c, gaussian in self.of.items():
            below, above = gaussian.sides(value)
            if value >= gaussian.low:
                left[c] = below
            if value < gaussian.high:
                right[c] = above
        return [left, right]


class NominalObserver:
    def __init__(self) -> None:
        self.of: dict[int, list[int]] = {}

    def add(self, x: float, y: int, times: int = 1) -> None:
        counts = self.of.setdefault(y, [])
        counts.extend([0] * (int(x) + 1 - len(counts)))
        counts[int(x)] += times

    def probability(self, x: float, c: int) -> float:
        if c not in self.of:
            return 0.0
        counts = self.of[c]
        seen = counts[int(x)] if int(x) < len(counts) else 0
        return (seen + 1.0) / (sum(counts) + len(counts))

    def tests(self, binary: bool) -> list[tuple[str, float]]:
        values = max((len(counts) for counts in self.of.values()), default=0)
        every: list[tuple[str, float]] = [] if binary or values == 0 else [("each_value", 0.0)]
        return every + [("equals", float(v)) for v in range(values)]

    def branches(self, test: str, value: float) -> list[dict[int, float]]:
        values = max(len(counts) for counts in self.of.values())
        out: list[dict[int, float]] = [{} for _ in range(values if test == "each_value" else 2)]
        for c, counts in self.of.items():
            for v, n in enumerate(counts):
                b = v if test == "each_value" else int(v != value)
                out[b][c] = out[b].get(c, 0) + n
        return out


@dataclass
class Node:
    counts: dict[int, float] = field(default_factory=dict)
    test: tuple[int, str, float] | None = None  # feature, kind, value
    children: dict[int, Node] = field(default_factory=dict)
    observers: dict[int, NumericObserver | NominalObserver] = field(default_factory=dict)
    last_look: float = 0.0
    majority_hits: int = 0
    bayes_hits: int = 0
    outcomes: list[bool] = field(default_factory=list)  # since the last detected change

    def weight(self) -> float:
        return sum(self.counts[c] for c in sorted(self.counts))

    def forget(self) -> None:
        self.observers, self.majority_hits, self.bayes_hits, self.outcomes = {}, 0, 0, []


class ReferenceTree:
    def __init__(self, settings: Settings, classes: int) -> None:
        self.settings, self.classes, self.root = settings, classes, Node()

    # --- answering ----------------------------------------------------------------------------------

    def find(self, x: list[float]) -> tuple[Node | None, Node | None, int, int]:
        """Return the node that x reaches (None: no such branch), its parent, the branch and the depth."""
        above, branch, node, depth = None, -1, self.root, 0
        while node.test is not None:
            feature, kind, value = node.test
            v = x[feature]
            if math.isnan(v):
                break
            branch = int(v) if kind == "each_value" else int(v > value if kind == "at_most" else v != value)
            above, depth = node, depth + 1
            if branch not in node.children:
                return None, above, branch, depth
            node = node.children[branch]
        return node, above, branch, depth

    def votes(self, x: list[float]) -> list[float]:
        node, above, _, _ = self.find(x)
        node = node or above
        assert node is not None
        if node.test is not None or not self.asks_bayes(node):
            return self.majority(node)
        return self.bayes(node, x)

    def asks_bayes(self, node: Node) -> bool:
        prediction = self.settings.prediction
        return prediction == "naive_bayes" or (
            prediction == "adaptive" and node.majority_hits <= node.bayes_hits
        )

    def majority(self, node: Node) -> list[float]:
        return [node.counts.get(c, 0.0) for c in range(self.classes)]

    def bayes(self, node: Node, x: list[float]) -> list[float]:
        total = node.weight()
        out = []
        for c in range(self.classes):
            vote = node.counts.get(c, 0.0) / total if total > 0 else 0.0
            for f, v in enumerate(x):
                # A feature without a value at this leaf contributes nothing (MOA: every vote becomes 0).
                if not math.isnan(v) and f in node.observers and node.observers[f].of:
                    vote *= node.observers[f].probability(v, c)
            out.append(vote)
        return out

    # --- learning -----------------------------------------------------------------------------------

    def learn(self, x: list[float], y: int, times: int = 1) -> None:
        """Learn from an instance with this weight."""
        node, above, branch, depth = self.find(x)
        if node is None:
            assert above is not None
            node = above.children[branch] = Node()
        if node.test is not None:
            return
        by_bayes = self.asks_bayes(node)
        majority_hit = bool(node.counts) and highest(self.majority(node)) == y
        bayes_hit = highest(self.bayes(node, x)) == y
        node.majority_hits += times * majority_hit
        node.bayes_hits += times * bayes_hit
        node.outcomes += times * [bayes_hit if by_bayes else majority_hit]
        node.counts[y] = node.counts.get(y, 0.0) + times
        for f, v in enumerate(x):
            if f not in node.observers:
                node.observers[f] = NominalObserver() if self.settings.values[f] else NumericObserver()
            if not math.isnan(v):
                node.observers[f].add(v, y, times)
        if self.settings.on_change:
            if changed(node.outcomes, self.settings.split_confidence):
                node.outcomes = []
                self.look_for_split(node, depth)
        elif node.weight() - node.last_look >= self.settings.grace_period:
            node.last_look = node.weight()
            self.look_for_split(node, depth)

    def look_for_split(self, node: Node, depth: int) -> None:
        s = self.settings
        too_deep = 0 <= s.max_depth <= depth
        if sum(n != 0 for n in node.counts.values()) < 2 or too_deep:
            return
        offers = [(self.merit(node, [node.counts]), -1, ("none", 0.0))]
        offers += self.offers(node)
        offers.sort(key=lambda offer: offer[0])
        merit, feature, (kind, value) = offers[-1]
        span = 1.0 if s.criterion == "gini" else math.log2(max(max(node.counts) + 1, 2))
        bound = math.sqrt(span**2 * math.log(1 / s.split_confidence) / (2 * node.weight()))
        ahead = len(offers) < 2 or merit - offers[-2][0] > bound
        if not (s.on_change or ahead or bound < s.tie_threshold):
            self.put_off(node, merit - offers[-2][0], bound)
            return
        if feature < 0:
            node.forget()
        elif math.isfinite(merit):
            node.test = (feature, kind, value)
            self.split(node)
            for b, counts in enumerate(node.observers[feature].branches(kind, value)):
                node.children[b] = Node(counts=counts)
                node.children[b].last_look = node.children[b].weight()
            node.observers = {}

    def put_off(self, node: Node, gap: float, bound: float) -> None:
        """Do not split the leaf; check it again after the grace period."""

    def split(self, node: Node) -> None:
        """Split the leaf."""

    def offers(self, node: Node) -> list[tuple[float, int, tuple[str, float]]]:
        """Return the best test of every feature that has one."""
        out = []
        for f in sorted(node.observers):
            best = None
            for kind, value in node.observers[f].tests(self.settings.binary_splits):
                merit = self.merit(node, node.observers[f].branches(kind, value))
                if best is None or merit > best[0]:
                    best = (merit, f, (kind, value))
            if best is not None:
                out.append(best)
        return out

    def merit(self, node: Node, branches: list[dict[int, float]]) -> float:
        weights = [sum(counts[c] for c in sorted(counts)) for counts in branches]
        total = sum(weights)
        impurity = gini if self.settings.criterion == "gini" else entropy
        inside = [impurity(counts) if w > 0 else 0.0 for w, counts in zip(weights, branches, strict=True)]
        if self.settings.criterion == "gini":
            return 1 - sum(w / total * g for w, g in zip(weights, inside, strict=True))
        if sum(w / total > SMALLEST_BRANCH for w in weights) < 2:
            return -math.inf
        return entropy(node.counts) - sum(w * h for w, h in zip(weights, inside, strict=True)) / total


def changed(outcomes: list[bool], delta: float) -> bool:
    """HDDM-A in both directions: compare the mean with that of the first n, at the most certain minimum or maximum."""
    log, n = math.log(1 / delta), len(outcomes)
    means = [hits / (i + 1) for i, hits in enumerate(accumulate(map(int, outcomes)))]
    bounds = [math.sqrt(log / (2 * (i + 1))) for i in range(n)]
    low = max(range(n), key=lambda i: (-(means[i] + bounds[i]), i))
    high = max(range(n), key=lambda i: (means[i] - bounds[i], i))
    far = [math.sqrt((1 / (i + 1) - 1 / n) * log / 2) for i in (low, high)]
    return means[-1] - means[low] > far[0] or means[high] - means[-1] > far[1]


def highest(values: list[float]) -> int:
    return max(range(len(values)), key=lambda i: (values[i], -i))


def entropy(counts: dict[int, float]) -> float:
    weights = [counts[c] for c in sorted(counts) if counts[c] > 0]
    if not weights:
        return 0.0
    total = sum(weights)
    return (total * math.log2(total) - sum(n * math.log2(n) for n in weights)) / total


def gini(counts: dict[int, float]) -> float:
    total = sum(counts[c] for c in sorted(counts))
    return 1 - sum((n / total) ** 2 for n in counts.values())
