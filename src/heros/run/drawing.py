"""Charts of a run: self-contained HTML for notebooks, or matplotlib axes."""

from __future__ import annotations

import math
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from heros._base.errors import ParameterError
from heros._base.extras import needed
from heros.run.summary import lines

if TYPE_CHECKING:
    from heros.run.result import Run

WIDTH, HEIGHT = 300, 90  # size of a chart in pixels
LEFT, RIGHT, TOP, BOTTOM = 44, 8, 6, 18  # margins of a chart in pixels
POINTS = 200
PANELS = 3


def html(run: Run) -> str:
    """Return the summary as HTML, with charts of the first measures and of the training cost Σγ."""
    first, *rest = map(escape, lines(run))
    panels = [_panel(run, one.label, run.curves.figures[one.name]) for one in run.measures[:PANELS]]
    share = run.curves.spent / np.diff(run.curves.end, prepend=0)
    panels.append(_panel(run, "training cost Σγ, as a share", share, low=0.0))
    return (
        f'<div style="font-family:sans-serif;font-size:13px;line-height:1.5"><b>{first}</b><br>'
        f'{"<br>".join(rest)}<div style="display:flex;flex-wrap:wrap;gap:12px">{"".join(panels)}</div></div>'
    )


def plot(run: Run, names: tuple[str, ...], ax: Any) -> Any:
    """Draw the curves of measures into matplotlib axes, and return the axes."""
    labels = {one.name: one.label for one in run.measures}
    names = names or tuple(labels)[:1]
    for name in names:
        if name not in labels:
            raise ParameterError.of("names", "plot", f"one of {', '.join(map(repr, labels))}", name)
    if ax is None:
        _, ax = needed("matplotlib.pyplot", "Run.plot", "notebook").subplots()
    for name in names:
        ax.plot(run.curves.end, run.curves.figures[name], label=labels[name])
    for drift in run.drifts:
        ax.axvline(drift.position, linestyle=":", color="grey")
    ax.set_xlabel("instances")
    ax.set_title(f"{run.stream}: per window of {run.window:,}")
    if len(names) > 1:
        ax.legend()
    else:
        ax.set_ylabel(labels[names[0]])
    return ax


def _panel(run: Run, label: str, values: NDArray[np.float64], low: float | None = None) -> str:
    """Return a chart of one curve with labelled axis ends; windows without a value are skipped."""
    finite = np.flatnonzero(np.isfinite(values))
    if not len(finite):
        return ""
    shown = finite[:: math.ceil(len(finite) / POINTS)]
    x, y, end = run.curves.end[shown], values[shown], run.n_instances
    bottom, top = _range(y, low)
    across, down = LEFT + WIDTH * x / end, TOP + HEIGHT * (top - y) / (top - bottom)
    dots = list(zip(across, down, x, y, strict=True))
    marks = "".join(
        f'<path d="M{LEFT + WIDTH * drift.position / end:.1f} {TOP}v{HEIGHT}" stroke="currentColor" '
        f'stroke-opacity=".35" stroke-dasharray="3 3"/>'
        for drift in run.drifts
    )
    path = "M" + "L".join(f"{a:.1f} {b:.1f}" for a, b, *_ in dots)
    circles = "".join(
        f'<circle cx="{a:.1f}" cy="{b:.1f}" r="5" fill="transparent">'
        f"<title>{i:,.0f}: {_short(v)}</title></circle>"
        for a, b, i, v in dots
    )
    texts = (
        (LEFT - 4, TOP + 8, _short(top), "end"),
        (LEFT - 4, TOP + HEIGHT, _short(bottom), "end"),
        (LEFT, TOP + HEIGHT + 13, "0", "start"),
        (LEFT + WIDTH, TOP + HEIGHT + 13, f"{end:,}", "end"),
    )
    numbers = "".join(
        f'<text x="{a}" y="{b}" text-anchor="{anchor}" fill="currentColor">{text}</text>'
        for a, b, text, anchor in texts
    )
    wide, tall, name = LEFT + WIDTH + RIGHT, TOP + HEIGHT + BOTTOM, escape(label)
    return (
        f'<figure style="margin:0"><figcaption>{name}</figcaption>'
        f'<svg width="{wide}" height="{tall}" viewBox="0 0 {wide} {tall}" '
        f'fill="none" role="img" aria-label="{name}" font-size="10">'
        f'<path d="M{LEFT} {TOP}v{HEIGHT}h{WIDTH}" stroke="currentColor" stroke-opacity=".4"/>{marks}'
        f'<path d="{path}" stroke="#2a78d6" stroke-width="1.5"><title>{name}</title></path>'
        f"{circles}{numbers}</svg></figure>"
    )


def _range(y: NDArray[np.float64], low: float | None) -> tuple[float, float]:
    """Return the limits of the axis; if no value exceeds 1, the upper limit is at most 1."""
    bottom, top = float(y.min()) if low is None else low, float(y.max())
    margin = 0.08 * (top - bottom) or 0.05
    ceiling = 1.0 if top <= 1 else math.inf
    top = min(ceiling, top + margin)
    if low is None:
        bottom = max(0.0, bottom - margin) if bottom >= 0 else bottom - margin
    return bottom, top if top > bottom else bottom + 1


def _short(value: float) -> str:
    return f"{value:.3f}" if abs(value) < 10 else f"{value:,.4g}"
