"""AUROC against Σγ for policies with and without exploration: what is due to ε, and what to the policy."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median

from matplotlib.axes import Axes

from heros_paper.figures.style import FAINT, GRID, INK, WIDTH, label_points, look_of, new_figure, save, tidy
from heros_paper.published import BESIDE, STREAMS, label_of
from heros_paper.results import TRIED, Cell, Grid, exploration_cells

__all__ = ["draw_exploring"]

CHAINS = (
    ("zeta_0.01", "zeta_0.01_0.1", "zeta_0.01_0.2"),
    ("zeta_0.05", "zeta_0.05_0.1", "zeta_0.05_0.2"),
    ("perform_best", "perform_best_0.1"),
    ("reward_1", "reward_1_0.1"),
)
"""The same policy with more and more exploration."""

AGAINST = "everything"
Cells = Mapping[tuple[str, str], Cell]


def draw_exploring(directory: str | os.PathLike[str], grid: Grid, out: Path) -> list[Path]:
    """Medians over streams: of the grid's policies, and with those beside it on the streams they ran on."""
    cells = exploration_cells(directory, grid)
    panels = [
        (policies, streams)
        for policies in ([name for name in TRIED if name not in BESIDE], TRIED)
        if (streams := _common(cells, policies))
    ]
    if not panels:
        return []
    figure = new_figure(WIDTH, 3.4)
    for axes, (policies, streams) in zip(
        figure.subplots(1, len(panels), squeeze=False)[0], panels, strict=True
    ):
        _panel(axes, cells, policies, streams)
    return save(figure, out, f"exploring_{grid.base.name}")


def _common(cells: Cells, policies: Sequence[str]) -> list[str]:
    """The streams on which all of these ran equally long."""
    found = []
    for stream in STREAMS:
        row = [cells[stream, name] for name in policies if (stream, name) in cells]
        if len(row) == len(policies) and len({cell.n_instances for cell in row}) == 1:
            found.append(stream)
    return found


def _panel(axes: Axes, cells: Cells, policies: Sequence[str], streams: Sequence[str]) -> None:
    points = {name: _point(cells, name, streams) for name in policies}
    for chain in CHAINS:
        steps = [points[name] for name in chain if name in points]
        axes.plot(*zip(*steps, strict=True), color=look_of(chain[0]).colour, lw=0.8, alpha=0.6, zorder=1)
    for name, (x, y) in points.items():
        look = look_of(name)
        face = "white" if look.hollow else look.colour
        axes.plot(x, y, look.marker, color=look.colour, markerfacecolor=face, markersize=5, zorder=3)
    axes.axhline(0, color=FAINT, lw=0.6, ls=(0, (3, 3)), zorder=0)
    axes.set_xlabel("Σγ, share of training everything (median)")
    axes.set_ylabel("AUROC − Everything's (median)")
    axes.margins(0.18)
    axes.grid(color=GRID, lw=0.6)
    tidy(axes)
    n = len(streams)
    which = f"{n} streams" if n > 4 else ", ".join(map(label_of, streams))
    axes.set_title(which, loc="left", fontsize=9, color=INK)
    label_points(axes, list(points.values()), [label_of(name) for name in points])


def _point(cells: Cells, name: str, streams: Sequence[str]) -> tuple[float, float]:
    found = [(cells[stream, name], cells[stream, AGAINST]) for stream in streams]
    share = median(cell.mean("gamma_share") for cell, _ in found)
    return share, median(cell.mean("auroc") - other.mean("auroc") for cell, other in found)
