"""A preview of how a file is read, before training."""

from __future__ import annotations

import os
import re
import textwrap
import warnings
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from io import StringIO
from typing import Any

import numpy as np

from heros._base.errors import DataNotice
from heros._base.lazy import pa
from heros._base.tables import Table
from heros.data.columns import Column, DateColumn, NameColumn, NumberColumn, is_text
from heros.data.dates import date_format_of_numbers
from heros.data.infer import FEWEST, reason_not_a_feature
from heros.data.values import Words
from heros.streams.files import opened
from heros.streams.layout import Layout, similar
from heros.streams.readers import Chunk

__all__ = ["ColumnLook", "Look", "look"]

EXAMPLES, WIDEST, MOST_CLASSES, WIDTH = 3, 22, 10, 80
NAMES = 10  # a column with at most this many names shows all of them
WORDS = 5  # maximum number of unreadable values, or of words read as missing, listed for a column
MOST_COLUMNS, MOST_ODD = 40, 20
"""For more than `MOST_COLUMNS` columns, only a summary and up to `MOST_ODD` unusual columns are shown."""

NUMBERED = re.compile(r"|unnamed.*|(.*[\W_])?(id|idx|index|row|nr|no|number)", re.IGNORECASE)
"""Names of columns that may hold row numbers."""

WORDS_FOR_NOTHING = "blank empty missing n.a. na nil none tba tbd undefined unknown unspecified xx xxx ?? ???"
"""Lower-case names that may stand for a missing value."""


@dataclass(frozen=True)
class ColumnLook:
    """A column: its kind, number of distinct values, share of missing values, examples and a note."""

    name: str
    kind: str
    values: int
    missing: float
    examples: tuple[str, ...]
    note: str = ""
    words: Mapping[str, int] = field(default_factory=dict)  # words read as missing, with counts
    numbers_rows: bool = False  # whether the column seems to hold row numbers

    @property
    def warning(self) -> str:
        """A warning about the column for the user; an empty string if there is none."""
        if self.numbers_rows:
            way = f"(use ignore=[{self.name!r}] to ignore the column)"
            return f"The column {self.name!r} is used as a feature, but seems to hold row numbers {way}."
        words = {word: n for word, n in self.words.items() if word.isalpha()}  # "NA" may be a name
        if self.kind not in ("names", "target") or not words:
            return ""
        shown = ", ".join(f'"{word}" in {n:,} rows' for word, n in words.items())
        every = ", ".join(f'"{name}"' for name in [*words, *self.examples][:3])
        way = (
            f"to keep them as names, list all values of the column in columns=, as in "
            f'"{self.name}": [{every}, ...]'
        )
        if self.kind == "target":
            way = "to keep them as classes, list all classes in classes="
        return f"The column {self.name!r} has words that are read as missing: {shown} ({way})."


@dataclass(frozen=True)
class Look:
    """A preview of a file: its columns as inferred from the first rows. Printing a Look shows a table."""

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
        """Return the preview as JSON data."""
        return asdict(self)

    def __str__(self) -> str:
        return self.text()

    def text(self, *, all: bool = False) -> str:
        """Return a table of the columns or, for very many columns, a summary unless `all` is set."""
        text = StringIO()
        shown, more = (self.columns, ()) if all or len(self.columns) <= MOST_COLUMNS else self._summary()
        table = Table(("column", "read as", "values", "missing", "examples and notes"), align="llrrw")
        for one in shown:
            note = f"{'; '.join(one.examples)}{f' · {one.note}' if one.note else ''}"
            missing = f"{one.missing:.1%}" if one.missing else ""
            table.add(_cut(one.name), one.kind, f"{one.values:,}", missing, note)
        table.title = f"{self.source}: {self.features} features, inferred from the first {self.rows:,} rows"
        table.show(text)
        above = [line for part in self.notes for line in _wrapped(part)]
        below = [line for part in (*more, self._classes(), *self.faults) for line in _wrapped(part)]
        return "\n".join([*above, text.getvalue(), *below])

    def _summary(self) -> tuple[list[ColumnLook], tuple[str, ...]]:
        """Return the unusual columns, and the number of columns of each kind."""
        first = {"target", "weights"}
        odd = [one for one in self.columns if one.kind in first]
        odd += [one for one in self.columns if one.note and one.kind not in first]
        kinds = ", ".join(f"{n:,} {kind}" for kind, n in Counter(one.kind for one in self.columns).items())
        gaps = sum(one.missing > 0 for one in self.columns)
        text = f"{len(self.columns):,} columns: {kinds}. Columns with missing values: {gaps:,}."
        omitted = f", except for {len(odd) - MOST_ODD:,} more" if len(odd) > MOST_ODD else ""
        text = (
            f"{text} Only the target and unusual columns are shown{omitted} (use all=True to show all "
            f"columns)."
        )
        return odd[:MOST_ODD], (text,)

    def _classes(self) -> str:
        if not self.classes:
            return f"target {self.target!r}: {'a number' if self.numeric else 'no classes'}"
        shown = sorted(self.classes.items(), key=lambda pair: -pair[1])
        words = [f"{name} {count / max(1, self.rows):.1%}" for name, count in shown[:MOST_CLASSES]]
        more = f", … ({len(shown)} classes)" if len(shown) > MOST_CLASSES else ""
        return f"target {self.target!r}: {', '.join(words)}{more}"


