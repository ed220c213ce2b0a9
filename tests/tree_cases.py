"""Random streams for trees, and functions that run a pool of trees in the core step by step."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from heros import _core

DEFAULTS: dict[str, Any] = {
    "max_bytes": 1 << 40,
    "grace_period": 200,
    "split_confidence": 1e-7,
    "tie_threshold": 0.05,
    "criterion": "information_gain",
    "prediction": "adaptive",
    "binary_splits": False,
    "max_depth": -1,
}


@dataclass
class Case:
    X: np.ndarray  # (n, features)
    y: np.ndarray  # (n,)
    values: np.ndarray  # number of values per feature, 0 if numeric
    classes: int


def random_case(seed: int, n: int, max_features: int = 12, max_classes: int = 6) -> Case:
    """Numbers on many scales, codes, constants, duplicates and missing values; some features determine the class."""
    rng = np.random.default_rng(seed)
    features, classes = int(rng.integers(1, max_features + 1)), int(rng.integers(2, max_classes + 1))
    y = np.minimum((rng.random(n) ** rng.uniform(1, 3) * classes).astype(np.int64), classes - 1)
    columns, values = zip(*(_column(rng, y, classes) for _ in range(features)), strict=True)
    X = np.stack(columns, axis=1)
    if rng.random() < 0.5:
        X[rng.random(X.shape) < rng.uniform(0, 0.3)] = np.nan
    if rng.random() < 0.3:
        X[n // 2 :] = X[: n - n // 2]
    return Case(X, y, np.array(values, dtype=np.int32), classes)


def _column(rng: np.random.Generator, y: np.ndarray, classes: int) -> tuple[np.ndarray, int]:
    kind = rng.integers(0, 6)
    if kind == 0:
        return np.full(len(y), rng.normal()), 0
    if kind == 1:
        return np.round(rng.normal(y * 0.3, 1)), 0
    if kind in (2, 3):
        return rng.normal(y * rng.uniform(0, 1), 1 + y * rng.uniform(0, 0.5)) * 10.0 ** rng.integers(-6, 6), 0
    n_values = int(rng.integers(1, 9))
    shares = rng.dirichlet(np.full(n_values, 0.7), classes).cumsum(axis=1)
    return (rng.random(len(y))[:, None] > shares[y, :-1]).sum(axis=1).astype(np.float64), n_values


def tree_pool(configs: list[dict[str, Any]]) -> Any:
    return _core.HoeffdingPool([_core.TreeSettings(**{**DEFAULTS, **config}) for config in configs])


class Steps:
    """Test, then train all models, or those that a function chooses at each instance."""

    def __init__(self, pool: Any, watch: int = 0) -> None:
        m = pool.models
        self.pool, self._choose = pool, None
        self.core = _core.Step(
            pool=pool,
            task=_core.Classification(),
            scores=_core.Scores("cumulative", m, 0.0),
            policy=self,
            k=m,
            bits=np.random.default_rng(0).bit_generator,
            costs=np.full(m, 1 / m),
            answer=_core.Answer("average"),
            watch=watch,
            burst=0,
            warmup=0,
        )

    def choose(self, scores: np.ndarray, costs: np.ndarray, k: int) -> np.ndarray:
        return np.ones(self.pool.models, dtype=bool) if self._choose is None else self._choose()

    def run(self, X: np.ndarray, y: np.ndarray, choose: Callable[[], np.ndarray] | None = None) -> np.ndarray:
        """Return the mean of the models' probabilities, each predicted before its label was seen."""
        self._choose = choose
        return self.core.run(np.ascontiguousarray(X), y.astype(np.float64))[0]
