"""Whether the target of a stream is a class or a number."""

from __future__ import annotations

from heros._base.lazy import pa
from heros.data.columns import NameColumn, counts_of
from heros.data.infer import infer_array
from heros.data.number_format import format_of
from heros.streams.options import Options
from heros.streams.readers import Chunk, TableReader

__all__ = ["FEW_NUMBERS", "declared_names", "target_is_number"]

FEW_NUMBERS = 20
"""So many different numbers may be classes even if some have decimals."""


def declared_names(reader: TableReader, index: int, first: Chunk) -> NameColumn | None:
    """Return a nominal column whose values the table declares, as ARFF and Arrow's dictionaries do."""
    column, array = reader.declared(index), first.columns[index]
    if column is None and pa.types.is_dictionary(array.type):
        found = infer_array(reader.names[index], array, None)
        column = None if isinstance(found, str) else found
    return column if isinstance(column, NameColumn) and column.values else None


def target_is_number(reader: TableReader, index: int, options: Options, first: Chunk) -> bool:
    """Whether the target of a table is a number: as it was said, or if it has many numbers with decimals."""
    name = reader.names[index]
    if options.task is not None or name in options.numeric:
        return options.task != "classification"
    if options.classes is not None or name in options.nominal or options.most_values is None:
        return False
    if declared_names(reader, index, first) is not None:
        return False
    counts = counts_of(first.columns[index])
    if len(counts) <= FEW_NUMBERS:
        return False
    form, matched = format_of(counts, comma=reader.decimal_comma)
    if matched < sum(counts.values()):
        return False
    numbers = (float(value) if form is None else form.number(value) for value in counts)
    return not all(number is not None and number.is_integer() for number in numbers)
