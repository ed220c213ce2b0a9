"""Whether the target of a stream is a class or a number."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from heros._base.lazy import pa
from heros.data.columns import NameColumn, counts_of
from heros.data.infer import infer_array
from heros.data.number_format import format_of
from heros.data.values import checked_task
from heros.errors import DataError
from heros.streams.options import Options
from heros.streams.readers import Chunk, TableReader

__all__ = ["FEW_NUMBERS", "MANY", "declared_names", "is_numeric", "target_is_number"]

FEW_NUMBERS = 20
"""So many different numbers may be classes even if some have decimals."""

MANY = 100
"""More different whole numbers than that may be classes or quantities: who reads them has to say."""


def is_numeric(values: NDArray[np.generic], task: str | None, classes: bool, owner: str, name: str) -> bool:
    """Whether targets are numbers: as it was said, else by what they look like.

    Examples
    --------
    >>> is_numeric(np.array([0.5, 2.0]), None, False, "from_arrays", "y")
    True
    >>> is_numeric(np.arange(300), None, False, "from_arrays", "y")
    Traceback (most recent call last):
        ...
    heros.errors.DataError: The target 'y' of from_arrays has more than 100 different whole numbers: say
    task='regression' if they are quantities, task='classification' if they are classes.
    """
    if checked_task(task, owner) is not None:
        return task == "regression"
    if classes or values.dtype.kind not in "iuf":
        return False
    known = values[np.isfinite(values)] if values.dtype.kind == "f" else values
    if values.dtype.kind == "f" and (known != np.floor(known)).any():
        return True
    if len(known) > MANY and len(np.unique(known)) > MANY:
        raise DataError(
            f"The target {name!r} of {owner} has more than {MANY} different whole numbers: say "
            "task='regression' if they are quantities, task='classification' if they are classes."
        )
    return False


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
