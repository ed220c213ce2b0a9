"""Checks for policies, scores and measures."""

from __future__ import annotations

import copy
import math
import pickle
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heros._base.errors import HerosError
from heros.checks.base import CheckError, expect, same
from heros.ensemble import Heros
from heros.measures import Measure
from heros.measures.custom import expect_measure
from heros.policies import Everything
from heros.policies.base import expect_policy, explain
from heros.pools import MLPGrid
from heros.scores.base import bound_score, expect_score
from heros.streams import Agrawal

STEPS = 300  # number of updates of a score


def check_policy(policy: Any) -> None:
    """Check that a policy chooses models as `heros.Heros` requires.

    A choice must be a boolean mask with at most k models. The choice must depend only on the arguments and on
    the policy's state, and must not change the arguments. All random numbers must come from `rng`. The method
    `explain`, if defined, must return a reason for each chosen model and for no other model. The method
    `restore`, if defined, must restore the state that `state` returned.

    Examples
    --------
    >>> from heros.policies import Cheapest
    >>> check_policy(Cheapest())
    >>> class Greedy:
    ...     def choose(self, scores, costs, k, rng):
    ...         return scores > 0.5
    ...     def __repr__(self):
    ...         return "Greedy()"
    >>> check_policy(Greedy())
    Traceback (most recent call last):
        ...
    heros.checks.base.CheckError: Greedy() must choose at most k = 1 of 2 models. Got 2 instead.
    """
    try:
        expect_policy(policy, "check_policy")
    except HerosError as error:
        raise CheckError(str(error)) from None
    for scores, costs, k in _cases():
        _check_choice(policy, scores, costs, k)
    if hasattr(policy, "state") and hasattr(policy, "restore"):
        copied = copy.deepcopy(policy)
        copied.restore(policy.state())
        expect(same(copied.state(), policy.state()), policy, "have the same state after restore(state())")
    stream = Agrawal(function=2)
    pool = MLPGrid(hidden=[4], learning_rates=[0.05, 0.005])
    model = Heros(pool, copy.deepcopy(policy), k=2, seed=1, schema=stream.schema)
    model.learn(*stream.draw(200))


