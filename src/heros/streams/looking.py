"""How a file is read, before anything is learnt from it."""

from __future__ import annotations

import os
import textwrap
import warnings
from collections import Counter
from dataclasses import asdict, dataclass
from io import StringIO
from typing import Any

import numpy as np

from heros._base.tables import Table
from heros.data.columns import Column, DateColumn, NameColumn, NumberColumn, counts_of
from heros.data.dates import date_format_of_numbers
from heros.data.infer import no_feature
from heros.errors import DataNotice
from heros.streams.files import opened
from heros.streams.layout import Layout, layout_of
from heros.streams.notices import doubtful_classes, no_classes, suspicion
from heros.streams.options import Options
from heros.streams.readers import Chunk, TableReader

__all__ = ["ColumnLook", "Look", "look"]

EXAMPLES, WIDEST, MOST_CLASSES, WIDTH = 3, 22, 10, 80
MOST_COLUMNS, MOST_ODD = 40, 20
"""Of more columns than that only a summary is shown, with so many odd ones."""


@dataclass(frozen=True)
class ColumnLook:
    """One column: what it is read as, how many values it has, which share is missing, what they look like."""

    name: str
    kind: str
    values: int
    missing: float
    examples: tuple[str, ...]
    note: str = ""


@dataclass(frozen=True)
class Look:
    """How a file is read, as its first rows tell. Printed, it is a table."""

    source: str
    rows: int
    features: int
    columns: tuple[ColumnLook, ...]
    target: str
    classes: dict[str, int]
    numeric: bool = False
    faults: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def plain(self) -> dict[str, Any]:
        """It as JSON knows it."""
        return asdict(self)

    def __str__(self) -> str:
        return self.text()

    def text(self, *, all: bool = False) -> str:
        """Return a table of the columns; of very many, a summary and the odd ones, unless `all` is set."""
        text = StringIO()
        shown, more = (self.columns, ()) if all or len(self.columns) <= MOST_COLUMNS else self._summary()
        table = Table(("column", "read as", "values", "missing", "examples and notes"), align="llrrw")
        for one in shown:
            note = f"{'; '.join(one.examples)}{f' · {one.note}' if one.note else ''}"
            missing = f"{one.missing:.1%}" if one.missing else ""
            table.add(_cut(one.name), one.kind, f"{one.values:,}", missing, note)
        table.title = f"{self.source}: {self.features} features, as the first {self.rows:,} rows tell"
        table.show(text)
        above = [line for part in self.notes for line in _wrapped(part)]
        below = [line for part in (*more, self._classes(), *self.faults) for line in _wrapped(part)]
        return "\n".join([*above, text.getvalue(), *below])

    def _summary(self) -> tuple[list[ColumnLook], tuple[str, ...]]:
        """Return the odd columns, and how many there are of each kind."""
        odd = [one for one in self.columns if one.note or one.kind in {"target", "weights"}]
        odd.sort(key=lambda one: one.kind not in {"target", "weights"})
        kinds = ", ".join(f"{n:,} {kind}" for kind, n in Counter(one.kind for one in self.columns).items())
        gaps = sum(one.missing > 0 for one in self.columns)
        text = f"{len(self.columns):,} columns: {kinds}; {gaps:,} with missing values."
        left = f", {len(odd) - MOST_ODD:,} more of them are not" if len(odd) > MOST_ODD else ""
        return odd[:MOST_ODD], (
            f"{text} Only the target and odd columns are shown{left} (all= shows every one).",
        )

    def _classes(self) -> str:
        if not self.classes:
            return f"target {self.target!r}: {'a number' if self.numeric else 'no classes'}"
        shown = sorted(self.classes.items(), key=lambda pair: -pair[1])
        words = [f"{name} {count / max(1, self.rows):.1%}" for name, count in shown[:MOST_CLASSES]]
        more = f", … ({len(shown)} classes)" if len(shown) > MOST_CLASSES else ""
        return f"target {self.target!r}: {', '.join(words)}{more}"


