"""Whether the arrays of an evaluation's book fit together, before anything is computed with them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heros.errors import DataError
from heros.measures.running_auroc import BINS

__all__ = ["PENDING", "expect_fit"]

PENDING = ("labels", "probabilities", "chosen", "spent", "reward")
"""What is known of the instances of a window that is not over."""

WHOLE_NUMBERS = {"confusion", "trained_before", "running", "curves/end", "curves/trained", "pending/labels"}


def expect_fit(
    arrays: Mapping[str, NDArray[Any]], models: int, phases: int, windows: int, pending: int
) -> None:
    """Refuse arrays of other shapes and types than so many models, windows and pending instances have.

    Examples
    --------
    >>> expect_fit({"confusion": np.zeros((2, 3), dtype=np.int64)}, 50, 5, 0, 0)
    Traceback (most recent call last):
        ...
    heros.errors.DataError: Arrays must fit together. Got others: confusion, earlier, invested_before, ...
    """
    shapes = _shapes(arrays, models, phases, windows, pending)
    wrong = sorted(
        name
        for name, shape in shapes.items()
        if name not in arrays or arrays[name].shape != shape or arrays[name].dtype != _type(name)
    )
    if wrong:
        raise DataError(f"Arrays must fit together. Got others: {', '.join(wrong)}.")
    if pending:
        labels, classes = arrays["pending/labels"], arrays["pending/probabilities"].shape[1]
        if labels.min() < 0 or labels.max() >= classes:
            raise DataError("Labels must be classes. Got others.")


def _type(name: str) -> type:
    if name == "pending/chosen":
        return np.uint8
    return np.int64 if name in WHOLE_NUMBERS else np.float64


def _shapes(
    arrays: Mapping[str, NDArray[Any]], models: int, phases: int, windows: int, pending: int
) -> dict[str, tuple[int, ...]]:
    classes = _length(arrays, "confusion", 0)
    shapes: dict[str, tuple[int, ...]] = {
        "totals": (5,),
        "confusion": (classes, classes),
        "earlier": (phases,),
        "last_cpu": (phases,),
        "trained_before": (models,),
        "invested_before": (models,),
    }
    if "running" in arrays:
        shapes["running"] = (classes, 2, BINS)
    if windows:
        for name in ("end", "accuracy", "auroc", "log_loss", "spent", "reward"):
            shapes[f"curves/{name}"] = (windows,)
        for name in ("trained", "scores", "invested"):
            shapes[f"curves/{name}"] = (windows, models)
        shapes["curves/cpu"] = (windows, phases)
    if pending:
        shapes |= {f"pending/{name}": (pending,) for name in PENDING}
        shapes["pending/probabilities"] = (pending, _length(arrays, "pending/probabilities", 1))
        shapes["pending/chosen"] = (pending, models)
    return shapes


def _length(arrays: Mapping[str, NDArray[Any]], name: str, axis: int) -> int:
    """How long an array is along an axis; 0 if it has none."""
    shape = arrays[name].shape if name in arrays else ()
    return shape[axis] if len(shape) > axis else 0
