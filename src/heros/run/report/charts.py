"""Lines, scatter plots, heat maps and timelines as inline SVG; CSS shows values on hover, without scripts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from html import escape
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heros.drift.changes import Change
from heros.run.report.html import SIZE, Axis, along, axis, frame, key
from heros.streams import DriftPoint

POINTS = 120
READINGS = 400  # maximum number of values shown on hover, over all lines of a chart
WIDTH, HEIGHT = 290.0, 208.0  # size in pixels of a plot on a phone, where labels have the least space
LETTER, TALL = 6.6, 15.0  # width of a letter and height of a label in pixels
DOT = 13.0
SHADES = 8
COLUMNS = 100
CELLS = 4000  # maximum number of cells in a map; each may have a hover text
NAMED = 64  # maximum number of labelled rows; every row has a hover text
ROW = 0.95  # height of a row in rem
Box = tuple[float, float, float, float]  # left, bottom, right, top


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
    drifts: Sequence[DriftPoint] = (),
    levels: Mapping[str, float] | None = None,
    *,
    from_zero: bool = False,
    changes: Sequence[Change] = (),
) -> str:
    """Return a chart of curves over a stream, with its known drifts.

    Each detected change gets a mark; a click on the mark shows the description of the change.
    """
    reduced = [_reduced(line) for line in lines]
    end = max(float(line.x[-1]) for line in reduced)
    levels = levels or {}
    y = axis(np.concatenate([*(line.y for line in reduced), [*levels.values()]]), from_zero=from_zero)
    drawing = [_grid(y)]
    for name, at in levels.items():
        hover = f"<title>{escape(name)}: {at:.4g}</title>"
        drawing.append(f'<path class="level" d="M0 {_height(at, y):.1f}H{SIZE}">{hover}</path>')
    for drift in drifts:
        at, span = SIZE * drift.position / end, SIZE * drift.width / end
        drawing.append(f'<rect class="drift" x="{at - span / 2:.1f}" width="{span:.1f}" height="{SIZE}"/>')
        drawing.append(f'<path class="mark" d="M{at:.1f} 0V{SIZE}"/>')
    for line in reduced:
        if line.spread is not None:  # a band of one standard deviation over seeds, clipped to the axis
            edge = np.concatenate([line.y + line.spread, (line.y - line.spread)[::-1]]).clip(y.low, y.high)
            points = _path(np.concatenate([line.x, line.x[::-1]]) / end, edge, y)
            drawing.append(f'<path class="band f{line.colour}" d="{points}z"/>')
    for line in reversed(reduced):  # the best line is drawn last, on top
        hover, points = f"<title>{escape(line.label)}</title>", _path(line.x / end, line.y, y)
        drawing.append(f'<path class="line c{line.colour}" d="{points}">{hover}</path>')
    over = _readings(lines, end) + "".join(_clickable(change, end) for change in changes)
    names = ", ".join(f"{name} {at:.3g}" for name, at in levels.items())
    notes = (f"Dotted: {names}." if names else "", "Grey: known drifts." if drifts else "")
    note = " ".join(filter(None, (*notes, "▼ Detected changes." if changes else "")))
    return frame(title, drawing, along(end), y.labels(), "instances", over=over, note=note)


def _clickable(change: Change, end: float) -> str:
    """Return a mark that shows the description of a change when clicked, without a script."""
    side, hint = " left" if change.at > end / 2 else "", f"change at {change.at:,}: click for details"
    return (
        f'<details class="change{side}" style="left:{100 * change.at / end:.2f}%"><summary title="{hint}">'
        f"</summary><p>{escape(str(change))}</p></details>"
    )


def scatter(title: str, points: Sequence[Point], x_name: str, y_name: str, *, higher: bool = True) -> str:
    """Return a chart of labelled points, with a line through the Pareto front.

    A point dominates all points that are further right and lower. If `higher` is False, a point dominates all
    points that are further right and higher.
    """
    across = axis(np.array([0.0, *(point.x for point in points)]))
    up = axis(np.array([point.y for point in points]))
    places = [(across.share(point.x), up.share(point.y)) for point in points]
    front = _pareto(points, 1 if higher else -1)
    line = _path(across.share(np.array([p.x for p in front])), np.array([p.y for p in front]), up)
    drawing = [_grid(up), f'<path class="front" d="{line}"/>']
    dots = []
    for point, (x, y), side in zip(points, places, _sides(points, places), strict=True):
        at = f'style="left:{100 * x:.2f}%;bottom:{100 * y:.2f}%"'
        note = f'title="{escape(point.note or point.label)}"'
        dots.append(f'<i class="dot c{point.colour}" {at} {note}></i>')
        if side:
            dots.append(f'<b class="name {side}" {at}>{escape(point.label)}</b>')
    over = "".join(dots)
    return frame(f"{title}: {y_name}", drawing, across.labels(), up.labels(), x_name, over=over)


# -- values on hover ---------------------------------------------------------------------------------------


def _readings(lines: Sequence[Line], end: float) -> str:
    """Return strips over the chart; a strip shows the values of all lines while the pointer is over it.

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
            f"<span>{key(line.colour, line.label)}<b>{value}</b></span>"
            for line in lines
            if (value := _reading(line, left, right))
        )
        side = "tip left" if left >= end / 2 else "tip"
        parts.append(
            f'<div class="hit" style="left:{100 * left / end:.2f}%;width:{100 * (right - left) / end:.2f}%">'
            f'<div class="{side}"><em>at {right:,.0f}</em>{rows}</div></div>'
        )
    return "".join(parts)


