"""The CPU time of a step by phase (evaluation, choosing, training) for each policy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.font_manager import FontProperties

from heros_paper.figures.style import (
    BLUE,
    FAINT,
    GREY,
    INK,
    ORANGE,
    SKY,
    VERMILION,
    WIDTH,
    new_figure,
    save,
    tidy,
)
from heros_paper.paired import Turns
from heros_paper.published import choosing_of, label_of
from heros_paper.results import Grid

__all__ = ["draw_phases"]

PHASES = {
    "encode": ("encoding", SKY),
    "evaluate": ("evaluating all models", BLUE),
    "choose": ("choosing k", VERMILION),
    "train": ("training them", ORANGE),
    "other": ("other", GREY),
}


@dataclass(frozen=True)
class _Bar:
    """A policy's CPU microseconds per instance, by phase."""

    policy: str
    micros: Mapping[str, float]

    @property
    def choosing(self) -> float:
        """The share of choosing in the total."""
        return self.micros["choose"] / sum(self.micros.values())


def draw_phases(
    grids: Sequence[Grid], out: Path, turns: Mapping[str, Turns] | None = None, stream: str = "electricity"
) -> list[Path]:
    """Draw the CPU time per instance by phase, for every policy on the stream and every base learner.

    Paired measurements (by the name of the base learner) are preferred to those of the grid, whose runs had
    different machine loads.
    """
    found = [(grid, _bars(grid, (turns or {}).get(grid.base.name, {}), stream)) for grid in grids]
    found = [(grid, bars) for grid, bars in found if bars]
    if not found:
        return []
    rows = max(len(bars) for _, bars in found)
    figure = new_figure(WIDTH, 0.22 * rows + 1.1)
    panels = figure.subplots(1, len(found), squeeze=False)[0]
    for axes, (grid, bars) in zip(panels, found, strict=True):
        _panel(axes, bars, grid.base.name)
        axes.set_title(f"{grid.base.label}, k = {grid.base.k}", loc="left", fontsize=9, color=INK)
    for axes in panels[1:]:
        if [bar.policy for bar in found[0][1]] == [bar.policy for bar in found[1][1]]:
            axes.set_yticklabels([])
    handles, labels = panels[0].get_legend_handles_labels()
    named = figure.legend(
        handles, labels, loc="outside upper left", ncols=len(PHASES), frameon=False, fontsize=7.5
    )
    named.set_title(
        _measurement_text(found[0][1][0].policy, turns, found[0][0], stream), FontProperties(size=9)
    )
    named.set_alignment("left")
    return save(figure, out, f"phases_{stream}")


def _measurement_text(policy: str, turns: Mapping[str, Turns] | None, grid: Grid, stream: str) -> str:
    """Return a text on the stream, its range and the kind of measurement."""
    measured = (turns or {}).get(grid.base.name, {}).get((stream, policy))
    if measured is None:
        return f"{stream}, whole runs"
    return f"{stream}, the first {measured.n_instances:,} instances, policies in turn; kernel: {measured.isa}"


def _bars(grid: Grid, turns: Turns, stream: str) -> list[_Bar]:
    """Return the paired measurements if all policies have them, otherwise those of the grid."""
    cells = [cell for name in grid.columns if (cell := grid.cell(stream, name))]
    if all((stream, cell.policy) in turns for cell in cells):
        one = {cell.policy: turns[stream, cell.policy] for cell in cells}
        spent = {
            policy: ({phase: getattr(measured, phase, 0.0) for phase in PHASES}, measured.n_instances)
            for policy, measured in one.items()
        }
    else:
        spent = {
            cell.policy: ({phase: cell.mean(f"cpu_{phase}") for phase in PHASES}, cell.n_instances)
            for cell in cells
        }
    return [
        _Bar(policy, {phase: 1e6 * seconds / n for phase, seconds in phases.items()})
        for policy, (phases, n) in spent.items()
    ]


def _panel(axes: Axes, bars: Sequence[_Bar], base: str) -> None:
    places, left = np.arange(len(bars)), np.zeros(len(bars))
    for phase, (label, colour) in PHASES.items():
        width = np.array([bar.micros[phase] for bar in bars])
        shown = label if width.any() else None  # paired measurements have no other phases
        axes.barh(places, width, left=left, color=colour, height=0.68, label=shown, lw=0)
        left += width
    for place, bar, total in zip(places.tolist(), bars, left.tolist(), strict=True):
        published = choosing_of(base, bar.policy)
        text = f" {100 * bar.choosing:.1f} %" + (
            f"  (paper {published})" if published and base != "mlp" else ""
        )
        axes.text(total, place, text, va="center", fontsize=6.5, color=FAINT)
    axes.set_yticks(places, [label_of(bar.policy) for bar in bars])
    axes.invert_yaxis()
    axes.set_xlim(0, (1.15 if base == "mlp" else 1.45) * left.max())
    about = ", paper about 1" if base == "mlp" else ""
    axes.set_xlabel(f"CPU µs per instance; in %: choosing{about}")
    tidy(axes)
    axes.xaxis.label.set_fontsize(7.5)
    axes.tick_params(axis="y", length=0, labelcolor=INK, labelsize=7.5)
    axes.spines["left"].set_visible(False)
