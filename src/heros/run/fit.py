"""Whether the arrays of an evaluation's state fit together, before anything is computed with them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heros.data.values import LARGEST_TARGET
from heros.errors import DataError
from heros.run.curves import MOST_POINTS

__all__ = ["PENDING", "expect_fit"]

PENDING = ("labels", "probabilities", "chosen", "spent", "reward")
"""What is known of the instances of a window that is not over."""

WHOLE_NUMBERS = {"looked_before", "trained_before", "curves/end", "curves/trained", "pending/labels"}

Arrays = Mapping[str, NDArray[Any]]


def expect_fit(
    arrays: Arrays,
    *,
    models: int,
    phases: int,
    measures: Iterable[str],
    n: int,
    window: int,
    exact: bool,
    pending: int,
    numeric: bool = False,
) -> None:
    """Refuse arrays of other shapes and types than the state after so many instances has.

    There is a point per window or, if the evaluation is not exact, up to so many, for points are merged.

    Examples
    --------
    >>> sizes = {"models": 50, "phases": 5, "measures": ["auroc"], "window": 1000, "exact": True}
    >>> expect_fit({"totals": np.zeros(3)}, **sizes, n=0, pending=0)
    Traceback (most recent call last):
        ...
    heros.errors.DataError: Arrays must fit together. Got others: earlier, invested_before, last_cpu, ...
    """
    points = _length(arrays, "curves/end", 0)
    shapes = _shapes(arrays, models, phases, measures, points if n else 0, pending)
    wrong = sorted(
        name
        for name, shape in shapes.items()
        if name not in arrays or arrays[name].shape != shape or arrays[name].dtype != _type(name, numeric)
    )
    if wrong:
        raise DataError(f"Arrays must fit together. Got others: {', '.join(wrong)}.")
    windows = -(-n // window)
    if points != windows and (exact or not 0 < points <= min(windows, MOST_POINTS)):
        raise DataError(f"There must be a point of the curves per window ({windows}). Got {points}.")
    if points:
        _expect_ends(arrays["curves/end"], n)
    if pending and numeric:
        if not (np.abs(arrays["pending/labels"]) <= LARGEST_TARGET).all():
            raise DataError("Targets must be finite numbers. Got others.")
    elif pending:
        labels, classes = arrays["pending/labels"], arrays["pending/probabilities"].shape[1]
        if labels.min() < 0 or labels.max() >= classes:
            raise DataError("Labels must be classes. Got others.")


def _expect_ends(end: NDArray[np.int64], n: int) -> None:
    if end[-1] != n or (np.diff(end, prepend=0) <= 0).any():
        raise DataError(f"The points of the curves must follow each other up to {n}. Got others.")


def _type(name: str, numeric: bool) -> type:
    if name == "pending/chosen":
        return np.uint8
    if name == "pending/labels" and numeric:
        return np.float64
    return np.int64 if name in WHOLE_NUMBERS else np.float64


def _shapes(
    arrays: Arrays, models: int, phases: int, measures: Iterable[str], points: int, pending: int
) -> dict[str, tuple[int, ...]]:
    shapes: dict[str, tuple[int, ...]] = {
        "totals": (4,),
        "earlier": (phases,),
        "last_cpu": (phases,),
        "trained_before": (models,),
        "invested_before": (models,),
    }
    if "looked_before" in arrays:  # which the first checkpoints do not have
        shapes["looked_before"] = (models,)
    if points:
        for name in ("end", *measures, "spent", "reward"):
            shapes[f"curves/{name}"] = (points,)
        for name in ("trained", "scores", "invested"):
            shapes[f"curves/{name}"] = (points, models)
        shapes["curves/cpu"] = (points, phases)
    if pending:
        shapes |= {f"pending/{name}": (pending,) for name in PENDING}
        shapes["pending/probabilities"] = (pending, _length(arrays, "pending/probabilities", 1))
        shapes["pending/chosen"] = (pending, models)
    return shapes


def _length(arrays: Arrays, name: str, axis: int) -> int:
    """How long an array is along an axis; 0 if it has none."""
    shape = arrays[name].shape if name in arrays else ()
    return shape[axis] if len(shape) > axis else 0
