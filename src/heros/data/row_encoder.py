"""Encoding of single rows as numbers, with a schema that can grow."""

from __future__ import annotations

import math
import sys
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heros._base.errors import DataNotice, ParameterError, did_you_mean
from heros._base.notices import notice
from heros.data.codes import MOST_VALUES, Codes, many_values
from heros.data.columns import (
    NAMES,
    Column,
    DateColumn,
    NameColumn,
    NumberColumn,
    columns_of,
    reading_of,
    target_of,
)
from heros.data.dates import DATES, ORDERS
from heros.data.frames import flat
from heros.data.infer import FEWEST, infer_value
from heros.data.number_format import FORMATS, format_of, is_clear
from heros.data.schema import Feature, Schema, distinct
from heros.data.values import (
    BLANKS,
    BOOLEANS,
    LARGEST,
    MISSING,
    NO_TARGET,
    NUMBER,
    NothingKnown,
    Refused,
    Words,
    expect_no_fraction,
    is_missing,
    kind_of,
    label_of,
    listed,
    name_of,
    natural_order,
    number_of,
    shown,
    text_of,
)

__all__ = ["YOUNG", "Limits", "RowEncoder"]

YOUNG = 100
"""Only in this many first instances may a column of dates gain times, or names become numbers."""

MOST_COMPARED, ALIKE = 1000, 0.75
"""How many unknown names are compared with the feature names at most, and the minimum similarity."""

