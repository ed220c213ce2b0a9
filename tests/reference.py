"""Slow, simple versions of every kernel. The tests compare the compiled core with these."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise

import numpy as np

# -- choosing -------------------------------------------------------------------------------------------


def _first(order, k, models):
    mask = np.zeros(models, dtype=bool)
    mask[list(order)[:k]] = True
    return mask


def perform_best(scores, costs, k):
    return _first(sorted(range(len(scores)), key=lambda i: (-scores[i], i)), k, len(scores))


def perform_worst(scores, costs, k):
    return _first(sorted(range(len(scores)), key=lambda i: (scores[i], i)), k, len(scores))


def cheapest(scores, costs, k):
    return _first(sorted(range(len(scores)), key=lambda i: (costs[i], i)), k, len(scores))


def expensive(scores, costs, k):
    return _first(sorted(range(len(scores)), key=lambda i: (-costs[i], i)), k, len(scores))


def everything(scores, costs, k):
    return np.ones(len(scores), dtype=bool)


def reward(scores, costs, k, weight=1.0):
    worth = [s + weight * (1 - c) for s, c in zip(scores, costs, strict=True)]
    return _first(sorted(range(len(scores)), key=lambda i: (-worth[i], i)), k, len(scores))


def zeta(scores, costs, k, zeta):
    chosen = np.zeros(len(scores), dtype=bool)
    for _ in range(k):
        left = [i for i in range(len(scores)) if not chosen[i]]
        j = max(left, key=lambda i: (scores[i], -i))
        i = j
        for rival in left:
            if scores[rival] >= (1 - zeta) * scores[j] and costs[rival] < costs[i]:
                i = rival
        chosen[i] = True
    return chosen


def budget(scores, costs, k, budget):
    chosen = np.zeros(len(scores), dtype=bool)
    spent = 0.0
    for i in sorted(range(len(scores)), key=lambda i: (-scores[i] / max(costs[i], 1e-300), i)):
        if chosen.sum() < k and spent + costs[i] <= budget * (1 + 1e-12):
            chosen[i] = True
            spent += costs[i]
    fitting = [i for i in range(len(scores)) if costs[i] <= budget * (1 + 1e-12)]
    if fitting:
        single = max(fitting, key=lambda i: (scores[i], -i))
        if scores[single] > sum(scores[i] for i in np.flatnonzero(chosen)):
            chosen[:] = False
            chosen[single] = True
    return chosen


class MLCB:
    """MLCB's account of training and its bounds: a policy with an update method."""

    def __init__(self, scale=1.0, factor=1.0, rate=0.5, delta=0.05):
        self.scale, self.factor, self.rate, self.delta = scale, factor, rate, delta
        self.t, self.n, self.right = 0.0, None, None

    def width(self, n, t, models):
        chance = math.sqrt(math.log(2 * models * t * (t + 1) / self.delta) / (2 * n))
        return self.scale * (chance + n ** (self.rate - 1))

    def bounds(self, models):
        if self.n is None:
            return [math.inf] * models
        return [
            right / n + self.width(n, max(self.t, 1.0), models) if n > 0 else math.inf
            for n, right in zip(self.n, self.right, strict=True)
        ]

    def choose(self, scores, costs, k, rng=None):
        return perform_best(self.bounds(len(scores)), costs, k)

    def update(self, outcomes, trained):
        models = len(trained)
        if self.n is None:
            self.n, self.right = [0.0] * models, [0.0] * models
        self.t = self.factor * self.t + 1
        for i in range(models):
            self.n[i] = self.factor * self.n[i] + (1 if trained[i] else 0)
            self.right[i] = self.factor * self.right[i] + (outcomes[i] if trained[i] else 0)


def stateful(policy):
    """Return the slow version of a policy that stores observations; return other policies unchanged."""
    if type(policy).__name__ != "MLCB":
        return policy
    return MLCB(policy.scale, policy.factor, policy.rate, policy.delta)


# -- scores ---------------------------------------------------------------------------------------------


