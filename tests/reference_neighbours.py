"""Nearest neighbours, slow and simple: every window is a list, every distance a sum."""

from __future__ import annotations

import numpy as np

from reference import Adwin

FARTHEST, EPSILON, SMOOTHING = 6.0, 1e-3, 0.01


class Neighbours:
    """Models (window, k, weighting) over one list of the instances that any of them was trained on."""

    def __init__(self, models, values, classes, *, forget=None, room=None):
        self.models, self.values, self.classes = models, values, classes
        self.forget, self.room = forget, room or 10**9
        self.rows, self.labels = [], []  # scaled by the statistics at arrival
        self.history = [[] for _ in values]  # all non-missing numbers of each feature
        self.begin = [0] * len(models)
        self.hits = [Adwin(forget) if forget else None for _ in models]

    def scaled(self, x):
        """Return numbers in standard deviations, including the instance itself; codes as they are, -1 if missing."""
        row = np.zeros(len(x), dtype=np.float32)
        for f, value in enumerate(x):
            if self.values[f] > 0:
                row[f] = -1 if np.isnan(value) else value
            elif not np.isnan(value):
                seen = np.array([*self.history[f], value])
                sd = seen.std()
                if sd > 1e-12 * np.abs(seen).max():
                    row[f] = np.clip((value - seen.mean()) / sd, -FARTHEST, FARTHEST)
        return row

    def window(self, i):
        """Return the start of the window of model i."""
        return max(0, len(self.rows) - min(self.models[i][0], self.room), self.begin[i])

    def squares(self, row, start):
        """Return squared distances to the rows from `start` on."""
        rows = np.array(self.rows[start:], dtype=np.float64).reshape(-1, len(row))
        nominal = np.array(self.values) > 0
        off = np.where(nominal, rows != row, rows - row)
        return (off**2).sum(axis=1)

    def look(self, x):
        """Return the prediction of every model."""
        row = self.scaled(x)
        return [self.predict(row, i) for i in range(len(self.models))]

    def predict(self, row, i):
        _, k, weighting = self.models[i]
        start = self.window(i)
        p = np.full(self.classes, SMOOTHING)
        squares = self.squares(row, start)
        newest_first = np.arange(len(squares))[::-1]
        for j in newest_first[np.argsort(squares[::-1], kind="stable")][:k]:
            p[self.labels[start + j]] += 1 / (np.sqrt(squares[j]) + EPSILON) if weighting == "distance" else 1
        return p / p.sum()

    def learn(self, x, y, chosen, spared=False):
        """Learn one instance with the chosen models; `spared`: an expected instance, on which no model is evaluated."""
        row = self.scaled(x)
        if any(chosen) and self.forget:
            for i in np.flatnonzero(chosen):
                hits = self.hits[i]
                before = hits.mean if hits.buckets else 0.0
                after = hits.update(float(spared or self.predict(row, i).argmax() == y))
                if hits.changed and after < before:
                    self.begin[i] = max(self.begin[i], len(self.rows) + 1 - hits.width)
        for f, value in enumerate(x):
            if self.values[f] == 0 and not np.isnan(value):
                self.history[f].append(value)
        if any(chosen):
            self.rows.append(row)
            self.labels.append(int(y))
