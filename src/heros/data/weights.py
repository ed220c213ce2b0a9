"""Weights of instances and of classes, for streams with imbalanced classes."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from heros._base.errors import DataError, DataNotice, ParameterError, did_you_mean
from heros._base.notices import notice
from heros._base.parameters import number
from heros.data.codes import Codes
from heros.data.values import kind_of, label_of, listed

MOST = 1e4  # the maximum weight of an instance

WEIGHTS = f"numbers in [0, {MOST:g}]"

ClassWeight = Literal["balanced"] | Mapping[str, float] | None


def checked_class_weight(class_weight: object) -> ClassWeight:
    """Validate the class weights: "balanced", a mapping from classes to weights, or None."""
    if class_weight is None:
        return None
    if class_weight == "balanced":
        return "balanced"
    if not isinstance(class_weight, Mapping):
        rule = "'balanced', a mapping of classes to weights, or None"
        raise ParameterError.of("class_weight", "Heros", rule, class_weight)
    weights = dict[str, float]()
    for given, weight in class_weight.items():
        name = None if kind_of(given) == "none" else label_of(given)
        if name is None or name in weights:
            raise ParameterError.of("class_weight", "Heros", "a mapping of distinct classes", class_weight)
        weights[name] = number(weight, "class_weight", "Heros", 0, MOST)
    return weights


def notify_unknown_classes(given: ClassWeight, classes: tuple[str, ...]) -> None:
    """Issue a notice if the class weights include a class that is not yet known."""
    if not isinstance(given, Mapping) or len(classes) < 2:  # more classes may appear later
        return
    codes = Codes(classes)
    unknown = [name for name in given if codes.code(codes.of_number(name)) is None]
    if unknown:
        rule = f"The class weights include {listed(unknown)}, but the classes so far are {listed(classes)}."
        notice(rule + did_you_mean(unknown[0], classes), DataNotice)


class Weights:
    """The weights of instances, computed from class weights and sample weights.

    With "balanced", an instance of class c has the weight n/(C·n_c), at most 100. Here n is the number of
    instances so far (including this one), n_c the number of instances of class c, and C the number of
    classes. In the long run all classes have the same total weight.

    Gradient-based models use the weight directly. Models that count instances repeat an instance a whole
    number of times; the remainder is carried over to the next instance. In running
    scores, an instance counts this number of times.

    Examples
    --------
    >>> weights = Weights("balanced")
    >>> weights.of(np.array([0.0, 0.0, 0.0, 1.0]), None, ("no", "yes"))
    (array([1., 1., 1., 2.]), array([1, 1, 1, 2], dtype=int32))
    >>> Weights({"yes": 2.5}).of(np.array([1.0, 1.0, 0.0]), None, ("no", "yes"))
    (array([2.5, 2.5, 1. ]), array([2, 3, 1], dtype=int32))
    """

    def __init__(self, class_weight: ClassWeight = None) -> None:
        self.class_weight = class_weight
        self._counts: list[int] = []  # instances per class, for "balanced"
        self._remainder = 0.0
        self._classes: tuple[str, ...] = ()  # the classes of `_by_class`
        self._by_class = np.empty(0)  # the weight of each class, if the class weights are a mapping

    def of(
        self,
        targets: NDArray[np.float64],
        sample_weight: NDArray[np.float64] | None,
        classes: tuple[str, ...],
    ) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
        """Return the weights (n,) and the repetitions (n,) of instances; `sample_weight` must be checked."""
        weights = self._class_weights(targets, classes)
        weights = weights if sample_weight is None else weights * sample_weight
        return weights, self._times(weights)

    def _class_weights(self, targets: NDArray[np.float64], classes: tuple[str, ...]) -> NDArray[np.float64]:
        if self.class_weight is None:
            return np.ones(len(targets))
        if isinstance(self.class_weight, Mapping):
            if self._classes != classes:
                codes = Codes(classes)  # a file may contain the class 1 as "1.0", and True as "true"
                named = self.class_weight.items()
                by_code = {codes.code(codes.of_number(name)): weight for name, weight in named}
                self._by_class = np.array([by_code.get(code, 1.0) for code in codes.values()])
                self._classes = classes
            return self._by_class[targets.astype(np.int64)]
        counts = self._counts = self._counts + [0] * (len(classes) - len(self._counts))
        total, classes_so_far = sum(counts), sum(count > 0 for count in counts)
        weights = []
        for label in map(int, targets.tolist()):
            classes_so_far += counts[label] == 0
            counts[label] += 1
            total += 1
            weights.append(min(100.0, total / (classes_so_far * counts[label])))
        return np.array(weights, dtype=np.float64)

    def _times(self, weights: NDArray[np.float64]) -> NDArray[np.int32]:
        times = []
        for weight in weights.tolist():
            times.append(math.floor(self._remainder + weight))
            self._remainder = self._remainder + weight - times[-1]
        return np.array(times, dtype=np.int32)

    def state(self) -> dict[str, NDArray[Any]]:
        """Return the class counts and the remainder; an empty dictionary if neither is set."""
        if not self._counts and not self._remainder:
            return {}
        return {"counts": np.array(self._counts, dtype=np.int64), "carry": np.array([self._remainder])}

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Restore the class counts and the remainder returned by `state`."""
        if not state:
            return
        counts, carry = (state.get(name, np.empty(0, dtype=bool)) for name in ("counts", "carry"))
        counted = counts.dtype == np.int64 and counts.ndim == 1 and (counts >= 0).all()
        if not counted or carry.dtype != np.float64 or carry.shape != (1,) or not 0 <= carry[0] < 1:
            raise DataError(f"The state of weights must have valid 'counts' and 'carry'. Got {[*state]}.")
        self._counts, self._remainder = counts.tolist(), float(carry[0])


def are_weights(numbers: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return a mask of the numbers that are valid weights; NaN is not valid."""
    return np.asarray((numbers >= 0) & (numbers <= MOST))


def checked_weights(sample_weight: ArrayLike, n: int) -> NDArray[np.float64]:
    """Validate sample weights, and return them as an array (n,); raise a DataError if a weight is invalid."""
    try:
        weights = np.asarray(sample_weight, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(f"sample_weight must be an array of numbers. The error was: {error}") from None
    if weights.shape not in ((), (n,)):
        raise DataError(f"sample_weight must have one weight per instance ({n}). Got shape {weights.shape}.")
    if not are_weights(weights).all():
        raise DataError(f"sample_weight must be in [0, {MOST:g}]. Got {weights.tolist()!r:.200} instead.")
    return np.broadcast_to(weights, (n,))
