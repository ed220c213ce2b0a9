"""Numeric targets, slow and simple: their unit, outcomes, intervals and members."""

from __future__ import annotations

import math

import numpy as np

from reference_linear import Steps

MEMORY, APART, FARTHEST = 1000, 0.1, 10.0


class TargetScale:
    """Moments of recent targets; the unit in use is updated if it is a tenth off."""

    def __init__(self):
        self.n, self.mean, self.variance = 0, 0.0, 0.0
        self.unit = (0.0, 0.0)

    def learn(self, y):
        """Return whether the unit has changed."""
        self.n = min(self.n + 1, MEMORY)
        weight = 1 / self.n
        before = self.mean
        self.mean = (1 - weight) * before + weight * y
        self.variance = (1 - weight) * self.variance + weight * (1 - weight) * (y - before) ** 2
        sd, (used_mean, used_sd) = math.sqrt(self.variance), self.unit
        if abs(sd - used_sd) <= APART * used_sd and abs(self.mean - used_mean) <= APART * used_sd:
            return False
        self.unit = (self.mean, sd)
        return True

    def scaled(self, y):
        mean, sd = self.unit
        return max(-FARTHEST, min(FARTHEST, (y - mean) / sd)) if sd > 0 else 0.0

    def unscaled(self, z):
        mean, sd = self.unit
        return mean + sd * z

    def within(self, said):
        """Return the predictions that count in a mixture."""
        mean, sd = self.unit
        return np.clip(said, mean - FARTHEST * sd, mean + FARTHEST * sd) if sd > 0 else said


def rescaling(before, after):
    """Return the factor and shift to convert predictions to another unit."""
    (mean, sd), (new_mean, new_sd) = before, after
    return (sd / new_sd, (mean - new_mean) / new_sd) if sd > 0 and new_sd > 0 else (1.0, 0.0)


def closeness(error, s):
    return 1.0 if error == 0 else 1 - abs(error) / (abs(error) + s)


class Interval:
    """The quantile of the last thousand errors, at a level that is corrected by the observed coverage."""

    def __init__(self, level=0.9):
        self.level, self.miss, self.errors = level, 1 - level, []

    def half(self):
        recent = sorted(self.errors[-1000:])
        if not recent:
            return 0.0
        rank = math.ceil((len(recent) + 1) * (1 - self.miss))
        return recent[min(max(rank, 1), len(recent)) - 1]

    def learn(self, error):
        if self.errors:
            self.miss += 0.005 * (1 - self.level - (error > self.half()))
            self.miss = min(max(self.miss, 0.0), 1.0)
        self.errors.append(error)


class Linear(Steps):
    """Regression over dense inputs, in the unit of the target."""

    def __init__(self, inputs, *settings, loss="squared", epsilon=0.1, **named):
        super().__init__((inputs,), *settings, **named)
        self.loss, self.epsilon, self.scale = loss, epsilon, TargetScale()

    def predict(self, x):
        return self.scale.unscaled(x @ self.w)

    def note(self, y):
        """A target whose statistics all models see, trained or not."""
        before = self.scale.unit
        if self.scale.learn(y):
            self.rescale(*rescaling(before, self.scale.unit))

    def learn(self, x, y):
        self.note(y)
        error = x @ self.w - self.scale.scaled(y)
        self.t += 1
        if self.optimizer == "pa":
            step = min(self.rate, max(0.0, abs(error) - self.epsilon) / (x @ x))
            self.w = self.w - math.copysign(step, error) * x
        else:
            slope = error if self.loss == "squared" else max(-1.0, min(1.0, error))
            self.step(slope * x)

    def rescale(self, factor, shift):
        self.w = self.w * factor
        self.w[0] += shift
        if self.optimizer == "adam":
            self.a, self.b = self.a * factor, self.b * factor**2
        if self.optimizer == "ftrl":
            self.b = self.b * factor**2
            steep = (1 + np.sqrt(self.b)) / self.rate + self.l2 * self.pays
            l1 = self.l1 * self.pays
            moved = -self.w * steep - np.sign(self.w) * l1
            self.a = np.where(self.w == 0, np.clip(self.a * factor, -l1, l1), moved)


def answer(kind, said, sound, L, stack, scale):
    """Return the ensemble's prediction and each model's distance from the mixture, for stacks."""
    order = sorted(range(len(said)), key=lambda i: (-L[i], i))
    order = [i for i in order if sound[i]]
    if kind == "best":
        return said[order[0]], None
    said = scale.within(said)
    if isinstance(kind, str):
        weights = np.where(sound, L if kind == "weighted" and L.any() else 1.0, 0.0)
        return np.average(said[sound], weights=weights[sound]), None
    top = order[: kind.n]
    weights = np.exp(-kind.sharpness * (L[top[0]] - L[top]))
    mixture = np.average(said[top], weights=weights)
    if not hasattr(kind, "rate"):
        return mixture, None
    sd = scale.unit[1]
    apart = (
        np.clip((np.where(sound, said, mixture) - mixture) / sd, -10, 10) if sd > 0 else np.zeros(len(said))
    )
    return mixture + sd * (stack @ apart), apart
