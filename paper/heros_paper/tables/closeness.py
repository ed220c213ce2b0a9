"""The closeness of our AUROC to the paper's, by measures that distinguish a replication from a guess.

Most cells of a row of the paper's tables are nearly equal. A guess that fills each row with the paper's
median would therefore also be close in most cells. Such a guess lacks the order of the policies: correlation
within rows, and the order of the mean ranks.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from heros_paper.published import POLICIES, STREAMS
from heros_paper.ranks import ranks
from heros_paper.results import Grid
from heros_paper.tables.agreement import tolerance
from heros_paper.tables.layout import Entry, Table, decimal

__all__ = ["GOOD", "Closeness", "closeness_table", "within_rows"]

GOOD = tuple(name for name in POLICIES if name not in {"cand_as_published", "random", "perform_worst_0.1"})
"""The paper's policies without the three worst: seven policies with nearly equal results."""

DRAWS = 2000
Matrix = NDArray[np.float64]


@dataclass(frozen=True)
class Closeness:
    """A measure of closeness: our value, its range over resampled seeds, and the value of the row medians."""

    name: str
    ours: float
    low: float  # 2.5 % quantile over resampled seeds; `high` is the 97.5 % quantile
    high: float
    guess: float | None  # None if the measure is undefined for rows of equal values
    whole: bool = False  # whether it is a number of cells

    def entries(self) -> list[Entry]:
        """Return the measure as a row of the table."""
        texts = [self._text(value) for value in (self.ours, self.low, self.high)]
        guess = "–" if self.guess is None else self._text(self.guess)
        return [Entry(self.name), Entry(texts[0]), Entry(f"{texts[1]} to {texts[2]}"), Entry(guess)]

    def _text(self, value: float) -> str:
        return f"{value:.0f}" if self.whole else decimal(value, 4 if "distance" in self.name else 2)


def within_rows(ours: Matrix, paper: Matrix) -> float:
    """Return the correlation of two tables after each row's mean is subtracted.

    Examples
    --------
    >>> paper = np.array([[0.9, 0.8, 0.7], [0.5, 0.5, 0.2]])
    >>> round(within_rows(paper + [[0.1], [-0.1]], paper), 3)  # rows that are off as a whole
    1.0
    """
    centred = [table - table.mean(axis=1, keepdims=True) for table in (ours, paper)]
    return float(np.corrcoef(centred[0].ravel(), centred[1].ravel())[0, 1])


def closeness_table(grid: Grid) -> Table:
    """Return the measures over all cells that ran at full length, on streams with all ten policies."""
    measured = _measured(grid)
    return Table(
        name=f"closeness_{grid.base.name}",
        title=f"{grid.base.table}, how near: {grid.base.label}",
        header=["measure", "ours", "95 % over seeds", "the paper's row median"],
        groups=[[one.entries() for one in measured] or [[Entry("not run"), *[Entry("–")] * 3]]],
        notes=[
            "The paper's row median: what the measure would be if we had written the median of the paper's "
            "row into each of its cells. 95 %: over draws with replacement of the seeds of every stream, "
            "common to its policies; streams with one seed add nothing to it. "
            "The seven: without CAND as published, random and perform-worst.",
        ],
        data=[vars(one) for one in measured],
    )


def _measured(grid: Grid) -> list[Closeness]:
    streams = [name for name in grid.matrix("auroc", POLICIES)[0] if _whole(grid, name)]
    if len(streams) < 2:
        return []
    paper = np.array([grid.base.published.auroc[name] for name in streams])
    drawn = _drawn(grid, streams)
    ours, guess = drawn[0], np.repeat(np.median(paper, axis=1, keepdims=True), len(POLICIES), axis=1)
    allowed = np.array([[tolerance(name)] for name in streams])
    seven = [list(POLICIES).index(name) for name in GOOD]
    calm = [i for i, name in enumerate(streams) if name != "wisdm"]
    measures: list[tuple[str, Callable[[Matrix], float], bool, bool]] = [
        (f"cells of {paper.size} within .015 (RBF_f: .03)", lambda t: _near(t - paper, allowed), True, True),
        (f"cells of {paper.size} within .005", lambda t: _near(t - paper, 0.005), True, True),
        ("mean distance", lambda t: float(np.abs(t - paper).mean()), True, False),
        ("median distance", lambda t: float(np.median(np.abs(t - paper))), True, False),
        ("correlation within rows", lambda t: within_rows(t, paper), False, False),
        ("the same, the seven", lambda t: within_rows(t[:, seven], paper[:, seven]), False, False),
        (
            "the same, the seven, without WISDM",
            lambda t: within_rows(t[np.ix_(calm, seven)], paper[np.ix_(calm, seven)]),
            False,
            False,
        ),
        ("Kendall's τ of the mean ranks", lambda t: _tau(t, paper), False, False),
        ("the same, the seven", lambda t: _tau(t[:, seven], paper[:, seven]), False, False),
    ]
    found = []
    for name, measure, guessable, whole in measures:
        low, high = np.percentile([measure(table) for table in drawn[1:]], [2.5, 97.5]).tolist()
        guessed = measure(guess) if guessable else None
        found.append(Closeness(name, measure(ours), low, high, guessed, whole))
    return found


def _whole(grid: Grid, stream: str) -> bool:
    cell = grid.cell(stream, next(iter(POLICIES)))
    return cell is not None and cell.n_instances >= STREAMS[stream].n_instances


def _drawn(grid: Grid, streams: list[str]) -> Matrix:
    """Return our table from all seeds, followed by tables from resampled seeds."""
    rng = np.random.default_rng(1)
    rows = []
    for stream in streams:
        cells = [grid.cells[stream, policy] for policy in POLICIES]
        seeds = sorted(set.intersection(*(set(cell.seeds) for cell in cells)))
        by_seed = np.array([[cell.mean("auroc", [seed]) for cell in cells] for seed in seeds])
        whole = np.array([cell.mean("auroc") for cell in cells])
        draws = rng.integers(len(seeds), size=(DRAWS, len(seeds)))
        rows.append(np.vstack([whole, by_seed[draws].mean(axis=1)]))
    return np.stack(rows, axis=1)


def _near(differences: Matrix, allowed: Matrix | float) -> float:
    return float((np.abs(differences) <= allowed).sum())


def _tau(ours: Matrix, paper: Matrix) -> float:
    means = [ranks(table, higher_is_better=True).mean(axis=0) for table in (ours, paper)]
    return float(stats.kendalltau(*means).statistic)
