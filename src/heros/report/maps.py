"""Heat maps over time, and the timeline of the best models."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heros.report.html import frame, short, ticks_of

SHADES = 8
COLUMNS = 100
CELLS = 4000  # maximum number of cells in a map; each may have a hover text
NAMED = 64  # maximum number of labelled rows; every row has a hover text
ROW = 0.95  # rem


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
    marks: Sequence[tuple[float, float]],
    rows: Sequence[str],
    of: str = " of the time",
    note: str = "",
) -> str:
    """Return a heat map of shares, an array of shape (rows, time); `rows` are names, from the bottom up.

    `ends` has the last instance of each column.

    The hover text of a row shows its mean share, followed by `of`; `note` explains the colours.
    """
    models, columns = share.shape
    share = np.clip(share, 0, 1)
    edges, end = np.concatenate([[0], ends]), float(ends[-1])
    means = share @ np.diff(edges) / end
    shade = np.ceil(share * SHADES).astype(int)
    drawing = [
        f"<g><title>{escape(rows[row])}: {means[row]:.0%}{of}</title>"
        f'<path class="none" d="M0 {models - 1 - row}h{columns}v1h-{columns}z"/>'
        f"{_cells(row, models, share[row], shade[row], edges, rows[row])}</g>"
        for row in range(models)
    ]
    for position, _ in marks:
        drawing.append(f'<path class="mark" d="M{columns * position / end:.2f} 0V{models}"/>')
    x = [(tick / end, short(tick)) for tick in ticks_of(0, end, 5)]
    step = -(-models // NAMED)
    y = [((row + 0.5) / models, rows[row]) for row in range(0, models, step)]
    tall = max(6.0, ROW * len(y))
    style = f"--tall:{tall:.1f}rem"
    box = (columns, models)
    return frame(title, drawing, x, y, "instances", box=box, kind="map", style=style, note=note)


def _cells(
    row: int,
    models: int,
    share: NDArray[np.float64],
    shade: NDArray[np.int64],
    edges: NDArray[np.number[Any]],
    name: str,
) -> str:
    """Return rectangles that merge neighbouring cells of equal shade; row 0 is at the bottom."""
    spans = np.concatenate([[0], np.flatnonzero(np.diff(shade)) + 1, [len(shade)]]).tolist()
    y, x = models - 1 - row, len(shade) * edges / edges[-1]
    lengths = np.diff(edges)
    return "".join(
        f'<path class="heat" fill-opacity="{shade[a] / SHADES:.3f}" d="M{x[a]:.6g} {y}h{x[b] - x[a]:.6g}v1'
        f'h{x[a] - x[b]:.6g}z"><title>{escape(name)}: '
        f"{np.average(share[a:b], weights=lengths[a:b]):.0%} from {edges[a]:,.0f} to {edges[b]:,.0f}"
        "</title></path>"
        for a, b in pairwise(spans)
        if shade[a]
    )


def timeline_chart(title: str, spans: Sequence[tuple[float, float, int, str]], end: float) -> str:
    """Return a timeline of consecutive spans (from, to, colour, name); only wide spans have a label."""
    parts = "".join(
        f'<span class="b{colour}" style="left:{100 * start / end:.2f}%;'
        f'width:{100 * (stop - start) / end:.2f}%" title="{escape(name)}: {start:,.0f} to {stop:,.0f}">'
        f"{f'<b>{escape(name)}</b>' if (stop - start) / end > 0.14 else ''}</span>"
        for start, stop, colour, name in spans
    )
    ticks = "".join(
        f'<span style="left:{100 * tick / end:.2f}%">{short(tick)}</span>' for tick in ticks_of(0, end, 5)
    )
    return (
        f'<figure class="card whole"><figcaption>{escape(title)}</figcaption><div class="ribbon" role="img" '
        f'aria-label="{escape(title)}">{parts}</div><div class="under">{ticks}</div></figure>'
    )
