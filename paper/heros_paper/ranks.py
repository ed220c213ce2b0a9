"""Ranks over streams and their significance: Friedman test, and Wilcoxon signed-rank test with Holm."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from heros import ParameterError

__all__ = ["ALPHA", "Comparison", "compare", "holm", "ranks", "wilcoxon"]

ALPHA = 0.05
"""One minus the confidence level of the paper."""

Matrix = NDArray[np.float64]


def ranks(values: ArrayLike, *, higher_is_better: bool) -> Matrix:
    """Return the rank of each column within its row: 1 is best, ties share the mean of their ranks.

    Examples
    --------
    >>> ranks([[0.9, 0.7, 0.9], [0.1, 0.2, 0.3]], higher_is_better=True).tolist()
    [[1.5, 3.0, 1.5], [3.0, 2.0, 1.0]]
    """
    table = _table(values, "ranks")
    result: Matrix = stats.rankdata(-table if higher_is_better else table, axis=1)
    return result


def wilcoxon(differences: ArrayLike) -> float:
    """Return the exact two-sided p-value of the Wilcoxon signed-rank test.

    Differences of zero are dropped, as Wilcoxon did, and ties share their ranks. The distribution of the
    rank sum is computed over all signs, which SciPy does only without ties, or slowly.

    Examples
    --------
    >>> wilcoxon([0.1, 0.2, 0.3, 0.4, 0.5])  # all five on one side: 2 / 2**5
    0.0625
    >>> wilcoxon([0.0, 0.0])
    1.0
    """
    pairs = np.asarray(differences, dtype=np.float64)
    pairs = pairs[pairs != 0]
    if not len(pairs):
        return 1.0
    # .9702 − .9700 and .9302 − .9300 are a tie: float rounding must not rank one above the other.
    sizes = np.round(np.abs(pairs) / np.abs(pairs).max(), 9)
    doubled = np.rint(2 * stats.rankdata(sizes)).astype(np.int64)  # shared ranks may end in .5
    chance = np.zeros(doubled.sum() + 1)  # probability of each rank sum of the positive differences
    chance[0] = 1.0
    for rank in doubled:
        chance[rank:] = (chance[rank:] + chance[:-rank]) / 2
        chance[:rank] /= 2
    found = doubled[pairs > 0].sum()
    return float(min(1.0, 2 * min(chance[: found + 1].sum(), chance[found:].sum())))


def holm(p_values: ArrayLike) -> Matrix:
    """Return p-values adjusted for multiple comparisons by Holm's step-down method.

    Examples
    --------
    >>> holm([0.01, 0.04, 0.03]).tolist()  # 3 × .01; 2 × .03; then no less than the one before
    [0.03, 0.06, 0.06]
    """
    p = np.asarray(p_values, dtype=np.float64)
    order = np.argsort(p, kind="stable")
    stepped = np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1))
    adjusted = np.empty_like(p)
    adjusted[order] = np.minimum(stepped, 1.0)
    return adjusted


@dataclass(frozen=True)
class Comparison:
    """Columns compared over rows (policies over streams)."""

    names: tuple[str, ...]
    n_rows: int
    mean_ranks: Matrix  # (C,) 1 is best
    friedman: float  # p-value for any difference between columns; NaN with fewer than 3 columns or 2 rows
    p_values: Matrix  # (C, C) Wilcoxon, adjusted with Holm over all pairs; 1 on the diagonal

    def differ(self, a: str, b: str, alpha: float = ALPHA) -> bool:
        """Return whether two columns differ significantly."""
        return bool(self.p_values[self.names.index(a), self.names.index(b)] < alpha)

    def cliques(self, alpha: float = ALPHA) -> list[tuple[str, ...]]:
        """Return the bars of a critical-difference diagram.

        Each bar is a maximal sequence of neighbours by mean rank of which no two differ significantly. A
        column that differs from both its neighbours has no bar.
        """
        order = np.argsort(self.mean_ranks, kind="stable")
        same = self.p_values[np.ix_(order, order)] >= alpha
        bars: list[tuple[int, int]] = []
        for start in range(len(order)):
            end = start
            while end + 1 < len(order) and same[start : end + 1, end + 1].all():
                end += 1
            if end > start and (not bars or end > bars[-1][1]):
                bars.append((start, end))
        return [tuple(self.names[i] for i in order[start : end + 1]) for start, end in bars]


def compare(values: ArrayLike, names: Sequence[str], *, higher_is_better: bool) -> Comparison:
    """Compute mean ranks of the columns, and which columns differ.

    Parameters
    ----------
    values
        One row per stream, one column per policy, without missing values.
    names
        The names of the columns.
    higher_is_better
        Whether rank 1 goes to the highest value (AUROC) or the lowest (energy).

    Examples
    --------
    >>> auroc = [[0.9, 0.8, 0.5], [0.8, 0.9, 0.6], [0.7, 0.6, 0.5], [0.9, 0.7, 0.6]]
    >>> comparison = compare(auroc, ["a", "b", "c"], higher_is_better=True)
    >>> comparison.mean_ranks.tolist(), comparison.cliques()  # four rows are too few to tell them apart
    ([1.25, 1.75, 3.0], [('a', 'b', 'c')])
    """
    table = _table(values, "compare")
    rows, columns = table.shape
    if len(names) != columns:
        raise ParameterError.of("names", "compare", f"{columns} names, one per column", list(names))
    first, second = np.triu_indices(columns, k=1)
    pairs = [wilcoxon(table[:, i] - table[:, j]) for i, j in zip(first, second, strict=True)]
    p_values = np.ones((columns, columns))
    p_values[first, second] = p_values[second, first] = holm(pairs)
    return Comparison(
        names=tuple(names),
        n_rows=rows,
        mean_ranks=ranks(table, higher_is_better=higher_is_better).mean(axis=0),
        friedman=_friedman(table),
        p_values=p_values,
    )


def _friedman(table: Matrix) -> float:
    if table.shape[0] < 2 or table.shape[1] < 3:
        return float("nan")
    if (table == table[:, :1]).all():  # only ties, for which the statistic is 0 / 0
        return 1.0
    return float(stats.friedmanchisquare(*table.T).pvalue)


def _table(values: ArrayLike, owner: str) -> Matrix:
    table = np.asarray(values, dtype=np.float64)
    if table.ndim != 2 or table.size == 0 or not np.isfinite(table).all():
        raise ParameterError.of("values", owner, "a table of finite numbers with at least one row", values)
    return table
