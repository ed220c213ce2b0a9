"""The kinds of a table's columns, and notices about columns that may be read in an unexpected way."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache

from heros._base.errors import DataError, ParameterError
from heros._base.lazy import pa
from heros.data.check import MANY
from heros.data.codes import Codes
from heros.data.columns import Column, DateColumn, NameColumn, NumberColumn, counts_of, is_text, reading_of
from heros.data.dates import DateFormat, date_format_of, date_format_of_numbers
from heros.data.infer import date_column, infer, infer_array, number_column, reason_not_a_feature
from heros.data.number_format import NumberFormat, format_of, has_decimal_commas, parsed_number
from heros.data.values import NUMBER, label_of
from heros.streams.options import Options
from heros.streams.readers import Chunk, TableReader

__all__ = ["Layout", "similar"]

FEW_NUMBERS = 20
"""Up to this many distinct numbers may be classes even if some of the numbers have decimals."""

MOST_WORDS = 5
"""The maximum number of words or groups of names that a message lists."""

HINT = " (or list the column in nominal= or ignore=, or the value in missing=)"


class Layout:
    """The columns of a table and their kinds, determined from the table, the options and the first rows."""

    def __init__(self, reader: TableReader, options: Options, first: Chunk) -> None:
        self.reader, self.options, self.first = reader, options, first
        self.counts = cache(self._counts)  # the counts of a column are computed only once
        self._comma = cache(self._has_decimal_commas)  # computed only if a column is ambiguous
        self.target = reader.names.index(options.target_among(reader.names))
        self.classes = self._target()
        self.features: dict[int, Column] = {}
        self.ignored: dict[int, str] = {}  # columns ignored automatically, and the reasons
        self.empty: list[int] = []  # columns without a value so far
        for index, name in enumerate(reader.names):
            if index == self.target or name in options.ignore:
                continue
            column = self._declared_by_user(index) or self._declared_or_inferred(index)
            if column is None:
                self.empty.append(index)
            elif isinstance(column, str):
                self.ignored[index] = column
            else:
                self.features[index] = column
                if not isinstance(column, NameColumn):
                    column.hint = HINT
        if not self.features:  # without other features, use the columns ignored automatically
            usable = [index for index in self.ignored if not reason_not_a_feature(first.columns[index].type)]
            self.features = {index: self._nominal(index, None, options.most_values) for index in usable}
            self.ignored = {index: why for index, why in self.ignored.items() if index not in usable}
        if not self.features:
            self.features = {index: NumberColumn(reader.names[index], missing=True) for index in self.empty}
            self.empty = []
        self.ignored_by_user = tuple(name for name in options.ignore if name in reader.names)
        self.left_out = (*self.ignored_by_user, *(reader.names[index] for index in self.ignored))

    @property
    def numeric(self) -> bool:
        """Whether the target is a number."""
        return isinstance(self.classes, NumberColumn)

    def _counts(self, index: int) -> dict[str, int]:
        """Return the number of occurrences of each value of a column."""
        array = self.first.columns[index]
        if pa.types.is_nested(array.type):
            what = f"{self.reader.label}: the column {self.reader.names[index]!r}"
            raise DataError(f"{what} must hold numbers, text or dates. Got {array.type} instead.")
        return counts_of(array)

    # -- kinds of columns ---------------------------------------------------------------------------------

    def _target(self) -> NameColumn | NumberColumn:
        """Return the target column, numeric or nominal according to the options and the values."""
        if not self._target_is_number():
            column = self._nominal(self.target, self.options.classes, None)
            column.classes = True
            return column
        rule = "be a number, because it is the target (or set task='classification')"
        return NumberColumn(self.reader.names[self.target], format=self._format(self.target), rule=rule)

    def _target_is_number(self) -> bool:
        """Return whether the target is numeric: by an option, or by many numbers, some with decimals."""
        name, options = self.reader.names[self.target], self.options
        if options.task is not None or name in options.numeric:
            return options.task != "classification"
        if self._classes_declared() or options.most_values is None:
            return False
        counts = self.counts(self.target)
        if len(counts) <= FEW_NUMBERS:
            return False
        form, matched = format_of(counts, comma=self._comma)
        if matched < sum(counts.values()):
            return False
        numbers = (float(value) if form is None else form.number(value) for value in counts)
        return not all(number is not None and number.is_integer() for number in numbers)

    def _classes_declared(self) -> bool:
        """Return whether the user or the table declares that the target holds classes."""
        declared = self.options.classes is not None or self.reader.names[self.target] in self.options.nominal
        return declared or self._declared_names(self.target) is not None

    def _format(self, index: int) -> NumberFormat | None:
        text = is_text(self.first.columns[index].type)
        return format_of(self.counts(index), comma=self._comma)[0] if text else None

    def _has_decimal_commas(self) -> bool:
        """Return whether commas are probably decimal marks, judging by other columns or by the delimiter."""
        names, excluded = self.reader.names, {*self.options.ignore, *self.options.nominal}
        arrays = enumerate(self.first.columns)
        texts = (index for index, array in arrays if is_text(array.type) and names[index] not in excluded)
        return has_decimal_commas(map(self.counts, texts), usual=self.reader.decimal_comma)

    def _declared_by_user(self, index: int) -> Column | None:
        """Return a column as the user declared it, or None if the user did not declare it."""
        name, array, options = self.reader.names[index], self.first.columns[index], self.options
        if name in options.nominal:
            return self._nominal(index, options.nominal[name], options.most_values)
        if name in options.numeric or name == options.weights:
            counts = self.counts(index) if is_text(array.type) else {}
            return number_column(name, counts, self._format(index))
        if name not in options.dates:
            return None
        written = options.dates[name]
        if not is_text(array.type) and written is None:
            typed = infer_array(name, array, None)
            if isinstance(typed, DateColumn):
                return typed
        labels = self.counts(index)
        found = date_format_of(labels) or (date_format_of_numbers(labels), False)
        form = DateFormat.of(written) if written else found[0]
        if form is None:
            rule = "a list of columns with dates or seconds since 1970 (or a mapping to strptime formats)"
            raise ParameterError.of("dates", options.owner, rule, name)
        return date_column(name, form, labels)

    def _declared_or_inferred(self, index: int) -> Column | str | None:
        """Return a declared or inferred column, the reason to ignore it, or None if it has no values."""
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
        """Return a nominal column with the given or declared values, or else without values."""
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
        if (
            self.numeric
            or options.task is not None
            or options.most_values is None
            or self._classes_declared()
        ):
            return ""
        what = not_classes(self.counts(self.target))
        if not what:
            return ""
        each = "task='classification' if each value is a class."
        if words := not_numbers(self.counts(self.target)):
            listed = ",".join(map(repr, words[:MOST_WORDS]))
            more = f" and {len(words) - MOST_WORDS} more" if len(words) > MOST_WORDS else ""
            return (
                f"the target {target!r} must hold numbers or classes. Got {what}. Most values are "
                f"numbers, but not {listed}{more}. Set missing=[{listed}] if such rows have no target, or "
                f"{each}"
            )
        return (
            f"the target {target!r} must hold classes. Got {what}. Choose another column "
            f"with target=, or set task='regression' if the values are quantities, or {each}"
        )

    def numeric_classes_notice(self) -> str:
        """Return a notice if many numbers, or more than two amounts such as "5%", are read as classes."""
        if self.numeric or self.options.task is not None or self._classes_declared():
            return ""
        counts = self.counts(self.target)
        form, matched = format_of(counts, comma=self._comma)
        most = 10 if form is None else 2  # digits and grades are usual classes, but amounts are not
        if len(counts) <= most or matched < sum(counts.values()):
            return ""
        name = self.reader.names[self.target]
        return (
            f"The {len(counts)} different numbers of the target {name!r} are read as classes "
            "(set task='regression' if the numbers are quantities, or task='classification' to hide this "
            "notice)."
        )

    def similar_classes_notice(self) -> str:
        """Return a notice if classes differ only in case or punctuation; else an empty string."""
        declared = self.numeric or self.options.classes is not None
        if declared or self._declared_names(self.target) is not None:
            return ""
        description = similar(self.counts(self.target))
        return (
            f"The target {self.reader.names[self.target]!r} has {description}: each name is a separate class."
            if description
            else ""
        )

    def notices(self) -> Iterator[str]:
        """Yield notices about columns that may be read in an unexpected way."""
        yield from filter(None, (self.numeric_classes_notice(), self.similar_classes_notice()))
        options = self.options
        nominal = "nominal= of streams.from_frame" if options.owner == "from_frame" else "nominal="
        for index, why in self.ignored.items():
            name = self.reader.names[index]
            yield (
                f"The column {name!r} is left out: {why} (use {nominal} to keep the column, or ignore= "
                f"to hide this notice)."
            )
        named = {*options.nominal, *options.numeric, *options.dates, options.weights}
        for index, column in self.features.items():
            if column.name in named:
                continue
            if words := reading_of(column):
                features = ", ".join(f"'{feature.name}'" for feature in column.features())
                into = f": {features}" if isinstance(column, DateColumn) else ""
                yield (
                    f"The column {column.name!r} is read as {words}{into} (use {nominal} to read it as "
                    f"names)."
                )
            elif options.most_values is not None and (hint := self.numeric_values_hint(index)):
                yield f"The column {column.name!r} is read as names, but contains {hint}."
            if example_with_zeros := self.example_with_zeros(index):
                loss = f"loses leading zeros, such as those of {example_with_zeros!r}"
                yield f"The column {column.name!r} {loss} (use {nominal} to read it as names)."
            if isinstance(column, NameColumn) and not column.closed and (same := similar(self.counts(index))):
                values = f"{same}: each name is a separate value"
                yield f"The column {column.name!r} has {values} (use {nominal} to hide this notice)."

    def example_with_zeros(self, index: int) -> str:
        """Return a value with leading zeros, such as a postcode, in a column read as numbers."""
        if not isinstance(self.features[index], NumberColumn) or not is_text(self.first.columns[index].type):
            return ""
        return next((text for text in self.counts(index) if re.fullmatch(r"0\d+", text)), "")

    def numeric_values_hint(self, index: int) -> str:
        """Return the reason why a nominal column may hold numbers; an empty string if there is none."""
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
            return "mostly numbers (use numeric= to read the column as numbers)"
        return ""


def not_classes(counts: Mapping[str, int]) -> str:
    """Describe the values of a target that cannot be classes; return "" if they may be classes.

    Examples
    --------
    >>> not_classes({f"{i / 8}": 1 for i in range(90)}), not_classes({"0": 50, "1": 30})
    ('90 different numbers in 90 rows', '')
    >>> not_classes({f"note {i}": 1 for i in range(90)})
    '90 different values in 90 rows'
    """
    distinct, total = len(counts), sum(counts.values())
    many = distinct > FEW_NUMBERS and 2 * distinct > total
    if (many or distinct > MANY) and all(NUMBER.fullmatch(value) for value in counts):
        return f"{distinct:,} different numbers in {total:,} rows"
    wrong = many or (distinct > MANY and not_numbers(counts))
    return f"{distinct:,} different values in {total:,} rows" if wrong else ""


def not_numbers(counts: Mapping[str, int]) -> list[str]:
    """Return the values that are not numbers; return [] if fewer than nine in ten rows have numbers."""
    form, matched = format_of(counts)
    if 10 * matched < 9 * sum(counts.values()):
        return []
    return [value for value in counts if parsed_number(value, form) is None]


def similar(counts: Mapping[str, int]) -> str:
    """Describe the names that differ only in case or surrounding punctuation; return "" if no names do.

    Examples
    --------
    >>> similar({"kept": 5, "Kept": 1, "lost": 2})
    "names that differ only in case ('kept', 'Kept')"
    >>> similar({"<=50K": 2, "<=50K.": 1, ">50K": 2}), similar({"A": 1, "A+": 1, "1": 1, "1.": 1})
    ("names that differ only in case or punctuation ('<=50K', '<=50K.')", '')
    """
    groups: dict[str, list[str]] = {}
    for name in counts:
        if any(map(str.isalpha, name)):
            core = name.casefold().strip(" .,;:!'\"`")  # keeps the signs of ">50K" and "A+"
            groups.setdefault(core, []).append(name)
    found = [names for names in groups.values() if len(names) > 1]
    if not found:
        return ""
    case = all(len({name.casefold() for name in names}) == 1 for names in found)
    shown = "; ".join(", ".join(map(repr, names[:MOST_WORDS])) for names in found[:MOST_WORDS])
    more = f"; and {len(found) - MOST_WORDS} more" if len(found) > MOST_WORDS else ""
    return f"names that differ only in case{'' if case else ' or punctuation'} ({shown}{more})"
