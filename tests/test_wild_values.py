"""One extreme value among ten thousand has little effect on the default, and is forgotten."""

from __future__ import annotations

import math
import pickle

import numpy as np
import pytest
from numpy.typing import NDArray

from heros import Heros, ParameterError, Schema, pools, streams

FREE, REACH = 100, 3.0


class Range:
    """A slow version of the range of one column."""

    def __init__(self) -> None:
        self.values: list[float] = []
        self.low = self.high = 0.0

    def bounded(self, value: float) -> float:
        if math.isnan(value):
            return value
        width = self.high - self.low or max(abs(self.low), 1.0)
        inside = min(max(value, self.low - REACH * width), self.high + REACH * width)
        if len(self.values) < FREE or self.low <= value <= self.high:
            inside = value
        if not self.values:
            self.low = self.high = value
        elif inside < value:
            self.high += width
        elif inside > value:
            self.low -= width
        else:
            self.low, self.high = min(self.low, value), max(self.high, value)
        self.values.append(value)
        return inside


def bounded(X: NDArray[np.float64]) -> NDArray[np.float64]:
    ranges = [Range() for _ in X[0]]
    return np.array([[one.bounded(v) for one, v in zip(ranges, row, strict=True)] for row in X])


def small(bounded: bool) -> pools.Pool:
    return pools.Join(pools.Linear([{}]), pools.NaiveBayes([{}]), costs=[1, 1], bounded=bounded)


def wild_rows(n: int = 600) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return rows with missing values, extreme values of both signs, a constant column and a change of scale."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(n, 4))
    X[rng.random(X.shape) < 0.05] = math.nan
    X[:, 2] = 7
    X[rng.integers(0, n, 20), rng.integers(0, 4, 20)] = rng.choice([1e6, -1e9, 40.0], 20)
    X[400:, 1] *= 1000
    return X, rng.integers(0, 2, n)


def test_the_models_get_what_the_slow_twin_says() -> None:
    X, y = wild_rows()
    schema = streams.from_arrays(X, y).schema
    ours, twin = (Heros(small(on), k=2, seed=1, schema=schema) for on in (True, False))
    got = [
        ours.test_then_train(X[part], y[part]).outputs
        for part in (slice(0, 7), slice(7, 450), slice(450, 600))
    ]
    expected = twin.test_then_train(bounded(X), y).outputs
    assert (bounded(X)[:FREE] == X[:FREE]).sum() == (~np.isnan(X[:FREE])).sum()
    assert not np.array_equal(bounded(X), X, equal_nan=True)
    np.testing.assert_array_equal(np.concatenate(got), expected)


def test_prediction_replaces_a_wild_value_and_learns_nothing_from_it() -> None:
    X, y = wild_rows()
    model = Heros(small(True), k=2, seed=1, schema=streams.from_arrays(X, y).schema).learn(X, y)
    wild, further = np.full(4, 1e12), np.full(4, 1e15)
    before = model.predict_proba(X[:50])
    np.testing.assert_array_equal(model.predict_proba(wild), model.predict_proba(further))
    np.testing.assert_array_equal(model.predict_proba(X[:50]), before)


def test_nominal_codes_stay_as_they_are() -> None:
    names = tuple(f"n{i}" for i in range(60))
    schema = Schema.of(["a", ("name", *names)], classes=["no", "yes"])
    rng = np.random.default_rng(1)
    X = np.column_stack([rng.normal(size=400), np.r_[np.zeros(200), np.full(200, 59)]])
    y = rng.integers(0, 2, 400)
    outputs = [
        Heros(small(on), k=2, seed=1, schema=schema).test_then_train(X, y).outputs for on in (True, False)
    ]
    np.testing.assert_array_equal(*outputs)


def test_ranges_survive_saving_copying_and_growth(tmp_path: object) -> None:
    X, y = wild_rows()
    schema = streams.from_arrays(X, y).schema
    model = Heros(small(True), k=2, seed=1, schema=schema).learn(X[:300], y[:300])
    model.save(f"{tmp_path}/m.heros")
    others = [Heros.load(f"{tmp_path}/m.heros"), pickle.loads(pickle.dumps(model))]
    expected = model.test_then_train(X[300:], y[300:]).outputs
    for other in others:
        np.testing.assert_array_equal(other.test_then_train(X[300:], y[300:]).outputs, expected)
    grown = Schema((*schema.features, *Schema.of(["new"]).features), schema.classes)
    model.bind(grown)
    wide = np.column_stack([X, np.where(np.arange(len(X)) == 300, 1e9, 1.0)])
    assert np.isfinite(model.test_then_train(wide, y).outputs).all()


@pytest.mark.parametrize("at", [2000, 5000])
def test_one_wild_row_costs_little_and_is_forgotten(at: int) -> None:
    stream = streams.RandomRBF()
    X, y = stream.draw(9000)
    hit = X.copy()
    hit[at] = 1e6
    right = [
        Heros(seed=1, schema=stream.schema).test_then_train(rows, y).outputs.argmax(axis=1) == y
        for rows in (X, hit)
    ]
    calm, after = (mask[at + 1 : at + 3000].mean() for mask in right)
    assert after > calm - 0.01


def test_one_wild_target_costs_little_and_is_forgotten() -> None:
    stream = streams.Friedman()
    X, y = stream.draw(6000)
    hit = y.copy()
    hit[2000] = 1e6
    errors = [
        np.abs(Heros(seed=1, schema=stream.schema).test_then_train(X, given).outputs[:, 0] - y)
        for given in (y, hit)
    ]
    calm, after = (error[2001:].mean() for error in errors)
    assert after < 1.1 * calm
    calm, after = (error[4000:].mean() for error in errors)
    assert after < 1.03 * calm


def test_bounded_is_true_or_false() -> None:
    with pytest.raises(ParameterError, match="The 'bounded' parameter of Join must be True or False"):
        pools.Join(pools.Linear([{}]), bounded="yes")  # type: ignore[arg-type]