class Adwin:
    """ADWIN with buckets in plain lists: (sum of outcomes, count, sum of squares)."""

    def __init__(self, delta=1e-5, restart=False, *, clock=32, buckets=5, minimum=5, grace=10):
        self.delta, self.restart = delta, restart
        self.clock, self.most, self.minimum, self.grace = clock, buckets, minimum, grace
        self.clear()

    def clear(self):
        self.buckets, self.ticks, self.changed = [], 0, False  # oldest bucket first

    @property
    def width(self):
        return sum(size for _, size, _ in self.buckets)

    @property
    def mean(self):
        return sum(total for total, _, _ in self.buckets) / self.width

    def update(self, outcome):
        if self.changed and self.restart:
            self.clear()
        self.changed = False
        self.buckets.append((outcome, 1, outcome**2))
        size = 1
        while sum(1 for bucket in self.buckets if bucket[1] == size) > self.most:
            first = next(i for i, bucket in enumerate(self.buckets) if bucket[1] == size)
            a, b = self.buckets[first : first + 2]
            self.buckets[first : first + 2] = [(a[0] + b[0], 2 * size, a[2] + b[2])]
            size *= 2
        self.ticks += 1
        if self.ticks % self.clock == 0 and self.width > self.grace:
            while self.cut():
                del self.buckets[0]
                self.changed = True
        return self.mean

    def cut(self):
        n, total = self.width, sum(bucket[0] for bucket in self.buckets)
        variance = sum(bucket[2] for bucket in self.buckets) / n - (total / n) ** 2
        d = math.log(2 * math.log(n) / self.delta)
        n0 = u0 = 0
        for value, size, _ in self.buckets[:-1]:
            n0, u0 = n0 + size, u0 + value
            n1, u1 = n - n0, total - u0
            if n0 >= self.minimum and n1 >= self.minimum:
                m = 1 / (n0 - self.minimum + 1) + 1 / (n1 - self.minimum + 1)
                if abs(u0 / n0 - u1 / n1) > math.sqrt(2 * m * max(variance, 0) * d) + 2 / 3 * d * m:
                    return True
        return False


def calibration_error(y, p, bins=15):
    """Compute the value bin by bin, in plain loops."""
    total = 0.0
    for b in range(bins):
        inside = [(max(row), row.argmax() == label) for row, label in zip(p, y, strict=True)]
        inside = [one for one in inside if min(int(one[0] * bins), bins - 1) == b]
        total += abs(sum(hit for _, hit in inside) - sum(sure for sure, _ in inside))
    return total / len(y)


def window_mean(outcomes, size):
    return np.mean(outcomes[-size:], axis=0)


def fading_mean(outcomes, factor):
    weights = factor ** np.arange(len(outcomes))[::-1]
    return weights @ np.asarray(outcomes) / weights.sum()


# -- encoding -------------------------------------------------------------------------------------------


def encode(values, history, x, divisor=3):
    """Return x as a dense input vector: scaled features first, then one input per category.

    values: the number of values of each feature, 0 if numeric; history: the instances before x; divisor: the number
    of standard deviations that become 1.
    """
    seen = np.array([*history, x], dtype=float)
    scaled, categories = [], []
    for f, n in enumerate(values):
        if n > 2:
            categories += [float(x[f] == code) for code in range(n)]
        else:
            column = seen[:, f][~np.isnan(seen[:, f])]
            missing = math.isnan(x[f]) or np.ptp(column) == 0
            scaled.append(0.0 if missing else (x[f] - column.mean()) / (divisor * column.std()))
    return np.array(scaled + categories)


# -- perceptrons ----------------------------------------------------------------------------------------


