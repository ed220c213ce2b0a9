"""Which column of a table is which."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from heros._base.lazy import pa
from heros.data.codes import Codes
from heros.data.columns import (
    NOT_A_TARGET,
    Column,
    DateColumn,
    NameColumn,
    NumberColumn,
    counts_of,
    is_text,
)
from heros.data.dates import DateFormat, date_format_of, date_format_of_numbers
from heros.data.infer import date_column, infer_array, no_feature, number_column
from heros.data.number_format import format_of
from heros.data.values import label_of
from heros.errors import ParameterError
from heros.streams.options import Options
from heros.streams.readers import Chunk, TableReader
from heros.streams.targets import declared_names, target_is_number

__all__ = ["Layout", "layout_of"]

HINT = " (or be named in nominal= or ignore=, or the word in missing=)"


@dataclass
class Layout:
    """Which column of a table is which."""

    target: int
    classes: NameColumn | NumberColumn
    features: dict[int, Column] = field(default_factory=dict)
    ignored: dict[int, str] = field(default_factory=dict)  # columns nobody named, and why they are left out
    words: tuple[str, ...] = ()  # words that stand for a missing value, beside the usual ones
    left_out: tuple[str, ...] = ()  # columns that the user left out
    empty: list[int] = field(
        default_factory=list
    )  # columns without a value so far, which are no features yet

    @property
    def width(self) -> int:
        """How many features there are."""
        return sum(column.width for column in self.features.values())

    @property
    def numeric(self) -> bool:
        """Whether the target is a number."""
        return isinstance(self.classes, NumberColumn)


def layout_of(reader: TableReader, options: Options, first: Chunk) -> Layout:
    """Which columns there are and of which type, from the table, the options and the first chunk."""
    target = reader.names.index(options.target_among(reader.names))
    layout = Layout(target, _target(reader, target, options, first), words=reader.said_words)
    layout.left_out = tuple(name for name in options.ignore if name in reader.names)
    for index, name in enumerate(reader.names):
        if index == target or name in options.ignore:
            continue
        column = _as_told(reader, index, options, first) or _as_seen(reader, index, options, first)
        if column is None:
            layout.empty.append(index)
        elif isinstance(column, str):
            layout.ignored[index] = column
        else:
            layout.features[index] = _with_hint(column)
    if not layout.features:  # better some than none
        for index in list(layout.ignored):
            if not no_feature(first.columns[index].type):
                layout.features[index] = _nominal(reader, index, None, options.most_values, first)
                del layout.ignored[index]
    if not layout.features:
        layout.features = {index: NumberColumn(reader.names[index], missing=True) for index in layout.empty}
        layout.empty = []
    layout.left_out += tuple(reader.names[index] for index in layout.ignored)
    return layout


def _with_hint(column: Column) -> Column:
    """Return a column whose messages say what else it can be read as."""
    if isinstance(column, NumberColumn):
        column.rule += HINT
    elif isinstance(column, DateColumn):
        column.hint = HINT
    return column


def _target(reader: TableReader, index: int, options: Options, first: Chunk) -> NameColumn | NumberColumn:
    """The target: a number, if that was said or is seen, or else a class."""
    array = first.columns[index]
    if not target_is_number(reader, index, options, first):
        column = _nominal(reader, index, options.classes, None, first)
        column.classes = True
        return column
    name = reader.names[index]
    form = format_of(counts_of(array), comma=reader.decimal_comma)[0] if is_text(array.type) else None
    return NumberColumn(name, format=form, rule=NOT_A_TARGET)


def _as_told(reader: TableReader, index: int, options: Options, first: Chunk) -> Column | None:
    """A column as the user said it is; None if nothing was said."""
    name, array = reader.names[index], first.columns[index]
    nominal = options.nominal if isinstance(options.nominal, Mapping) else dict.fromkeys(options.nominal)
    dates = options.dates if isinstance(options.dates, Mapping) else dict.fromkeys(options.dates)
    if name in nominal:
        return _nominal(reader, index, nominal[name], options.most_values, first)
    if name in options.numeric or name == options.weights:
        counts = counts_of(array) if is_text(array.type) else {}
        return number_column(name, counts, format_of(counts, comma=reader.decimal_comma)[0])
    if name in dates:
        if not is_text(array.type) and dates[name] is None:
            typed = infer_array(name, array, None)
            if isinstance(typed, DateColumn):
                return typed
        labels, written = counts_of(array), dates[name]
        form = DateFormat.of(written) if written else _date_format(labels)
        if form is None:
            raise ParameterError.of(
                "dates",
                options.owner,
                "made of columns of dates or seconds since 1970 (or say how they are written, as strptime)",
                name,
            )
        return date_column(name, form, labels)
    return None


def _date_format(labels: Mapping[str, int]) -> DateFormat | None:
    found = date_format_of(labels)
    return date_format_of_numbers(labels) if found is None else found[0]


def _as_seen(reader: TableReader, index: int, options: Options, first: Chunk) -> Column | str | None:
    """Return a column as its table declares it or its first values tell, or why it is left out.

    None: there is no value yet that tells.
    """
    name, array, declared = reader.names[index], first.columns[index], reader.declared(index)
    if isinstance(declared, NameColumn):
        return _nominal(reader, index, None, options.most_values, first)
    if declared is not None:
        return declared
    if array.null_count == len(array) > 0 and (pa.types.is_null(array.type) or is_text(array.type)):
        return None
    found = infer_array(name, array, options.most_values, comma=reader.decimal_comma)
    if not isinstance(found, str):
        found.missing = reader.has_nulls(index)
    return found


def _nominal(
    reader: TableReader, index: int, values: Sequence[object] | None, most: int | None, first: Chunk
) -> NameColumn:
    """A nominal column: its values as given, as declared, or those of the first chunk, sorted."""
    name = reader.names[index]
    if values is not None:
        return NameColumn(name, Codes(str(label_of(value)) for value in values), closed=True)
    declared = declared_names(reader, index, first)
    if declared is not None and (declared.closed or most is None or len(declared.values) <= most):
        declared.values.most = None if declared.closed else most
        return declared
    return NameColumn(name, Codes(most=most), fresh=True, missing=reader.has_nulls(index))
