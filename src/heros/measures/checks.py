"""Checks of the labels and predictions passed to a measure."""

from __future__ import annotations

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from heros._base.errors import DataError
from heros.data.check import is_masked
from heros.measures.base import Floats, Labels, Predicted

T = TypeVar("T", np.int64, np.float64)


def expect_answers(y: object, probabilities: object, owner: str) -> Predicted:
    """Return labels (n,) and probabilities (n, classes) as arrays; raise a DataError if either is invalid."""
    rule = f"The probabilities of {owner} must be numbers in [0, 1]"
    p = _array(probabilities, "fiub", rule, np.float64)
    if p.ndim != 2 or p.shape[1] == 0 or p.size > MOST:
        raise DataError(f"{rule}, with one row per instance. Got shape {p.shape} instead.")
    labels = expect_labels(y, p.shape[1], owner)
    if len(labels) != len(p):  # checked before the values: a broadcast array may be too large to read
        raise DataError(f"{owner} needs one label per instance ({len(p)}). Got {len(labels)} instead.")
    highest = p.max() if p.size else 0.0
    if p.size and not (p.min() >= 0 and highest <= 1 + SLACK):  # NaN fails the test
        raise DataError(f"{rule}. Got {p[~((p >= 0) & (p <= 1 + SLACK))][0]} instead.")
    return labels, p if highest <= 1 else np.minimum(p, 1.0)


def expect_labels(y: object, classes: int, owner: str) -> Labels:
    """Return class indices (n,) as an array; raise a DataError if a label is invalid."""
    rule = f"The labels of {owner} must be class indices in [0, {classes - 1}]"
    labels = _array(y, "iub", rule, np.int64)
    if labels.ndim != 1:
        raise DataError(f"{rule}, in a 1-d array. Got shape {labels.shape} instead.")
    if len(labels) and not (labels.min() >= 0 and labels.max() < classes):
        raise DataError(f"{rule}. Got {labels[(labels < 0) | (labels >= classes)][0]} instead.")
    return labels


def expect_numbers(y: object, output: object, columns: int, owner: str) -> tuple[Floats, Floats]:
    """Return targets (n,) and predictions (n, at least `columns`).

    Raise a DataError if a number is not finite.

    Examples
    --------
    >>> expect_numbers([0.5], [1.0], 3, "Coverage")
    Traceback (most recent call last):
        ...
    heros.DataError: The predictions of Coverage must be finite numbers, with one row of at least 3 ...
    """
    rule = f"The predictions of {owner} must be finite numbers"
    said = _array(output, "fiub", rule, np.float64)
    said = said[:, np.newaxis] if said.ndim == 1 else said
    if said.ndim != 2 or said.shape[1] < columns or said.size > MOST:
        raise DataError(
            f"{rule}, with one row of at least {columns} values per instance. Got shape {said.shape} instead."
        )
    targets = _array(y, "fiub", f"The targets of {owner} must be finite numbers", np.float64)
    if targets.shape != (len(said),):
        raise DataError(f"{owner} needs one target per instance ({len(said)}). Got shape {targets.shape}.")
    for what, numbers in (("predictions", said), ("targets", targets)):
        if not np.isfinite(numbers).all():
            wrong = numbers[~np.isfinite(numbers)][0]
            raise DataError(f"The {what} of {owner} must be finite numbers. Got {wrong} instead.")
    return targets, said


MOST = 1 << 32  # maximum number of values (32 GB); only a broadcast array can have more
SLACK = 1e-9  # sums of probabilities may exceed 1 by rounding


def _array(values: object, kinds: str, rule: str, dtype: type[T]) -> NDArray[T]:
    try:
        array = np.asarray(values)
        if (array.dtype.kind in kinds or array.size == 0) and not is_masked(values):
            return array.astype(dtype, copy=False)
    except (TypeError, ValueError, OverflowError, MemoryError) as error:
        raise DataError(f"{rule}. The error was: {error}") from None
    raise DataError(f"{rule}. Got an array of {array.dtype} instead.")
