"""How each class was recognised: the confusion matrix and the figures of the classes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape
from textwrap import shorten

import numpy as np
from numpy.typing import NDArray

from heros.measures import Confusion
from heros.report.groups import Group

__all__ = ["class_figures"]

MATRIX = 12  # classes that fit into a matrix on a screen
ABREAST = 6  # classes of a matrix that fits beside the table of classes
LISTED = 20  # classes of a table, the most frequent first
LONGEST = 18


def class_figures(group: Group) -> str:
    """The matrix and the table of a group, over all its seeds; nothing if its runs have not counted."""
    counted = [run.confusion.counts for run in group.runs if run.confusion is not None]
    if not counted or len(counted) < len(group.runs) or not all(counts.sum() for counts in counted):
        return ""
    wide = max(len(counts) for counts in counted)
    counts = np.zeros((wide, wide))
    for one in counted:
        counts[: len(one), : len(one)] += one
    names = _names(max((run.classes for run in group.runs), key=len), wide)
    order = np.argsort(-counts.sum(axis=1), kind="stable")
    seeds = f", over {len(counted)} seeds" if len(counted) > 1 else ""
    matrix = _matrix(counts, names, seeds) if wide <= MATRIX else _mistaken(counts, names, seeds)
    return matrix + _table(counts, names, order.tolist(), seeds)


def _names(classes: Sequence[str], wide: int) -> list[str]:
    """Names of all classes; a record of an older HEROS, or a damaged one, does not know them all."""
    return [classes[i] if i < len(classes) else str(i) for i in range(wide)]


def _brief(name: str) -> str:
    return escape(shorten(name, LONGEST, placeholder="…") or name[:LONGEST])


def _matrix(counts: NDArray[np.float64], names: Sequence[str], seeds: str) -> str:
    """Counts of (class, predicted class), shaded by the share of the class."""
    totals = counts.sum(axis=1)
    head = "".join(f'<th title="{escape(name)}"><span>{_brief(name)}</span></th>' for name in names)
    rows = []
    for i, name in enumerate(names):
        cells = []
        for j, other in enumerate(names):
            share = counts[i, j] / totals[i] if totals[i] else 0.0
            kind = "right" if i == j else "wrong"
            strong = " strong" if share > 0.55 else ""
            hover = f"{name}, predicted {other}: {counts[i, j]:,.0f}, {share:.1%} of the class"
            cells.append(
                f'<td class="{kind}{strong}" style="--s:{share:.3f}" title="{escape(hover)}">'
                f"{_count(counts[i, j])}</td>"
            )
        rows.append(f'<tr><th title="{escape(name)}">{_brief(name)}</th>{"".join(cells)}</tr>')
    return (
        f'<div class="card{_wide(len(names))}"><h4>Confusion matrix{seeds}</h4><div class="wide">'
        '<table class="matrix">'
        f'<thead><tr><th class="corner">is ↓ predicted →</th>{head}</tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table></div></div>"
    )


def _mistaken(counts: NDArray[np.float64], names: Sequence[str], seeds: str) -> str:
    """Of many classes, those that were taken for others most often."""
    wrong = counts - np.diag(np.diag(counts))
    totals = counts.sum(axis=1)
    order = np.argsort(-wrong, axis=None, kind="stable")[:LISTED]
    pairs = [divmod(int(at), len(names)) for at in order]
    rows = "".join(
        f"<tr><td>{_brief(names[i])}</td><td>{_brief(names[j])}</td><td>{_count(wrong[i, j])}</td>"
        f"<td>{wrong[i, j] / totals[i]:.1%}</td></tr>"
        for i, j in pairs
        if wrong[i, j]
    )
    return (
        f'<div class="card"><h4>Most frequent mistakes, of {len(names)} classes{seeds}</h4>'
        f'<div class="wide"><table>'
        f"<thead><tr><th>is</th><th>predicted</th><th>times</th><th>of the class</th></tr></thead>"
        f"<tbody>{rows}</tbody></table></div></div>"
    )


def _table(counts: NDArray[np.float64], names: Sequence[str], order: Sequence[int], seeds: str) -> str:
    confusion = Confusion(counts)  # type: ignore[arg-type]  # counts that overflow no integer
    columns = (confusion.precision, confusion.recall, confusion.f1)
    total = counts.sum()
    rows = "".join(
        f'<tr><td title="{escape(names[i])}">{_brief(names[i])}</td>'
        f"<td>{_count(counts[i].sum())}</td><td>{counts[i].sum() / total:.1%}</td>"
        + "".join(f"<td>{_share(column[i])}</td>" for column in columns)
        + "</tr>"
        for i in order[:LISTED]
    )
    heads = ("class", "instances", "share", "precision", "recall", "F1")
    head = "".join(f"<th>{heading}</th>" for heading in heads)
    more = f'<p class="faint small">{len(order) - LISTED} more classes are rarer.</p>'
    return (
        f'<div class="card{_wide(len(names))}"><h4>Classes: the most frequent first{seeds}</h4>'
        f'<div class="wide"><table class="classes">'
        f"<thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>"
        f"{more if len(order) > LISTED else ''}</div>"
    )


def _wide(classes: int) -> str:
    """Whether it has the whole width: a matrix of many classes needs it, and the table beside it is long."""
    return " whole" if ABREAST < classes <= MATRIX else ""


def _share(value: float) -> str:
    if math.isnan(value):
        return "–"
    return f'<span class="bar"><i style="width:{100 * value:.1f}%"></i></span>{value:.3f}'


def _count(value: float) -> str:
    return f"{value:,.0f}" if value < 1e7 else f"{value:.3g}"
