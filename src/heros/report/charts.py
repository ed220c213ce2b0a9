"""Charts as inline SVG. The drawing stretches with the page; its labels are text of the page and do not."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

import numpy as np
from numpy.typing import NDArray

__all__ = ["Line", "Point", "heat_map", "line_chart", "scatter", "short"]

SIZE = 1000  # of the coordinate system, both ways
POINTS = 120
SHADES = 8


@dataclass(frozen=True)
class Line:
    """A curve: its number among the colours, and its points."""

    colour: int
    label: str
    x: NDArray[np.float64]
    y: NDArray[np.float64]


@dataclass(frozen=True)
class Point:
    """A labelled point of a scatter plot."""

    colour: int
    label: str
    x: float
    y: float


def line_chart(
    title: str, lines: Sequence[Line], marks: Sequence[tuple[float, float]] = (), *, unit: str = ""
) -> str:
    """Curves over the instances of a stream; `marks` are drifts: (position, width)."""
    lines = [_thinned(line) for line in lines]
    end = max(float(line.x[-1]) for line in lines)
    values = np.concatenate([line.y for line in lines])
    low, high, ticks = _axis(values)
    drawing = [_grid(low, high, ticks)]
    for position, width in marks:
        at, span = SIZE * position / end, SIZE * width / end
        drawing.append(f'<rect class="drift" x="{at - span / 2:.1f}" width="{span:.1f}" height="{SIZE}"/>')
        drawing.append(f'<path class="mark" d="M{at:.1f} 0V{SIZE}"/>')
    for line in lines:
        points = _path(line, end, low, high)
        drawing.append(
            f'<path class="line c{line.colour}" d="{points}"><title>{escape(line.label)}</title></path>'
        )
    x = [(tick / end, short(tick)) for tick in _ticks(0, end, 4)]
    return _chart(title, drawing, x, _labels(low, high, ticks, unit), "instances")


def scatter(title: str, points: Sequence[Point], x_name: str, y_name: str, *, higher: bool = True) -> str:
    """Points with their names, and the line through those no other point beats both ways.

    A point beats another if it is to the left of it and higher or, if `higher` is not better, lower.
    """
    low_x, high_x, ticks_x = _axis(np.array([0.0, *(point.x for point in points)]))
    low_y, high_y, ticks_y = _axis(np.array([point.y for point in points]))
    front = _pareto(points, 1 if higher else -1)
    line = Line(0, "", np.array([p.x - low_x for p in front]), np.array([p.y for p in front]))
    drawing = [_grid(low_y, high_y, ticks_y)]
    drawing.append(f'<path class="front" d="{_path(line, high_x - low_x, low_y, high_y)}"/>')
    dots = []
    for point in points:
        left = 100 * (point.x - low_x) / (high_x - low_x)
        bottom = 100 * (point.y - low_y) / (high_y - low_y)
        side = " left" if left > 45 else ""
        dots.append(
            f'<i class="dot c{point.colour}" style="left:{left:.2f}%;bottom:{bottom:.2f}%"></i>'
            f'<b class="name{side}" style="left:{left:.2f}%;bottom:{bottom:.2f}%">{escape(point.label)}</b>'
        )
    x = [((tick - low_x) / (high_x - low_x), short(tick)) for tick in ticks_x]
    return _chart(f"{title}: {y_name}", drawing, x, _labels(low_y, high_y, ticks_y), x_name, "".join(dots))


def heat_map(
    title: str,
    share: NDArray[np.float64],
    end: float,
    marks: Sequence[tuple[float, float]],
    rows: Sequence[str],
) -> str:
    """(models, time) as shades: how often each model was trained. `rows` names the first and last model."""
    models, columns = share.shape
    shade = np.ceil(np.clip(share, 0, 1) * SHADES).astype(int)
    drawing = []
    for level in range(1, SHADES + 1):
        path = "".join(_runs(shade == level))
        if path:
            drawing.append(f'<path class="heat" fill-opacity="{level / SHADES:.3f}" d="{path}"/>')
    for position, _ in marks:
        at = columns * position / end
        drawing.append(f'<path class="mark" d="M{at:.2f} 0V{models}"/>')
    x = [(tick / end, short(tick)) for tick in _ticks(0, end, 4)]
    y = [(0.5 / models, rows[0]), (1 - 0.5 / models, rows[1])]
    return _chart(title, drawing, x, y, "instances", box=(columns, models))


def _runs(mask: NDArray[np.bool_]) -> list[str]:
    """Rectangles over neighbouring cells of a row; row 0 at the bottom."""
    parts = []
    for row, cells in enumerate(mask):
        edges = np.flatnonzero(np.diff(np.concatenate([[0], cells.astype(np.int8), [0]])))
        y = len(mask) - 1 - row
        parts += [f"M{a} {y}h{b - a}v1h{a - b}z" for a, b in edges.reshape(-1, 2).tolist()]
    return parts


def _chart(
    title: str,
    drawing: Sequence[str],
    x: Sequence[tuple[float, str]],
    y: Sequence[tuple[float, str]],
    x_name: str,
    over: str = "",
    box: tuple[int, int] = (SIZE, SIZE),
) -> str:
    below = "".join(f'<span style="left:{100 * at:.2f}%">{escape(text)}</span>' for at, text in x)
    beside = "".join(f'<span style="bottom:{100 * at:.2f}%">{escape(text)}</span>' for at, text in y)
    kind = "curves" if box == (SIZE, SIZE) else "map"
    svg = (
        f'<svg class="{kind}" viewBox="0 0 {box[0]} {box[1]}" preserveAspectRatio="none" role="img" '
        f'aria-label="{escape(title)}">{"".join(drawing)}</svg>'
    )
    return (
        f'<figure><figcaption>{escape(title)}</figcaption><div class="plot"><div class="y">{beside}</div>'
        f'<div class="area">{svg}{over}</div><div class="x">{below}</div>'
        f'<div class="xname">{escape(x_name)}</div></div></figure>'
    )


def _thinned(line: Line) -> Line:
    """At most so many points, each the mean of its neighbours."""
    known = ~np.isnan(line.y)
    x, y = line.x[known], line.y[known]
    if len(x) == 0:
        return Line(line.colour, line.label, np.array([0.0, 1.0]), np.zeros(2))
    parts = min(POINTS, len(x))
    groups = np.array_split(np.arange(len(x)), parts)
    last = np.array([x[group[-1]] for group in groups])
    return Line(line.colour, line.label, last, np.array([y[group].mean() for group in groups]))


def _path(line: Line, end: float, low: float, high: float) -> str:
    x = SIZE * line.x / end
    y = SIZE * (1 - (line.y - low) / (high - low))
    points = [f"{a:.1f} {b:.1f}" for a, b in zip(x, y, strict=True)]
    return "M" + "L".join(points)


def _grid(low: float, high: float, ticks: Sequence[float]) -> str:
    lines = (f"M0 {SIZE * (1 - (tick - low) / (high - low)):.1f}H{SIZE}" for tick in ticks)
    return f'<path class="grid" d="{"".join(lines)}"/>'


def _labels(low: float, high: float, ticks: Sequence[float], unit: str = "") -> list[tuple[float, str]]:
    return [((tick - low) / (high - low), short(tick) + unit) for tick in ticks]


def _axis(values: NDArray[np.float64]) -> tuple[float, float, list[float]]:
    """An axis around the values: its two ends, which are ticks, and all ticks."""
    low, high = float(np.nanmin(values)), float(np.nanmax(values))
    if not high - low > 1e-9 * max(1.0, abs(high)):
        low, high = low - 0.05 * max(abs(low), 1e-9), high + 0.05 * max(abs(high), 1e-9)
    ticks = _ticks(low, high, 4, around=True)
    return ticks[0], ticks[-1], ticks


def _ticks(low: float, high: float, wanted: int, around: bool = False) -> list[float]:
    """Round numbers between two values, or around them."""
    rough = (high - low) / wanted
    power = 10 ** math.floor(math.log10(rough))
    step = next(power * factor for factor in (1, 2, 2.5, 5, 10) if power * factor >= rough * 0.999)
    first = math.floor(low / step + 1e-9) if around else math.ceil(low / step - 1e-9)
    last = math.ceil(high / step - 1e-9) if around else math.floor(high / step + 1e-9)
    return [round(step * i, 12) for i in range(first, last + 1)]


def _pareto(points: Sequence[Point], sign: int) -> list[Point]:
    """The points that no other beats by being both cheaper and better."""
    front: list[Point] = []
    for point in sorted(points, key=lambda point: (point.x, -sign * point.y)):
        if not front or sign * point.y > sign * front[-1].y:
            front.append(point)
    return front


def short(value: float) -> str:
    """A number as short as an axis needs it.

    Examples
    --------
    >>> short(250_000), short(1_500_000), short(0.9), short(12.5)
    ('250k', '1.5M', '0.9', '12.5')
    """
    for size, letter in ((1e6, "M"), (1e3, "k")):
        if abs(value) >= size * 0.9999:
            return f"{value / size:.4g}{letter}"
    return f"{value:.4g}"
