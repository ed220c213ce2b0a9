"""Memories of labels by definition: all cases are stored, and all sums are recomputed."""

from __future__ import annotations

import numpy as np

PRIOR_CASES = 4.0  # numbers: cases that support the last label
FEW = 8
EVERY, LEAST, CLOSE = 64, 0.1, 0.9


class FollowingClasses:
    """The class after the last labels: all cases, each with weight fading^age."""

    def __init__(self, classes: int, fading: float = 0.9995, order: int = 1) -> None:
        self.classes, self.fading, self.order = classes, fading, order
        self.cases: list[tuple[list[int], int, float]] = []  # the earlier labels, newest first; label; weight

    def predict(self, before: list[int]) -> np.ndarray:
        p = np.full(self.classes, 1 / self.classes)
        for n in range(min(self.order, len(before)) + 1):
            counts = np.zeros(self.classes)
            for age, (known, label, weight) in enumerate(reversed(self.cases)):
                if len(known) >= n and known[:n] == before[:n]:
                    counts[label] += weight * self.fading**age
            prior = self.classes if n == 0 else 1
            p = (counts + prior * p) / (counts.sum() + prior)
        return p

    def learn(self, before: list[int], label: int, weight: float = 1.0) -> None:
        self.cases.append((before[: self.order], label, weight))


class FollowingNumbers:
    """Predict a number from earlier numbers: weighted least squares over all cases."""

    def __init__(self, memory: int, fading: float = 0.9995, seasons: int = 2) -> None:
        self.memory, self.fading, self.n_seasons = memory, fading, seasons
        self.labels: list[float] = []
        self.cases: list[tuple[np.ndarray, float, float]] = []  # inputs, difference, weight
        self.lags = [0, 0]  # the seasonal lags

    def inputs(self, newest: int, target: int) -> np.ndarray:
        """Return the case for the label at index `target`, if labels up to index `newest` are known."""
        labels, oldest = self.labels, max(0, len(self.labels) - self.memory)
        last = labels[newest]
        found = np.zeros(8)
        found[0], found[1] = 1, running_mean(labels) - last
        found[2] = last - labels[newest - 1] if newest - 1 >= oldest else 0
        found[3] = np.mean(labels[max(oldest, newest - FEW + 1) : newest + 1]) - last
        for s, lag in enumerate(self.lags[: self.n_seasons]):
            place = target - lag
            while lag and place > newest:
                place -= lag
            if lag and place >= oldest:
                found[4 + 2 * s] = labels[place] - last
            then = place - (target - newest)
            if lag and then >= oldest:
                found[5 + 2 * s] = labels[then] - last
        return found

    def coefficients(self) -> np.ndarray:
        n = len(self.cases)
        age = self.fading ** (n - 1 - np.arange(n))
        A, b, total = np.zeros((8, 8)), np.zeros(8), 0.0
        for i, (inputs, difference, weight) in enumerate(self.cases):
            A += weight * age[i] * np.outer(inputs, inputs)
            b += weight * age[i] * inputs * difference
            total += weight * age[i]
        on = np.diag(A) > 0
        by = np.zeros(8)
        if on.any():
            ridge = np.diag(np.diag(A)[on] * PRIOR_CASES / total)
            by[on] = np.linalg.solve(A[np.ix_(on, on)] + ridge, b[on])
        return by

    def predict(self, newest: int, target: int) -> float:
        if newest < max(0, len(self.labels) - self.memory):
            return running_mean(self.labels)
        return self.labels[newest] + float(self.coefficients() @ self.inputs(newest, target))

    def learn(self, newest: int, label: float, trained: bool, weight: float = 1.0) -> None:
        if trained and newest >= max(0, len(self.labels) - self.memory):
            inputs = self.inputs(newest, len(self.labels))
            self.cases.append((inputs, label - self.labels[newest], weight))
        self.labels.append(label)
        if len(self.labels) > 2 and (len(self.labels) - 2) % EVERY == 0:
            before, self.lags = self.lags, self.search()
            if self.lags != before:
                self.relearn(len(self.labels) - 2 - newest)

    def relearn(self, delay: int) -> None:
        """Change the seasons: the cases are recomputed from the stored labels."""
        self.cases, oldest = [], max(0, len(self.labels) - self.memory)
        for target in range(oldest + 1 + delay, len(self.labels)):
            newest = target - 1 - delay
            inputs = self.inputs(newest, target)
            self.cases.append((inputs, self.labels[target] - self.labels[newest], 1.0))

    def search(self) -> list[int]:
        longest = self.memory - 2
        fading = 1 - 1 / (4 * longest)
        d = np.diff(self.labels)
        faded = d * fading ** np.arange(len(d) - 1, -1, -1)
        r = np.array([faded[lag:] @ d[: len(d) - lag] if lag < len(d) else 0 for lag in range(longest + 1)])
        r[0] -= faded[0] * d[0]  # the first difference has no predecessor
        if not r[0] > 0:
            return self.lags
        r, count = r / r[0], len(self.labels) - 2
        least = max(LEAST, 4 / np.sqrt(min(count, 1 / (1 - fading))))
        out = [lag for lag in range(2, longest) if 3 * lag <= count and r[lag] > least
               and r[lag] >= r[lag - 1] and r[lag] > r[lag + 1]]  # fmt: skip
        found = [0, 0]
        if out:
            found[0] = min(lag for lag in out if r[lag] >= CLOSE * max(r[out]))
        found[0] = kept(self.lags[0], found[0], r, least)
        first = found[0]
        others = [
            lag
            for lag in out
            if first and lag != first and not (min(lag % first, -lag % first) <= 1 and r[lag] <= r[first])
        ]
        if others:
            found[1] = max(others, key=lambda lag: r[lag])
        if self.lags[1] != first:
            found[1] = kept(self.lags[1], found[1], r, least)
        return found


def kept(lag: int, other: int, r: np.ndarray, least: float) -> int:
    return lag if lag and r[lag] > least and (not other or r[lag] >= CLOSE * r[other]) else other


def running_mean(labels: list[float]) -> float:
    """Weight the first 1000 instances equally; then use fading."""
    mean = 0.0
    for i, label in enumerate(labels):
        mean += (label - mean) / min(i + 1, 1000)
    return mean
