"""Line charts and scatter plots as inline SVG; CSS shows values on hover, without scripts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from heros.drift.changes import Change
from heros.report.html import SIZE, axis, frame, labels, short, ticks_of

POINTS = 120
READINGS = 400  # maximum number of values shown on hover, over all lines of a chart
WIDTH, HEIGHT = 290.0, 208.0  # pixels of a plot on a phone, where labels have the least space
LETTER, TALL = 6.6, 15.0  # width of a letter and height of a label in pixels
DOT = 13.0


@dataclass(frozen=True)
class Line:
    """A curve: the index of its colour, its points, and their standard deviation over seeds."""

    colour: int
    label: str
    x: NDArray[np.float64]
    y: NDArray[np.float64]
    spread: NDArray[np.float64] | None = None


@dataclass(frozen=True)
class Point:
    """A labelled point of a scatter plot, with its hover text."""

    colour: int
    label: str
    x: float
    y: float
    note: str = ""


def line_chart(
    title: str,
    lines: Sequence[Line],
    marks: Sequence[tuple[float, float]] = (),
    levels: Mapping[str, float] | None = None,
    *,
    unit: str = "",
    from_zero: bool = False,
    changes: Sequence[Change] = (),
) -> str:
    """Return a chart of curves over a stream; `marks` are the known drifts, as (position, width).

    Each detected change gets a mark; a click on the mark shows the description of the change.
    """
    whole = lines
    lines = [_reduced(line) for line in lines]
    end = max(float(line.x[-1]) for line in lines)
    levels = levels or {}
    values = np.concatenate([*(line.y for line in lines), [*levels.values()]])
    low, high, ticks = axis(values, from_zero=from_zero)
    drawing = [_grid(low, high, ticks), *(_level(name, at, low, high) for name, at in levels.items())]
    for position, width in marks:
        at, span = SIZE * position / end, SIZE * width / end
        drawing.append(f'<rect class="drift" x="{at - span / 2:.1f}" width="{span:.1f}" height="{SIZE}"/>')
        drawing.append(f'<path class="mark" d="M{at:.1f} 0V{SIZE}"/>')
    drawing += [_band(line, end, low, high) for line in lines if line.spread is not None]
    for line in reversed(lines):  # the best line is drawn last, on top
        points = _path(line.x / end, line.y, low, high)
        drawing.append(
            f'<path class="line c{line.colour}" d="{points}"><title>{escape(line.label)}</title></path>'
        )
    x = [(tick / end, short(tick)) for tick in ticks_of(0, end, 5)]
    over = _readings(whole, end, unit) + "".join(_clickable(change, end) for change in changes)
    note = _legend(levels, marks, changes)
    return frame(title, drawing, x, labels(low, high, ticks, unit), "instances", over=over, note=note)


def _clickable(change: Change, end: float) -> str:
    """Return a mark that shows the description of a change when clicked, without a script."""
    side, hint = " left" if change.at > end / 2 else "", f"change at {change.at:,}: click for details"
    return (
        f'<details class="change{side}" style="left:{100 * change.at / end:.2f}%"><summary title="{hint}">'
        f"</summary><p>{escape(str(change))}</p></details>"
    )


def scatter(title: str, points: Sequence[Point], x_name: str, y_name: str, *, higher: bool = True) -> str:
    """Return a chart of labelled points, with a line through the Pareto front.

    A point dominates all points that are further right and lower (higher, if `higher` is False).
    """
    low_x, high_x, ticks_x = axis(np.array([0.0, *(point.x for point in points)]))
    low_y, high_y, ticks_y = axis(np.array([point.y for point in points]))
    places = [((p.x - low_x) / (high_x - low_x), (p.y - low_y) / (high_y - low_y)) for p in points]
    front = _pareto(points, 1 if higher else -1)
    shares = (np.array([p.x for p in front]) - low_x) / (high_x - low_x)
    line = _path(shares, np.array([p.y for p in front]), low_y, high_y)
    drawing = [_grid(low_y, high_y, ticks_y), f'<path class="front" d="{line}"/>']
    dots = []
    for point, (x, y), side in zip(points, places, _sides(points, places), strict=True):
        at = f'style="left:{100 * x:.2f}%;bottom:{100 * y:.2f}%"'
        note = f'title="{escape(point.note or point.label)}"'
        dots.append(f'<i class="dot c{point.colour}" {at} {note}></i>')
        if side:
            dots.append(f'<b class="name {side}" {at}>{escape(point.label)}</b>')
    below = labels(low_x, high_x, ticks_x)
    return frame(
        f"{title}: {y_name}", drawing, below, labels(low_y, high_y, ticks_y), x_name, over="".join(dots)
    )


# -- values on hover ---------------------------------------------------------------------------------------


def _readings(lines: Sequence[Line], end: float, unit: str) -> str:
    """Return strips over the chart; a strip shows the values of all lines while the pointer is in it.

    A strip ends at the end of a window, and shows the values of this window. If there are too many windows,
    a strip shows the last of several windows.
    """
    ends = np.unique(np.concatenate([line.x[np.isfinite(line.y)] for line in lines]))
    strips = min(len(ends), POINTS // 2, READINGS // len(lines))
    if strips < 1:
        return ""
    edges = [0.0, *(float(part[-1]) for part in np.array_split(ends, strips))]
    parts = []
    for left, right in pairwise(edges):
        rows = "".join(
            f'<span><i class="key c{line.colour}"></i>{escape(line.label)}<b>{value}</b></span>'
            for line in lines
            if (value := _reading(line, left, right, unit))
        )
        side = "tip left" if left >= end / 2 else "tip"
        parts.append(
            f'<div class="hit" style="left:{100 * left / end:.2f}%;width:{100 * (right - left) / end:.2f}%">'
            f'<div class="{side}"><em>at {right:,.0f}</em>{rows}</div></div>'
        )
    return "".join(parts)


def _reading(line: Line, left: float, right: float, unit: str) -> str:
    """Return the last value of a line in a strip, with its position unless it is the strip's end."""
    within = np.flatnonzero((line.x > left) & (line.x <= right) & np.isfinite(line.y))
    if not len(within):
        return ""
    at = float(line.x[within[-1]])
    return f"{line.y[within[-1]]:.4g}{unit}" + (f" at {at:,.0f}" if at < right else "")


