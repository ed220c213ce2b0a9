"""Baselines for a run: the measures of simple predictors that use only the labels."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heros._base.errors import DataError
from heros.measures import Confusion

MAJORITY, NO_CHANGE, MEAN = "majority class", "previous label", "mean so far"
SUMS = 8


class Baselines:
    """Counts of labels, from which the measures of two simple predictors are computed.

    In classification, the predictors are the most frequent class (with the class frequencies as
    probabilities) and the previous label. In regression, the predictors are the mean of the targets so far
    and the previous target.

    Examples
    --------
    >>> baselines = Baselines(numeric=False)
    >>> baselines.update(np.array([0, 0, 0, 1, 1]))
    >>> {name: round(figures["accuracy"], 2) for name, figures in baselines.figures().items()}
    {'majority class': 0.6, 'previous label': 0.75}
    """

    def __init__(self, numeric: bool) -> None:
        self._numeric = numeric
        self._counts = Confusion()  # counts of pairs (label, previous label)
        # n, Σy, Σy²; Σ|e| and Σe² of predicting the mean; number of pairs of successive targets;
        # Σ|e| and Σe² of predicting the previous target
        self._sums = np.zeros(SUMS)
        self._last: float | None = None

    def update(self, y: NDArray[Any]) -> None:
        """Add labels, which must be in the order of the stream."""
        if not len(y):
            return
        before = y if self._last is None else np.concatenate([[self._last], y])
        if self._numeric:
            self._add(y, np.diff(before))
        else:
            before = before.astype(np.int64)
            classes = max(int(before.max()) + 1, len(self._counts.counts))
            self._counts.update(before[1:], before[:-1], classes)
        self._last = float(y[-1])

    def _add(self, y: NDArray[np.float64], steps: NDArray[np.float64]) -> None:
        n, total = self._sums[:2]
        so_far = np.cumsum(np.concatenate([[total], y]))[:-1]
        counts = n + np.arange(len(y))
        errors = (y - so_far / np.maximum(counts, 1))[counts > 0]
        self._sums += [
            len(y), y.sum(), (y * y).sum(),
            np.abs(errors).sum(), (errors * errors).sum(),
            len(steps), np.abs(steps).sum(), (steps * steps).sum(),
        ]  # fmt: skip

    def figures(self) -> dict[str, dict[str, float]]:
        """Return the measures of each predictor, by name; undefined values are omitted."""
        found = self._number_figures() if self._numeric else self._class_figures()
        return {
            name: {measure: value for measure, value in figures.items() if math.isfinite(value)}
            for name, figures in found.items()
        }

    def _class_figures(self) -> dict[str, dict[str, float]]:
        if self._last is None:
            return {}
        counts = self._counts.counts
        labels = counts.sum(axis=0)  # counts every label except the last, which precedes no other label
        labels[int(self._last)] += 1
        share = labels / labels.sum()
        positive = share[share > 0]
        majority = {
            "auroc": 0.5 if len(positive) > 1 else math.nan,
            "accuracy": float(share.max()),
            "kappa": 0.0,
            "log_loss": float(-(positive * np.log(positive)).sum()),
            "balanced_accuracy": 1 / len(positive),
        }
        return {MAJORITY: majority, NO_CHANGE: _no_change(self._counts)}

    def _number_figures(self) -> dict[str, dict[str, float]]:
        n, total, squares, near, far, pairs, step, leap = self._sums.tolist()
        if n < 2:
            return {}
        variance = squares / n - (total / n) ** 2
        return {
            MEAN: _error_figures(near, far, n - 1, variance),
            NO_CHANGE: _error_figures(step, leap, pairs, variance),
        }

    def state(self) -> dict[str, NDArray[Any]]:
        """Return the counts as arrays."""
        last = np.array([] if self._last is None else [self._last])
        return {"counts": self._counts.counts, "sums": self._sums, "last": last}

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Restore the counts that `state` returned."""
        counts, sums, last = (state.get(name, np.zeros(99)) for name in ("counts", "sums", "last"))
        square = counts.ndim == 2 and counts.shape[0] == counts.shape[1] and counts.dtype == np.int64
        if not (
            square and sums.shape == (SUMS,) and sums.dtype == last.dtype == np.float64 and last.size < 2
        ):
            raise DataError("The label counts must hold a square matrix, eight sums and at most one label.")
        if (counts < 0).any() or (np.delete(sums, 1) < 0).any() or not np.isfinite([*sums, *last]).all():
            raise DataError("The label counts must be finite and not negative.")
        if not self._numeric and not all(at in range(len(counts)) for at in last):
            raise DataError("The label counts must include the class of the last label.")
        self._counts, self._sums = Confusion(counts.copy()), sums.copy()
        self._last = float(last[0]) if last.size else None


def _no_change(confusion: Confusion) -> dict[str, float]:
    counts = confusion.counts
    total = counts.sum()
    if not total:
        return {}
    positive, recall = counts.sum(axis=1), confusion.recall
    negative = total - positive
    both = (positive > 0) & (negative > 0)
    rejected = 1 - (counts.sum(axis=0) - np.diag(counts))[both] / negative[both]
    return {
        "auroc": float(((recall[both] + rejected) / 2).mean()) if both.any() else math.nan,
        "accuracy": confusion.accuracy,
        "kappa": confusion.kappa,
        "f1": _mean(confusion.f1),
        "balanced_accuracy": _mean(recall),
    }


def _mean(shares: NDArray[np.float64]) -> float:
    """Return the mean of the values that are not NaN; for few values, np.nanmean is several times slower."""
    finite = ~np.isnan(shares)
    return float(np.where(finite, shares, 0.0).sum() / np.count_nonzero(finite))


def _error_figures(absolute: float, squared: float, n: float, variance: float) -> dict[str, float]:
    if not n:
        return {}
    r2 = 1 - squared / n / variance if variance > 0 else math.nan
    return {"rmse": math.sqrt(squared / n), "mae": absolute / n, "r2": r2}
