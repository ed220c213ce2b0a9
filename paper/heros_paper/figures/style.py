"""The style of the figures: one colour and one mark per policy, safe for colour-blind readers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patheffects import withStroke

__all__ = ["FAINT", "GRID", "INK", "WIDTH", "Look", "label_points", "look_of", "new_figure", "save", "tidy"]

INK, FAINT, GRID = "#1c2329", "#6b7680", "#dfe4e8"
DPI = 200
WIDTH = 7.2
"""The width of every figure in inches: that of the text on a printed page."""

# Okabe and Ito's palette.
BLACK, ORANGE, SKY, GREEN, BLUE, VERMILION, PURPLE = (
    "#000000",
    "#e69f00",
    "#56b4e9",
    "#009e73",
    "#0072b2",
    "#d55e00",
    "#cc79a7",
)
GREY = "#8c959d"


@dataclass(frozen=True)
class Look:
    """Colour, mark and dashes of a policy."""

    colour: str
    marker: str = "o"
    dashes: str | tuple[int, tuple[int, ...]] = "-"
    hollow: bool = False


_LOOKS = {
    "cand_as_published": Look(PURPLE, "X", (0, (4, 2)), hollow=True),
    "random": Look(GREY, "o"),
    "perform_best_0.1": Look(VERMILION, "^"),
    "perform_worst_0.1": Look(VERMILION, "v", (0, (4, 2)), hollow=True),
    "cheapest_0.1": Look(GREEN, "v"),
    "expensive_0.1": Look(ORANGE, "^"),
    "zeta_0.01_0.1": Look(BLUE, "o"),
    "zeta_0.05_0.1": Look(SKY, "o"),
    "zeta_0.01_0.2": Look(BLUE, "s", (0, (4, 2)), hollow=True),
    "zeta_0.05_0.2": Look(SKY, "s", (0, (4, 2)), hollow=True),
    "cand": Look(PURPLE, "X"),
    "everything": Look(BLACK, "D"),
    "reward_1": Look(BLACK, "P", (0, (1, 1)), hollow=True),
    "reward_1_0.1": Look(BLACK, "P", (0, (1, 1))),
    "perform_best": Look(VERMILION, "^", hollow=True),
    "zeta_0.01": Look(BLUE, "o", hollow=True),
    "zeta_0.05": Look(SKY, "o", hollow=True),
}


def look_of(policy: str) -> Look:
    """Return the style of a policy; an unknown policy is a black star."""
    return _LOOKS.get(policy, Look(BLACK, "*", (0, (3, 1, 1, 1))))


def new_figure(width: float, height: float) -> Figure:
    """Return an empty figure of this size in inches, without a window or global state."""
    return Figure(figsize=(width, height), layout="constrained")


def tidy(axes: Axes) -> None:
    """Apply the style to axes: thin lines, no frame, small grey numbers."""
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        axes.spines[side].set_color(FAINT)
    axes.tick_params(colors=FAINT, labelsize=8, width=0.6, length=3)
    axes.xaxis.label.set(color=INK, fontsize=9)
    axes.yaxis.label.set(color=INK, fontsize=9)
    axes.set_axisbelow(True)


def save(figure: Figure, directory: Path, name: str) -> list[Path]:
    """Write a figure as PDF and PNG and return the paths. The output is reproducible byte for byte."""
    paths = [directory / f"{name}.pdf", directory / f"{name}.png"]
    figure.savefig(paths[0], metadata={"CreationDate": None})
    figure.savefig(paths[1], dpi=DPI, metadata={"Software": None})
    return paths


def label_points(axes: Axes, points: Sequence[tuple[float, float]], texts: Sequence[str]) -> None:
    """Write each point's name beside it, without hiding other names or points."""
    figure = axes.get_figure(root=True)
    assert figure is not None
    figure.draw_without_rendering()  # computes the layout, so that distances on the page are known
    centres = axes.transData.transform(points)
    unit = figure.dpi / 72
    occupied = [(x - 5 * unit, y - 5 * unit, x + 5 * unit, y + 5 * unit) for x, y in centres]
    area = axes.get_window_extent()
    frame = (area.x0, area.y0, area.x1, area.y1)
    for i, ((x, y), text) in enumerate(zip(centres, texts, strict=True)):
        sample = axes.text(0, 0, text, fontsize=8)
        width, height = sample.get_window_extent().size
        sample.remove()
        boxes = [_box(x, y, width, height, dx * unit, dy * unit) for dx, dy in _PLACES]
        others = [*occupied[:i], *occupied[i + 1 :]]  # a line to its own point does not count
        lines = [_line((x, y), box, unit) if _is_far(place) else [] for place, box in enumerate(boxes)]
        hidden = [
            _hidden(box, occupied, frame) + sum(_hidden(step, others, frame) for step in line)
            for box, line in zip(boxes, lines, strict=True)
        ]
        chosen = hidden.index(min(hidden))
        occupied += [boxes[chosen], *lines[chosen]]
        left, bottom = boxes[chosen][:2]
        axes.annotate(
            text,
            (x / unit, y / unit),
            (left / unit, bottom / unit),
            xycoords="figure points",
            textcoords="figure points",
            fontsize=8,
            color=INK,
            va="bottom",
            path_effects=[withStroke(linewidth=2.5, foreground="white")],  # keeps names readable on lines
            arrowprops=_LINE if _is_far(chosen) else None,
        )


_LINE: Any = {"arrowstyle": "-", "color": FAINT, "lw": 0.5, "shrinkB": 4}
_NEAR = ((7, 0), (-7, 0), (0, 8), (0, -8), (6, 7), (-6, 7), (6, -7), (-6, -7))
_PLACES = (*_NEAR, *((2.2 * x, 2.2 * y) for x, y in _NEAR), *((3.6 * x, 3.6 * y) for x, y in _NEAR))
Box = tuple[float, float, float, float]


def _is_far(place: int) -> bool:
    """Return whether a name at this place needs a line to its point."""
    return sum(map(abs, _PLACES[place])) > 12


def _line(point: tuple[float, float], box: Box, unit: float) -> list[Box]:
    """Return the line from a point to its name as small boxes."""
    end = (min(max(point[0], box[0]), box[2]), min(max(point[1], box[1]), box[3]))
    steps = [
        (point[0] + t * (end[0] - point[0]), point[1] + t * (end[1] - point[1])) for t in (0.2, 0.4, 0.6, 0.8)
    ]
    return [(x - 2 * unit, y - 2 * unit, x + 2 * unit, y + 2 * unit) for x, y in steps]


def _box(x: float, y: float, width: float, height: float, dx: float, dy: float) -> Box:
    """Return the box of a text of this size, moved by (dx, dy) from the point (x, y)."""
    left = x + dx - (width if dx < 0 else width / 2 if dx == 0 else 0)
    bottom = y + dy - (height if dy < 0 else height / 2 if dy == 0 else 0)
    return left, bottom, left + width, bottom + height


def _hidden(box: Box, occupied: Sequence[Box], frame: Box) -> float:
    """Return the area of the box that overlaps others or lies outside the frame."""
    area = (box[2] - box[0]) * (box[3] - box[1])
    return sum(_overlap(box, other) for other in occupied) + area - _overlap(box, frame)


def _overlap(a: Box, b: Box) -> float:
    width, height = min(a[2], b[2]) - max(a[0], b[0]), min(a[3], b[3]) - max(a[1], b[1])
    return max(width, 0.0) * max(height, 0.0)