def _reading(line: Line, left: float, right: float) -> str:
    """Return a line's last value in a strip, with the position of this value if it is not the strip's end."""
    within = np.flatnonzero((line.x > left) & (line.x <= right) & np.isfinite(line.y))
    if not len(within):
        return ""
    at = float(line.x[within[-1]])
    return f"{line.y[within[-1]]:.4g}" + (f" at {at:,.0f}" if at < right else "")


# -- placement of labels -----------------------------------------------------------------------------------


def _sides(points: Sequence[Point], places: Sequence[tuple[float, float]]) -> list[str]:
    """Return, for each point, a side where its label does not overlap anything; "" if no side is free."""
    pixels = [(WIDTH * x, HEIGHT * y) for x, y in places]
    gap, radius, half = DOT / 2 + 2, TALL / 2, DOT / 2
    occupied: list[Box] = [(x - half, y - half, x + half, y + half) for x, y in pixels]
    sides = []
    for point, (x, y) in zip(points, pixels, strict=True):
        wide = LETTER * len(point.label) + 4
        boxes: dict[str, Box] = {
            "right": (x + gap, y - radius, x + gap + wide, y + radius),
            "left": (x - gap - wide, y - radius, x - gap, y + radius),
            "above": (x - wide / 2, y + gap, x + wide / 2, y + gap + TALL),
            "below": (x - wide / 2, y - gap - TALL, x + wide / 2, y - gap),
        }
        side = next((side for side, box in boxes.items() if _is_free(box, occupied)), "")
        if side:
            occupied.append(boxes[side])
        sides.append(side)
    return sides


def _is_free(box: Box, occupied: Sequence[Box]) -> bool:
    left, bottom, right, top = box
    inside = left >= 0 and right <= WIDTH + 8 and bottom >= -2 and top <= HEIGHT + 8
    return inside and not any(
        left < other[2] and other[0] < right and bottom < other[3] and other[1] < top for other in occupied
    )


# -- drawing -----------------------------------------------------------------------------------------------


def _reduced(line: Line) -> Line:
    """Reduce a line to at most `POINTS` points by averaging neighbours."""
    known = np.flatnonzero(~np.isnan(line.y))
    if not len(known):
        return replace(line, x=np.array([0.0, 1.0]), y=np.zeros(2), spread=None)
    parts = np.array_split(known, min(POINTS, len(known)))
    given = [line.y] if line.spread is None else [line.y, line.spread]
    y, *spread = (np.array([values[part].mean() for part in parts]) for values in given)
    return replace(line, x=line.x[[part[-1] for part in parts]], y=y, spread=spread[0] if spread else None)


def _height(value: Any, axis: Axis) -> Any:
    return SIZE * (1 - axis.share(value))


def _path(shares: NDArray[np.float64], values: NDArray[np.float64], axis: Axis) -> str:
    places = zip(SIZE * shares, _height(values, axis), strict=True)
    return "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in places)