class Perceptron:
    """One hidden layer, ReLU, softmax cross-entropy, dense, in float64; Adam or SGD as in PyTorch."""

    def __init__(self, weights, optimizer, rate):
        self.w = {name: np.array(value, dtype=np.float64) for name, value in weights.items()}
        self.m = {name: np.zeros_like(value) for name, value in self.w.items()}
        self.v = {name: np.zeros_like(value) for name, value in self.w.items()}
        self.optimizer, self.rate, self.t = optimizer, rate, 0

    def add_class(self, weights):
        """Add an output with these weights and with moments of 0."""
        for name in ("2.weight", "2.bias"):
            known = len(self.w[name])
            self.w[name] = np.concatenate([self.w[name], weights[name][known:].astype(np.float64)])
            for moments in (self.m, self.v):
                moments[name] = np.concatenate([moments[name], np.zeros_like(self.w[name][known:])])

    def forward(self, x):
        self.x = x
        self.h = np.maximum(self.w["0.weight"] @ x + self.w["0.bias"], 0)
        z = self.w["2.weight"] @ self.h + self.w["2.bias"]
        p = np.exp(z - z.max())
        return p / p.sum()

    def train(self, x, y):
        error = self.forward(x)
        error[y] -= 1
        back = (self.w["2.weight"].T @ error) * (self.h > 0)
        gradients = {
            "0.weight": np.outer(back, x),
            "0.bias": back,
            "2.weight": np.outer(error, self.h),
            "2.bias": error,
        }
        self.t += 1
        for name, g in gradients.items():
            if self.optimizer == "sgd":
                self.w[name] -= self.rate * g
                continue
            self.m[name] = 0.9 * self.m[name] + 0.1 * g
            self.v[name] = 0.999 * self.v[name] + 0.001 * g**2
            step = self.rate / (1 - 0.9**self.t)
            self.w[name] -= step * self.m[name] / (np.sqrt(self.v[name] / (1 - 0.999**self.t)) + 1e-8)


# -- measures -------------------------------------------------------------------------------------------


def average_precision(positive, score):
    """Return the mean, over positives, of the share of positives among all instances with at least this score."""
    shares = [
        sum(p for p, s in zip(positive, score, strict=True) if s >= mine) / sum(1 for s in score if s >= mine)
        for is_positive, mine in zip(positive, score, strict=True)
        if is_positive
    ]
    return sum(shares) / len(shares)


def of_each_class(y, predicted, classes):
    """Return (hits, instances, predictions) of each class, counted one by one."""
    pairs = list(zip(y, predicted, strict=True))
    return [
        (sum(a == b == c for a, b in pairs), sum(a == c for a, _ in pairs), sum(b == c for _, b in pairs))
        for c in range(classes)
    ]


def f1(y, predicted, classes):
    figures = [2 * hits / (n + said) for hits, n, said in of_each_class(y, predicted, classes) if n + said]
    return sum(figures) / len(figures)


def balanced_accuracy(y, predicted, classes):
    figures = [hits / n for hits, n, _ in of_each_class(y, predicted, classes) if n]
    return sum(figures) / len(figures)


def kappa(y, predicted, classes):
    counted = of_each_class(y, predicted, classes)
    right = sum(hits for hits, _, _ in counted) / len(y)
    chance = sum(n * said for _, n, said in counted) / len(y) ** 2
    return (right - chance) / (1 - chance)


def auroc(positive, score):
    """Compare all pairs of a positive and a negative instance."""
    pairs = [(p > n) + 0.5 * (p == n) for p in score[positive] for n in score[~positive]]
    return float(np.mean(pairs))


# -- the step -------------------------------------------------------------------------------------------


class Fading:
    """Return the mean with fading weights, in the core's order of summation."""

    def __init__(self, factor):
        self.factor, self.sum, self.weight = factor, 0.0, 0.0

    def update(self, outcome):
        self.sum = self.factor * self.sum + outcome
        self.weight = self.factor * self.weight + 1
        return self.sum / self.weight


