"""Logarithmic loss."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from heros.measures.checks import expect_answers

__all__ = ["log_loss"]

SMALLEST = 1e-15  # a probability of 0 for what happened would cost infinitely much


def log_loss(y: NDArray[np.int64], probabilities: NDArray[np.float64]) -> float:
    """The mean of −ln P(class that happened), probabilities below 1e-15 raised to it; NaN of nothing.

    Examples
    --------
    >>> round(log_loss(np.array([0, 1]), np.array([[0.9, 0.1], [0.5, 0.5]])), 4)
    0.3993
    """
    y, probabilities = expect_answers(y, probabilities, "log_loss")
    if len(y) == 0:
        return math.nan
    happened = probabilities[np.arange(len(y)), y]
    return float(-np.log(np.maximum(happened, SMALLEST)).mean())