def look(path: str | os.PathLike[str], **settings: Any) -> Look:
    r"""Return a preview of how a file is read: its columns, their kinds, anything unusual, and the classes.

    Only the first rows (about 2 MB of text) are read, because they decide how all rows are read.

    Parameters
    ----------
    path, **settings
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
        warnings.simplefilter("ignore", DataNotice)  # the result contains the notices
        reader, options = opened(path, **settings)
        options.check(reader.names)
        reader.keep_names(options.listed_values(reader.names))
        first = reader.read()
        raw_reader, _ = opened(path, **settings)
        raw_reader.words = Words()  # no string is read as missing
        raw = raw_reader.read()
    if first is None or raw is None:
        return Look(reader.label, 0, 0, (), options.target_among(reader.names), {}, notes=reader.notes)
    first = reader.without_missing_words(first)
    layout = Layout(reader, options, first)
    wrong = layout.no_classes()
    doubts = (
        [wrong[:1].upper() + wrong[1:]]
        if wrong
        else [layout.numeric_classes_notice(), layout.similar_classes_notice()]
    )
    if lacking := np.count_nonzero(first.columns[layout.target].is_null(nan_is_null=True)):
        rows = f"{lacking:,} of the first {first.n_rows:,} rows"
        doubts.append(f"{rows} have no target; such rows are skipped and counted")
    return Look(
        source=reader.label,
        rows=first.n_rows,
        features=sum(one.width for one in layout.features.values()) - (options.weights is not None),
        columns=tuple(_preview_of(layout, index, raw) for index in range(len(reader.names))),
        target=reader.names[layout.target],
        classes={} if wrong or layout.numeric else layout.counts(layout.target),
        numeric=layout.numeric,
        faults=(*filter(None, doubts), *(str(fault) for _, fault in first.faults[:3])),
        notes=reader.notes,
    )


def _preview_of(layout: Layout, index: int, raw: Chunk) -> ColumnLook:
    array, rows, name = layout.first.columns[index], layout.first.n_rows, layout.reader.names[index]
    counts = {} if reason_not_a_feature(array.type) else layout.counts(index)
    missing = float(np.asarray(array.is_null(nan_is_null=True)).mean()) if rows else 0.0
    column = layout.features.get(index)
    most = NAMES if isinstance(column, NameColumn) and len(counts) <= NAMES else EXAMPLES
    examples = tuple(_cut(value) for value in list(counts)[:most])
    words = _missing_words(array, raw.columns[index])
    usual = {word: n for word, n in words.most_common() if word not in layout.reader.given_words}
    if index == layout.target:
        note = _words_note(words, "target")
        return ColumnLook(name, "target", len(counts), missing, examples, note, usual)
    if index in layout.empty:
        kind, note = "empty", "the kind depends on the first value"
    elif column is None:
        kind, note = "left out", layout.ignored.get(index, "as requested")
    else:
        kind = "weights" if name == layout.options.weights else _kind(column)
        note = "; ".join(filter(None, (*_notes(layout, index, counts), _words_note(words, kind))))
        numbers = (
            isinstance(column, NumberColumn) and kind != "weights" and _is_row_number(layout, column, index)
        )
        return ColumnLook(name, kind, len(counts), missing, examples, note, usual, numbers)
    return ColumnLook(name, kind, len(counts), missing, examples, note)


def _missing_words(array: pa.Array, raw: pa.Array) -> Counter[str]:
    """Return the strings that are read as missing values, with their counts."""
    if not is_text(array.type) or not is_text(raw.type) or len(array) != len(raw):
        return Counter()
    return Counter(word for word in raw.filter(array.is_null()).to_pylist() if word is not None)


def _words_note(words: Counter[str], kind: str) -> str:
    """Return a note on the strings that are read as missing values; "" if all these strings are empty."""
    if not any(words):
        return ""
    shown = ", ".join(f'"{_cut(word)}" {count:,}' for word, count in words.most_common(WORDS))
    more = f" and {len(words) - WORDS} more words" if len(words) > WORDS else ""
    may_be_name = any(map(str.isalpha, words))  # "NA" may be a name, "N/A" is not
    hint = {
        "names": " (to keep such a word as a name, list all values of the column in columns=)",
        "target": " (to keep such a word as a class, list all classes in classes=)",
    }.get(kind, "")
    return f"missing: {shown}{more}{hint if may_be_name else ''}"


def _is_row_number(layout: Layout, column: NumberColumn, index: int) -> bool:
    """Return whether a column seems to hold row numbers, judging by its values or else by its name."""
    values, faults = column.convert(layout.first.columns[index])
    if faults or len(values) <= EXAMPLES or not (values % 1 == 0).all():
        return False
    by_name = len(values) >= FEWEST and NUMBERED.fullmatch(layout.reader.names[index])
    return bool((np.diff(values) == 1).all() or (by_name and len(np.unique(values)) == len(values)))


def _kind(column: Column) -> str:
    if isinstance(column, DateColumn):
        return "dates" if column.dates else "times"
    return "numbers" if isinstance(column, NumberColumn) else "names"


def _notes(layout: Layout, index: int, counts: dict[str, int]) -> Iterator[str]:
    """Yield notes on how a column is read, and on anything unusual."""
    column, rows = layout.features[index], layout.first.n_rows
    if isinstance(column, NumberColumn) and column.format is not None:
        yield f"with {column.format}"
    if isinstance(column, DateColumn):
        yield f"{'' if column.format is None else f'{column.format.name}, '}{column.width} inputs"
    if isinstance(column, NameColumn):
        most = column.values.most
        if most is not None and len(counts) > most and not column.closed:
            yield f"{most} inputs, shared by rare values"
        yield layout.numeric_values_hint(index)
        yield similar(counts)
        words = {word: n for word, n in counts.items() if word.casefold() in WORDS_FOR_NOTHING.split()}
        if words and not column.closed:
            counted = ", ".join(f'"{_cut(word)}" {n:,}' for word, n in words.items())
            listed = ",".join(map(repr, words))
            yield f"{counted} times (use missing=[{listed}] to read such values as missing)"
    else:
        _, faults = column.convert(layout.first.columns[index])
        if faults:
            words = Counter(why.value for why in faults.values())
            shown = ",".join(word for word, _ in words.most_common(WORDS))
            more = f" and {len(words) - WORDS} more" if len(words) > WORDS else ""
            yield (
                f"{len(faults):,} bad rows with {shown}{more} (use missing=[{shown}] to read such "
                f"values as missing)"
            )
        if isinstance(column, NumberColumn):
            if zeros := layout.example_with_zeros(index):
                yield f"leading zeros, such as {zeros!r}, are lost (use nominal= to keep them)"
            if date_format_of_numbers(counts) is not None:
                yield "the numbers may be seconds since 1970 (use dates= to read them as dates)"
            elif _is_row_number(layout, column, index):
                yield "a different whole number in every row; this may be an identifier"
    if len(counts) == 1 and rows > 1:
        yield "the same value in all rows"


def _cut(text: str) -> str:
    return text if len(text) <= WIDEST else f"{text[: WIDEST - 1]}…"


def _wrapped(text: str) -> list[str]:
    """Wrap text into lines without breaking paths."""
    return textwrap.wrap(text, WIDTH, break_on_hyphens=False, break_long_words=False)
