"""The kinds of the columns of a table, and the notices about them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache

from heros._base.errors import ParameterError
from heros._base.lazy import pa
from heros.data.codes import Codes
from heros.data.columns import (
    Column,
    DateColumn,
    NameColumn,
    NumberColumn,
    counts_of,
    is_text,
    reading_of,
)
from heros.data.dates import DateFormat, date_format_of, date_format_of_numbers
from heros.data.infer import date_column, infer, infer_array, no_feature, number_column
from heros.data.number_format import NumberFormat, format_of, has_decimal_commas
from heros.data.values import label_of
from heros.streams.options import Options
from heros.streams.readers import Chunk, TableReader
from heros.streams.value_checks import FEW_NUMBERS, MOST_WORDS, not_classes, not_numbers, similar

__all__ = ["Layout"]

HINT = " (or be named in nominal= or ignore=, or the word in missing=)"


class Layout:
    """The kinds of the columns of a table, from its declarations, the options and the first rows."""

    def __init__(self, reader: TableReader, options: Options, first: Chunk) -> None:
        self.reader, self.options, self.first = reader, options, first
        self.counts = cache(lambda index: counts_of(first.columns[index]))  # computed once per column
        self._comma = cache(self._has_decimal_commas)  # computed only if a column is ambiguous
        self.target = reader.names.index(options.target_among(reader.names))
        self.classes = self._target()
        self.features: dict[int, Column] = {}
        self.ignored: dict[int, str] = {}  # columns left out automatically, and why
        self.empty: list[int] = []  # columns without a value so far
        for index, name in enumerate(reader.names):
            if index == self.target or name in options.ignore:
                continue
            column = self._as_told(index) or self._as_seen(index)
            if column is None:
                self.empty.append(index)
            elif isinstance(column, str):
                self.ignored[index] = column
            else:
                self.features[index] = column
                if not isinstance(column, NameColumn):
                    column.hint = HINT
        if not self.features:  # use ignored columns rather than none
            for index in list(self.ignored):
                if not no_feature(first.columns[index].type):
                    self.features[index] = self._nominal(index, None, options.most_values)
                    del self.ignored[index]
        if not self.features:
            self.features = {index: NumberColumn(reader.names[index], missing=True) for index in self.empty}
            self.empty = []
        told = (name for name in options.ignore if name in reader.names)
        self.left_out = (*told, *(reader.names[index] for index in self.ignored))

    @property
    def numeric(self) -> bool:
        """Whether the target is a number."""
        return isinstance(self.classes, NumberColumn)

    # -- kinds of columns ---------------------------------------------------------------------------------

    def _target(self) -> NameColumn | NumberColumn:
        """Return the target column: a number, if the options or the values say so, else a class."""
        if not self._target_is_number():
            column = self._nominal(self.target, self.options.classes, None)
            column.classes = True
            return column
        rule = "be a number, because it is the target (or set task='classification')"
        return NumberColumn(self.reader.names[self.target], format=self._format(self.target), rule=rule)

    def _target_is_number(self) -> bool:
        """Return whether the target is a number: by the options, or if it has many numbers with decimals."""
        name, options = self.reader.names[self.target], self.options
        if options.task is not None or name in options.numeric:
            return options.task != "classification"
        if self._classes_said() or options.most_values is None:
            return False
        counts = self.counts(self.target)
        if len(counts) <= FEW_NUMBERS:
            return False
        form, matched = format_of(counts, comma=self._comma)
        if matched < sum(counts.values()):
            return False
        numbers = (float(value) if form is None else form.number(value) for value in counts)
        return not all(number is not None and number.is_integer() for number in numbers)

    def _classes_said(self) -> bool:
        """Return whether the user or the table declares that the target is a class."""
        said = self.options.classes is not None or self.reader.names[self.target] in self.options.nominal
        return said or self._declared_names(self.target) is not None

    def _format(self, index: int) -> NumberFormat | None:
        text = is_text(self.first.columns[index].type)
        return format_of(self.counts(index), comma=self._comma)[0] if text else None

    def _has_decimal_commas(self) -> bool:
        """Return whether ambiguous numbers have decimal commas: by other columns, else by the delimiter."""
        left = {*self.options.ignore, *self.options.nominal}
        texts = (
            index
            for index, array in enumerate(self.first.columns)
            if is_text(array.type) and self.reader.names[index] not in left
        )
        return has_decimal_commas(map(self.counts, texts), usual=self.reader.decimal_comma)

    def _as_told(self, index: int) -> Column | None:
        """Return a column as the user declared it, or None if the user did not declare it."""
        name, array, options = self.reader.names[index], self.first.columns[index], self.options
        if name in options.nominal:
            values = options.nominal[name] if isinstance(options.nominal, Mapping) else None
            return self._nominal(index, values, options.most_values)
        if name in options.numeric or name == options.weights:
            counts = self.counts(index) if is_text(array.type) else {}
            return number_column(name, counts, self._format(index))
        if name not in options.dates:
            return None
        written = options.dates[name] if isinstance(options.dates, Mapping) else None
        if not is_text(array.type) and written is None:
            typed = infer_array(name, array, None)
            if isinstance(typed, DateColumn):
                return typed
        labels = self.counts(index)
        found = date_format_of(labels)
        seen = date_format_of_numbers(labels) if found is None else found[0]
        form = DateFormat.of(written) if written else seen
        if form is None:
            rule = "a list of columns with dates or seconds since 1970 (or give a strptime format)"
            raise ParameterError.of("dates", options.owner, rule, name)
        return date_column(name, form, labels)

    def _as_seen(self, index: int) -> Column | str | None:
        """Return a column as declared or inferred, or why it is left out; None if it has no values yet."""
        array, declared = self.first.columns[index], self.reader.declared(index)
        if isinstance(declared, NameColumn):
            return self._nominal(index, None, self.options.most_values)
        if declared is not None:
            return declared
        if array.null_count == len(array) > 0 and (pa.types.is_null(array.type) or is_text(array.type)):
            return None
        name, most = self.reader.names[index], self.options.most_values
        if is_text(array.type) and not pa.types.is_dictionary(array.type):
            found = infer(name, self.counts(index), most, comma=self._comma)
        else:
            found = infer_array(name, array, most)
        if not isinstance(found, str):
            found.missing = self.reader.has_nulls(index)
        return found

    def _nominal(self, index: int, values: Sequence[object] | None, most: int | None) -> NameColumn:
        """Return a nominal column with the given or declared values, or an empty column."""
        name = self.reader.names[index]
        if values is not None:
            return NameColumn(name, Codes(str(label_of(value)) for value in values), closed=True)
        declared = self._declared_names(index)
        if declared is not None and (declared.closed or most is None or len(declared.values) <= most):
            declared.values.most = None if declared.closed else most
            return declared
        return NameColumn(name, Codes(most=most), fresh=True, missing=self.reader.has_nulls(index))

    def _declared_names(self, index: int) -> NameColumn | None:
        """Return a nominal column if the table declares its values, as in ARFF or Arrow dictionaries."""
        column: Column | str | None = self.reader.declared(index)
        array = self.first.columns[index]
        if column is None and pa.types.is_dictionary(array.type):
            column = infer_array(self.reader.names[index], array, None)
        return column if isinstance(column, NameColumn) and column.values else None

    # -- notices and errors -------------------------------------------------------------------------------

    def no_classes(self) -> str:
        """Return an error message, with advice, if the target does not hold classes; else an empty string."""
        options, target = self.options, self.reader.names[self.target]
        if self.numeric or options.task is not None or options.most_values is None or self._classes_said():
            return ""
        what = not_classes(self.counts(self.target))
        if not what:
            return ""
        if words := not_numbers(self.counts(self.target)):
            listed = ",".join(map(repr, words[:MOST_WORDS]))
            more = f" and {len(words) - MOST_WORDS} more" if len(words) > MOST_WORDS else ""
            return (
                f"the target {target!r} must hold numbers or classes. Got {what}: most are numbers, but not "
                f"{listed}{more} (missing=[{listed}] if such rows have no target; task='classification' if "
                "each value is a class)."
            )
        return (
            f"the target {target!r} must hold classes. Got {what} (name the column with the classes in "
            "target=; or set task='regression' if these are quantities, task='classification' if each value "
            "is a class)."
        )

    def doubtful_classes(self) -> str:
        """Return a notice if many numbers, or more than two amounts such as "5%", are read as classes."""
        if self.numeric or self.options.task is not None or self._classes_said():
            return ""
        counts = self.counts(self.target)
        form, matched = format_of(counts, comma=self._comma)
        few = 10 if form is None else 2  # digits and grades are classes without a notice; amounts hardly are
        if len(counts) <= few or matched < sum(counts.values()):
            return ""
        name = self.reader.names[self.target]
        return (
            f"The {len(counts)} different numbers of the target {name!r} are read as classes "
            "(task='regression' if they are quantities, task='classification' if this is right)."
        )

    def similar_classes(self) -> str:
        """Return a notice if classes differ only in case or punctuation; else an empty string."""
        declared = self._declared_names(self.target) is not None
        if self.numeric or self.options.classes is not None or declared:
            return ""
        how = similar(self.counts(self.target))
        return f"The target {self.reader.names[self.target]!r} has {how}: each is a class." if how else ""

    def notices(self) -> Iterator[str]:
        """Yield notices about columns whose reading may surprise the user."""
        yield from filter(None, (self.doubtful_classes(), self.similar_classes()))
        options = self.options
        nominal = "nominal= of streams.from_frame" if options.owner == "from_frame" else "nominal="
        for index, why in self.ignored.items():
            name = self.reader.names[index]
            yield f"The column {name!r} is left out: {why} ({nominal} keeps it, ignore= hides this notice)."
        named = {*options.nominal, *options.numeric, *options.dates, options.weights}
        for index, column in self.features.items():
            if column.name in named:
                continue
            if how := reading_of(column):
                features = ", ".join(f"'{feature.name}'" for feature in column.features())
                made = f": {features}" if isinstance(column, DateColumn) else ""
                yield f"The column {column.name!r} is read as {how}{made} ({nominal} reads it as names)."
            elif options.most_values is not None and (doubt := self.suspicion(index)):
                yield f"The column {column.name!r} is read as names: {doubt}."
            if isinstance(column, NameColumn) and not column.closed and (how := similar(self.counts(index))):
                yield f"The column {column.name!r} has {how}: each is a value ({nominal} hides this notice)."

    def suspicion(self, index: int) -> str:
        """Return why a nominal column may be something else; an empty string if it looks normal."""
        column = self.features[index]
        if not isinstance(column, NameColumn) or column.closed or not is_text(self.first.columns[index].type):
            return ""
        counts = self.counts(index)
        if len(counts) <= FEW_NUMBERS:
            return ""
        units = [value for value in counts if re.fullmatch(r"[^\w]{0,2}\d[\d.,' ]*\s*[^\W\d]{1,6}", value)]
        if 2 * len(units) > len(counts):
            return f"numbers with units, such as {units[0]!r}"
        if 2 * format_of(counts)[1] >= sum(counts.values()):
            return "most are numbers (numeric= reads them as such)"
        return ""
