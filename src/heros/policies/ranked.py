"""Simple policies: train the first k models by score or by cost, k random models, or all models."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from heros.policies.base import CompiledPolicy, Floats, Mask, Reasons, by_rank


@dataclass(frozen=True)
class PerformBest(CompiledPolicy):
    """Train the k models with the highest score L (ties: the lowest index).

    Examples
    --------
    >>> scores, costs = [0.9, 0.7, 0.8, 0.6], [0.4, 0.1, 0.3, 0.2]
    >>> PerformBest().choose(scores, costs, 2, np.random.default_rng(1)).astype(int)
    array([1, 0, 1, 0])
    """

    rule: ClassVar[str] = "perform_best"

    def explain(self, scores: Floats, costs: Floats, k: int, chosen: Mask) -> Reasons:
        return by_rank(scores, "L", chosen)


@dataclass(frozen=True)
class PerformWorst(CompiledPolicy):
    """Train the k models with the lowest score L (ties: the lowest index).

    Examples
    --------
    >>> scores, costs = [0.9, 0.7, 0.8, 0.6], [0.4, 0.1, 0.3, 0.2]
    >>> PerformWorst().choose(scores, costs, 2, np.random.default_rng(1)).astype(int)
    array([0, 1, 0, 1])
    """

    rule: ClassVar[str] = "perform_worst"

    def explain(self, scores: Floats, costs: Floats, k: int, chosen: Mask) -> Reasons:
        return by_rank(scores, "L", chosen, lowest_first=True)


@dataclass(frozen=True)
class Cheapest(CompiledPolicy):
    """Train the k models with the lowest cost γ (ties: the lowest index).

    Examples
    --------
    >>> scores, costs = [0.9, 0.7, 0.8, 0.6], [0.4, 0.1, 0.3, 0.2]
    >>> Cheapest().choose(scores, costs, 2, np.random.default_rng(1)).astype(int)
    array([0, 1, 0, 1])
    """

    rule: ClassVar[str] = "cheapest"

    def explain(self, scores: Floats, costs: Floats, k: int, chosen: Mask) -> Reasons:
        return by_rank(costs, "γ", chosen, lowest_first=True)


@dataclass(frozen=True)
class Expensive(CompiledPolicy):
    """Train the k models with the highest cost γ (ties: the lowest index).

    Examples
    --------
    >>> scores, costs = [0.9, 0.7, 0.8, 0.6], [0.4, 0.1, 0.3, 0.2]
    >>> Expensive().choose(scores, costs, 2, np.random.default_rng(1)).astype(int)
    array([1, 0, 1, 0])
    """

    rule: ClassVar[str] = "expensive"

    def explain(self, scores: Floats, costs: Floats, k: int, chosen: Mask) -> Reasons:
        return by_rank(costs, "γ", chosen)


@dataclass(frozen=True)
class Random(CompiledPolicy):
    """Train k models drawn uniformly at random.

    Examples
    --------
    >>> scores, costs = [0.9, 0.7, 0.8, 0.6], [0.4, 0.1, 0.3, 0.2]
    >>> Random().choose(scores, costs, 2, np.random.default_rng(1)).astype(int)
    array([0, 0, 1, 1])
    """

    rule: ClassVar[str] = "random"
    explorable: ClassVar[bool] = False

    def explain(self, scores: Floats, costs: Floats, k: int, chosen: Mask) -> Reasons:
        return {int(i): f"drawn at random, {k} of {len(scores)}" for i in np.flatnonzero(chosen)}


@dataclass(frozen=True)
class Everything(CompiledPolicy):
    """Train all M models, regardless of k.

    Examples
    --------
    >>> scores, costs = [0.9, 0.7, 0.8, 0.6], [0.4, 0.1, 0.3, 0.2]
    >>> Everything().choose(scores, costs, 2, np.random.default_rng(1)).astype(int)
    array([1, 1, 1, 1])
    """

    rule: ClassVar[str] = "everything"
    explorable: ClassVar[bool] = False

    def explain(self, scores: Floats, costs: Floats, k: int, chosen: Mask) -> Reasons:
        return {int(i): "every model is trained" for i in np.flatnonzero(chosen)}
