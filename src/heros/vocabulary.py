"""From values as people write them to numbers and codes: what is known, and how it grows."""

from __future__ import annotations

import math
import re
import warnings
import zlib
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from heros.errors import DataNotice
from heros.parameters import whole
from heros.schema import Feature, Schema
from heros.values import (
    LARGEST,
    Refused,
    expect_no_fraction,
    is_missing,
    label_of,
    listed,
    number_of,
    target_of,
)

__all__ = [
    "MOST_VALUES",
    "Codes",
    "Vocabulary",
    "cell_of",
    "checked_most_values",
    "many_values",
]

SHARED = re.compile(r"#\d+ of ([1-9]\d{0,6})")
MOST_VALUES = 256
"""How many inputs a nominal feature may have unless said otherwise."""


class Codes(dict[str, int]):
    """The names of a nominal feature's values, or of the classes, each with its 0-based code.

    Parameters
    ----------
    names
        The names so far. If they end with shared ones (see below), further names have these.
    most
        How many there may be; None: any number. Three quarters of them are names as they turn up. Then all
        that are new share the last quarter, each its place there by a hash; or a single one, if hardly any
        name ever came twice, as with identifiers. What is shared is called ``#1 of 64`` and so on, so a
        schema alone says what becomes of a new name.

    Examples
    --------
    >>> codes = Codes(["blue", "red"])
    >>> codes.add("green"), codes.add("red"), list(codes)
    (2, 1, ['blue', 'red', 'green'])
    >>> few = Codes(["a", "b", "c"], most=4)
    >>> few.add("d"), few.add("e"), list(few)
    (3, 3, ['a', 'b', 'c', '#1 of 1'])
    """

    def __init__(self, names: Iterable[str] = (), most: int | None = None) -> None:
        super().__init__()
        self.most = most
        for name in names:
            self.setdefault(name, len(self))
        last = SHARED.fullmatch(next(reversed(self), ""))
        self.shared = 0 if last is None else int(last[1])
        """How many codes all further names share; 0 as long as each has its own."""

    @property
    def own(self) -> int | None:
        """How many names may have a code of their own."""
        return None if self.most is None else max(1, self.most - max(1, self.most // 4))

    def code(self, name: str) -> int | None:
        """The code of a name; None if it is new."""
        code = self.get(name)
        return self.get(_shared_name(name, self.shared)) if code is None and self.shared else code

    def add(self, name: str, seen: int | None = None) -> int:
        """The code of a name, which is appended if it is new and there is room.

        `seen`: how many values came before; if there were hardly more than names, they are identifiers.
        """
        code = self.code(name)
        if code is not None:
            return code
        if not self.shared and self.own is not None and len(self) >= self.own:
            self.share(identifiers=seen is not None and seen < 2 * len(self))
        if self.shared:
            for place in range(1, self.shared + 1):
                self.setdefault(f"#{place} of {self.shared}", len(self))
            return self[_shared_name(name, self.shared)]
        return self.setdefault(name, len(self))

    def share(self, *, identifiers: bool = False) -> None:
        """From now on new names share their codes."""
        self.shared = 1 if identifiers or self.most is None else max(1, self.most // 4)
        for place in range(1, self.shared + 1):
            self.setdefault(f"#{place} of {self.shared}", len(self))


def _shared_name(name: str, shared: int) -> str:
    return f"#{1 + zlib.crc32(name.encode('utf-8', 'surrogatepass')) % shared} of {shared}"


class Vocabulary:
    """The features, values and classes so far. An instance changes them only if all of it is good.

    A number makes a numeric feature, a string or a boolean a nominal one, as it first turns up. What is
    new is appended; a feature that is absent, None or NaN is missing.

    Parameters
    ----------
    schema
        What is known from the start. It is all there will ever be, unless the vocabulary `grows`.
    nominal
        Features whose numbers are names.
    classes
        All classes, in the order of their indices.
    grows
        Whether a schema that is given may grow.
    most_values
        How many values a nominal feature may have before new ones share theirs; see `Codes`.
    numeric
        Whether the target is a number; a schema that is given says so itself.
    fractions
        Whether a number with decimals may be the name of a class that is new. Whoever has not said that
        targets are classes more likely means a number.

    Examples
    --------
    >>> vocabulary = Vocabulary()
    >>> vocabulary.encode({"age": 18, "colour": "red"}, "no")
    ([18, 0], 0)
    >>> vocabulary.encode({"age": 21, "colour": "blue"}, "no", grow=False) is None
    True
    >>> vocabulary.look_up({"age": 21, "colour": "blue"})
    ([21, nan], False)
    >>> vocabulary.schema.features[1].values
    ('red',)
    """

    def __init__(
        self,
        schema: Schema | None = None,
        nominal: Iterable[str] = (),
        classes: Sequence[object] | None = None,
        *,
        grows: bool = False,
        most_values: int | None = MOST_VALUES,
        numeric: bool = False,
        fractions: bool = True,
    ) -> None:
        self._most = most_values
        self._fractions = fractions
        self._closed = schema is not None and not grows
        self._classes_closed = self._closed or classes is not None
        self._nominal = frozenset(nominal)
        self.learn(schema or Schema((), tuple(str(label_of(value)) for value in classes or ()), numeric))

    def learn(self, schema: Schema) -> None:
        """Know what is in a schema, and nothing else."""
        self._schema: Schema | None = schema  # None: it has grown since it was last asked for
        self._places: dict[Hashable, tuple[int, Codes | None]] = {
            feature.name: (j, None if feature.values is None else Codes(feature.values, self._most))
            for j, feature in enumerate(schema.features)
        }
        self._missing = [feature.missing for feature in schema.features]
        self._written: dict[Hashable, str] = {f.name: f.written for f in schema.features if f.written}
        self._words = schema.words
        self._classes = Codes(schema.classes)
        self.numeric = schema.numeric
        self._prepare()

    @property
    def schema(self) -> Schema:
        """What is known so far. Made when asked for: a column may have a million values."""
        if self._schema is None:
            features = (
                Feature(
                    str(name), None if codes is None else tuple(codes), missing, self._written.get(name, "")
                )
                for (name, (_, codes)), missing in zip(self._places.items(), self._missing, strict=True)
            )
            self._schema = Schema(tuple(features), tuple(self._classes), self.numeric, self._words)
        return self._schema

    def place(self, feature: Hashable) -> tuple[int, Codes | None] | None:
        """Where a feature stands, and its codes if it is nominal; None if it is not known."""
        return self._places.get(feature) or self._places.get(str(feature))

    def look_up(self, features: Mapping[Any, Any]) -> tuple[list[float], bool]:
        """The instance as far as it is known, and whether it has no feature or value that is new."""
        row, known = self._blank.copy(), True
        places = self._places
        for name, value in features.items():
            place = places.get(name) or places.get(str(name))
            if place is None:
                known = known and not self._closed and is_missing(value)
                continue
            j, codes = place
            kind = type(value)
            if codes is None and (kind is float or kind is int) and -LARGEST <= value <= LARGEST:
                row[j] = value
                continue
            if codes is not None and kind is str:  # nearly always one of these two: the rest is slower
                cell: float | None = codes.get(value)
                if cell is None and codes.shared:
                    cell = codes.code(value)
            else:
                cell = cell_of(name, value, codes)
            if cell is None:
                known = False
            else:
                row[j] = cell
        return row, known

    def encode(
        self,
        features: Mapping[Any, Any],
        label: object,
        *,
        started: bool = False,
        grow: bool = True,
        seen: int | None = None,
    ) -> tuple[list[float], float] | None:
        """The instance as numbers and codes, and its class index; None if it needs to, but may not, grow.

        `started`: a feature that is new now was missing before; `seen`: how many instances there were. Of a
        number it is the number itself.
        """
        if self.numeric:
            return self._encode_number(features, target_of(label), started, grow, seen)
        name = label_of(label)
        if name is None:
            raise Refused("label", "a missing value", "have a value: it is the target")
        index = self._classes.get(name)
        if index is None:
            self._expect_class(label)
        try:
            row, known = self.look_up(features)
        except Refused:
            self._cells(features)  # what is wrong first
            raise
        if known and index is not None and not self._lacks(row):
            return row, index
        cells = self._cells(features)
        if not grow:
            return None
        self._grow(cells, name, started, seen)
        return self.look_up(features)[0], self._classes[name]

    def _expect_class(self, label: object) -> None:
        """Refuse a class that is new, if there may be none or it does not look like one."""
        if self._classes_closed:
            raise Refused("label", repr(label), f"be one of {listed(list(self._classes))}")
        if not self._fractions:
            expect_no_fraction(label)

    def _encode_number(
        self,
        features: Mapping[Any, Any],
        target: float,
        started: bool,
        grow: bool,
        seen: int | None,
    ) -> tuple[list[float], float] | None:
        try:
            row, known = self.look_up(features)
        except Refused:
            self._cells(features)  # what is wrong first
            raise
        if known and not self._lacks(row):
            return row, target
        cells = self._cells(features)
        if not grow:
            return None
        self._grow(cells, None, started, seen)
        return self.look_up(features)[0], target

    def _lacks(self, row: list[float]) -> bool:
        """Whether a value is missing that never was."""
        never = self._never_missing
        return bool(never) and any(row[j] != row[j] for j in never)

    def _cells(self, features: Mapping[Any, Any]) -> dict[str, float | str]:
        """The values that are there: numbers and names, known or new."""
        cells: dict[str, float | str] = {}
        for feature, value in features.items():
            cell = self._cell(str(feature), value)
            if cell is not None:
                cells[str(feature)] = cell
        for name, (j, _) in self._places.items() if self._closed else ():
            if name not in cells and not self._missing[j]:
                raise Refused(str(name), "a missing value", "have a value")
        return cells

    def _cell(self, feature: str, value: object) -> float | str | None:
        """A number, a name, or None if missing."""
        place = self._places.get(feature)
        if place is None and self._closed:
            raise Refused(feature, repr(value), f"be one of the features {listed(list(self._places))}")
        if is_missing(value):
            return None
        codes = None if place is None else place[1]
        if codes is None and (place is not None or not self._is_nominal(feature, value)):
            return number_of(feature, value)
        name = str(label_of(value))
        if self._closed and codes is not None and codes.code(name) is None:
            raise Refused(feature, repr(value), f"be one of {listed(list(codes))}")
        return name

    def _is_nominal(self, feature: str, value: object) -> bool:
        return feature in self._nominal or isinstance(value, str | bytes | bool | np.bool_)

    def _grow(
        self, cells: Mapping[str, float | str], label: str | None, started: bool, seen: int | None
    ) -> None:
        """Append what is new, and note which features may be missing."""
        full: list[str] = []
        for name, (j, _) in self._places.items():
            if name not in cells:
                self._missing[j] = True
        for name, value in cells.items():
            if name not in self._places:
                codes = Codes(most=self._most) if isinstance(value, str) else None
                self._places[name] = len(self._places), codes
                self._missing.append(started)
            codes = self._places[name][1]
            if codes is not None:
                before = codes.shared
                codes.add(str(value), seen)
                full += [many_values(name, codes)] if codes.shared > before else []
        if label is not None:
            self._classes.add(label)
        self._schema = None
        self._prepare()
        for text in full:
            warnings.warn(text, DataNotice, stacklevel=2)

    def _prepare(self) -> None:
        self._blank = [math.nan] * len(self._places)
        self._never_missing = [j for j, missing in enumerate(self._missing) if not missing]


def cell_of(feature: Hashable, value: Any, codes: Codes | None) -> float | None:
    """A number or the code of a value; NaN if missing, None if the value is new."""
    if is_missing(value):
        return math.nan
    if codes is not None:
        return codes.code(value if type(value) is str else str(label_of(value)))
    return number_of(str(feature), value)


def many_values(name: str, codes: Codes) -> str:
    """What is said of a feature with more values than it may have.

    Examples
    --------
    >>> codes = Codes(["a", "b", "c"], most=4)
    >>> codes.share()
    >>> print(many_values("note", codes))
    The column 'note' has very many values: 3 have an input each, all others share 1 (most_values=).
    """
    shared = codes.shared
    return (
        f"The column {name!r} has very many values: {len(codes) - shared} have an input each, "
        f"all others share {shared} (most_values=)."
    )


def checked_most_values(most: int | None) -> int | None:
    """How many values a nominal feature may have, if that is bounded."""
    return None if most is None else whole(most, "most_values", "HEROS", 2)
