"""AUROC against Σγ for policies with and without exploration, which separates the effect of ε."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median

from matplotlib.axes import Axes

from heros_paper.figures.style import GRID, INK, WIDTH, label_points, look_of, new_figure, save, tidy
from heros_paper.further import BEGINNING
from heros_paper.published import BESIDE, label_of
from heros_paper.results import TRIED, Cell, Grid, beginning_cells, common, exploration_cells

__all__ = ["draw_exploring"]

CHAINS = (
    ("zeta_0.01", "zeta_0.01_0.1", "zeta_0.01_0.2"),
    ("zeta_0.05", "zeta_0.05_0.1", "zeta_0.05_0.2"),
    ("perform_best", "perform_best_0.1"),
    ("reward_1", "reward_1_0.1"),
)
"""The same policy with increasing exploration."""

AGAINST = "everything"
Cells = Mapping[tuple[str, str], Cell]
Points = dict[str, tuple[float, float]]


def draw_exploring(directory: str | os.PathLike[str], grid: Grid, out: Path) -> list[Path]:
    """Draw medians over streams: for the grid's policies, and for all policies on the streams they share."""
    whole = exploration_cells(directory, grid)
    first = beginning_cells(directory)
    some = [name for name in TRIED if name not in BESIDE]
    beside = max((whole, first), key=lambda cells: len(common(cells, TRIED)))
    shown = [(grid.cells, some, common(grid.cells, some)), (beside, list(TRIED), common(beside, TRIED))]
    panels = [panel for panel in shown if panel[2]]
    if not panels:
        return []
    figure = new_figure(WIDTH, 2.9 * len(panels) + 0.3)
    column = figure.subplots(len(panels), 1, squeeze=False)[:, 0]
    points = [_panel(axes, *panel) for axes, panel in zip(column, panels, strict=True)]
    column[-1].set_xlabel("Σγ, share of training everything (median)")
    for axes, named in zip(column, points, strict=True):  # after the layout is final
        label_points(axes, list(named.values()), [label_of(name) for name in named])
    return save(figure, out, f"exploring_{grid.base.name}")


def _panel(axes: Axes, cells: Cells, policies: Sequence[str], streams: Sequence[str]) -> Points:
    """Draw the policies relative to Everything, the line at zero; return their positions."""
    points = {name: _point(cells, name, streams) for name in policies if name != AGAINST}
    for chain in CHAINS:
        steps = [points[name] for name in chain if name in points]
        axes.plot(*zip(*steps, strict=True), color=look_of(chain[0]).colour, lw=0.8, alpha=0.6, zorder=1)
    for name, (x, y) in points.items():
        look = look_of(name)
        face = "white" if look.hollow else look.colour
        axes.plot(x, y, look.marker, color=look.colour, markerfacecolor=face, markersize=5, zorder=3)
    axes.axhline(0, color=INK, lw=0.8, ls=(0, (3, 3)), zorder=0)
    axes.margins(0.16, 0.12)
    text = axes.annotate(  # above points that lie on the line
        "Everything (Σγ = 1)",
        (0.99, 0),
        xycoords=axes.get_yaxis_transform(),
        xytext=(0, 6),
        textcoords="offset points",
    )
    text.set(ha="right", va="bottom", fontsize=8, color=INK)
    axes.set_ylabel("AUROC − Everything's (median)")
    axes.grid(color=GRID, lw=0.6)
    tidy(axes)
    axes.set_title(f"perceptrons, k = 30, {_where(cells, streams)}", loc="left", fontsize=9, color=INK)
    return points


def _where(cells: Cells, streams: Sequence[str]) -> str:
    n = len(streams)
    which = f"{n} streams" if n > 4 else ", ".join(map(label_of, streams))
    longest = max(cells[stream, AGAINST].n_instances for stream in streams)
    return f"the first {longest:,} instances of {which}" if longest == BEGINNING else which


def _point(cells: Cells, name: str, streams: Sequence[str]) -> tuple[float, float]:
    found = [(cells[stream, name], cells[stream, AGAINST]) for stream in streams]
    share = median(cell.mean("gamma_share") for cell, _ in found)
    return share, median(cell.mean("auroc") - other.mean("auroc") for cell, other in found)