class RecentLoss:
    """The loss over about 100 and 1,000 instances: steady if they differ by at most two standard deviations."""

    def __init__(self):
        self.losses, self.short, self.long, self.square = 0, 0.0, 0.0, 0.0

    def note(self, lost):
        self.losses += 1
        few, many = max(1 / 100, 1 / self.losses), max(1 / 1000, 1 / self.losses)
        self.short += few * (lost - self.short)
        self.long += many * (lost - self.long)
        self.square += many * (lost**2 - self.square)

    @property
    def steady(self):
        deviation = math.sqrt(max(self.square - self.long**2, 0) / 200)
        return self.losses > 1000 and abs(self.short - self.long) <= 2 * deviation


def step_loop(
    members, costs, choose, X, y, classes, *, answer="best", warmup=0, watch="all", score=Adwin, looks=None,
    update=None, burst=0, surprise=None, rng=None,
):  # fmt: skip
    """Test, then train members with predict_proba(x) and learn(x, y); choose(L, costs) returns a mask.

    `answer` is "best", "average", "weighted", (n, sharpness) or a `Stacked`. `watch` is "all", "trained" or a number.
    The models evaluated on each instance are appended to `looks`. update(outcomes, mask) gets the outcomes of trained models.
    All models are evaluated on `burst` instances after the model with the highest L gets worse. With `surprise`, expected
    instances train no model and no stack weights, unless a draw of `rng` selects them. On other instances, `slow` members
    pause while the loss is steady, unless drawn. Members with an `expect` method get expected instances. Returns, per instance: the probabilities, the predicting models, the mask, Σγ and R.
    """
    windows, L, rows = [score() for _ in members], np.zeros(len(members)), []
    everyone, detector, before, left = np.ones(len(members), dtype=bool), Adwin(0.002), 0.0, 0
    slow, recent = np.array([getattr(member, "slow", False) for member in members]), RecentLoss()
    for t, (x, label) in enumerate(zip(X, y, strict=True)):
        looked = everyone
        if watch != "all":
            chosen = everyone if t < warmup else choose(L.copy(), costs)
            looked = chosen | _answering(L, answer)
            if watch != "trained":
                looked = looked | ((t + np.arange(len(members))) % watch == 0)
            if left > 0:
                looked = everyone
        p, looked = _heard(members, x, classes, L, answer, looked)
        given, who = _answer(L, p, answer)
        expected = surprise is not None and t >= warmup and given[label] > surprise.sure
        expected = expected and rng.random() >= surprise.share
        rests = surprise is not None and not expected and recent.steady and t >= warmup
        share = max(surprise.steady, surprise.after / max(t, 1)) if rests else 1
        rests = share < 1 and rng.random() >= share
        recent.note(1 - given[label])
        if isinstance(answer, Stacked) and not expected:
            answer.learn(label)
        scored = range(len(members)) if watch == "all" else p  # models not evaluated would predict the same
        outcomes = {i: float(p.get(i, given).argmax() == label) for i in scored}
        if burst:
            mean = detector.update(outcomes[_by_score(L)[0]])
            left = burst if detector.changed and mean < before else max(left - 1, 0)
            before = mean
        for i, outcome in outcomes.items():
            L[i] = windows[i].update(outcome)
        if watch == "all":
            chosen = everyone if t < warmup else choose(L.copy(), costs)
        if expected:
            chosen = np.array([getattr(member, "always_learns", False) for member in members]) & chosen
        chosen = chosen & ~(slow & rests)
        if update is not None:
            update([outcomes.get(i, math.nan) for i in range(len(members))], chosen)
        for i in np.flatnonzero(chosen):
            getattr(members[i], "expect", lambda *_: None)(expected, looked[i])
            members[i].learn(x, label)
        if looks is not None:
            looks.append(looked)
        rows.append((given, who, chosen, costs[chosen].sum(), (L + 1 - costs)[chosen].sum()))
    return [np.array(column) for column in zip(*rows, strict=True)]


def _heard(members, x, classes, L, answer, looked):
    """Return predictions and evaluated models: some models are evaluated only if the others are uncertain."""

    def ask(mask):
        return {int(i): _shares(members[i].predict_proba(x), classes) for i in np.flatnonzero(mask)}

    if not isinstance(answer, Stacked) or answer.first is None:
        return ask(looked), looked
    p = ask(~answer.last)
    if answer.is_enough(L, p):
        return p, ~answer.last
    return p | ask(answer.last), np.ones(len(members), dtype=bool)


