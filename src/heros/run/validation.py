"""Check that the arrays of a saved evaluation are consistent before they are used."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from heros._base.errors import DataError
from heros._base.phases import PHASES
from heros.data.values import LARGEST_TARGET
from heros.run.curves import MOST_POINTS

if TYPE_CHECKING:
    from heros.run.state import Evaluation

PENDING = ("labels", "probabilities", "chosen", "spent", "reward")
"""The arrays of the instances in an unfinished window."""

Arrays = Mapping[str, NDArray[Any]]
Layout = dict[str, tuple[type, tuple[int, ...]]]


def expect_fit(arrays: Arrays, evaluation: Evaluation) -> None:
    """Raise an error if the arrays do not have the types, shapes and values that this evaluation needs.

    The curves must have one point per window, or fewer if the evaluation is not exact and points were merged.
    """
    n, numeric = evaluation.n, evaluation.model.task.numeric
    points = _length(arrays, "curves/end", 0)
    wrong = sorted(
        name
        for name, (dtype, shape) in _layout(arrays, evaluation, points if n else 0).items()
        if name not in arrays or arrays[name].shape != shape or arrays[name].dtype != dtype
    )
    if wrong:
        raise DataError(f"These arrays are missing or have a wrong type or shape: {', '.join(wrong)}.")
    windows = -(-n // evaluation.window)
    if points != windows and (evaluation.exact or not 0 < points <= min(windows, MOST_POINTS)):
        raise DataError(f"The curves must have one point per window ({windows}). Got {points}.")
    if points:
        end = arrays["curves/end"]
        if end[-1] != n or (np.diff(end, prepend=0) <= 0).any():
            rule = f"must be positive, increase and end at {n}"
            raise DataError(f"The positions of the curves' points {rule}. The last position is {end[-1]}.")
    if evaluation.pending and numeric:
        if not (np.abs(arrays["pending/labels"]) <= LARGEST_TARGET).all():
            raise DataError(f"Targets must be finite numbers below {LARGEST_TARGET:g}.")
    elif evaluation.pending:
        labels, classes = arrays["pending/labels"], arrays["pending/probabilities"].shape[1]
        if labels.min() < 0 or labels.max() >= classes:
            raise DataError(
                f"Labels must be class indices below {classes}. Got {labels.min()}…{labels.max()}."
            )


def _layout(arrays: Arrays, evaluation: Evaluation, points: int) -> Layout:
    models, phases, pending = evaluation.model.pool.n_models, len(PHASES), evaluation.pending
    layout: Layout = {
        "totals": (np.float64, (4,)),
        "earlier": (np.float64, (phases,)),
        "last_cpu": (np.float64, (phases,)),
        "looked_before": (np.int64, (models,)),
        "trained_before": (np.int64, (models,)),
        "invested_before": (np.float64, (models,)),
    }
    if points:
        figures = (*(measure.name for measure in evaluation.measures), "spent", "reward")
        layout |= {f"curves/{name}": (np.float64, (points,)) for name in figures}
        layout |= {f"curves/{name}": (np.float64, (points, models)) for name in ("scores", "invested")}
        layout["curves/end"] = np.int64, (points,)
        layout["curves/trained"] = np.int64, (points, models)
        layout["curves/cpu"] = np.float64, (points, phases)
    if pending:
        width = _length(arrays, "pending/probabilities", 1)
        layout["pending/labels"] = np.float64 if evaluation.model.task.numeric else np.int64, (pending,)
        layout["pending/probabilities"] = np.float64, (pending, width)
        layout["pending/chosen"] = np.uint8, (pending, models)
        layout |= {f"pending/{name}": (np.float64, (pending,)) for name in ("spent", "reward")}
    return layout


def _length(arrays: Arrays, name: str, axis: int) -> int:
    """Return the length of an array along an axis, or 0 if the array or the axis does not exist."""
    shape = arrays[name].shape if name in arrays else ()
    return shape[axis] if len(shape) > axis else 0
