"""A table, and its output as Markdown, LaTeX, HTML and CSV."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import Any

__all__ = ["NOT_RUN", "Entry", "Footnotes", "Table", "best", "decimal", "percent", "scientific", "signed"]


@dataclass(frozen=True)
class Entry:
    """One cell of a table."""

    text: str
    bold: bool = False
    mark: str = ""  # mark of a footnote


NOT_RUN = Entry("not run")


@dataclass
class Footnotes:
    """Notes and their marks: a, b, c, ... in the order of first use."""

    notes: dict[str, str] = field(default_factory=dict)

    def mark(self, note: str) -> str:
        """Return the mark of a note; an empty note has no mark."""
        return self.notes.setdefault(note, chr(ord("a") + len(self.notes))) if note else ""

    def lines(self) -> list[str]:
        """Return the notes, each with its mark."""
        return [f"{mark}: {note}." for note, mark in self.notes.items()]


@dataclass(frozen=True)
class Table:
    r"""A table: a header, groups of rows, notes, and the same content as plain data.

    Examples
    --------
    >>> row = [Entry("AGR_a"), Entry("ours"), Entry(".9865", bold=True), Entry(".9800 ± .0010", mark="a")]
    >>> data = [{"stream": "agr_a", "zeta": 0.9865, "random": 0.98}]
    >>> table = Table("t", "AUROC", ["stream", "", "ζ", "Random"], [[row]], ["a: 2 seeds."], data)
    >>> print(table.markdown())
    ### AUROC
    <BLANKLINE>
    | stream |      | ζ         | Random                    |
    |--------|------|-----------|---------------------------|
    | AGR_a  | ours | **.9865** | .9800 ± .0010<sup>a</sup> |
    <BLANKLINE>
    a: 2 seeds.
    <BLANKLINE>
    >>> print(table.latex().splitlines()[6])
    AGR$_a$ & ours & \textbf{.9865} & .9800 $\pm$ .0010$^{a}$ \\
    """

    name: str  # name of its files
    title: str
    header: Sequence[str]
    groups: Sequence[Sequence[Sequence[Entry]]]
    notes: Sequence[str]
    data: Sequence[dict[str, Any]]

    def markdown(self) -> str:
        """Return the table as Markdown."""
        rows = [[_markdown(entry) for entry in row] for group in self.groups for row in group]
        grid = [list(self.header), *rows]
        widths = [max(len(row[i]) for row in grid) for i in range(len(self.header))]
        lines = [_line(row, widths) for row in grid]
        lines.insert(1, "|" + "|".join("-" * (width + 2) for width in widths) + "|")
        notes = [text for note in self.notes for text in ("", note)]
        return "\n".join([f"### {self.title}", "", *lines, *notes, ""])

    def latex(self) -> str:
        """Return the table as LaTeX, which needs the packages booktabs and graphicx."""
        body = "\n\\midrule\n".join(
            "\n".join(" & ".join(_latex(entry) for entry in row) + r" \\" for row in group)
            for group in self.groups
        )
        notes = [rf"\par\footnotesize {_escaped(note)}" for note in self.notes]
        return "\n".join(
            [
                rf"\begin{{table*}}[t]\centering\caption{{{_escaped(self.title)}}}",
                r"\resizebox{\linewidth}{!}{",
                rf"\begin{{tabular}}{{{'l' * len(self.header)}}}",
                r"\toprule",
                " & ".join(_escaped(name) for name in self.header) + r" \\",
                r"\midrule",
                body,
                r"\bottomrule",
                r"\end{tabular}}",
                *notes,
                r"\end{table*}",
                "",
            ]
        )

    def html(self) -> str:
        """Return the table as HTML."""
        head = "".join(f"<th>{escape(name)}</th>" for name in self.header)
        body = "".join(
            "<tbody>" + "".join(f"<tr>{''.join(map(_html, row))}</tr>" for row in group) + "</tbody>"
            for group in self.groups
        )
        notes = "".join(f'<p class="faint">{escape(note)}</p>' for note in self.notes)
        return f'<div class="wide"><table><thead><tr>{head}</tr></thead>{body}</table></div>{notes}'

    def csv(self) -> str:
        """Return the unrounded data as CSV, one line per cell."""
        out = io.StringIO()
        writer = csv.DictWriter(out, fieldnames=list(self.data[0]) if self.data else [], lineterminator="\n")
        writer.writeheader()
        writer.writerows(self.data)
        return out.getvalue()

    def write(self, directory: Path) -> list[Path]:
        """Write the three files and return their paths."""
        texts = {".md": self.markdown(), ".tex": self.latex(), ".csv": self.csv()}
        paths = [directory / f"{self.name}{ending}" for ending in texts]
        for path, text in zip(paths, texts.values(), strict=True):
            path.write_text(text, encoding="utf-8")
        return paths


# -- numbers --------------------------------------------------------------------------------------------


def decimal(value: float, digits: int = 4, spread: float | None = None) -> str:
    """Return a share without the leading zero: ``.9865``, ``.9865 ± .0012``."""
    text = f"{value:.{digits}f}".replace("0.", ".", 1) if abs(value) < 1 else f"{value:.{digits}f}"
    return text if spread is None else f"{text} ± {decimal(spread, digits)}"


def signed(value: float, digits: int = 4) -> str:
    """Return a difference with its sign: ``+.0012``, ``−.0003``; ``.0000`` if it rounds to zero."""
    text = decimal(abs(value), digits)
    if not text.strip(".0"):
        return text
    return f"{'+' if value > 0 else '−'}{text}"


def scientific(value: float) -> str:
    """Return a number with three digits and a power of ten: ``1.78e-4``."""
    mantissa, _, exponent = f"{value:.2e}".partition("e")
    return f"{mantissa}e{int(exponent)}"


def percent(share: float) -> str:
    """Return a share in percent: ``23 %``, ``−4 %``."""
    return f"{100 * share:.0f} %".replace("-0 %", "0 %").replace("-", "−")


def best(values: Sequence[float | None], *, higher_is_better: bool, among: int) -> list[bool]:
    """Return which values are at least as good as the best of the first `among` values."""
    first = [value for value in values[:among] if value is not None]
    if not first:
        return [False] * len(values)
    limit = max(first) if higher_is_better else min(first)
    return [
        value is not None and (value >= limit if higher_is_better else value <= limit) for value in values
    ]


# -- as Markdown and LaTeX --------------------------------------------------------------------------------


def _markdown(entry: Entry) -> str:
    text = f"**{entry.text}**" if entry.bold else entry.text
    return f"{text}<sup>{entry.mark}</sup>" if entry.mark else text


def _line(row: Sequence[str], widths: Sequence[int]) -> str:
    return "| " + " | ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)) + " |"


_SYMBOLS = {
    "ζ": r"$\zeta$",
    "γ": r"$\gamma$",
    "ε": r"$\epsilon$",
    "Σ": r"$\Sigma$",
    "Δ": r"$\Delta$",
    "µ": r"$\mu$",
    "τ": r"$\tau$",
    "±": r"$\pm$",
    "×": r"$\times$",
    "−": r"$-$",
    "†": r"$\dagger$",
    "%": r"\%",
    "&": r"\&",
    "–": "--",
}


def _html(entry: Entry) -> str:
    mark = f"<sup>{escape(entry.mark)}</sup>" if entry.mark else ""
    text = f"<b>{escape(entry.text)}</b>" if entry.bold else escape(entry.text)
    return f"<td>{text}{mark}</td>"


def _latex(entry: Entry) -> str:
    text = _escaped(entry.text)
    if entry.bold:
        text = rf"\textbf{{\boldmath {text}}}" if "$" in text else rf"\textbf{{{text}}}"
    return f"{text}$^{{{_escaped(entry.mark).strip('$')}}}$" if entry.mark else text


def _escaped(text: str) -> str:
    text = "".join(_SYMBOLS.get(c, c) for c in text)
    text = re.sub(r"(\d\.\d+)e(-?\d+)", r"$\1\\cdot10^{\2}$", text)
    text = re.sub(r"\b([A-Z]{3})_([a-z])\b", r"\1$_\2$", text)
    return re.sub(r"(?<!\$)_", r"\\_", text)
