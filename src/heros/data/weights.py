"""What instances count: a weight of each, and weights of classes, for streams whose classes are uneven."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from heros._base.parameters import number
from heros.errors import DataError, ParameterError

HEAVIEST = 100.0
"""What an instance of a rare class may count at most, where classes are balanced."""

MOST = 1e4  # any instance

WEIGHTS = f"numbers in [0, {MOST:g}]"

ClassWeight = Literal["balanced"] | Mapping[str, float] | None


def checked_class_weight(given: object) -> ClassWeight:
    """What was given, if it will do: "balanced", a weight of zero or more by class, or None."""
    if given is None or given == "balanced":
        return None if given is None else "balanced"
    if not isinstance(given, Mapping):
        rule = "'balanced', a mapping of classes to weights, or None"
        raise ParameterError.of("class_weight", "Heros", rule, given)
    return {str(name): number(weight, "class_weight", "Heros", 0, MOST) for name, weight in given.items()}


class Weights:
    """What each instance counts, from its class and from what is said of it.

    With "balanced" an instance of class c counts n/(C·n_c), where n_c of the n instances so far, itself
    included, were of c, and C classes have come; 100 at most. In the long run all classes count the same.

    Models that follow a gradient take the weight as it is. Models that count instances, and the running
    scores, take an instance as so many equal ones: whole times, whose remainders are carried on to the next.

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
        self._counts: list[int] = []  # of the classes, if they are to be balanced
        self._carry = 0.0

    def of(
        self, targets: NDArray[np.float64], sample_weight: ArrayLike | None, classes: tuple[str, ...]
    ) -> tuple[NDArray[np.float64], NDArray[np.int32]] | None:
        """The weights (n,) and the whole times (n,) of instances; None if all count the same."""
        if self.class_weight is None and sample_weight is None:
            return None
        weights = self._of_classes(targets, classes)
        if sample_weight is not None:
            weights = weights * checked_weights(sample_weight, len(targets))
        return weights, self._times(weights)

    def _of_classes(self, targets: NDArray[np.float64], classes: tuple[str, ...]) -> NDArray[np.float64]:
        if self.class_weight is None:
            return np.ones(len(targets))
        if isinstance(self.class_weight, Mapping):
            return np.array([self.class_weight.get(name, 1.0) for name in classes])[targets.astype(np.int64)]
        counts = self._counts = self._counts + [0] * (len(classes) - len(self._counts))
        total, seen = sum(counts), sum(count > 0 for count in counts)
        weights = []
        for label in map(int, targets.tolist()):
            seen += counts[label] == 0
            counts[label] += 1
            total += 1
            weights.append(min(HEAVIEST, total / (seen * counts[label])))
        return np.array(weights, dtype=np.float64)

    def _times(self, weights: NDArray[np.float64]) -> NDArray[np.int32]:
        times = []
        for weight in weights.tolist():
            self._carry += weight
            whole = math.floor(self._carry)
            self._carry -= whole
            times.append(whole)
        return np.array(times, dtype=np.int32)

    def state(self) -> dict[str, NDArray[Any]]:
        """What it has counted; nothing if there was nothing to count."""
        if not self._counts and not self._carry:
            return {}
        return {"counts": np.array(self._counts, dtype=np.int64), "carry": np.array([self._carry])}

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Go on from what `state` gave."""
        if not state:
            return
        counts, carry = state.get("counts"), state.get("carry")
        if (
            counts is None
            or carry is None
            or not (counts.dtype == np.int64 and counts.ndim == 1)
            or not (carry.dtype == np.float64 and carry.shape == (1,))
            or (counts < 0).any()
            or not 0 <= carry[0] < 1
        ):
            raise DataError("The state of weights must be counts and a remainder. Got something else.")
        self._counts, self._carry = counts.tolist(), float(carry[0])


def weighs(numbers: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Which of them can be weights of instances; what is missing cannot.

    Examples
    --------
    >>> weighs(np.array([0.0, 2.5, -1.0, np.nan]))
    array([ True,  True, False, False])
    """
    return np.asarray((numbers >= 0) & (numbers <= MOST))


def checked_weights(given: ArrayLike, n: int) -> NDArray[np.float64]:
    """Weights (n,) of instances; a DataError if there are others."""
    try:
        weights = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(f"sample_weight must be numbers. Got: {error}.") from None
    if weights.shape not in ((), (n,)):
        raise DataError(f"sample_weight must have one weight per instance ({n}). Got shape {weights.shape}.")
    if not weighs(weights).all():
        raise DataError(f"sample_weight must be in [0, {MOST:g}]. Got {weights.tolist()!r:.200} instead.")
    return np.broadcast_to(weights, (n,))
