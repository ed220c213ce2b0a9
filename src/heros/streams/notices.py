"""What is said about how the columns of a table are read, and what they cannot be read as."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from heros.data.check import MANY
from heros.data.columns import Column, DateColumn, NameColumn, NumberColumn, counts_of, is_text
from heros.data.number_format import format_of
from heros.data.values import NUMBER
from heros.errors import DataError
from heros.streams.layout import Layout
from heros.streams.options import Options
from heros.streams.readers import Chunk, TableReader
from heros.streams.targets import FEW_NUMBERS, declared_names

__all__ = [
    "doubtful_classes",
    "expect_classes",
    "no_classes",
    "not_classes",
    "notices_of",
    "reading_notice",
    "suspicion",
]

FEW_CLASSES = 10
"""So many different numbers are classes without any doubt: digits, grades."""

MEASURE = re.compile(r"[^\w]{0,2}\d[\d.,' ]*\s*[^\W\d]{1,6}")
"""A number with a unit behind it."""


def expect_classes(reader: TableReader, options: Options, layout: Layout, first: Chunk) -> None:
    """Refuse a target that has many whole numbers, or a text of its own, rather than classes."""
    what = no_classes(reader, options, layout, first)
    if what:
        raise DataError(f"{reader.label}: {what}")


def no_classes(reader: TableReader, options: Options, layout: Layout, first: Chunk) -> str:
    """What is wrong with the classes of a table, and what to do about it; nothing if nothing is."""
    target, given = reader.names[layout.target], declared_names(reader, layout.target, first) is not None
    said = options.classes is not None or target in options.nominal or options.task is not None
    if layout.numeric or said or given or options.most_values is None:
        return ""
    what = not_classes(counts_of(first.columns[layout.target]))
    if not what:
        return ""
    return (
        f"the target {target!r} must hold classes. Got {what} (name the column with the classes in target=; "
        "or say task='regression' if these are quantities, task='classification' if each value is a class)."
    )


def doubtful_classes(reader: TableReader, options: Options, layout: Layout, first: Chunk) -> str:
    """Return what a target of many whole numbers is taken for; an empty text if there is no doubt."""
    if layout.numeric or options.classes is not None or options.task is not None:
        return ""
    name = reader.names[layout.target]
    if name in options.nominal or declared_names(reader, layout.target, first) is not None:
        return ""
    counts = counts_of(first.columns[layout.target])
    if len(counts) <= FEW_CLASSES or not all(NUMBER.fullmatch(value) for value in counts):
        return ""
    return (
        f"The {len(counts)} different numbers of the target {name!r} are taken for classes "
        "(task='regression' if they are quantities, task='classification' if this is right)."
    )


def not_classes(counts: Mapping[str, int]) -> str:
    """What a target has instead of classes; nothing if it may have classes.

    Examples
    --------
    >>> not_classes({f"{i / 8}": 1 for i in range(90)}), not_classes({"0": 50, "1": 30})
    ('90 different numbers in 90 rows', '')
    >>> not_classes({f"note {i}": 1 for i in range(90)})
    '90 different values in 90 rows'
    """
    distinct, total = len(counts), sum(counts.values())
    numbers = all(NUMBER.fullmatch(value) for value in counts)
    decimals = numbers and not all(float(value).is_integer() for value in counts)
    many = distinct > FEW_NUMBERS and 2 * distinct > total
    if numbers and (many or distinct > (FEW_NUMBERS if decimals else MANY)):
        return f"{distinct:,} different numbers in {total:,} rows"
    return f"{distinct:,} different values in {total:,} rows" if many else ""


def notices_of(reader: TableReader, options: Options, layout: Layout, first: Chunk) -> Iterator[str]:
    """What a user may not expect of the columns that nobody described."""
    if doubt := doubtful_classes(reader, options, layout, first):
        yield doubt
    for index, why in layout.ignored.items():
        yield f"The column {reader.names[index]!r} is left out: {why} (nominal= keeps it, ignore= says so)."
    named = {*options.nominal, *options.numeric, *options.dates, options.weights}
    for index, column in layout.features.items():
        if column.name in named:
            continue
        if text := reading_notice(column):
            yield text
        elif options.most_values is not None:
            doubt = suspicion(column, first, index)
            if doubt:
                yield f"The column {column.name!r} is read as names: {doubt}."


def reading_notice(column: Column) -> str:
    """Return how numbers and dates of a column are read, if that may be a surprise; else an empty text."""
    if isinstance(column, NumberColumn) and column.format is not None:
        return (
            f"The column {column.name!r} is read as numbers with {column.format} (nominal= says otherwise)."
        )
    if not isinstance(column, DateColumn):
        return ""
    doubt = ""
    if column.format is not None:
        doubt = f", {column.format.name}" + (" (it could be month first)" if column.tentative else "")
    what = "dates" if column.dates else "times"
    names = ", ".join(f"'{name}'" for name in column.names)
    return f"The column {column.name!r} is read as {what}{doubt}: {names} (nominal= says otherwise)."


def suspicion(column: object, first: Chunk, index: int) -> str:
    """Why a column may be something else than it is taken for; nothing if nothing is odd.

    Examples
    --------
    >>> import pyarrow as pa
    >>> chunk = Chunk([pa.array([f"{i} kg" for i in range(30)])], str)
    >>> suspicion(NameColumn("weight"), chunk, 0)
    "numbers with units, such as '0 kg'"
    """
    if not isinstance(column, NameColumn) or column.closed or not is_text(first.columns[index].type):
        return ""
    counts = counts_of(first.columns[index])
    if len(counts) <= FEW_NUMBERS:
        return ""
    units = [value for value in counts if MEASURE.fullmatch(value)]
    if 2 * len(units) > len(counts):
        return f"numbers with units, such as {units[0]!r}"
    _, numbers = format_of(counts)
    if 2 * numbers >= sum(counts.values()):
        return "most are numbers (numeric= reads them as such)"
    return ""
