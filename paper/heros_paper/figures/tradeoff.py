"""Mean ranks by AUROC against mean ranks by energy, with critical-difference bars on both axes.

Our policies are drawn at the rank that they would have among the paper's ten, without bars: with the 78 pairs
of thirteen policies, no difference over eleven streams can be significant after Holm's correction; with the
paper's 45 pairs it can.

Energy is CPU time times watts. Paired measurements are used if there are any, because the whole runs come
from several machines with other jobs.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import SubFigure
from numpy.typing import NDArray

from heros_paper.figures.style import GRID, INK, WIDTH, label_points, look_of, new_figure, save, tidy
from heros_paper.paired import Turns
from heros_paper.published import OURS, POLICIES, STREAMS, label_of
from heros_paper.ranks import ALPHA, Comparison, compare
from heros_paper.results import Grid

__all__ = ["draw_tradeoff"]

Matrix = NDArray[np.float64]
Points = dict[str, tuple[float, float]]


def draw_tradeoff(grid: Grid, out: Path, turns: Turns | None = None) -> list[Path]:
    """Draw our ranks and the paper's side by side; nothing if no stream has all policies."""
    ours = _ours(grid, turns or {})
    if ours is None:
        return []
    ten, beside, in_turn = ours
    figure = new_figure(WIDTH, 3.9)
    left, right = figure.subfigures(1, 2, squeeze=False, wspace=0.04)[0]
    n = ten[0].n_rows
    cost = "CPU time in turn" if in_turn else "CPU time of the runs"
    _panel(left, f"HEROS, {grid.base.label}: {n} stream{'s' if n > 1 else ''}; energy: {cost}", *ten, beside)
    _panel(right, f"{grid.base.table} of the paper, its printed figures", *_papers(grid))
    return save(figure, out, f"tradeoff_{grid.base.name}")


def _ours(grid: Grid, turns: Turns) -> tuple[tuple[Comparison, Comparison], Points, bool] | None:
    """Return the comparison of the ten and user policies, our policies' ranks, and if costs are paired."""
    wanted = [policy for policy in grid.columns if policy not in OURS]
    run = [policy for policy in wanted if any(grid.cell(stream, policy) for stream in STREAMS)]
    streams, auroc = grid.matrix("auroc", run)
    if not streams or len(run) < 2:
        return None
    extra = [policy for policy in OURS if all(grid.cell(stream, policy) for stream in streams)]
    in_turn = all((stream, policy) in turns for stream in streams for policy in (*run, *extra))

    def costs(policies: Sequence[str]) -> Matrix:
        if not in_turn:
            return _figures(grid, "kwh", streams, policies)
        return np.array([[turns[stream, policy].cpu_seconds for policy in policies] for stream in streams])

    kwh = costs(run)
    x = _ranks_among(auroc, _figures(grid, "auroc", streams, extra), higher_is_better=True)
    y = _ranks_among(kwh, costs(extra), higher_is_better=False)
    ten = compare(auroc, run, higher_is_better=True), compare(kwh, run, higher_is_better=False)
    return ten, dict(zip(extra, zip(x, y, strict=True), strict=True)), in_turn


def _figures(grid: Grid, figure: str, streams: Sequence[str], policies: Sequence[str]) -> Matrix:
    return np.array([[grid.cells[stream, name].mean(figure) for name in policies] for stream in streams])


def _ranks_among(ten: Matrix, others: Matrix, *, higher_is_better: bool) -> list[float]:
    """Return the mean rank that each of the other columns would have among the ten.

    Examples
    --------
    >>> _ranks_among(np.array([[0.9, 0.8], [0.7, 0.6]]), np.array([[0.85], [0.7]]), higher_is_better=True)
    [1.75]
    """
    sign = 1 if higher_is_better else -1
    found = []
    for values in others.T:
        ahead = sign * (ten - values[:, None])
        found.append(float((1 + (ahead > 0).sum(axis=1) + 0.5 * (ahead == 0).sum(axis=1)).mean()))
    return found


def _papers(grid: Grid) -> tuple[Comparison, Comparison]:
    published, names = grid.base.published, list(POLICIES)
    auroc = compare(list(published.auroc.values()), names, higher_is_better=True)
    return auroc, compare(list(published.kwh.values()), names, higher_is_better=False)


def _panel(
    figure: SubFigure, title: str, auroc: Comparison, kwh: Comparison, beside: Points | None = None
) -> None:
    axes = figure.subplots(2, 2, width_ratios=[6, 0.7], height_ratios=[0.7, 6], squeeze=False)
    above, plot, right = axes[0, 0], axes[1, 0], axes[1, 1]
    axes[0, 1].set_axis_off()
    note = f"bars: no significant difference (Wilcoxon, Holm, {1 - ALPHA:.0%})"
    note += "\n*: rank that it would have among the others" if beside is not None else "\n"
    figure.suptitle(f"{title}\n{note}", x=0.02, ha="left", fontsize=8, color=INK)
    last = len(auroc.names)
    ranked = zip(auroc.mean_ranks.tolist(), kwh.mean_ranks.tolist(), strict=True)
    points = dict(zip(auroc.names, ranked, strict=True)) | (beside or {})
    for name, (x, y) in points.items():
        look = look_of(name)
        plot.plot(
            x,
            y,
            look.marker,
            color=look.colour,
            markerfacecolor="white" if look.hollow else look.colour,
            markersize=5,
            markeredgewidth=1.4,
            clip_on=False,
            zorder=3,
        )
    limits = (0.5, last + (1.4 if beside else 0.5))
    plot.set(xlim=limits, ylim=limits)
    plot.set_xlabel("mean rank by AUROC   (1 is best)")
    plot.set_ylabel("mean rank by energy   (1 is lowest)")
    ticks = range(1, last + 1)
    plot.set_xticks(ticks)
    plot.set_yticks(ticks)
    plot.grid(color=GRID, lw=0.6)
    tidy(plot)
    _bars(above, _spans(auroc), horizontal=True, along=limits)
    _bars(right, _spans(kwh), horizontal=False, along=limits)
    label_points(plot, list(points.values()), [_named(name) for name in points])


def _named(policy: str) -> str:
    return f"{label_of(policy)}*" if policy in OURS else label_of(policy)


def _spans(comparison: Comparison) -> list[tuple[float, float]]:
    """Return the start and end of each bar in mean ranks."""
    ranks = dict(zip(comparison.names, comparison.mean_ranks.tolist(), strict=True))
    return [(ranks[clique[0]], ranks[clique[-1]]) for clique in comparison.cliques()]


def _bars(
    axes: Axes, spans: Sequence[tuple[float, float]], *, horizontal: bool, along: tuple[float, float]
) -> None:
    """Draw bars along one side of the plot; policies under one bar do not differ significantly."""
    for level, (low, high) in enumerate(spans):
        ends, place = [low - 0.06, high + 0.06], [level, level]
        axes.plot(*(ends, place) if horizontal else (place, ends), color=INK, lw=2.4, solid_capstyle="butt")
    limits = (-0.8, max(len(spans), 3) - 0.5)
    axes.set(**{"xlim": along, "ylim": limits} if horizontal else {"xlim": limits, "ylim": along})
    axes.set_axis_off()
