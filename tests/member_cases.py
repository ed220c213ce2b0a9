"""Models in plain Python for `pools.Models`, in a module so that they can be pickled."""

from __future__ import annotations

import math


class Majority:
    """Predicts the frequencies of the classes; older instances have lower weights."""

    def __init__(self, fading=1.0):
        self.fading, self.counts = fading, []

    def bind(self, schema):
        self.counts += [0.0] * (schema.n_classes - len(self.counts))

    def predict_proba(self, x):
        return self.counts

    def learn(self, x, y):
        self.counts = [self.fading * count for count in self.counts]
        self.counts[y] += 1


class Nearest:
    """Predicts the class with the nearest running mean of one feature; missing values count as 0."""

    def __init__(self, feature, rate=0.1):
        self.feature, self.rate, self.means = feature, rate, []

    def bind(self, schema):
        self.means += [0.0] * (schema.n_classes - len(self.means))

    def value(self, x):
        value = float(x[self.feature % len(x)])
        return 0.0 if math.isnan(value) else value

    def predict_proba(self, x):
        value = self.value(x)
        return [1 / (1 + abs(value - mean)) for mean in self.means]

    def learn(self, x, y):
        self.means[y] += self.rate * (self.value(x) - self.means[y])


class Witness(Majority):
    """Records its calls."""

    def __init__(self):
        super().__init__()
        self.asked, self.taught = [], []

    def predict_proba(self, x):
        self.asked.append(float(x[0]))
        return super().predict_proba(x)

    def learn(self, x, y):
        self.taught.append((float(x[0]), y))
        super().learn(x, y)


class Fragile(Majority):
    """Raises an error at a given call of a method; otherwise it returns a given prediction."""

    def __init__(self, method="predict_proba", at=0, says=None):
        super().__init__()
        self.method, self.at, self.says, self.calls = method, at, says, {"predict_proba": 0, "learn": 0}

    def _count(self, method):
        self.calls[method] += 1
        if method == self.method and self.calls[method] > self.at:
            raise ZeroDivisionError("no luck")

    def predict_proba(self, x):
        self._count("predict_proba")
        return super().predict_proba(x) if self.says is None else self.says

    def learn(self, x, y):
        self._count("learn")
        super().learn(x, y)


TWELVE = [Majority(), Majority(0.9), *(Nearest(f, rate) for f in range(5) for rate in (0.1, 0.01))]