MOST_NUMBERS = 4
"""A column of names becomes numeric if it has at least this many numbers for each other value."""


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of a growing schema."""

    features: int = sys.maxsize
    values: int = sys.maxsize  # maximum number of values of a nominal feature
    classes: int = sys.maxsize
    text: int = sys.maxsize  # maximum number of characters of a name
    new: int = sys.maxsize  # maximum number of features and values that a row after the first may add


Step = Callable[[], None]
"""A function that adds a new feature or value to the encoder."""


class RowEncoder:
    """An encoder of single rows to numbers. See `heros.data.Encoder` for the parameters."""

    def __init__(
        self,
        schema: Schema | None = None,
        *,
        nominal: Iterable[str] | None = None,
        ignore: Iterable[str] = (),
        classes: Sequence[object] | None = None,
        grows: bool = True,
        most_values: int | None = MOST_VALUES,
        numeric: bool = False,
        fractions: bool = True,
        words: Iterable[str] = (),
        limits: Limits | None = None,
        seen: int = 0,
    ) -> None:
        self.seen = seen
        self.revision = 0  # number of changes in how a column is read
        self.unknown = Counter[str]()  # number of unknown names in the tables converted so far, per column
        self._ambiguous = set[str]()  # names in rows to predict that have been compared with the features
        self._most, self._fractions, self._limits = most_values, fractions, limits or Limits()
        self._closed = schema is not None and not grows
        self._classes_closed = self._closed or classes is not None
        self._nominal = frozenset(nominal or ())
        self._own_words, self._own_ignored = tuple(words), tuple(ignore)
        self._to_keep = "a schema that declares it" if nominal is None else "nominal="
        names = tuple(str(label_of(value)) for value in classes or ())
        known = schema or Schema((), names, numeric)
        if not seen:
            declared = (replace(one, written=NAMES) if one.nominal else one for one in known.features)
            known = replace(known, features=tuple(declared))
        self.use_schema(known)

    def adopt(self, schema: Schema, seen: int) -> None:
        """Use the schema of a model trained on `seen` instances; keep the classes that the user listed."""
        if self._classes_closed and not self._closed:
            codes = Codes(schema.classes)
            more = (name for name in self.classes if codes.code(name) is None)
            schema = replace(schema, classes=(*schema.classes, *more))
        self.use_schema(schema)
        self.seen = seen

    def use_schema(self, schema: Schema) -> None:
        """Replace columns and classes, but keep the missing words and ignored columns that the user set."""
        words = tuple(dict.fromkeys((*schema.words, *self._own_words)))
        ignored = tuple(dict.fromkeys((*schema.ignored, *self._own_ignored)))
        if (words, ignored) != (schema.words, schema.ignored):
            schema = replace(schema, words=words, ignored=ignored)
        self._begun = 0  # number of rows of the table that determined the kinds of the columns
        self.numeric = schema.numeric
        self.classes = Codes(schema.classes)
        self.classes.closed = self._classes_closed
        self.ignored = dict.fromkeys(schema.ignored)
        self._given_words = schema.words
        self.words = Words((*MISSING, *schema.words))
        columns = columns_of(schema.features, self._most, closed=self._closed)
        parts = {name: [f.part for f in column.features()] for name, column in columns.items()}
        self.known: dict[str, Column] = {}
        self._replaced: dict[int, Feature] = {}  # former features of columns whose kind changed
        for at, feature in enumerate(schema.features):
            name = feature.source
            if feature.part in parts[name]:
                self.known[name] = columns[name]
                columns[name].at += (at,)
            else:
                self._replaced[at] = feature
        for name, column in self.known.items():
            if (found := [schema.features[at].part for at in column.at]) != parts[name]:
                rule = f"a schema with the parts {listed(parts[name])} of the column {name!r}, in this order"
                raise ParameterError.of("schema", "Encoder", rule, found)
        self.width = schema.n_features
        self._prepare()
        self._schema: Schema | None = schema

    def _prepare(self) -> None:
        """Build the lookup tables for encoding rows."""
        self._schema = None  # created on first access
        self._blank = [math.nan] * self.width
        self._fast: dict[Hashable, tuple[int, Codes | None]] = {}
        self._never_missing: list[int] = []
        self.tentative: list[NumberColumn | DateColumn] = []
        self._parents = {name[:at] for name in self.known for at, c in enumerate(name) if c == "."}
        for name, column in self.known.items():
            if not column.missing:
                self._never_missing += column.at
            if name in self.ignored:
                continue
            if isinstance(column, NameColumn) or (
                isinstance(column, NumberColumn) and not self.words.numbers
            ):
                self._fast[name] = column.at[0], column.values if isinstance(column, NameColumn) else None
            if not isinstance(column, NameColumn) and column.tentative:
                self.tentative.append(column)

    @property
    def schema(self) -> Schema:
        """The current schema. The object stays the same until a feature, value or class is added."""
        if self._schema is None:
            features = dict(self._replaced)
            for column in self.known.values():
                features |= zip(column.at, column.features(), strict=True)
            self._schema = Schema(
                distinct(features[at] for at in range(self.width)),
                tuple(self.classes),
                self.numeric,
                self._given_words,
                tuple(self.ignored),
            )
        return self._schema

    @property
    def columns(self) -> dict[str, Column]:
        """The columns that provide features."""
        return {name: column for name, column in self.known.items() if name not in self.ignored}

    @property
    def may_change_kinds(self) -> bool:
        """Whether an unreadable value may change how its column is read; the first table may exclude this."""
        return bool(self.tentative) or not self._begun

    def has_column(self, name: Hashable) -> bool:
        """Return whether this column, or a field nested in it, is a feature."""
        return text_of(name) in self.known or text_of(name) in self._parents

    def without_feature(self, x: Mapping[Any, Any]) -> list[str]:
        """Return the columns with a value in this row that are not features and are not ignored.

        Examples
        --------
        >>> encoder = RowEncoder(Schema.of(["size", "price"]), ignore=["order"])
        >>> encoder.without_feature({"size": 3, "prize": 7, "order": "A-1", "note": None})
        ['prize']
        """
        known = self.known
        if (x.keys() <= known.keys() and dict not in map(type, x.values())) or not self.width:
            return []
        new = (name for name, value in flat(x) if name not in known and not self._is_missing(value))
        return [name for name in map(str, new) if name not in self.ignored and not self.has_column(name)]

    # -- one row ------------------------------------------------------------------------------------------

    def row(self, x: Mapping[Any, Any]) -> list[float]:
        """Encode the known features, with NaN for missing features; raise `Refused` for a bad value."""
        row = self._blank.copy()
        self._fill(row, x)
        return row

    def row_to_predict(self, x: Mapping[Any, Any]) -> list[float]:
        """Encode an instance like `row`; also raise `Refused` if all features in the row are unknown."""
        row = self._blank.copy()
        if not self._fill(row, x) and self.width:
            names = [name for name, _ in flat(x)]
            if not any(map(self.has_column, names)):
                rule = f"have at least one of the features {listed(list(self.known))}"
                raise NothingKnown(None, listed(names), rule)
        return row

    def _fill(self, row: list[float], x: Mapping[Any, Any]) -> bool:
        """Write the values of an instance into `row`; return False if a name or a value is new."""
        complete, fast = True, self._fast
        for name, value in x.items():
            place = fast.get(name)
            if place is not None:
                at, codes = place
                kind = type(value)
                if codes is None:
                    if (kind is float or kind is int) and -LARGEST <= value <= LARGEST:
                        row[at] = value
                        continue
                elif kind is str and (code := codes.get(value)) is not None:
                    row[at] = code
                    continue
            complete = self._fill_slowly(row, text_of(name), value) and complete
        return complete

    def _fill_slowly(self, row: list[float], name: str, value: Any) -> bool:
        """Write a value into `row` if the fast path of `_fill` cannot handle the value."""
        column = self.known.get(name)
        if name in self.ignored:
            return True
        if isinstance(value, Mapping):
            complete = True
            for inner, one in flat(value, f"{name}."):
                complete = self._fill_slowly(row, inner, one) and complete
            return complete
        if column is None:
            return self._is_missing(value)
        cell = self._cell(column, value)
        if cell is None:
            return False
        if isinstance(cell, tuple):
            for at, part in zip(column.at, cell, strict=True):
                row[at] = part
            return not self._has_new_clock(column, value)
        row[column.at[0]] = cell
        return True

    def _is_missing(self, value: Any) -> bool:
        if isinstance(value, str):
            return value.strip(BLANKS) in self.words
        return is_missing(self._known_value(value))

    def _cell(self, column: Column, value: Any) -> float | tuple[float, ...] | None:
        """Convert a value. A known name stays a name, even if other columns read it as a missing value."""
        if not isinstance(column, NameColumn):
            value = self._known_value(value)
        return column.value(value, self.words)

    def _known_value(self, value: Any) -> Any:
        """Return None for a number that stands for a missing value; return other values unchanged."""
        duration = isinstance(value, timedelta | np.timedelta64)
        if not self.words.numbers or duration or kind_of(value) != "number":
            return value
        with suppress(Refused):
            return None if number_of("", value) in self.words.numbers else value
        return value

    def _has_new_clock(self, column: Column, value: Any) -> bool:
        """Return whether this value adds the time of day to a date column that has had only dates so far."""
        if not isinstance(column, DateColumn) or not self._may_get_clock(column) or self._is_missing(value):
            return False
        return replace(column, clock=True).value(value, self.words)[-1] != 0.0

    def _may_get_clock(self, column: DateColumn) -> bool:
        return not column.clock and self.seen < YOUNG and not self._closed

    # -- one row with its label ---------------------------------------------------------------------------

    def encode(
        self, x: Mapping[Any, Any], y: object, *, grow: bool = True
    ) -> tuple[list[float], float] | None:
        """Encode an instance as numbers, and its label as a class index or numeric target.

        Return None if the instance needs a larger schema but `grow` is False. Raise `Refused` if a value
        is unreadable.
        """
        name: str | None = None
        if self.numeric:
            target: float | None = self._number(y)
        else:
            name = self._label(y)
            target = self.classes.get(name)
            if target is None and (target := self.classes.code(name)) is None:
                self._expect_class(y, name)
        if self.tentative:
            self._fix_format(x)
        row = self._blank.copy()
        try:
            complete = self._fill(row, x)
        except Refused:
            self._plan(x)  # this raises an error, unless the kind of the column may still change
            complete = False
        for at in self._never_missing:
            if row[at] != row[at]:  # a feature is missing for the first time
                complete = False
        if not complete or target is None:
            plan = self._plan(x)
            if not grow:
                return None
            self._grow(plan, name if target is None else None)
            row = self.row(x)
            target = self.classes[str(name)] if target is None else target
        self.seen += 1
        return row, target

    def _number(self, y: object) -> float:
        """Convert a numeric target; raise `Refused` if it is missing or not a finite number."""
        if self._given_words and self._is_missing(y):
            raise Refused("label", "a missing value", NO_TARGET)
        return target_of(y)

    def _label(self, y: object) -> str:
        plain = type(y) is str or (type(y) is int and -LARGEST <= y <= LARGEST)
        if not plain and kind_of(y) == "none":
            raise Refused("label", shown(y), "be text, a number, true or false")
        name = y if type(y) is str else label_of(y)
        if name is not None and not isinstance(y, str):
            name = self.classes.of_number(name)
        elif name is not None and name not in self.classes:
            name = name.strip(BLANKS) or None
        if name is None:
            raise Refused("label", "a missing value", NO_TARGET)
        if name in self.words and name not in self.classes:
            why = "which means a missing value (to keep it as a class, list it in classes= or in a schema),"
            raise Refused("label", f"{name!r}, {why}", NO_TARGET)
        return name

    def _expect_class(self, y: object, name: str) -> None:
        """Raise `Refused` for a new class if classes are fixed or the label does not look like a class."""
        if self._classes_closed:
            raise Refused("label", shown(y), f"be one of {listed(list(self.classes))}")
        if not self._fractions:
            expect_no_fraction(y, sure=any(not NUMBER.fullmatch(name) for name in self.classes))
        if name.endswith("\0"):
            raise Refused("label", shown(y), "not end with the character \\0")
        self._expect_short(name, "label")
        if len(self.classes) >= (most := self._limits.classes):
            raise Refused("label", f"a new class, {name!r},", f"be one of at most {most:,} classes")

    # -- growing ------------------------------------------------------------------------------------------

    def _plan(self, x: Mapping[Any, Any]) -> list[Step]:
        """Return the steps that add new features and values; raise `Refused` if a value is unreadable.

        New columns are sorted by name. The result therefore does not depend on the order of the fields.
        """
        plan, columns, names = list[Step](), dict[str, Step](), set[str]()
        new, newest = 0, ""
        for name, value in flat(x):
            missing = self._is_missing(value)
            if not missing:
                if name in names:  # the name occurs both as a nested field and as a dotted name
                    raise Refused(name, "two values", "have one value")
                names.add(name)
            if name in self.ignored:
                continue
            if name in self.known:
                if (change := self._change(name, self.known[name], value)) is not None:
                    plan.append(change)
            elif not missing:
                columns[name], width = self._new_column(name, value)
                new, newest = new + width, name
        limits, added = self._limits, len(plan) + len(columns)
        if new and self.width + len(self.ignored) + new > limits.features:
            rule = f"be one of at most {limits.features:,} features"
            raise Refused(newest, f"a new feature, {newest!r},", rule)
        if self.width and added > limits.new:
            raise Refused(None, f"{added:,}", f"add at most {limits.new:,} features and values")
        absent = [column for name, column in self.known.items() if name not in names and not column.missing]
        if absent and self._closed:
            raise Refused(absent[0].name, "a missing value", "have a value")
        may_miss = (partial(setattr, column, "missing", True) for column in absent)
        return [*may_miss, *plan, *(columns[name] for name in sorted(columns))]

    def _new_column(self, name: str, value: Any) -> tuple[Step, int]:
        """Return the step that adds a column with this first value, and the column's number of features."""
        if self._closed:
            raise Refused(name, shown(value), f"be one of the features {listed(list(self.known))}")
        self._expect_short(name, name)
        if kind_of(value) == "none" and isinstance(value, Real):
            raise Refused(name, shown(value), "be a finite number")
        if kind_of(value) == "none":
            why = f"The column {name!r} is left out: a {type(value).__name__} is not a number, text or date."
            return partial(self._ignore, name, why), 1
        clear = (one for one in self.known.values() if isinstance(one, NumberColumn) and not one.tentative)
        comma = {one.format.decimal for one in clear if one.format is not None} == {","}
        column = infer_value(name, value, self._most, comma=comma, names=name in self._nominal)
        column.missing = self.seen > 0  # the column is missing in earlier instances
        if isinstance(column, NameColumn):
            label = str(name_of(value))
            self._expect_short(label, name)
            for one in natural_order(BOOLEANS.values()) if label in BOOLEANS.values() else (label,):
                column.values.add(one)
            column.fresh = False
        else:
            column.value(value, self.words)  # this raises an error if the value is infinite
        return partial(self._add, column, value), column.width

    def _change(self, name: str, column: Column, value: Any) -> Step | None:
        """Return the step that adapts a known column to a value; None if no change is necessary."""
        if isinstance(value, Mapping):
            raise Refused(name, shown(value), "be a number or text")
        try:
            cell = self._cell(column, value)
        except Refused:  # a column with very few numbers so far becomes nominal
            fixed = not isinstance(column, NumberColumn) or self._has_new_kind(name) or self._closed
            if fixed or max(self.seen, self._begun) >= MOST_NUMBERS or kind_of(value) != "text":
                raise
            label = str(name_of(value))
            self._expect_short(label, name)
            codes = Codes([label], self._most)
            replacement: Column = NameColumn(name, codes, missing=True, feature=f"{name} (name)")
            return partial(self._change_kind, column, replacement)
        if cell is None:
            assert isinstance(column, NameColumn)
            label = str(name_of(value))
            self._expect_short(label, name)
            if (numbers := self._as_numbers(column, value)) is not None:
                numbers.value(value, self.words)  # this raises an error if the value is infinite
                return partial(self._change_kind, column, numbers)
            if len(column.values) >= self._limits.values:
                rule = f"have at most {self._limits.values:,} values"
                raise Refused(name, f"a new value, {label!r},", rule)
            return partial(self._append, name, column, label)
        return partial(self._add_clock, column) if self._has_new_clock(column, value) else None

    def _as_numbers(self, column: NameColumn, value: Any) -> NumberColumn | None:
        """Return a numeric column if nearly all names of a nominal column, and this value, are numbers."""
        name = column.name
        if self._has_new_kind(name) or name in self._nominal or self._closed or self.seen >= YOUNG:
            return None
        names = dict.fromkeys((*column.values, str(name_of(value))), 1)
        form, numbers = format_of(names)
        others = len(names) - numbers
        if kind_of(value) not in {"text", "number"} or not others or numbers < MOST_NUMBERS * others:
            return None
        return NumberColumn(name, True, form, feature=f"{name} (number)")

    def _has_new_kind(self, name: str) -> bool:
        """Return whether the kind of a column has already changed."""
        return any(feature.source == name for feature in self._replaced.values())

    def _expect_short(self, text: str, name: str) -> None:
        if len(text) > (most := self._limits.text):
            raise Refused(name[:most], f"{len(text):,}", f"have at most {most:,} characters")

    def _grow(self, plan: list[Step], label: str | None) -> None:
        """Carry out the steps of a plan, and add the label as a new class if it is given."""
        for step in plan:
            step()
        if label is not None:
            self.classes.add(label)
        self._prepare()

    def _add(self, column: Column, value: Any = None) -> None:
        self.known[column.name] = column
        if isinstance(column, NameColumn):
            column.declared = column.name in self._nominal
        column.at = tuple(range(self.width, self.width + column.width))
        self.width += column.width
        self.notify_reading(column, isinstance(value, str))

    def _add_clock(self, column: Column) -> None:
        assert isinstance(column, DateColumn)
        column.clock = column.missing = True
        column.at += (self.width,)
        self.width += 1
        self.revision += 1

    def _change_kind(self, old: Column, column: Column) -> None:
        """Replace a column with a column of another kind, and add a new feature for the new column."""
        old.missing = True
        self._replaced[old.at[0]] = old.features()[0]
        self._add(column)
        self.revision += 1
        kind = "numbers" if isinstance(column, NumberColumn) else "names"
        self.notify(f"The column {column.name!r} is read as {kind} from now on, unlike its first values.")

    def _append(self, name: str, column: NameColumn, label: str) -> None:
        codes = column.values
        if len(codes) == FEWEST - 1 == self.seen and not column.declared and self._most is not None:
            why = f"{FEWEST} distinct values in {FEWEST} rows, too many to learn from"
            self._ignore(name, f"The column {name!r} is left out: {why} ({self._to_keep} keeps it).")
            column.missing = True
            return
        before = codes.shared
        codes.add(label, self.seen)
        if codes.shared > before:
            self.notify(many_values(name, codes))

    def _ignore(self, name: str, why: str) -> None:
        self.ignored[name] = None
        self.revision += 1
        self.notify(why)

    def _fix_format(self, x: Mapping[Any, Any]) -> None:
        """Decide the format of a column with ambiguous strings if this row has an unambiguous string."""
        revealed = [(column, column.format, form, text) for column, form, text in self._revealed(x)]
        if not revealed:
            return
        for column, _, form, _ in revealed:
            column.format, column.tentative = form, False
        try:
            self._plan(x)
        except Refused:
            for column, before, _, _ in revealed:
                column.format, column.tentative = before, True
            raise
        for column, before, form, text in revealed:
            if form != before:
                why = f"because of the value {text!r}"
                self.notify(f"The column {column.name!r} is read as {form} from now on, {why}.")
        self.revision += len(revealed)
        self._prepare()

    def reveals(self, x: Mapping[Any, Any]) -> bool:
        """Return whether this row has an unambiguous string in a column with ambiguous strings."""
        return bool(self.tentative) and any(self._revealed(x))

    def _revealed(self, x: Mapping[Any, Any]) -> Iterator[tuple[Any, Any, str]]:
        """Yield each column that this row makes unambiguous, with its format and the unambiguous string."""
        values = dict(flat(x))
        for column in self.tentative:
            text = values.get(column.name)
            if isinstance(text, str) and (form := _format_shown(column, text.strip(BLANKS))) is not None:
                yield column, form, text

    def begin(self, columns: Sequence[Column], classes: NameColumn | None, rows: int = 0) -> None:
        """Start with the columns and classes of a table. With at least 100 rows, all formats become final."""
        self._begun = rows
        for column in columns:
            self._add(column)
            if rows >= YOUNG and not isinstance(column, NameColumn):
                column.tentative = False
        if classes is not None:
            self.classes = Codes(classes.values)
            self._classes_closed = self.classes.closed = classes.closed
        self._prepare()

    def note_missing(self, X: NDArray[np.float64]) -> None:
        """Mark the features that have missing values in the rows of a table."""
        absent = np.asarray(np.isnan(X).any(axis=0))
        for column in self.known.values():
            column.missing = column.missing or bool(absent[list(column.at)].any())
        self._prepare()

    def notify(self, text: str) -> None:
        """Warn the user about how a column is read."""
        notice(text, DataNotice)

    def notify_misspelt(self, x: Mapping[Any, Any]) -> None:
        """Warn about an unknown name in a row for prediction if it resembles a feature that the row lacks."""
        if len(self._ambiguous) >= MOST_COMPARED:
            return
        if not (new := [name for name in self.without_feature(x) if name not in self._ambiguous]):
            return
        present = {name for name, _ in flat(x)}
        absent = [name for name in self.columns if name not in present]
        for name in new[:MOST_COMPARED]:
            if hint := did_you_mean(name, absent, ALIKE):
                self.notify(f"The column {name!r} is unknown and has no effect on predictions.{hint}")
        self._ambiguous.update(new)

    def notify_reading(self, column: Column, text: bool) -> None:
        """Warn the user about how a text column is read if this may be surprising."""
        if text and (description := reading_of(column)):
            self.notify(f"The column {column.name!r} is read as {description}.")


def _format_shown(column: Any, text: str) -> Any:
    """Return the format of an ambiguous column that this string reveals; None for an ambiguous string."""
    if isinstance(column, DateColumn):
        orders = [one for one in DATES if one.name in ORDERS and one.moment(text) is not None]
        return orders[0] if len(orders) == 1 else None
    if not is_clear(text):
        return None
    fits = [form for form in FORMATS if form.number(text) is not None]
    return column.format if column.format in fits else fits[0]