# -- placement of labels -----------------------------------------------------------------------------------


def _sides(points: Sequence[Point], places: Sequence[tuple[float, float]]) -> list[str]:
    """Return, for each point, a side where its label does not overlap anything; "" if no side is free."""
    occupied = [
        (x * WIDTH - DOT / 2, y * HEIGHT - DOT / 2, x * WIDTH + DOT / 2, y * HEIGHT + DOT / 2)
        for x, y in places
    ]
    sides = []
    for point, (x, y) in zip(points, places, strict=True):
        choices = _boxes(x * WIDTH, y * HEIGHT, LETTER * len(point.label) + 4)
        side = next((side for side, box in choices.items() if _is_free(box, occupied)), "")
        if side:
            occupied.append(choices[side])
        sides.append(side)
    return sides


Box = tuple[float, float, float, float]  # left, bottom, right, top


def _boxes(x: float, y: float, wide: float) -> dict[str, Box]:
    gap, radius = DOT / 2 + 2, TALL / 2
    return {
        "right": (x + gap, y - radius, x + gap + wide, y + radius),
        "left": (x - gap - wide, y - radius, x - gap, y + radius),
        "above": (x - wide / 2, y + gap, x + wide / 2, y + gap + TALL),
        "below": (x - wide / 2, y - gap - TALL, x + wide / 2, y - gap),
    }


def _is_free(box: Box, occupied: Sequence[Box]) -> bool:
    left, bottom, right, top = box
    inside = left >= 0 and right <= WIDTH + 8 and bottom >= -2 and top <= HEIGHT + 8
    return inside and not any(
        left < other[2] and other[0] < right and bottom < other[3] and other[1] < top for other in occupied
    )


# -- levels -----------------------------------------------------------------------------------------------


def _level(name: str, at: float, low: float, high: float) -> str:
    y = SIZE * (1 - (at - low) / (high - low))
    return f'<path class="level" d="M0 {y:.1f}H{SIZE}"><title>{escape(name)}: {at:.4g}</title></path>'


def _legend(
    levels: Mapping[str, float], marks: Sequence[tuple[float, float]], changes: Sequence[Change]
) -> str:
    """Return a line that explains the levels and the marks of a chart.

    Examples
    --------
    >>> _legend({"majority class": 0.62, "previous label": 0.594}, [(2000.0, 1.0)], [])
    'Dotted: majority class 0.62, previous label 0.594. Grey: known drifts.'
    """
    names = ", ".join(f"{name} {at:.3g}" for name, at in levels.items())
    parts = [f"Dotted: {names}." if names else "", "Grey: known drifts." if marks else ""]
    parts.append("▼ Detected changes." if changes else "")
    return " ".join(filter(None, parts))


# -- drawing -----------------------------------------------------------------------------------------------


def _reduced(line: Line) -> Line:
    """Reduce a line to at most `POINTS` points by averaging neighbours."""
    known = ~np.isnan(line.y)
    x, y = line.x[known], line.y[known]
    if len(x) == 0:
        return Line(line.colour, line.label, np.array([0.0, 1.0]), np.zeros(2))
    groups = np.array_split(np.arange(len(x)), min(POINTS, len(x)))
    last = np.array([x[group[-1]] for group in groups])
    mean = np.array([y[group].mean() for group in groups])
    if line.spread is None:
        return Line(line.colour, line.label, last, mean)
    spread = line.spread[known]
    return Line(line.colour, line.label, last, mean, np.array([spread[group].mean() for group in groups]))


def _path(shares: NDArray[np.float64], values: NDArray[np.float64], low: float, high: float) -> str:
    x, y = SIZE * shares, SIZE * (1 - (values - low) / (high - low))
    return "M" + "L".join(f"{a:.1f} {b:.1f}" for a, b in zip(x, y, strict=True))


def _band(line: Line, end: float, low: float, high: float) -> str:
    """Return the band of one standard deviation over seeds, clipped to the axis."""
    assert line.spread is not None
    x = np.concatenate([line.x, line.x[::-1]]) / end
    edge = np.concatenate([line.y + line.spread, (line.y - line.spread)[::-1]])
    return f'<path class="band f{line.colour}" d="{_path(x, np.clip(edge, low, high), low, high)}z"/>'


def _grid(low: float, high: float, ticks: Sequence[float]) -> str:
    lines = (f"M0 {SIZE * (1 - (tick - low) / (high - low)):.1f}H{SIZE}" for tick in ticks)
    return f'<path class="grid" d="{"".join(lines)}"/>'


def _pareto(points: Sequence[Point], sign: int) -> list[Point]:
    """Return the points for which no other point is both cheaper and better."""
    front: list[Point] = []
    for point in sorted(points, key=lambda point: (point.x, -sign * point.y)):
        if not front or sign * point.y > sign * front[-1].y:
            front.append(point)
    return front
