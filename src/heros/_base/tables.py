"""Plain-text tables for ``__repr__`` and for the terminal."""

from __future__ import annotations

import os
import sys
import textwrap
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import zip_longest
from typing import Any, TextIO

from heros._base.lazy import shutil

GAP = "  "
NARROWEST = 20  # minimum width of a wrapped column
FAMILIES = {  # readable names of the model families
    "MLP": "perceptron",
    "Hoeffding": "Hoeffding tree",
    "RegressionTrees": "regression tree",
    "Forest": "forest",
    "Boosted": "boosted trees",
    "Retrained": "retrained boosted trees",
    "Neighbours": "nearest neighbours",
    "Linear": "linear model",
    "NaiveBayes": "naive Bayes",
    "LabelMemory": "label memory",
}
STYLES = {"bold": "1", "dim": "2", "red": "31"}


def short(configuration: Mapping[str, Any]) -> str:
    """Return the values of a configuration on one line.

    Examples
    --------
    >>> short({"optimizer": "adam", "learning_rate": 0.005, "hidden": 64})
    'adam 0.005 64'
    """
    return " ".join(as_text(value) for value in configuration.values())


def settings_text(configuration: Mapping[str, Any]) -> str:
    """Describe the settings of a model in words; settings that are None are omitted.

    Examples
    --------
    >>> settings_text({"family": "MLP", "optimizer": "sgd", "learning_rate": 0.05, "hidden": 8})
    'perceptron, SGD, learning rate 0.05, 8 units'
    """
    known = ((name, value) for name, value in configuration.items() if value is not None)
    return ", ".join(_in_words(name, as_text(value)) for name, value in known)


def _in_words(name: str, value: str) -> str:
    if name in ("family", "name"):
        return FAMILIES.get(value, value)
    if name == "optimizer":
        return value.upper() if len(value) <= len("sgd") else value.capitalize()
    return f"{value} units" if name == "hidden" else f"{in_words(name)} {value}"


def in_words(name: str) -> str:
    """Return a parameter name with spaces instead of underscores."""
    return str(name).replace("_", " ")


