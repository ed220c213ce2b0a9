"""Small tables as text, for what prints itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

__all__ = ["aligned", "words"]


def words(configuration: Mapping[str, Any]) -> str:
    """The values of a configuration, short.

    Examples
    --------
    >>> words({"optimizer": "adam", "learning_rate": 0.005, "hidden": 64})
    'adam 0.005 64'
    """
    return " ".join(_cell(value) for value in configuration.values())


def _cell(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def aligned(headings: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """A table as text: columns aligned to the right, the last one to the left if it holds sentences.

    Examples
    --------
    >>> print(aligned(["model", "L"], [[0, 0.75], [10, 0.5]]))
    model     L
        0  0.75
       10   0.5
    """
    table = [list(headings), *([_cell(value) for value in row] for row in rows)]
    widths = [max(len(row[c]) for row in table) for c in range(len(headings))]
    last = len(headings) - 1
    left = any(" " in row[last] for row in table[1:])
    return "\n".join(
        "  ".join(
            cell if c == last and left else cell.rjust(width)
            for c, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        for row in table
    )
