"""HTML elements shared by all parts of a report: cards, tables and bars, and the frame and axes of charts."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from html import escape
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from heros.run.report.words import explained


def card(title: str, body: str, note: str = "", *, whole: bool = False) -> str:
    """Return a box with a heading, a body and a note in small print; `whole` makes it as wide as the page."""
    heading = f"<h4>{title}</h4>" if title else ""
    small = f'<p class="faint small">{note}</p>' if note else ""
    return f'<div class="card{" whole" if whole else ""}">{heading}{body}{small}</div>'


def table(heads: Sequence[str], rows: Iterable[str], kind: str = "") -> str:
    """Return a table that scrolls sideways on a narrow screen; `rows` is HTML from `row`."""
    head = "".join(f"<th>{explained(heading)}</th>" for heading in heads)
    named = f' class="{kind}"' if kind else ""
    return (
        f'<div class="wide"><table{named}><thead><tr>{head}</tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table></div>"
    )


def row(cells: Iterable[str | tuple[str, str]]) -> str:
    """Return a table row; each cell is HTML, or a pair of HTML and hover text.

    Examples
    --------
    >>> row(["7", ("adam", "optimizer adam")])
    '<tr><td>7</td><td title="optimizer adam">adam</td></tr>'
    """
    pairs = ((cell, "") if isinstance(cell, str) else cell for cell in cells)
    hovers = ((cell, f' title="{escape(hover)}"' if hover else "") for cell, hover in pairs)
    return f"<tr>{''.join(f'<td{hover}>{cell}</td>' for cell, hover in hovers)}</tr>"


def key(colour: int, text: str) -> str:
    """Return a text as HTML, preceded by a mark of this colour."""
    return f'<i class="key c{colour}"></i>{escape(text)}'


def bar(share: float, text: str) -> str:
    """Return a share as a bar and as text."""
    wide = 100 * min(1.0, max(0.0, float(share)))
    return f'<span class="bar"><i style="width:{wide:.1f}%"></i></span>{text}'


SIZE = 1000  # width and height of the coordinate system


def frame(
    title: str,
    drawing: Sequence[str],
    x: Sequence[tuple[float, str]],
    y: Sequence[tuple[float, str]],
    x_name: str,
    *,
    over: str = "",
    box: tuple[int, int] = (SIZE, SIZE),
    kind: str = "curves",
    style: str = "",
    note: str = "",
) -> str:
    """Return an HTML figure; the chart scales with the page, and its labels keep their size.

    The note is placed between the title and the chart.
    """
    below = "".join(f'<span style="left:{100 * at:.2f}%">{escape(text)}</span>' for at, text in x)
    y_labels = "".join(
        f'<span style="bottom:{100 * at:.2f}%" title="{escape(text)}">{_shortened(text)}</span>'
        for at, text in y
    )
    svg = (
        f'<svg class="{kind}" viewBox="0 0 {box[0]} {box[1]}" preserveAspectRatio="none" role="img" '
        f'aria-label="{escape(title)}">{"".join(drawing)}</svg>'
    )
    small = f'<p class="faint small note">{escape(note)}</p>' if note else ""
    first, comma, rest = title.partition(",")
    return (
        f'<figure class="card"><figcaption>{explained(first)}{comma}{escape(rest)}</figcaption>{small}'
        f'<div class="plot {kind}-plot" style="{style}"><div class="y">{y_labels}</div>'
        f'<div class="area">{svg}{over}</div><div class="x">{below}</div>'
        f'<div class="xname">{escape(x_name)}</div></div></figure>'
    )


def _shortened(text: str) -> str:
    """Return a label as HTML.

    On a narrow screen, the start of the label is cut first, because the labels of several rows start alike.
    """
    first, comma, rest = text.partition(", ")
    return f"<i>{escape(first)},</i><b>&nbsp;{escape(rest)}</b>" if comma else escape(text)


class Axis(NamedTuple):
    """The two ends and the ticks of an axis; both ends are ticks."""

    low: float
    high: float
    ticks: list[float]

    def share(self, value: Any) -> Any:
        """Return the position of a value, or of each value of an array, on the axis: from 0 to 1."""
        return (value - self.low) / (self.high - self.low)

    def labels(self) -> list[tuple[float, str]]:
        """Return the position and the label of each tick."""
        return [(self.share(tick), short(tick)) for tick in self.ticks]


def axis(values: NDArray[np.float64], *, from_zero: bool = False) -> Axis:
    """Return an axis for these values.

    If all values are between 0 and 1, as for shares and scores, the axis ends at 1 or below.

    Examples
    --------
    >>> axis(np.array([1.0, 1.0]))
    Axis(low=0.94, high=1.0, ticks=[0.94, 0.96, 0.98, 1.0])
    """
    low, high = float(np.nanmin(values)), float(np.nanmax(values))
    top = high
    if from_zero:
        low = min(low, 0.0)
    if not high - low > 1e-9 * max(1.0, abs(high)):
        low, high = low - 0.05 * max(abs(low), 1e-9), high + 0.05 * max(abs(high), 1e-9)
    if top <= 1 < high:
        high = 1.0
    ticks = ticks_of(low, high, 4, around=True)
    return Axis(ticks[0], ticks[-1], ticks)


def ticks_of(low: float, high: float, count: int, around: bool = False) -> list[float]:
    """Return evenly spaced round numbers between two values; with `around`, the numbers enclose both values.

    Examples
    --------
    >>> ticks_of(0, 24_000, 4)
    [0, 10000, 20000]
    """
    rough = (high - low) / count
    power = 10 ** math.floor(math.log10(rough))
    step = next(power * factor for factor in (1, 2, 2.5, 5, 10) if power * factor >= rough * 0.999)
    first = math.floor(low / step + 1e-9) if around else math.ceil(low / step - 1e-9)
    last = math.ceil(high / step - 1e-9) if around else math.floor(high / step + 1e-9)
    return [round(step * i, 12) for i in range(first, last + 1)]


def along(end: float) -> list[tuple[float, str]]:
    """Return the position and the label of each tick on the axis of the instances."""
    return Axis(0, end, ticks_of(0, end, 5)).labels()


def short(value: float) -> str:
    """Format a number briefly, for an axis.

    Examples
    --------
    >>> short(250_000), short(1_500_000), short(0.9), short(2.0675)
    ('250k', '1.5M', '0.9', '2.0675')
    """
    for size, letter in ((1e6, "M"), (1e3, "k")):
        if abs(value) >= size * 0.9999:
            return f"{value / size:.7g}{letter}"
    return f"{value:.7g}"
