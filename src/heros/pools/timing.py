"""What a model costs, measured."""

from __future__ import annotations

import time

import numpy as np
from numpy.typing import NDArray

from heros import _core
from heros.pools.base import Pool, feature_values
from heros.schema import Schema

__all__ = ["seconds_alone"]


def seconds_alone(pool: Pool, schema: Schema, instances: int) -> float:
    """CPU seconds of evaluating and training a pool of one model on made-up instances of this schema."""
    bound = pool.bind(schema, np.random.default_rng(0))
    bits = np.random.default_rng(0).bit_generator.capsule
    ensemble = _core.Ensemble(bound.native, _core.Scores("cumulative", 1, 0.0), bound.costs, "best", 0)
    X, y = _made_up(schema, instances)
    record = (
        np.empty((instances, schema.n_classes)),
        np.empty(instances, np.int32),
        np.empty((instances, 1), np.uint8),
        np.empty(instances),
        np.empty(instances),
    )
    start = time.thread_time()
    ensemble.run(X, y.astype(np.float64), _core.Policy("everything"), 1, bits, *record)
    return time.thread_time() - start


def _made_up(schema: Schema, n: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Random values; the class depends on the first feature, so that there is something to learn."""
    rng = np.random.default_rng(0)
    values = feature_values(schema)
    codes = rng.integers(0, np.maximum(values, 1), (n, len(values)))
    X = np.where(values > 0, codes, rng.standard_normal((n, len(values))))
    rank = np.argsort(np.argsort(X[:, 0] + 0.1 * rng.standard_normal(n)))
    return X, rank * schema.n_classes // n
