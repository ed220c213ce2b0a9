"""Mean ranks by AUROC against mean ranks by energy, with critical-difference bars on both axes.

Energy is CPU time times watts. Where the policies took turns on the same blocks their times are compared
there: those of whole runs are of several machines, with other jobs beside them.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import SubFigure

from heros_paper.figures.style import GRID, INK, WIDTH, label_points, look_of, new_figure, save, tidy
from heros_paper.paired import Turns
from heros_paper.published import OURS, POLICIES, STREAMS, label_of
from heros_paper.ranks import ALPHA, Comparison, compare
from heros_paper.results import Grid

__all__ = ["draw_tradeoff"]


def draw_tradeoff(grid: Grid, out: Path, turns: Turns | None = None) -> list[Path]:
    """Our ranks and the paper's, side by side; nothing if no stream has all policies."""
    ours = _ours(grid, turns or {})
    if ours is None:
        return []
    figure = new_figure(WIDTH, 3.9)
    left, right = figure.subfigures(1, 2, squeeze=False, wspace=0.04)[0]
    n = ours[0].n_rows
    _panel(left, f"HEROS, {grid.base.label}: {n} stream{'s' if n > 1 else ''}", *ours)
    _panel(right, f"{grid.base.table} of the paper, its printed figures", *_papers(grid))
    return save(figure, out, f"tradeoff_{grid.base.name}")


def _ours(grid: Grid, turns: Turns) -> tuple[Comparison, Comparison] | None:
    """The paper's ten and a reader's own, on the streams where all of them were run.

    Not our three columns: with the 78 pairs of thirteen policies no difference over eleven streams can be
    significant after Holm's correction; with the paper's 45 it can.
    """
    wanted = [policy for policy in grid.columns if policy not in OURS]
    run = [policy for policy in wanted if any(grid.cell(stream, policy) for stream in STREAMS)]
    streams, auroc = grid.matrix("auroc", run)
    if not streams or len(run) < 2:
        return None
    _, kwh = grid.matrix("kwh", run)
    if all((stream, policy) in turns for stream in streams for policy in run):
        kwh = np.array([[turns[stream, policy].cpu_seconds for policy in run] for stream in streams])
    return compare(auroc, run, higher_is_better=True), compare(kwh, run, higher_is_better=False)


def _papers(grid: Grid) -> tuple[Comparison, Comparison]:
    published, names = grid.base.published, list(POLICIES)
    auroc = compare(list(published.auroc.values()), names, higher_is_better=True)
    return auroc, compare(list(published.kwh.values()), names, higher_is_better=False)


def _panel(figure: SubFigure, title: str, auroc: Comparison, kwh: Comparison) -> None:
    axes = figure.subplots(2, 2, width_ratios=[6, 0.7], height_ratios=[0.7, 6], squeeze=False)
    above, plot, beside = axes[0, 0], axes[1, 0], axes[1, 1]
    axes[0, 1].set_axis_off()
    note = f"bars: no significant difference (Wilcoxon, Holm, {1 - ALPHA:.0%})"
    figure.suptitle(f"{title}\n{note}", x=0.02, ha="left", fontsize=8, color=INK)
    last = len(auroc.names)
    points = list(zip(auroc.mean_ranks.tolist(), kwh.mean_ranks.tolist(), strict=True))
    for name, (x, y) in zip(auroc.names, points, strict=True):
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
    plot.set(xlim=(0.5, last + 0.5), ylim=(0.5, last + 0.5))
    plot.set_xlabel("mean rank by AUROC   (1 is best)")
    plot.set_ylabel("mean rank by energy   (1 is lowest)")
    ticks = range(1, last + 1)
    plot.set_xticks(ticks)
    plot.set_yticks(ticks)
    plot.grid(color=GRID, lw=0.6)
    tidy(plot)
    _bars(above, _spans(auroc), horizontal=True, last=last)
    _bars(beside, _spans(kwh), horizontal=False, last=last)
    label_points(plot, points, [label_of(name) for name in auroc.names])


def _spans(comparison: Comparison) -> list[tuple[float, float]]:
    """From where to where each bar goes, in mean ranks."""
    ranks = dict(zip(comparison.names, comparison.mean_ranks.tolist(), strict=True))
    return [(ranks[clique[0]], ranks[clique[-1]]) for clique in comparison.cliques()]


def _bars(axes: Axes, spans: Sequence[tuple[float, float]], *, horizontal: bool, last: int) -> None:
    """Bars along one side of the plot: what one of them spans does not differ significantly."""
    for level, (low, high) in enumerate(spans):
        ends, place = [low - 0.06, high + 0.06], [level, level]
        axes.plot(*(ends, place) if horizontal else (place, ends), color=INK, lw=2.4, solid_capstyle="butt")
    room = (-0.8, max(len(spans), 3) - 0.5)
    axes.set(
        **{"xlim": (0.5, last + 0.5), "ylim": room}
        if horizontal
        else {"xlim": room, "ylim": (0.5, last + 0.5)}
    )
    axes.set_axis_off()
