"""Inference of the kind of a column from the values of a table, or from the column's first value."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import time
from typing import Any

import numpy as np

from heros._base.lazy import pa
from heros.data.codes import Codes
from heros.data.columns import Column, DateColumn, NameColumn, NumberColumn, counts_of, is_text
from heros.data.dates import ORDERS, TIMES, DateFormat, date_format_of, is_date, micros_of, micros_of_array
from heros.data.number_format import NumberFormat, format_of, is_clear
from heros.data.values import BLANKS, Refused, kind_of, name_of, shown

FEWEST = 50
"""A text column is an identifier if all of its values are distinct in at least this many rows."""

DAY = 86_400_000_000  # in microseconds


def infer(
    name: str,
    counts: Mapping[str, int],
    most: int | None,
    *,
    comma: Callable[[], bool] | bool = False,
    names: bool = False,
) -> Column | str:
    """Infer the kind of a text column; return the column, or the reason why the column is left out.

    A column is numeric if at least half of its values are numbers in the same format. It is a date column if
    at least nine in ten values are dates in the same format. It is left out if its values are identifiers:
    all distinct, or more than `most` and mostly distinct. Otherwise it is nominal. `counts` holds the number
    of occurrences of each value, excluding missing values. `most` is the maximum number of inputs of a
    nominal column. `comma` has the same meaning as in `format_of`. If `names` is True, numbers are read as
    names.

    Examples
    --------
    >>> infer("price", {"€12.50": 3, "€7": 1}, 256).format
    NumberFormat(decimal='.', groups=',')
    >>> infer("when", {"28.10.2026": 1}, 256).format.name, list(infer("colour", {"red": 1}, 256).values)
    ('day first', [])
    >>> infer("order", {f"A-{i}": 1 for i in range(50)}, 256)
    '50 distinct values in 50 rows, too many to learn from'
    """
    total = sum(counts.values())
    if not names:
        form, matched = format_of(counts, comma=comma)
        if 2 * matched >= total:
            return number_column(name, counts, form)
    dates = date_format_of(counts)
    if dates is not None:
        return date_column(name, dates[0], counts, other=dates[1])
    distinct = len(counts)
    if most is not None and (distinct == total >= FEWEST or (distinct > most and 2 * distinct > total)):
        return f"{distinct:,} distinct values in {total:,} rows, too many to learn from"
    return NameColumn(name, Codes(most=most), fresh=True)


def number_column(name: str, counts: Iterable[str], form: NumberFormat | None) -> NumberColumn:
    """Return a numeric column with this format; the format may change later if all strings are ambiguous."""
    tentative = form is not None and not any(is_clear(text) for text in counts)
    return NumberColumn(name, format=form, tentative=tentative)


def date_column(name: str, form: DateFormat, labels: Iterable[str], *, other: bool = False) -> DateColumn:
    """Return a date column with this format; if `other` is True, another order of day and month also fits."""
    if form == TIMES:
        return DateColumn(name, form, dates=False, clock=True)
    moments = filter(None, map(form.moment, labels))
    clock = any(m.time() != time.min for m in moments)  # any time other than midnight
    return DateColumn(name, form, clock=clock, tentative=other and form.name in ORDERS)


def infer_value(name: str, value: Any, most: int | None, *, comma: bool, names: bool = False) -> Column:
    """Infer a column from its first value, using the type of the value or the format of a string."""
    kind = kind_of(value)
    if kind == "text":
        found = infer(name, {value.strip(BLANKS): 1}, most, comma=comma, names=names)
        assert not isinstance(found, str), "a single value is never an identifier"
        return found
    if kind in ("boolean", "number"):
        return NumberColumn(name) if kind == "number" and not names else NameColumn(name, Codes(most=most))
    micros = micros_of(value, None)
    if micros is None:  # the date is outside the range of the calendar
        raise Refused(name, shown(value), "be a date")
    dates = hasattr(value, "year") or not hasattr(value, "hour")
    return DateColumn(name, None if dates else TIMES, dates, clock=not dates or micros % DAY != 0)


def infer_array(  # noqa: PLR0911  one per kind
    name: str, array: pa.Array, most: int | None, *, comma: Callable[[], bool] | bool = False
) -> Column | str:
    """Infer a column from the type or the strings of an array, or return the reason for leaving it out."""
    kind, types = array.type, pa.types
    if why := reason_not_a_feature(kind):
        return why
    if types.is_dictionary(kind):
        names = map(name_of, array.dictionary.to_pylist())
        labels = list(dict.fromkeys(name for name in names if name is not None))
        if most is None or len(labels) <= most:
            return NameColumn(name, Codes(labels, most))
        return NameColumn(name, Codes(most=most), fresh=True)
    if types.is_boolean(kind):
        return NameColumn(name, Codes(["False", "True"], most))
    if types.is_time(kind):
        return DateColumn(name, TIMES, dates=False, clock=True)
    if is_date(kind):
        micros = micros_of_array(array, None)
        return DateColumn(name, clock=bool((micros[~np.isnat(micros)].astype(np.int64) % DAY).any()))
    if is_text(kind):
        return infer(name, counts_of(array), most, comma=comma)
    return NumberColumn(name)


def reason_not_a_feature(kind: pa.DataType) -> str:
    """Return the reason why an Arrow type cannot be a feature; an empty string if it can be a feature."""
    types = pa.types
    if types.is_dictionary(kind):
        kind = kind.value_type
    number = types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind)
    other = types.is_null(kind) or types.is_duration(kind) or types.is_boolean(kind)
    if number or other or is_text(kind) or is_date(kind):
        return ""
    return f"{kind} is not a number, text or date"
