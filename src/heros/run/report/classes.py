"""The confusion matrix and the measures of each class."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape
from textwrap import shorten

import numpy as np
from numpy.typing import NDArray

from heros.measures import Confusion
from heros.run.report.groups import Group
from heros.run.report.html import bar, card, row, table

MATRIX = 12  # maximum number of classes in a matrix that fits on a screen
ABREAST = 6  # maximum number of classes in a matrix that fits beside the table of classes
LISTED = 20  # maximum number of rows in the tables of classes and of errors
LONGEST = 18


def class_figures(group: Group) -> str:
    """Return the confusion matrix and class table of a group over all seeds; "" if a run has no counts."""
    counted = [run.confusion.counts for run in group.runs if run.confusion is not None]
    if not counted or len(counted) < len(group.runs) or not all(counts.sum() for counts in counted):
        return ""
    wide = max(len(counts) for counts in counted)
    padded = np.stack([np.pad(one, (0, wide - len(one))) for one in counted])
    counts: NDArray[np.float64] = padded.sum(axis=0, dtype=np.float64)
    classes = max((run.classes for run in group.runs), key=len)
    names = [*classes, *map(str, range(len(classes), wide))][:wide]  # the index replaces an unknown name
    order = np.argsort(-counts.sum(axis=1), kind="stable")
    seeds = f", over {len(counted)} seeds" if len(counted) > 1 else ""
    matrix = _matrix(counts, names, seeds) if wide <= MATRIX else _frequent_errors(counts, names, seeds)
    return matrix + _table(counts, names, order.tolist(), seeds)


def _short_name(name: str) -> str:
    return escape(shorten(name, LONGEST, placeholder="…") or name[:LONGEST])


def _matrix(counts: NDArray[np.float64], names: Sequence[str], seeds: str) -> str:
    """Return the confusion matrix as a table; the shade of a cell is its share of the actual class."""
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    head = "".join(f'<th title="{escape(name)}"><span>{_short_name(name)}</span></th>' for name in names)
    rows = []
    for i, name in enumerate(names):
        cells = []
        for j, other in enumerate(names):
            share = shares[i, j]
            kind = "right" if i == j else "wrong"
            strong = " strong" if share > 0.55 else ""
            hover = f"{name}, predicted {other}: {counts[i, j]:,.0f}, {share:.1%} of the class"
            cells.append(
                f'<td class="{kind}{strong}" style="--s:{share:.3f}" title="{escape(hover)}">'
                f"{_count(counts[i, j])}</td>"
            )
        rows.append(f'<tr><th title="{escape(name)}">{_short_name(name)}</th>{"".join(cells)}</tr>')
    matrix = (
        '<div class="wide"><table class="matrix">'
        f'<thead><tr><th class="corner">actual ↓ predicted →</th>{head}</tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table></div>"
    )
    return card(f"Confusion matrix{seeds}", matrix, whole=_wide(len(names)))


def _frequent_errors(counts: NDArray[np.float64], names: Sequence[str], seeds: str) -> str:
    """Return a table of the most frequent errors, for matrices that are too large to show."""
    wrong = counts - np.diag(np.diag(counts))
    totals, rows = counts.sum(axis=1), []
    for at in np.argsort(-wrong, axis=None, kind="stable")[:LISTED].tolist():
        i, j = divmod(at, len(names))
        if count := wrong[i, j]:
            two = (_short_name(names[i]), _short_name(names[j]))
            rows.append(row((*two, _count(count), f"{count / totals[i]:.1%}")))
    title = f"Most frequent errors, {len(names)} classes{seeds}"
    return card(title, table(("class", "predicted", "count", "share of the class"), rows))


def _table(counts: NDArray[np.float64], names: Sequence[str], order: Sequence[int], seeds: str) -> str:
    confusion = Confusion(counts)  # type: ignore[arg-type]  # float counts, which do not overflow
    columns = (confusion.precision, confusion.recall, confusion.f1)
    total = counts.sum()
    rows = []
    for i in order[:LISTED]:
        of_class, name = counts[i].sum(), (_short_name(names[i]), names[i])
        bars = ["–" if math.isnan(one[i]) else bar(one[i], f"{one[i]:.3f}") for one in columns]
        rows.append(row((name, _count(of_class), f"{of_class / total:.1%}", *bars)))
    heads = ("class", "instances", "share", "precision", "recall", "F1")
    more = f"{len(order) - LISTED} less frequent classes are not shown." if len(order) > LISTED else ""
    title = f"Classes, most frequent first{seeds}"
    return card(title, table(heads, rows, "classes"), more, whole=_wide(len(names)))


def _wide(classes: int) -> bool:
    """Return whether the matrix is too wide to be shown beside the table; both then take the full width."""
    return ABREAST < classes <= MATRIX


def _count(value: float) -> str:
    return f"{value:,.0f}" if value < 1e7 else f"{value:.3g}"
