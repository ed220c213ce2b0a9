"""HTML elements shared by all parts of a report: cards, tables and bars."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from heros.report.words import explained


def card(title: str, body: str, note: str = "", *, whole: bool = False) -> str:
    """Return a box with a heading, a body and a note in small print; `whole` makes it as wide as the page."""
    heading = f"<h4>{title}</h4>" if title else ""
    small = f'<p class="faint small">{note}</p>' if note else ""
    return f'<div class="card{" whole" if whole else ""}">{heading}{body}{small}</div>'


def table(heads: Sequence[str], rows: Iterable[str], kind: str = "") -> str:
    """Return a table that scrolls sideways on a narrow screen; `rows` are HTML, from `row`."""
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
    """Return a text with a mark of this colour in front of it."""
    return f'<i class="key c{colour}"></i>{escape(text)}'


def bar(share: float, text: str) -> str:
    """Return a share as a bar and as text."""
    wide = 100 * min(1.0, max(0.0, float(share)))
    return f'<span class="bar"><i style="width:{wide:.1f}%"></i></span>{text}'
