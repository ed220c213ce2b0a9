"""Where the CPU time of a step goes: evaluation, choosing and training, per policy."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes

from heros_paper.figures.style import BLUE, FAINT, GREY, INK, ORANGE, SKY, VERMILION, new_figure, save, tidy
from heros_paper.published import label_of
from heros_paper.results import Cell, Grid

__all__ = ["draw_phases"]

PHASES = {
    "encode": ("encoding", SKY),
    "evaluate": ("evaluating all models", BLUE),
    "choose": ("choosing k", VERMILION),
    "train": ("training them", ORANGE),
    "other": ("other", GREY),
}


def draw_phases(grids: Sequence[Grid], out: Path, stream: str = "electricity") -> list[Path]:
    """CPU time per instance by phase, for every policy that ran on the stream and every base learner."""
    found = [(grid, [cell for name in grid.columns if (cell := grid.cell(stream, name))]) for grid in grids]
    found = [(grid, cells) for grid, cells in found if cells]
    if not found:
        return []
    rows = max(len(cells) for _, cells in found)
    figure = new_figure(5.2 * len(found) + 0.4, 0.27 * rows + 1.5)
    panels = figure.subplots(1, len(found), squeeze=False)[0]
    for axes, (grid, cells) in zip(panels, found, strict=True):
        _panel(axes, cells)
        axes.set_title(
            f"{grid.base.label.capitalize()}, k = {grid.base.k}", loc="left", fontsize=10, color=INK
        )
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper left", ncols=len(PHASES), frameon=False, fontsize=8)
    return save(figure, out, f"phases_{stream}")


def _panel(axes: Axes, cells: Sequence[Cell]) -> None:
    places = np.arange(len(cells))
    left = np.zeros(len(cells))
    for phase, (label, colour) in PHASES.items():
        width = np.array([1e6 * cell.mean(f"cpu_{phase}") / cell.n_instances for cell in cells])
        axes.barh(places, width, left=left, color=colour, height=0.68, label=label, lw=0)
        left += width
    for place, cell, total in zip(places.tolist(), cells, left.tolist(), strict=True):
        share = cell.mean("cpu_choose") / cell.mean("cpu_seconds")
        axes.text(total, place, f" choosing {share:.1%}", va="center", fontsize=7, color=FAINT)
    axes.set_yticks(places, [label_of(cell.policy) for cell in cells])
    axes.invert_yaxis()
    axes.set_xlim(0, 1.22 * left.max())
    axes.set_xlabel("CPU µs per instance")
    tidy(axes)
    axes.tick_params(axis="y", length=0, labelcolor=INK)
    axes.spines["left"].set_visible(False)
