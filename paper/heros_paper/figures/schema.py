"""A diagram of HEROS: the steps for one instance, as in the paper's second figure."""

from __future__ import annotations

from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch, Rectangle

from heros_paper.figures.style import (
    BLUE,
    FAINT,
    GREEN,
    GRID,
    INK,
    ORANGE,
    VERMILION,
    WIDTH,
    new_figure,
    save,
)

__all__ = ["draw_schema"]

SCORES = (0.62, 0.91, 0.55, 0.88, 0.86)
COSTS = (0.18, 0.80, 1.00, 0.40, 0.12)
CHOSEN = (3, 4)
BEST = 1
LAST = len(SCORES) - 1
ROW = 0.62


def draw_schema(out: Path) -> list[Path]:
    """Draw the stream, the pool with each model's L and γ, the prediction, the policy and training."""
    figure = new_figure(WIDTH, 3.5)
    axes = figure.subplots()
    axes.set(xlim=(0, 12), ylim=(0.3, 6))
    axes.set_axis_off()
    _box(axes, (0.1, 2.2), 1.9, 1.5, "stream", "(x, y) at time t", FAINT)
    _pool(axes)
    _box(axes, (8.6, 4.1), 3.3, 1.25, "1  predict", "the model with the highest L", BLUE)
    _box(
        axes, (8.6, 2.35), 3.3, 1.25, "2  evaluate", "every model's hit or miss\nupdates its L (ADWIN)", GREEN
    )
    _box(axes, (8.6, 0.6), 3.3, 1.25, "3  choose", "the policy π picks at most k\nfrom L and γ", VERMILION)
    _arrow(axes, (2.05, 2.95), (2.75, 2.95), INK)
    axes.text(2.4, 3.1, "x", ha="center", fontsize=8, color=INK)
    axes.plot([1.05, 1.05, 8.15, 8.15], [3.75, 5.75, 5.75, 3.3], color=FAINT, lw=1.1, zorder=1)
    axes.plot([7.95, 8.35], [_height(BEST) + 0.19, _height(BEST) + 0.58], color="white", lw=6, zorder=2)
    _arrow(axes, (7.75, _height(BEST)), (8.55, 4.7), BLUE)
    _arrow(axes, (7.75, 2.95), (8.55, 2.95), GREEN)
    _arrow(axes, (8.55, 1.2), (7.75, _height(CHOSEN[0])), VERMILION)
    _arrow(axes, (8.55, 1.0), (7.75, _height(CHOSEN[1])), VERMILION)
    axes.text(
        5.3,
        0.62,
        "4  train the chosen: γ is spent on them",
        ha="center",
        fontsize=8.5,
        color=VERMILION,
        weight="bold",
    )
    _arrow(axes, (11.2, 5.4), (11.2, 5.95), BLUE)
    axes.text(11.05, 5.7, "ŷ, before y is seen", ha="right", va="center", fontsize=7.5, color=BLUE)
    _arrow(axes, (10.25, 2.3), (10.25, 1.9), INK)
    _arrow(axes, (8.13, 3.3), (8.55, 3.3), FAINT)
    axes.text(1.2, 5.45, "y", fontsize=8, color=INK)
    return save(figure, out, "schema")


def _height(model: int) -> float:
    return 4.55 - model * ROW - (0.35 if model == LAST else 0)


def _pool(axes: Axes) -> None:
    axes.add_patch(
        FancyBboxPatch((2.85, 0.95), 4.85, 4.45, boxstyle="round,pad=0.05", fc="white", ec=FAINT, lw=0.9)
    )
    axes.text(2.95, 5.12, "pool: M models", fontsize=8.5, color=INK, weight="bold")
    axes.text(5.05, 5.12, "score L", fontsize=8, color=GREEN)
    axes.text(6.15, 5.12, "cost γ", fontsize=8, color=ORANGE)
    for model, (score, cost) in enumerate(zip(SCORES, COSTS, strict=True)):
        y = _height(model)
        name = "M" if model == LAST else str(model + 1)
        edge = VERMILION if model in CHOSEN else BLUE if model == BEST else GRID
        axes.add_patch(Rectangle((2.95, y - 0.24), 4.65, 0.48, fc="white", ec=edge, lw=1.2))
        axes.text(3.1, y, f"$f_{{{name}}}$", va="center", fontsize=9, color=INK)
        axes.add_patch(Rectangle((4.1, y - 0.11), 1.8 * score, 0.22, fc=GREEN, lw=0, alpha=0.75))
        axes.add_patch(Rectangle((6.15, y - 0.11), 1.3 * cost, 0.22, fc=ORANGE, lw=0, alpha=0.85))
    axes.text(3.35, _height(LAST) + 0.48, "⋮", va="center", ha="center", fontsize=10, color=FAINT)


def _box(
    axes: Axes, corner: tuple[float, float], width: float, height: float, head: str, text: str, colour: str
) -> None:
    axes.add_patch(
        FancyBboxPatch(corner, width, height, boxstyle="round,pad=0.05", fc="white", ec=colour, lw=1.2)
    )
    x, y = corner
    axes.text(x + 0.12, y + height - 0.28, head, fontsize=8.5, color=colour, weight="bold", va="center")
    axes.text(x + 0.12, y + (height - 0.5) / 2, text, fontsize=7.5, color=INK, va="center")


def _arrow(axes: Axes, start: tuple[float, float], end: tuple[float, float], colour: str) -> None:
    axes.add_patch(
        FancyArrowPatch(start, end, arrowstyle="-|>", mutation_scale=9, color=colour, lw=1.1, zorder=3)
    )
