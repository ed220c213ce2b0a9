"""River models that predict now and learn when the label arrives."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Hashable, Mapping
from copy import copy
from typing import Any, Generic, TypeVar

from heros._base.errors import DataError
from heros._base.interrupts import DeferredInterrupts
from heros._base.pending import Counts, Id, Pending

Prediction = TypeVar("Prediction")


class _Late(Generic[Prediction]):
    """A River model that predicts now and learns when the target arrives."""

    def __init__(
        self,
        model: Any,
        metric: Any = None,
        *,
        most: int = 100_000,
        longest: float | None = None,
        expired: Any = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.model, self.metric, self.expired = model, metric, expired
        self.counts = Counts()
        self._waiting: Pending[tuple[Mapping[Hashable, Any], Prediction]] = Pending(
            most, longest, self._on_evict, clock, type(self).__name__
        )

    @property
    def waiting(self) -> int:
        """The number of instances whose labels have not arrived yet."""
        return len(self._waiting)

    def answer_one(self, id: Id, x: Mapping[Hashable, Any]) -> Prediction:
        """Return the prediction for an instance; store the instance under this id until its label arrives.

        A repeated call with the same id, for example after a lost response, returns the first prediction.
        """
        self._waiting.enforce_limits()
        known = self._waiting.get(id)
        if known is not None:
            if not _is_same(known[0], x):
                raise DataError(f"The id {id!r} must be new. Another instance with this id has no label yet.")
            return copy(known[1])
        answer = self._predict(dict(x))
        self.counts.answered += 1
        self._waiting.put(id, (dict(x), copy(answer)))
        return answer

    def learn_one(self, id: Id, y: Any) -> bool:
        """Learn from a waiting instance and its label; return False if no instance has this id."""
        self._waiting.enforce_limits()
        waited = self._waiting.get(id)
        if waited is None:
            self.counts.unknown += 1
            return False
        with DeferredInterrupts():  # so that the model and the waiting instances change together
            x, answer = waited
            self.model.learn_one(dict(x), y)  # after an invalid label, the instance remains
            self._waiting.take(id)
            self.counts.learnt += 1
            self._update_metric(y, answer)  # may raise an error; the instance has been learnt
        return True

    def _predict(self, x: dict[Hashable, Any]) -> Prediction:
        raise NotImplementedError

    def _update_metric(self, y: Any, answer: Prediction) -> None:
        """Update the metric with a target and the earlier prediction."""
        raise NotImplementedError

    def _on_evict(self, id: Id, waited: tuple[Mapping[Hashable, Any], Prediction]) -> None:
        self.counts.expired += 1
        if self.expired is not None:
            x, answer = waited
            self.model.learn_one(dict(x), self.expired)
            self._update_metric(self.expired, answer)


def _is_same(known: Mapping[Hashable, Any], asked: Mapping[Hashable, Any]) -> bool:
    """Return whether two instances have the same values; NaN equals NaN."""
    if known.keys() != asked.keys():
        return False
    pairs = ((value, asked[name]) for name, value in known.items())
    return all(a is b or a == b or (_is_nan(a) and _is_nan(b)) for a, b in pairs)


def _is_nan(value: object) -> bool:
    return isinstance(value, float) and math.isnan(value)


class LateClassifier(_Late[dict[Any, float]]):
    """A wrapper for any River classifier that predicts now and learns when the label arrives.

    Instances wait in a bounded store. The metric uses the original prediction. The wrapper can be pickled
    with its waiting instances. A prediction maps each label to its probability.

    Parameters
    ----------
    model
        A classifier, or a pipeline that ends with a classifier.
    metric
        A River metric to update, e.g. ``river.metrics.Accuracy()``.
    most
        The maximum number of instances to store until their labels arrive.
    longest
        The maximum time in seconds to store an instance without its label; None means no limit.
    expired
        The label to learn for instances whose label has not arrived in time. None drops these instances. In
        both cases, the instances count as expired.
    clock
        A function that returns the time in seconds since the epoch.

    Examples
    --------
    >>> from heros import pools
    >>> from heros.integrations.river import HerosClassifier
    >>> from river import metrics
    >>> model = HerosClassifier(pools.MLPGrid(hidden=[8]), k=3, seed=1)
    >>> late = LateClassifier(model, metrics.Accuracy(), most=50)
    >>> for i in range(300):
    ...     answer = late.answer_one(f"order {i}", {"size": i % 7})
    ...     if i >= 20:
    ...         done = late.learn_one(f"order {i - 20}", i % 7 == 6)
    >>> late.waiting, late.counts.learnt, late.metric.get() > 0.6
    (20, 280, True)
    """

    def _predict(self, x: dict[Hashable, Any]) -> dict[Any, float]:
        return dict(self.model.predict_proba_one(x))

    def _update_metric(self, y: Any, answer: dict[Any, float]) -> None:
        if self.metric is not None and answer:  # the prediction is empty before the first label
            needs_labels = self.metric.requires_labels
            self.metric.update(y, max(answer, key=lambda label: answer[label]) if needs_labels else answer)


class LateRegressor(_Late[float]):
    """A wrapper for any River regressor that predicts now and learns when the target arrives.

    The parameters are the same as those of `LateClassifier`, but `expired` is a number.

    Examples
    --------
    >>> from heros import pools
    >>> from heros.integrations.river import HerosRegressor
    >>> from river import metrics
    >>> model = HerosRegressor(pools.LinearGrid(), k=2, seed=1)
    >>> late = LateRegressor(model, metrics.MAE(), most=50)
    >>> for i in range(300):
    ...     answer = late.answer_one(f"trip {i}", {"kilometres": i % 7})
    ...     if i >= 20:
    ...         done = late.learn_one(f"trip {i - 20}", 3.0 + 2 * (i % 7))
    >>> late.waiting, late.counts.learnt, late.metric.get() < 4
    (20, 280, True)
    """

    def _predict(self, x: dict[Hashable, Any]) -> float:
        return float(self.model.predict_one(x))

    def _update_metric(self, y: Any, answer: float) -> None:
        if self.metric is not None:
            self.metric.update(y, answer)