def look(path: str | os.PathLike[str], **how: Any) -> Look:
    r"""How a file is read: its columns, what they are taken for, what is odd about them, its classes.

    Only the first rows are looked at (about 2 MB of text), those that decide how all are read.

    Parameters
    ----------
    path, **how
        As for `heros.streams.read`.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     path = pathlib.Path(directory, "people.csv")
    ...     _ = path.write_text("born,colour,label\n2001-05-17,red,no\n1999-12-31,N/A,yes\n")
    ...     found = look(path)
    >>> [(one.name, one.kind, one.missing) for one in found.columns]
    [('born', 'dates', 0.0), ('colour', 'names', 0.5), ('label', 'target', 0.0)]
    >>> found.classes
    {'no': 1, 'yes': 1}
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataNotice)  # what is told is in the result
        reader, options = opened(path, **how)
        options.check(reader.names)
        first = reader.read()
    if first is None:
        return Look(reader.label, 0, 0, (), options.target_among(reader.names), {}, notes=reader.notes)
    layout = layout_of(reader, options, first)
    columns = tuple(_seen(reader, options, layout, first, i) for i in range(len(reader.names)))
    counts = counts_of(first.columns[layout.target])
    name, faults = reader.names[layout.target], [str(fault) for _, fault in first.faults[:3]]
    numbers = no_classes(reader, options, layout, first)
    if numbers or layout.numeric:
        counts = {}
    if numbers:
        faults.insert(0, f"{numbers[0].upper()}{numbers[1:]}")
    elif doubt := doubtful_classes(reader, options, layout, first):
        faults.insert(0, doubt)
    features = layout.width - (options.weights is not None)
    return Look(
        reader.label,
        first.n_rows,
        features,
        columns,
        name,
        counts,
        layout.numeric,
        tuple(faults),
        reader.notes,
    )


def _seen(reader: TableReader, options: Options, layout: Layout, first: Chunk, index: int) -> ColumnLook:
    array = first.columns[index]
    counts = {} if no_feature(array.type) else counts_of(array)
    missing = float(np.asarray(array.is_null(nan_is_null=True)).mean()) if first.n_rows else 0.0
    examples = tuple(_cut(value) for value in list(counts)[:EXAMPLES])
    column = layout.classes if index == layout.target else layout.features.get(index)
    if index == layout.target:
        kind, note = "target", ""
    elif index in layout.empty:
        kind, note = "empty", "read as its first value will be, if one comes"
    elif column is None:
        kind, note = "left out", layout.ignored.get(index, "as you say")
    else:
        kind, note = _kind(column), _note(reader, column, first, index, counts)
        kind = "weights" if reader.names[index] == options.weights else kind
    return ColumnLook(reader.names[index], kind, len(counts), missing, examples, note)


def _kind(column: Column) -> str:
    if isinstance(column, DateColumn):
        return "dates" if column.dates else "times"
    return "numbers" if isinstance(column, NumberColumn) else "names"


def _note(reader: TableReader, column: Column, first: Chunk, index: int, counts: dict[str, int]) -> str:
    """How it is read, and what is odd about it."""
    array, notes = first.columns[index], []
    if isinstance(column, NumberColumn) and column.format is not None:
        notes.append(f"with {column.format}")
    if isinstance(column, DateColumn):
        order = f"{column.format.name}, " if column.format is not None else ""
        notes.append(f"{order}{column.width} inputs")
    if isinstance(column, NameColumn):
        most = column.values.most
        if most is not None and len(counts) > most and not column.closed:
            notes.append(f"{most} inputs, which rare values share")
        notes.append(suspicion(column, first, index))
    else:
        values, faults = column.convert(array)
        if faults:
            value = next(iter(faults.values()))[0]
            notes.append(
                f"{len(faults):,} bad rows, the first with {value} (missing={value} if it means none)"
            )
        if isinstance(column, NumberColumn) and date_format_of_numbers(counts) is not None:
            notes.append("seconds since 1970 (dates=)?")
        elif isinstance(column, NumberColumn) and _rises(values, first.n_rows):
            notes.append("rises by one with every row: an identifier?")
    if len(counts) == 1 and first.n_rows > 1:
        notes.append("the same in all rows")
    return "; ".join(note for note in notes if note)


def _rises(values: np.ndarray[Any, np.dtype[np.float64]], rows: int) -> bool:
    return rows > EXAMPLES and bool((np.diff(values) == 1).all())


def _cut(text: str) -> str:
    return text if len(text) <= WIDEST else f"{text[: WIDEST - 1]}…"


def _wrapped(text: str) -> list[str]:
    """Return a text in lines, in which paths stay whole."""
    return textwrap.wrap(text, WIDTH, break_on_hyphens=False, break_long_words=False)
