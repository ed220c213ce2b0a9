"""Checks for models written in Python and for pools."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heros._base.errors import HerosError
from heros.checks.base import CheckError, expect, same
from heros.data.schema import Schema
from heros.ensemble import Heros
from heros.policies import Random
from heros.pools import Models, Pool

ROWS = 300
FEATURES: tuple[Any, ...] = ("size", "weight", ("colour", "red", "green", "blue"))


def check_model(model: Any, *, numeric: bool = False) -> None:
    """Check that a model written in Python or from another library works in `heros.pools.Models`.

    Predictions must be finite and of the right shape, before and after training. Predicting must not change
    the model. If the model can be pickled, a pickled copy must give the same results as the original.

    Parameters
    ----------
    model
        A model that `heros.pools.Models` accepts: an object with ``learn`` and ``predict_proba`` or
        ``predict``, a River or scikit-learn model, or a class that creates one. The check uses copies.
    numeric
        Whether the model predicts a number rather than a class.

    Examples
    --------
    >>> class Majority:
    ...     def bind(self, schema): self.counts = np.ones(schema.n_classes)
    ...     def predict_proba(self, x): return self.counts / self.counts.sum()
    ...     def learn(self, x, y): self.counts[y] += 1
    >>> check_model(Majority())
    >>> class Wrong(Majority):
    ...     def predict_proba(self, x): return np.array([0.5])
    >>> check_model(Wrong())
    Traceback (most recent call last):
        ...
    heros.checks.base.CheckError: Models(Wrong) must learn from the test data. The model 'Wrong' (0) failed
    to predict. The error was ValueError: expected 2 probabilities, got an array of shape (1,)
    """
    try:
        pool = Models([model], costs=[1], on_error="raise")
    except HerosError as error:
        raise CheckError(str(error)) from None
    check_pool(pool, numeric=numeric)


def check_pool(pool: Any, *, numeric: bool = False) -> None:
    """Check that the models of a pool learn and predict as `heros.Heros` requires.

    The costs must sum to 1. The same seed must give the same results for any block size. Predicting must not
    change the models. A copy made during a stream must give the same results as the original. The models must
    support a schema that grows.

    Parameters
    ----------
    pool
        The pool.
    numeric
        Whether its models predict a number rather than a class.

    Examples
    --------
    >>> from heros import pools
    >>> check_pool(pools.NaiveBayesGrid())
    >>> check_pool("mlp")
    Traceback (most recent call last):
        ...
    heros.checks.base.CheckError: 'mlp' must be a heros.pools.Pool.
    """
    expect(isinstance(pool, Pool), pool, "be a heros.pools.Pool")
    rule = "have a configuration for each model"
    expect(pool.n_models >= 1 and len(pool.configurations) == pool.n_models, pool, rule)
    schema, X, y = _data(numeric)
    try:
        costs = pool.bind(schema, np.random.default_rng(1)).costs
        fits = costs.shape == (pool.n_models,) and bool((costs >= 0).all()) and abs(costs.sum() - 1) < 1e-9
        expect(fits, pool, "have one cost per model, and the costs must sum to 1", costs.tolist())
        _check_learning(pool, schema, X, y)
        _check_growth(pool, schema, X, y, numeric)
    except CheckError:
        raise
    except HerosError as error:
        raise CheckError(f"{pool!r} must learn from the test data. {error}") from error


def _check_learning(pool: Pool, schema: Schema, X: NDArray[np.float64], y: NDArray[np.float64]) -> None:
    half = ROWS // 2
    model = _model(pool, schema)
    first = model.answers(X[:5])
    expect(np.isfinite(first).all(), pool, "predict finite numbers before training", first.tolist())
    block = model.test_then_train(X[:half], y[:half])
    expect(np.isfinite(block.outputs).all(), pool, "predict finite numbers")
    expect(same(model.answers(X), model.answers(X)), pool, "make the same predictions again")
    copied = _copy(model)
    ahead = model.test_then_train(X[half:], y[half:])
    if copied is not None:
        rule = "give the same results in a copy as in the original"
        expect(same(copied.test_then_train(X[half:], y[half:]).outputs, ahead.outputs), pool, rule)
    fresh = _model(pool, schema)
    outputs = [fresh.test_then_train(X[t : t + 1], y[t : t + 1]).outputs for t in range(ROWS)]
    rule = "give the same results for single instances as for blocks, with the same seed"
    expect(same(np.concatenate(outputs), np.concatenate([block.outputs, ahead.outputs])), pool, rule)


def _check_growth(
    pool: Pool, schema: Schema, X: NDArray[np.float64], y: NDArray[np.float64], numeric: bool
) -> None:
    """Extend the models to a schema with another feature and another class, if they support growth."""
    more = Schema.of([*FEATURES, "height"], classes=None if numeric else [*schema.classes, "perhaps"])
    model = _model(pool, schema).learn(X[:50], y[:50])
    try:
        model.bind(more)
    except HerosError:
        if isinstance(pool, Models):  # models of other libraries need not support a schema that grows
            return
        raise
    wider = np.column_stack([X[50:], np.ones(ROWS - 50)])
    block = model.test_then_train(wider, y[50:])
    expect(np.isfinite(block.outputs).all(), pool, "predict finite numbers after its schema was extended")


def _copy(model: Heros) -> Heros | None:
    """Return a copy of a model, or None if the model has objects that cannot be pickled."""
    try:
        return pickle.loads(pickle.dumps(model))  # type: ignore[no-any-return]
    except (pickle.PicklingError, AttributeError, TypeError):
        if model.pool.plain:
            raise
        return None


def _model(pool: Pool, schema: Schema) -> Heros:
    return Heros(copy.deepcopy(pool), Random(), max(1, pool.n_models // 2), warmup=20, seed=1, schema=schema)


def _data(numeric: bool) -> tuple[Schema, NDArray[np.float64], NDArray[np.float64]]:
    rng = np.random.default_rng(1)
    X = np.column_stack([rng.normal(size=ROWS), rng.normal(5, 3, ROWS), rng.integers(0, 3, ROWS)])
    if numeric:
        return Schema.of(list(FEATURES)), X, X[:, 0] + 2.0 * (X[:, 2] == 1) + 0.1 * rng.normal(size=ROWS)
    y = (X[:, 0] + (X[:, 2] == 1) + 0.3 * rng.normal(size=ROWS) > 0.5).astype(np.float64)
    return Schema.of(list(FEATURES), classes=["no", "yes"]), X, y
