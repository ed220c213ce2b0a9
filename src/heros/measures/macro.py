"""The plain mean over classes."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

__all__ = ["macro"]


def macro(per_class: ArrayLike) -> float:
    """The mean of the figures there are; NaN if there are none.

    Examples
    --------
    >>> macro([0.5, 1.0, math.nan])
    0.75
    """
    figures = np.asarray(per_class, dtype=np.float64)
    known = figures[~np.isnan(figures)]
    return float(known.mean()) if len(known) else math.nan
