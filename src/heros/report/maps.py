"""Heat maps over time, and the timeline of the best models."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heros.report.html import along, frame
from heros.streams import DriftPoint

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