def _cases() -> Iterator[tuple[NDArray[np.float64], NDArray[np.float64], int]]:
    """Yield scores, costs and k for pools of several sizes, with and without ties."""
    rng = np.random.default_rng(1)
    for models in (1, 2, 5, 30):
        drawn, costs = rng.random(models), rng.random(models) + 0.01
        for scores in (drawn, drawn.round(1), np.full(models, 0.9), np.zeros(models)):
            for prices in (costs, np.ones(models)):
                for k in sorted({1, (models + 1) // 2, models}):
                    yield scores, prices / prices.sum(), k


def _check_choice(policy: Any, scores: NDArray[np.float64], costs: NDArray[np.float64], k: int) -> None:
    models, before, other = len(scores), (scores.copy(), costs.copy()), copy.deepcopy(policy)
    mask = policy.choose(scores, costs, k, np.random.default_rng(7))
    fits = isinstance(mask, np.ndarray) and mask.dtype == np.bool_ and mask.shape == (models,)
    expect(fits, policy, f"return a boolean mask of {models} models", mask)
    chosen = int(mask.sum())
    if not isinstance(policy, Everything):
        expect(chosen <= k, policy, f"choose at most k = {k} of {models} models", chosen)
    expect(same((scores, costs), before), policy, "not change scores and costs")
    repeated = other.choose(scores, costs, k, np.random.default_rng(7))
    expect(same(mask, repeated), policy, "make the same choice again with the same state, arguments and rng")
    reasons = explain(policy, scores, costs, k, mask)
    rule = "give a reason for each chosen model and for no other model"
    expect(set(reasons) == set(np.flatnonzero(mask).tolist()), policy, rule, reasons)


def check_score(score: Any) -> None:
    """Check that a score computes the performance of models as `heros.Heros` requires.

    The score of each model must be a finite number. The score must depend only on the outcomes of that model.
    The score must not change on instances on which the model is not evaluated. The method `restore`, if
    defined, must restore the state that `state` returned.

    Examples
    --------
    >>> from heros.scores import Window
    >>> check_score(Window(50))
    >>> check_score("accuracy")
    Traceback (most recent call last):
        ...
    heros.checks.base.CheckError: The 'score' parameter of check_score must be a score, e.g.
    heros.scores.Adwin(). Got 'accuracy' instead.
    """
    try:
        expect_score(score, "check_score")
        bound_score(score, 3)
    except HerosError as error:
        raise CheckError(str(error)) from None
    rng = np.random.default_rng(1)
    shares = np.array([1.0, 0.5, 0.1])
    together, single = score.bind(3), [score.bind(1) for _ in shares]
    for _ in range(STEPS):
        evaluated, outcomes = rng.random(3) < shares, rng.random(3).round(1)
        before = np.array(together.values, dtype=np.float64)
        together.update(np.where(evaluated, outcomes, np.nan), evaluated)
        values = np.array(together.values, dtype=np.float64)
        fits = values.shape == (3,) and bool(np.isfinite(values).all())
        expect(fits, score, "have a finite number for each of 3 models", values.tolist())
        rule = "not change the score of a model that was not evaluated"
        expect(same(values[~evaluated], before[~evaluated]), score, rule)
        for i in np.flatnonzero(evaluated):
            single[i].update(outcomes[i : i + 1], np.array([True]))
    singles = [float(np.asarray(one.values)[0]) for one in single]
    rule = "give each model the same score as in a pool of one model"
    expect(np.allclose(np.asarray(together.values), singles, rtol=1e-12), score, rule, values.tolist())
    if hasattr(together, "state") and hasattr(together, "restore"):
        restored = score.bind(3)
        restored.restore({name: np.array(array) for name, array in together.state().items()})
        for one in (together, restored):
            one.update(np.array([1.0, 0.0, 0.5]), np.ones(3, dtype=bool))
        rule = "give the same scores as the original after restore(state())"
        expect(same(together.values, restored.values), score, rule)
    stream = Agrawal(function=2)
    Heros(MLPGrid(hidden=[4]), k=2, score=score, seed=1, schema=stream.schema).learn(*stream.draw(200))


def check_measure(measure: Any, *, numeric: bool | None = None) -> None:
    """Check that a measure evaluates predictions as `heros.evaluate` requires.

    The measure must have a `name`, an ``update(y, output)`` and a `value`. The value must not depend on the
    block size. Neither reading the value nor later changes to the arrays passed to `update` may change the
    value. A subclass of `heros.measures.Measure` must also support `merge`, `state` and `restore`.

    Parameters
    ----------
    measure
        A measure that has not been updated yet. The check uses copies.
    numeric
        Whether the targets are numbers rather than classes; by default the measure's attribute `numeric`.

    Examples
    --------
    >>> from heros.measures import Accuracy
    >>> check_measure(Accuracy())
    >>> class Last:
    ...     name, value = "last", float("nan")
    ...     def update(self, y, output):
    ...         self.value = float((output.argmax(axis=1) == y).mean())
    ...     def __repr__(self):
    ...         return "Last()"
    >>> check_measure(Last())
    Traceback (most recent call last):
        ...
    heros.checks.base.CheckError: Last() must have the same value for every split of the instances into
    blocks. Got (0.315, 0.27) instead.
    """
    try:
        expect_measure(measure, "measure", "check_measure")
    except HerosError as error:
        raise CheckError(str(error)) from None
    numbers = bool(getattr(measure, "numeric", False)) if numeric is None else numeric
    one, two = _predictions(numbers, 400, 1), _predictions(numbers, 200, 2)
    whole, parts = copy.deepcopy(measure), copy.deepcopy(measure)
    whole.update(np.concatenate([one[0], two[0]]), np.concatenate([one[1], two[1]]))
    counted = tuple(array.copy() for array in one)
    parts.update(*counted)
    expect(same(counted[0], one[0]) and same(counted[1], one[1]), measure, "not change its arguments")
    before = float(parts.value)
    counted[0][:], counted[1][:] = 0, 0.5
    expect(_almost_equal(float(parts.value), before), measure, "not keep the arrays passed to update")
    parts.update(*two)
    values = float(whole.value), float(parts.value)
    expect(math.isfinite(values[0]), measure, "have a finite value after 600 instances", values[0])
    rule = "have the same value for every split of the instances into blocks"
    expect(_almost_equal(*values), measure, rule, values)
    expect(_almost_equal(float(parts.value), values[1]), measure, "have the same value when read again")
    if isinstance(measure, Measure):
        _check_measure_of_ours(measure, one, two, values[0])


def _check_measure_of_ours(measure: Measure, one: Any, two: Any, value: float) -> None:
    empty = measure.fresh().value
    expect(math.isnan(empty), measure, "have the value NaN before the first update", empty)
    rule, better = "have `better` set to 'higher' or 'lower'", measure.better
    expect(better in {"higher", "lower"}, measure, rule, better)
    first, second = measure.fresh(), measure.fresh()
    first.update(*one)
    second.update(*two)
    again = measure.fresh()
    again.restore(pickle.loads(pickle.dumps(first.state())))
    again.update(*two)
    rule = "have the same value as the original after restore(state())"
    expect(_almost_equal(again.value, value), measure, rule, again.value)
    first.merge(second)
    expect(_almost_equal(first.value, value), measure, "have the same value after a merge", first.value)


def _predictions(numbers: bool, n: int, seed: int) -> tuple[NDArray[Any], NDArray[np.float64]]:
    """Return targets and predictions: probabilities of three classes, or numbers with intervals."""
    rng = np.random.default_rng(seed)
    if numbers:
        y = rng.normal(-3, 2, n)
        predictions = y + rng.normal(size=n)
        return y, np.column_stack([predictions, predictions - 1, predictions + 1, rng.normal(-3, 0.1, n)])
    p = rng.random((n, 3)) + 0.01
    return rng.integers(0, 3, n), p / p.sum(axis=1, keepdims=True)


def _almost_equal(a: float, b: float) -> bool:
    return math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-12) or (math.isnan(a) and math.isnan(b))
