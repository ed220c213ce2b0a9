"""Linear models and naive Bayes, slow and simple: dense steps over all inputs, statistics over all instances."""

from __future__ import annotations

import numpy as np


def softmax(z):
    p = np.exp(z - z.max())
    return p / p.sum()


class Steps:
    """Weights (inputs, ...) with the bias first, and the gradient step of each optimizer."""

    def __init__(self, shape, optimizer, learning_rate, l1=0.0, l2=0.0):
        self.optimizer, self.rate, self.l1, self.l2 = optimizer, learning_rate, l1, l2
        self.w, self.a, self.b = (np.zeros(shape) for _ in range(3))
        self.pays = np.ones((shape[0], *(1 for _ in shape[1:])))  # l1 and l2 do not apply to the bias
        self.pays[0] = 0
        self.t = 0

    def step(self, g):
        getattr(self, self.optimizer)(g)

    def sgd(self, g):
        self.w = self.w * (1 - self.rate * self.l2 * self.pays) - self.rate * g

    def adam(self, g):
        self.a = 0.9 * self.a + 0.1 * g
        self.b = 0.999 * self.b + 0.001 * g**2
        m, v = self.a / (1 - 0.9**self.t), self.b / (1 - 0.999**self.t)
        self.w = self.w - self.rate * m / (np.sqrt(v) + 1e-8)

    def ftrl(self, g):
        """McMahan et al. 2013, algorithm 1; a is their z, b their n."""
        sigma = (np.sqrt(self.b + g**2) - np.sqrt(self.b)) / self.rate
        self.a = self.a + g - sigma * self.w
        self.b = self.b + g**2
        l1, l2 = self.l1 * self.pays, self.l2 * self.pays
        shrunk = self.a - np.sign(self.a) * l1
        self.w = np.where(np.abs(self.a) <= l1, 0.0, -shrunk / ((1 + np.sqrt(self.b)) / self.rate + l2))


class Linear(Steps):
    """Multinomial logistic regression over dense inputs."""

    def __init__(self, inputs, classes, *settings, **named):
        super().__init__((inputs, classes), *settings, **named)

    def predict(self, x):
        return softmax(x @ self.w)

    def learn(self, x, y):
        errors = self.predict(x)
        errors[y] -= 1
        self.t += 1
        self.step(np.outer(x, errors))


class NaiveBayes:
    """All instances are stored and weighted again for each prediction."""

    def __init__(self, values, classes, fading=1.0, smoothing=1.0, variance_prior=1.0):
        self.values, self.classes = values, classes
        self.fading, self.smoothing, self.prior = fading, smoothing, variance_prior
        self.X, self.y = [], []

    def learn(self, x, y):
        self.X.append(np.array(x, dtype=float))
        self.y.append(int(y))

    def predict(self, x):
        y = np.array(self.y, dtype=int)
        if len(y) == 0:
            return np.full(self.classes, 1 / self.classes)
        X, weight = np.array(self.X), self.fading ** np.arange(len(y))[::-1]
        z = np.full(self.classes, -np.inf)
        for c in np.unique(y):
            z[c] = np.log(weight[y == c].sum()) + sum(
                self.log_likelihood(X[:, f], weight, y == c, f, x[f])
                for f in range(len(x))
                if not np.isnan(x[f])
            )
        return softmax(z)

    def log_likelihood(self, column, weight, mine, f, value):
        known = ~np.isnan(column)
        if self.values[f] > 0:
            seen = weight[mine & known].sum() + self.smoothing * self.values[f]
            return np.log((weight[mine & known & (column == value)].sum() + self.smoothing) / seen)
        _, _, usual = moments(column[known], weight[known])
        if not usual > 1e-25 * (column[known] ** 2).max(initial=0):
            return 0.0
        if not (mine & known).any():
            mine = np.ones(len(mine), dtype=bool)
        count, mean, variance = moments(column[mine & known], weight[mine & known])
        variance = max((count * variance + self.prior * usual) / (count + self.prior), 1e-9 * usual)
        return -0.5 * (np.log(variance) + (value - mean) ** 2 / variance)


def moments(column, weight):
    """Return the count, the mean and the variance."""
    if len(column) == 0:
        return 0.0, 0.0, 0.0
    mean = np.average(column, weights=weight)
    return weight.sum(), mean, np.average((column - mean) ** 2, weights=weight)
