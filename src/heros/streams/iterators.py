"""Streams from Python iterators of (features, label) pairs, as River gives them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from heros.errors import DataError, ParameterError
from heros.parameters import expect_list, one_of
from heros.schema import Feature, Schema
from heros.streams.bad_rows import BadRow, BadRows
from heros.streams.base import Block, Stream
from heros.streams.columns import label_of, listed

__all__ = ["Refused", "Vocabulary", "from_iter"]

Pairs = Iterable[tuple[Mapping[str, Any], Any]]


def from_iter(
    pairs: Pairs | Callable[[], Pairs],
    *,
    schema: Schema | None = None,
    nominal: Sequence[str] = (),
    classes: Sequence[object] | None = None,
    on_bad_row: str = "raise",
    name: str = "iterator",
) -> Stream:
    """A stream of (features, label) pairs: River's data sets, a queue, a generator; endless ones too.

    `features` maps names to values; a number makes a numeric feature, a string or a boolean a
    nominal one. Features, values and classes are appended to the schema as they turn up. A feature
    that is absent, None or NaN is missing.

    Parameters
    ----------
    pairs
        The pairs: an iterable (a list, a River data set), or a function that returns one. An
        iterator can be read only once: such a stream cannot be restarted, copied or pickled, and
        ``take`` moves it. If it raises, the pairs before are given first.
    schema
        What the instances look like, if it is to stay as it is: anything else is a bad row.
    nominal
        Features whose numbers are names.
    classes
        All classes, in the order of their indices.
    on_bad_row
        What to do with an instance that breaks a rule: "raise" a DataError once those before it have
        been given, or "skip" it.
    name
        The stream's name.

    Examples
    --------
    >>> stream = from_iter([({"age": 18}, "no"), ({"age": 21, "colour": "red"}, "yes")])
    >>> X, y = stream.draw(2)
    >>> X
    array([[18., nan],
           [21.,  0.]])
    >>> stream.schema.features[1]
    Feature(name='colour', values=('red',), missing=True)
    """
    one_of(on_bad_row, "on_bad_row", "from_iter", ("raise", "skip"), "'raise' or 'skip'")
    if schema is not None and not isinstance(schema, Schema):
        raise ParameterError.of("schema", "from_iter", "a heros.Schema", schema)
    nominal = expect_list(nominal, "nominal", "from_iter")
    classes = None if classes is None else expect_list(classes, "classes", "from_iter")
    if not callable(pairs) and not isinstance(pairs, Iterable):
        raise ParameterError.of("pairs", "from_iter", "an iterable or a function that returns one", pairs)
    return PairStream(pairs, Vocabulary(schema, tuple(nominal), classes), on_bad_row == "skip", name)


class PairStream(Stream):
    """A stream of (features, label) pairs."""

    _shared: ClassVar[frozenset[str]] = frozenset({"_pairs"})

    def __init__(
        self, pairs: Pairs | Callable[[], Pairs], vocabulary: Vocabulary, skip: bool, name: str
    ) -> None:
        self.name = name
        self._pairs = pairs
        self._once = isinstance(pairs, Iterator)
        self._vocabulary = vocabulary
        self._skip = skip
        self._bad_rows = BadRows()
        self._read = 0  # pairs, good and bad
        self._iterator: Iterator[tuple[Mapping[str, Any], Any]] | None = None
        self._failed: Exception | None = None  # what the iterator raised, to be raised when its turn comes

    @property
    def schema(self) -> Schema:
        """What an instance looks like, as far as is known."""
        return self._vocabulary.schema

    @property
    def bad_rows(self) -> BadRows:
        """The instances skipped so far, counted, and the first ten."""
        return self._bad_rows

    def _restart(self) -> None:
        if self._once:
            raise DataError(
                f"The stream {self.name!r} reads an iterator, which cannot go back: "
                "give from_iter a function that returns a new one."
            )
        self._iterator = self._failed = None
        self._read = 0
        self._bad_rows = BadRows()

    def _fork(self) -> Stream:
        return self if self._once else super()._fork()

    def _draw(self, n: int) -> Block:
        rows: list[dict[int, float]] = []
        labels: list[int] = []
        if self._failed is not None:
            failed, self._failed = self._failed, None
            raise failed
        iterator = self._resume()
        while len(rows) < n:
            try:
                pair = next(iterator)
            except StopIteration:
                break
            except Exception as error:
                if not rows:
                    raise
                self._failed = error
                break
            self._read += 1
            try:
                row, label = self._vocabulary.encode(pair, started=self._position + len(rows) > 0)
            except Refused as why:
                bad = BadRow(self.name, f"row {self._read}", why.column, why.value, why.rule)
                if not self._skip:
                    self._fault = str(bad)
                    break
                self._bad_rows = self._bad_rows.plus(bad)
                continue
            rows.append(row)
            labels.append(label)
        X = np.full((len(rows), self.schema.n_features), math.nan)
        for i, row in enumerate(rows):
            X[i, list(row)] = list(row.values())
        return X, np.array(labels, dtype=np.int64)

    def _resume(self) -> Iterator[tuple[Mapping[str, Any], Any]]:
        if self._iterator is None:
            self._iterator = iter(self._pairs() if callable(self._pairs) else self._pairs)
            for _ in range(self._read):
                next(self._iterator, None)
        return self._iterator

    def __getstate__(self) -> dict[str, Any]:
        if self._once:
            raise DataError(
                f"The stream {self.name!r} reads an iterator, which cannot be copied: "
                "give from_iter a function that returns a new one."
            )
        return {**self.__dict__, "_iterator": None, "_failed": None}


class Refused(Exception):
    """Column, value and rule of what is wrong with a pair."""

    def __init__(self, column: str | None, value: str, rule: str) -> None:
        self.column, self.value, self.rule = column, value, rule
        super().__init__(rule)


class Vocabulary:
    """The features, values and classes so far. An instance changes them only if all of it is good.

    A schema that is given is all there will ever be, unless it `grows`.
    """

    def __init__(
        self,
        schema: Schema | None,
        nominal: tuple[str, ...] = (),
        classes: Sequence[object] | None = None,
        *,
        grows: bool = False,
    ) -> None:
        self._closed = schema is not None and not grows
        self._nominal = frozenset(nominal)
        given = () if classes is None else tuple(str(label_of(value)) for value in classes)
        known = schema or Schema((), given)
        self._classes_closed = self._closed or classes is not None
        self._schema: Schema | None = known  # None: it has grown since it was last asked for
        self._features = {feature.name: j for j, feature in enumerate(known.features)}
        self._codes = [
            None if feature.values is None else {value: code for code, value in enumerate(feature.values)}
            for feature in known.features
        ]
        self._missing = [feature.missing for feature in known.features]
        self._classes = {name: index for index, name in enumerate(known.classes)}

    @property
    def schema(self) -> Schema:
        """What is known so far. Made when asked for: a column may have a million values."""
        if self._schema is None:
            features = zip(self._features, self._codes, self._missing, strict=True)
            self._schema = Schema(
                tuple(
                    Feature(name, None if codes is None else tuple(codes), missing)
                    for name, codes, missing in features
                ),
                tuple(self._classes),
            )
        return self._schema

    def encode(self, pair: object, started: bool) -> tuple[dict[int, float], int]:
        """Feature index -> value, and the class index. `started`: a new feature was missing before."""
        if not (isinstance(pair, tuple) and len(pair) == 2 and isinstance(pair[0], Mapping)):
            raise Refused(None, repr(pair), "be a pair (features, label)")
        features, label = pair
        name = label_of(label)
        if name is None:
            raise Refused("label", "a missing value", "have a value: it is the target")
        if name not in self._classes and self._classes_closed:
            raise Refused("label", repr(label), f"be one of {listed(list(self._classes))}")
        cells: dict[str, float | str] = {}
        for feature, value in features.items():
            cell = self._cell(str(feature), value)
            if cell is not None:
                cells[str(feature)] = cell
        for known, j in self._features.items() if self._closed else ():
            if known not in cells and not self._missing[j]:
                raise Refused(known, "a missing value", "have a value")
        self._grow(cells, name, started)
        return self._coded(cells), self._classes[name]

    def _cell(self, feature: str, value: object) -> float | str | None:
        """A number, a name, or None if missing."""
        if feature not in self._features and self._closed:
            raise Refused(feature, repr(value), f"be one of the features {listed(list(self._features))}")
        if value is None or (isinstance(value, float | np.floating) and math.isnan(value)):
            return None
        if self._is_nominal(feature, value):
            name = str(label_of(value))
            values = self._codes[self._features[feature]] if feature in self._features else None
            if self._closed and values is not None and name not in values:
                raise Refused(feature, repr(value), f"be one of {listed(list(values))}")
            return name
        try:
            number = float(value)  # type: ignore[arg-type]
        except (TypeError, ValueError, OverflowError):
            raise Refused(feature, repr(value), "be a number") from None
        if isinstance(value, str | bytes):
            raise Refused(feature, repr(value), "be a number")
        if not math.isfinite(number):
            raise Refused(feature, repr(value), "be a finite number")
        return number

    def _is_nominal(self, feature: str, value: object) -> bool:
        if feature in self._features:
            return self._codes[self._features[feature]] is not None
        return feature in self._nominal or isinstance(value, str | bytes | bool | np.bool_)

    def _grow(self, cells: Mapping[str, float | str], label: str, started: bool) -> None:
        """Append what is new, and note which features may be missing."""
        for name, j in self._features.items():
            if name not in cells and not self._missing[j]:
                self._missing[j], self._schema = True, None
        for name, value in cells.items():
            if name not in self._features:
                self._features[name], self._schema = len(self._features), None
                self._codes.append({} if isinstance(value, str) else None)
                self._missing.append(started)
            codes = self._codes[self._features[name]]
            if isinstance(value, str) and codes is not None and value not in codes:
                codes[value], self._schema = len(codes), None
        if label not in self._classes:
            self._classes[label], self._schema = len(self._classes), None

    def _coded(self, cells: Mapping[str, float | str]) -> dict[int, float]:
        row = {}
        for name, value in cells.items():
            j = self._features[name]
            codes = self._codes[j]
            row[j] = float(codes[str(value)] if codes is not None else value)
        return row
