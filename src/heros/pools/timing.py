"""Measurement of the costs of models."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from heros._base import core as _core
from heros._base.errors import HerosError
from heros.data.schema import Schema
from heros.pools.base import BoundPool, Floats, Pool, feature_values

TIMED = 100  # number of instances on which the prices of a pool are measured


def seconds_alone(pool: Pool, schema: Schema, instances: int) -> float:
    """Return the CPU seconds to evaluate and train a pool of one model on random instances."""
    bound = pool.bind(schema, np.random.default_rng(0))
    X, y = _random_instances(schema, pool.instances_until_stable + instances)
    step = _step(bound)
    step.run(X[instances:], y[instances:])
    start = time.thread_time()
    step.run(X[:instances], y[:instances])
    return time.thread_time() - start


def prices(
    pool: Pool, schema: Schema, instances: int = 500, settled: int | None = None
) -> tuple[Floats, Floats]:
    """Return each model's CPU seconds per evaluation and per training step, on random instances.

    The models are first trained on `settled` instances. The default number fills the windows of the models.
    """
    bound = pool.bind(schema, np.random.default_rng(0), np.full(pool.n_models, 1 / pool.n_models))
    _step(bound).run(*_random_instances(schema, pool.instances_until_stable if settled is None else settled))
    return _core.measured_prices(bound.native, *_random_instances(schema, instances))


@dataclass(frozen=True, eq=False)
class PriceList:
    """The prices of an evaluation and a training step of each model, as shares of the sum of all prices.

    The price of an instance on which every model is evaluated and trained is 1.
    """

    evaluation: Floats  # (M,)
    train: Floats  # (M,)

    def total(self, evaluated: NDArray[np.int64], trained: NDArray[np.int64]) -> tuple[float, float]:
        """Return the price of all evaluations and the price of all training steps.

        `evaluated` and `trained` are the numbers of evaluations and of training steps of each model.
        """
        return float(self.evaluation @ evaluated), float(self.train @ trained)


def price_list(bound: BoundPool, learnt: int | None = None) -> PriceList | None:
    """Return the prices of a pool's models, measured during learning or else on random instances.

    Pools with the same settings are timed only once for the same types of features and target. `learnt` is
    the number of instances on which the models were trained. If this number is small, the windows are short
    and the models cost less. If timing fails, return None.
    """
    try:
        evaluation, train = _seconds(bound, learnt)
    except (HerosError, MemoryError):
        return None
    total = float(evaluation.sum() + train.sum())
    return PriceList(evaluation / total, train / total) if total > 0 else None


MOST_KNOWN = 64
_known: dict[tuple[object, ...], tuple[Floats, Floats]] = {}


def _seconds(bound: BoundPool, learnt: int | None) -> tuple[Floats, Floats]:
    if bound.parts:
        evaluation, train = zip(*(_seconds(part, learnt) for part in bound.parts), strict=True)
        return np.concatenate(evaluation), np.concatenate(train)
    own = bound.seconds()
    if own is not None:
        return own
    pool, schema = bound.pool, bound.schema
    settled = pool.instances_until_stable
    if learnt is not None:
        settled = min(settled, 1 << learnt.bit_length())  # rounded up, so that few lengths are timed
    key = (
        type(pool),
        repr(pool.configurations),
        feature_values(schema).tobytes(),
        schema.numeric,
        schema.n_classes,
        settled,
    )
    if key not in _known:
        if len(_known) >= MOST_KNOWN:
            _known.pop(next(iter(_known)))
        _known[key] = prices(pool, schema, TIMED, settled)
    return _known[key]


def _step(bound: BoundPool) -> _core.Step:
    models = len(bound.costs)
    return _core.Step(
        pool=bound.native,
        task=_core.Regression(0.9) if bound.schema.numeric else _core.Classification(),
        scores=_core.Scores("cumulative", models, 0.0),
        policy=_core.Policy("everything"),
        k=models,
        bits=np.random.default_rng(0).bit_generator,
        costs=bound.costs,
        answer=_core.Answer("best"),
        watch=0,
        burst=0,
        warmup=0,
    )


def _random_instances(schema: Schema, n: int) -> tuple[Floats, Floats]:
    """Return random instances whose target depends on the first feature, so that models can learn."""
    rng = np.random.default_rng(0)
    values = feature_values(schema)
    codes = rng.integers(0, np.maximum(values, 1), (n, len(values)))
    X = np.where(values > 0, codes, rng.standard_normal((n, len(values))))
    if schema.numeric:
        return X, X[:, 0] + 0.1 * rng.standard_normal(n)
    rank = np.argsort(np.argsort(X[:, 0] + 0.1 * rng.standard_normal(n)))
    return X, (rank * schema.n_classes // n).astype(np.float64)
