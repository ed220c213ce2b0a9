"""Whether the target of a stream is a class or a number."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from heros.errors import DataError
from heros.data.columns import NameColumn, counts_of
from heros.data.number_format import format_of
from heros.streams.options import Options
from heros.streams.readers import TableReader
from heros.data.values import checked_task

__all__ = ["FEW_NUMBERS", "MANY", "is_numeric", "target_is_number"]

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


def target_is_number(reader: TableReader, index: int, options: Options, array: Any) -> bool:
    """Whether the target of a table is a number: as it was said, or if it has many numbers with decimals."""
    name, declared = reader.names[index], reader.declared(index)
    if options.task is not None or name in options.numeric:
        return options.task != "classification"
    given = isinstance(declared, NameColumn) and bool(declared.values)
    if options.classes is not None or name in options.nominal or given or options.most_values is None:
        return False
    counts = counts_of(array)
    if len(counts) <= FEW_NUMBERS:
        return False
    form, matched = format_of(counts, comma=reader.decimal_comma)
    if matched < sum(counts.values()):
        return False
    numbers = (float(value) if form is None else form.number(value) for value in counts)
    return not all(number is not None and number.is_integer() for number in numbers)
