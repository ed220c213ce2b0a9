"""Baselines that do not see the features: the last target, and the targets of the recent past."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heros.data.schema import Schema
from heros_league.rivals.classifiers import Rival

__all__ = ["BASELINES", "NUMBER_BASELINES", "Fading", "NoChange"]

Row = NDArray[np.float64]


class NoChange:
    """Predict the target of the previous instance.

    The accuracy of this predictor is the zero of κ-temporal.

    Examples
    --------
    >>> model = NoChange()
    >>> model.bind(Schema.of(["age"], classes=["no", "yes"]))
    >>> model.learn(np.zeros(1), 1)
    >>> model.predict_proba(np.zeros(1)).tolist()
    [0.0, 1.0]
    """

    def __init__(self) -> None:
        self.last: float | None = None

    def __repr__(self) -> str:
        return "NoChange()"

    def bind(self, schema: Schema) -> None:
        """Set the number of classes."""
        self.classes = schema.n_classes

    def predict_proba(self, x: Row) -> Any:
        """Return 1 for the last class; None before the first label."""
        if self.last is None:
            return None
        votes = np.zeros(self.classes)
        votes[int(self.last)] = 1.0
        return votes

    def predict(self, x: Row) -> float | None:
        """Return the last number; None before the first target."""
        return self.last

    def learn(self, x: Row, y: float) -> None:
        """Store the target."""
        self.last = y


class Fading:
    """Predict the class frequencies, or the mean, of targets whose weights fade.

    Parameters
    ----------
    factor
        The factor by which the weight of a target falls with every instance.

    Examples
    --------
    >>> model = Fading(0.5)
    >>> model.bind(Schema.of(["age"]))
    >>> for y in (8.0, 2.0):
    ...     model.learn(np.zeros(1), y)
    >>> model.predict(np.zeros(1))
    4.0
    """

    def __init__(self, factor: float = 0.99) -> None:
        self.factor = factor
        self.weight = self.total = 0.0

    def __repr__(self) -> str:
        return f"Fading({self.factor})"

    def bind(self, schema: Schema) -> None:
        """Set the number of classes; counts so far stay when classes are added."""
        before = getattr(self, "counts", np.zeros(0))
        self.counts = np.zeros(schema.n_classes)
        self.counts[: len(before)] = before

    def predict_proba(self, x: Row) -> Any:
        """Return the fading counts of the classes; None before the first label."""
        return self.counts if self.weight else None

    def predict(self, x: Row) -> float | None:
        """Return the fading mean; None before the first target."""
        return self.total / self.weight if self.weight else None

    def learn(self, x: Row, y: float) -> None:
        """Fade the earlier targets, and add this target."""
        self.weight = self.factor * self.weight + 1
        if len(self.counts):
            self.counts *= self.factor
            self.counts[int(y)] += 1
        else:
            self.total = self.factor * self.total + y


def _no_change(seed: int, n: int) -> Any:
    return NoChange()


def _fading(seed: int, n: int) -> Any:
    return Fading()


def _baseline(make: Callable[[int, int], Any], label: str) -> Rival:
    return Rival("heros-league", "baseline1", 1, make, label, random=False)


BASELINES = {"no_change": _baseline(_no_change, "no change"), "fading": _baseline(_fading, "fading majority")}
"""The baselines for classification."""

NUMBER_BASELINES = {
    "last_value": _baseline(_no_change, "last value"),
    "fading_mean": _baseline(_fading, "fading mean"),
}
"""The baselines for regression."""