def distinguishing_settings(
    models: Sequence[Mapping[str, Any]],
) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Return the settings that distinguish each model, and the settings that all models share.

    Models of different families are distinguished by family, and models of the same family by their settings.

    Examples
    --------
    >>> distinguishing_settings([{"optimizer": "adam", "hidden": 8}, {"optimizer": "adam", "hidden": 16}])
    ([{'hidden': 8}, {'hidden': 16}], {'optimizer': 'adam'})
    >>> models = [{"family": "Tree", "depth": 3}, *({"family": "MLP", "hidden": n} for n in (8, 16))]
    >>> distinguishing_settings(models)
    ([{'family': 'Tree'}, {'family': 'MLP', 'hidden': 8}, {'family': 'MLP', 'hidden': 16}], {})
    """
    families = Counter(one.get("family") for one in models)
    if len(families) == 1:
        return _differing(models)
    distinguishing = {
        family: iter(_differing([one for one in models if one.get("family") == family])[0])
        for family in families
    }
    own = ({"family": one["family"]} if "family" in one else {} for one in models)
    settings = [
        start | next(distinguishing[one.get("family")]) if families[one.get("family")] > 1 else start
        for start, one in zip(own, models, strict=True)
    ]
    return settings, {}


def _differing(models: Sequence[Mapping[str, Any]]) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    first = models[0]
    shared = {
        key: value
        for key, value in first.items()
        if len(models) > 1 and all(key in one and repr(one[key]) == repr(value) for one in models)
    }
    return [{key: value for key, value in one.items() if key not in shared} for one in models], shared


class Table:
    """A plain-text table.

    ``str(table)`` is as wide as its cells and suits a ``__repr__``. `show` fits the table to the terminal
    and prints a line below the headings.

    Parameters
    ----------
    headings
        One heading per column; empty for a table without headings.
    rows
        The first rows; `add` appends more rows. Floats are printed with four significant digits.
    align
        One letter per column: ``l`` (left), ``r`` (right, the default) or ``w`` (left, wrapped at the edge
        of the terminal).
    title, caption
        Text that `show` prints above and below the table.
    spare
        Columns that `show` omits, in this order, if the terminal is too narrow.

    Examples
    --------
    >>> table = Table(["model", "L", "why"], align="rrw", caption="L: the running performance.")
    >>> table.add(0, 0.75, "rank 1 by L")
    >>> table.add(10, 0.5, "drawn at random")
    >>> print(table)
    model     L  why
        0  0.75  rank 1 by L
       10   0.5  drawn at random
    >>> table.show()
    model     L  why
    ────────────────────────────
        0  0.75  rank 1 by L
       10   0.5  drawn at random
    <BLANKLINE>
    L: the running performance.
    """

    def __init__(
        self,
        headings: Sequence[str] = (),
        rows: Iterable[Sequence[object]] = (),
        *,
        align: str = "",
        title: str = "",
        caption: str = "",
        spare: Sequence[str] = (),
    ) -> None:
        self.headings = [as_text(heading) for heading in headings]
        self.align = align
        self.title = title
        self.caption = caption
        self.spare = spare
        self._rows: list[tuple[list[str], str]] = []
        for row in rows:
            self.add(*row)

    def add(self, *cells: object, style: str = "") -> None:
        """Append a row; `style` ("bold", "dim" or "red") is used if the terminal supports styles."""
        self._rows.append(([as_text(cell) for cell in cells], style))

    def __str__(self) -> str:
        return "\n".join(line for line, _ in self._lines(None))

    def show(self, file: TextIO | None = None) -> None:
        """Print the table, fitted to the terminal, to a file or (by default) to standard output."""
        file = sys.stdout if file is None else file
        width = shutil.get_terminal_size().columns
        styled = file.isatty() and "NO_COLOR" not in os.environ
        lines, left_out = self._fitting(width)
        if self.headings:
            lines.insert(1, ("─" * max(len(line) for line, _ in lines), ""))
        if self.title:
            lines[:0] = [(self.title, "bold"), ("", "")]
        narrow = f"The terminal is too narrow for: {', '.join(left_out)}." if left_out else ""
        for text in (self.caption, narrow):
            if text:
                lines += [("", ""), *((line, "dim") for line in textwrap.wrap(text, width))]
        for line, style in lines:
            print(f"\x1b[{STYLES[style]}m{line}\x1b[0m" if styled and style else line, file=file)

    def fitted(self) -> str:
        """Return the table without title and caption, with wrapped columns fitted to the terminal.

        Examples
        --------
        >>> words = "each model was evaluated on 99.0% of the instances and trained on 41.7% of the instances"
        >>> print(Table(rows=[("cost", words)], align="lw").fitted())
        cost  each model was evaluated on 99.0% of the instances and trained on 41.7% of
              the instances
        """
        return "\n".join(line for line, _ in self._lines(shutil.get_terminal_size().columns))

    def _fitting(self, width: int) -> tuple[list[tuple[str, str]], list[str]]:
        """Return the lines that fit the width, and the omitted columns."""
        table, left_out, lines = self, list[str](), self._lines(width)
        for name in self.spare:
            if name in self.headings and max((len(line) for line, _ in lines), default=0) > width:
                table, left_out = table._without(name), [*left_out, name]
                lines = table._lines(width)
        return lines, left_out

    def _without(self, heading: str) -> Table:
        c = self.headings.index(heading)
        align = self.align.ljust(len(self.headings), "r")
        table = Table([*self.headings[:c], *self.headings[c + 1 :]], align=align[:c] + align[c + 1 :])
        table._rows = [([*cells[:c], *cells[c + 1 :]], style) for cells, style in self._rows]
        return table

    def _lines(self, width: int | None) -> list[tuple[str, str]]:
        """Return the lines with their styles: the headings, if any, then the rows."""
        rows = [(self.headings, "bold"), *self._rows] if self.headings else self._rows
        columns = max((len(cells) for cells, _ in rows), default=0)
        align = self.align.ljust(columns, "r")
        widths = [
            max((len(cells[c]) for cells, _ in rows if c < len(cells)), default=0) for c in range(columns)
        ]
        if width is not None and "w" in align:
            fixed = sum(w for w, a in zip(widths, align, strict=True) if a != "w") + len(GAP) * (columns - 1)
            most = max(NARROWEST, (width - fixed) // align.count("w"))
            widths = [min(w, most) if a == "w" else w for w, a in zip(widths, align, strict=True)]
        return [
            (line, style)
            for cells, style in rows
            for line in _wrapped(cells, widths, align, wraps=width is not None)
        ]


def wrapped(line: str) -> list[str]:
    """Wrap a line of text to the width of the terminal; all lines after the first are indented.

    Examples
    --------
    >>> [len(part) <= 80 for part in wrapped("budget: " + "one of fourteen models awake " * 6)]
    [True, True, True]
    """
    width = shutil.get_terminal_size().columns - 2  # a margin of two characters, for the brackets of a repr
    return textwrap.wrap(line, max(width, NARROWEST), subsequent_indent="  ") or [line]


def _wrapped(cells: Sequence[str], widths: Sequence[int], align: str, wraps: bool) -> list[str]:
    """Return the lines of a row: one line, unless a cell wraps."""
    parts = [
        textwrap.wrap(cell, max(width, 1)) or [""] if wraps and alignment == "w" else [cell]
        for cell, width, alignment in zip(cells, widths, align, strict=False)
    ]
    return [
        GAP.join(
            text.rjust(width) if alignment == "r" else text.ljust(width)
            for text, width, alignment in zip(line, widths, align, strict=False)
        ).rstrip()
        for line in [*zip_longest(*parts, fillvalue="")] or [()]
    ]


def as_text(value: object) -> str:
    """Return a value as printable text on one line; control characters become spaces."""
    text = f"{value:.4g}" if isinstance(value, float) else str(value)
    return text if text.isprintable() else "".join(c if c.isprintable() else " " for c in text)