def _grid(axis: Axis) -> str:
    lines = (f"M0 {_height(tick, axis):.1f}H{SIZE}" for tick in axis.ticks)
    return f'<path class="grid" d="{"".join(lines)}"/>'


def _pareto(points: Sequence[Point], sign: int) -> list[Point]:
    """Return the points for which no other point is both cheaper and better."""
    front: list[Point] = []
    for point in sorted(points, key=lambda point: (point.x, -sign * point.y)):
        if not front or sign * point.y > sign * front[-1].y:
            front.append(point)
    return front


# -- heat maps and timelines -------------------------------------------------------------------------------


def columns_for(models: int, windows: int) -> int:
    """Return the number of columns of a heat map.

    Examples
    --------
    >>> columns_for(20, 1000), columns_for(400, 1000), columns_for(20, 12)
    (100, 10, 12)
    """
    return max(1, min(windows, COLUMNS, CELLS // models))


def heat_map(
    title: str,
    share: NDArray[np.float64],
    ends: NDArray[np.number[Any]],
    drifts: Sequence[DriftPoint],
    rows: Sequence[str],
    of: str = " of the time",
    note: str = "",
) -> str:
    """Return a heat map of shares, an array of shape (rows, time); `rows` are names, from the bottom up.

    `ends` has the last instance of each column. The hover text of a row shows its mean share, followed by
    `of`; `note` explains the colours.
    """
    models, columns = share.shape
    share = np.clip(share, 0, 1)
    edges, lengths, end = np.concatenate([[0], ends]), np.diff(ends, prepend=0), float(ends[-1])
    shades, x = np.ceil(share * SHADES).astype(int), columns * edges / end
    means, names, drawing = share @ lengths / end, map(escape, rows), list[str]()
    for row, (name, mean, shares, shade) in enumerate(zip(names, means, share, shades, strict=True), 1):
        top = models - row
        starts = np.flatnonzero(np.diff(shade, prepend=-1)).tolist()  # a cell ends where the shade changes
        cells = "".join(
            f'<path class="heat" fill-opacity="{shade[a] / SHADES:.3f}" d="M{x[a]:.6g} {top}'
            f'h{x[b] - x[a]:.6g}v1h{x[a] - x[b]:.6g}z"><title>{name}: '
            f"{np.average(shares[a:b], weights=lengths[a:b]):.0%} from {edges[a]:,.0f} to {edges[b]:,.0f}"
            "</title></path>"
            for a, b in pairwise([*starts, columns])
            if shade[a]
        )
        drawing.append(
            f"<g><title>{name}: {mean:.0%}{of}</title>"
            f'<path class="none" d="M0 {top}h{columns}v1h-{columns}z"/>{cells}</g>'
        )
    marks = (columns * drift.position / end for drift in drifts)
    drawing += [f'<path class="mark" d="M{at:.2f} 0V{models}"/>' for at in marks]
    named = range(0, models, -(-models // NAMED))
    y = [((row + 0.5) / models, rows[row]) for row in named]
    style, box = f"--tall:{max(6.0, ROW * len(named)):.1f}rem", (columns, models)
    return frame(title, drawing, along(end), y, "instances", box=box, kind="map", style=style, note=note)


def timeline_chart(title: str, spans: Sequence[tuple[float, float, int, str]], end: float) -> str:
    """Return a timeline of consecutive spans (from, to, colour, name); only wide spans have a label."""
    parts = "".join(
        f'<span class="b{colour}" style="left:{100 * start / end:.2f}%;'
        f'width:{100 * (stop - start) / end:.2f}%" title="{escape(name)}: {start:,.0f} to {stop:,.0f}">'
        f"{f'<b>{escape(name)}</b>' if (stop - start) / end > 0.14 else ''}</span>"
        for start, stop, colour, name in spans
    )
    ticks = "".join(f'<span style="left:{100 * at:.2f}%">{tick}</span>' for at, tick in along(end))
    return (
        f'<figure class="card whole"><figcaption>{escape(title)}</figcaption><div class="ribbon" role="img" '
        f'aria-label="{escape(title)}">{parts}</div><div class="under">{ticks}</div></figure>'
    )
