"""Predictions, part by part, as one."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

__all__ = ["Predicted", "joined", "stacked"]

Predicted = tuple[NDArray[np.int64], NDArray[np.float64]]
"""Labels (n,) and probabilities (n, classes)."""


def stacked(parts: Sequence[NDArray[np.float64]]) -> NDArray[np.float64]:
    """Probabilities one below the other; classes that came later had probability 0 before.

    Examples
    --------
    >>> stacked([np.array([[0.5, 0.5]]), np.array([[0.2, 0.3, 0.5]])])
    array([[0.5, 0.5, 0. ], [0.2, 0.3, 0.5]])
    """
    classes = max(part.shape[1] for part in parts)
    return np.concatenate([np.pad(part, ((0, 0), (0, classes - part.shape[1]))) for part in parts])


def joined(parts: Sequence[Predicted]) -> Predicted:
    """All labels and all probabilities."""
    if not parts:
        return np.empty(0, dtype=np.int64), np.empty((0, 1))
    return np.concatenate([labels for labels, _ in parts]), stacked([p for _, p in parts])