def _shares(said, classes):
    q = np.asarray(said, dtype=float)
    return q / q.sum() if q.sum() > 0 else np.full(classes, 1 / classes)


def _by_score(L):
    return sorted(range(len(L)), key=lambda i: (-L[i], i))


def _answering(L, answer):
    """Return the models that are evaluated because they predict."""
    n = answer[0] if isinstance(answer, tuple) else 1 if answer == "best" else len(L)
    mask = np.zeros(len(L), dtype=bool)
    mask[_by_score(L)[:n]] = True
    return mask


class Stacked:
    """Softmax of a weighted sum of log-odds, of a mixture of the best and of each model; gradient descent.

    With several rates, each rate has its own weights. Their predictions are averaged, with more weight for rates of lower
    recent loss. Members in the mask `last` are evaluated only if a stack of the others gives no class more than
    `sure`; otherwise they are assumed to predict the same as that stack.
    """

    def __init__(self, models, n, sharpness, rate, sure=1.0, last=None):
        self.mixture, self.rates, self.sure, self.last = (n, sharpness), np.atleast_1d(rate), sure, last
        self.w = np.array([[0.5] + [0.5 / models] * models] * len(self.rates))
        self.lost = np.zeros(len(self.rates))
        self.first, self.enough = None if last is None else Stacked(models, n, sharpness, rate), False

    def is_enough(self, L, p):
        self.enough = self.first.say(L, p).max() > self.sure
        return self.enough

    def say(self, L, p):
        if self.enough:
            p = p | {int(i): self.first.said for i in np.flatnonzero(self.last)}
        mixture, _ = _answer(L, p, self.mixture)
        rows = [mixture] + [p.get(i, np.ones(len(mixture))) for i in range(len(L))]
        logs = np.log(np.maximum(rows, 1e-3))
        self.odds = logs - logs.mean(axis=1, keepdims=True)
        z = np.exp(self.w @ self.odds)
        self.answers = z / z.sum(axis=1, keepdims=True)
        counts = np.exp(-0.3 * (self.lost - self.lost.min()))
        self.said = counts @ self.answers / counts.sum()
        return self.said

    def learn(self, label):
        if self.first is not None:
            self.first.learn(label)
        if self.enough:
            return
        off = self.answers - np.eye(len(self.said))[label]
        self.w = self.w - self.rates[:, None] / self.w.shape[1] * (off @ self.odds.T)
        self.lost = 0.999 * self.lost - np.log(np.maximum(self.answers[:, label], 1e-4))


def _answer(L, p, answer):
    if isinstance(answer, Stacked):
        return answer.say(L, p), -1
    if answer == "best":
        best = next(i for i in _by_score(L) if i in p)
        return p[best], best
    if answer in {"average", "weighted"}:
        weights = dict(enumerate(L if answer == "weighted" and L.any() else np.ones(len(L))))
    else:
        n, sharpness = answer
        top = [i for i in _by_score(L) if i in p][:n]
        weights = {i: np.exp(-sharpness * (L[top[0]] - L[i])) for i in top}
    return sum(w * p[i] for i, w in weights.items()) / sum(weights.values()), -1


def balanced_weights(labels, heaviest=100.0):
    """Return the weights of instances with balanced classes, by counting all earlier labels each time."""
    weights = []
    for t in range(len(labels)):
        so_far = list(labels[: t + 1])
        weights.append(min(heaviest, len(so_far) / (len(set(so_far)) * so_far.count(labels[t]))))
    return weights


def whole_times(weights):
    """Convert weights to whole repetitions: their running sum is the sum of the weights, rounded down."""
    sums = [Fraction(0)]  # exact: no remainder is lost
    for weight in weights:
        sums.append(sums[-1] + Fraction(weight))
    return [int(after // 1 - before // 1) for before, after in pairwise(sums)]
