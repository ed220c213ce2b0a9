"""Streams from arrays in memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from heros._base.parameters import expect_list
from heros.data.check import Validator, class_indices, is_numeric, target_numbers
from heros.data.codes import Codes
from heros.data.schema import Feature, Schema
from heros.data.values import label_of, natural_order
from heros.errors import DataError, ParameterError
from heros.streams.base import Block, Stream

__all__ = ["from_arrays"]

MOST_FEATURES = 1 << 24  # a column without rows takes no memory, but its name does
MOST_CHECKED = 1 << 20  # values at a time


def from_arrays(
    X: ArrayLike,
    y: ArrayLike,
    *,
    schema: Schema | None = None,
    names: Sequence[str] | None = None,
    nominal: Sequence[str | int] = (),
    classes: Sequence[object] | None = None,
    task: str | None = None,
    name: str = "arrays",
) -> Stream:
    """A stream of the rows of X with the labels y.

    The arrays are not copied: do not change them while the stream is in use. Blocks are copies.

    Parameters
    ----------
    X
        (n, n_features) numbers; NaN is a missing value.
    y
        (n,) labels: strings, whole numbers or booleans; or numbers, if these are the target.
    schema
        What the columns mean. Then X holds codes where a feature is nominal, and y class indices or
        class names.
    names
        Names of the features; default ``x1, x2, …``.
    nominal
        Features (names or indices) whose different numbers are names, not quantities.
    classes
        All classes in their order; default: those in y, sorted.
    task
        "classification" or "regression": whether y is to be read as classes or as numbers. By default it is
        classes, unless some of its numbers are not whole. Where they are, and there are more than a hundred
        different ones, it has to be said.
    name
        The stream's name.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[1.5, 7], [2.5, 9], [0.5, 7]])
    >>> stream = from_arrays(X, ["no", "yes", "no"], nominal=[1])
    >>> stream.schema.classes, stream.schema.features[1].values
    (('no', 'yes'), ('7', '9'))
    >>> stream.draw(2)
    (array([[1.5, 0. ],
           [2.5, 1. ]]), array([0, 1]))
    """
    try:
        rows, labels = np.asarray(X), np.asarray(y)
        matrix = rows.dtype.kind == "f" and rows.ndim == 2
        infinite = np.argwhere(np.isinf(rows)) if matrix else np.empty((0, 2), dtype=np.int64)
    except MemoryError:
        raise DataError(
            f"The 'X' of from_arrays must fit into memory. Got the shape {rows.shape} instead."
        ) from None
    except (TypeError, ValueError) as error:
        raise DataError(f"The 'X' and 'y' of from_arrays must be arrays. Got: {error}") from None
    if np.ma.isMaskedArray(X) or np.ma.isMaskedArray(y):
        raise DataError(
            "The 'X' and 'y' of from_arrays must have no masks. Got masked arrays (NaN is missing)."
        )
    if schema is not None and not isinstance(schema, Schema):
        raise ParameterError.of("schema", "from_arrays", "a heros.Schema", schema)
    nominal = expect_list(nominal, "nominal", "from_arrays")
    classes = None if classes is None else expect_list(classes, "classes", "from_arrays")
    if rows.ndim != 2 or rows.shape[1] == 0 or rows.dtype.kind not in "fiub":
        what = f"an array of {rows.dtype} with shape {rows.shape}"
        raise DataError(f"The 'X' of from_arrays must be a matrix of numbers. Got {what} instead.")
    if rows.shape[1] > MOST_FEATURES:
        rule = f"at most {MOST_FEATURES} columns"
        raise DataError(f"The 'X' of from_arrays must have {rule}. Got {rows.shape[1]} instead.")
    if labels.shape != rows.shape[:1]:
        raise DataError(
            f"The 'y' of from_arrays must have {len(rows)} labels. Got shape {labels.shape} instead."
        )
    if len(infinite):
        row, column = infinite[0]
        where = f"in row {row + 1}, column {column + 1}"
        raise DataError(
            f"The 'X' of from_arrays must be finite or NaN {where}. Got {rows[row, column]} instead."
        )
    if schema is not None:
        return ArrayStream(rows, _coded(rows, labels, schema), schema, (), name)
    numeric = is_numeric(labels, task, classes is not None, "from_arrays", "y")
    chosen = _chosen(names, nominal, rows.shape[1])
    features, tables = [], []
    for j, feature in enumerate(chosen):
        column = rows[:, j]
        absent = bool(np.isnan(column).any()) if rows.dtype.kind == "f" else False
        found = np.unique(column[~np.isnan(column)] if absent else column).astype(np.float64)
        is_nominal = feature in nominal or j in nominal
        values = tuple(str(label_of(value)) for value in found) if is_nominal else None
        features.append(Feature(feature, values, absent))
        if is_nominal:
            tables.append((j, found))
    found_classes = () if numeric else _classes(labels, classes)
    targets = _numbers_of(labels) if numeric else _indices(labels, found_classes)
    return ArrayStream(rows, targets, Schema(tuple(features), found_classes, numeric), tuple(tables), name)


class ArrayStream(Stream):
    """The rows of a matrix."""

    _shared: ClassVar[frozenset[str]] = frozenset({"_X", "_y", "_tables"})

    def __init__(
        self,
        X: NDArray[np.generic],
        y: NDArray[Any],
        schema: Schema,
        tables: tuple[tuple[int, NDArray[np.float64]], ...],
        name: str,
    ) -> None:
        self.name = name
        self._X = X
        self._y = y
        self._schema = schema
        self._tables = tables  # (column, its sorted values) for columns that must be turned into codes

    @property
    def schema(self) -> Schema:
        """What an instance looks like."""
        return self._schema

    @property
    def n_instances(self) -> int:
        """How many instances there are from start to end."""
        return len(self._y)

    def _draw(self, n: int) -> Block:
        here = slice(self._position, self._position + n)
        X = np.array(self._X[here], dtype=np.float64, order="C")  # a copy: who draws it may write to it
        for column, values in self._tables:
            missing = np.isnan(X[:, column])
            X[:, column] = np.searchsorted(values, X[:, column])
            X[missing, column] = np.nan
        return X, self._y[here].copy()

    def _restart(self) -> None:
        pass


def _chosen(names: Sequence[str] | None, nominal: Sequence[str | int], width: int) -> list[str]:
    if names is not None:
        names = expect_list(names, "names", "from_arrays")
    chosen = [f"x{j + 1}" for j in range(width)] if names is None else [str(name) for name in names]
    if len(chosen) != width:
        raise ParameterError.of("names", "from_arrays", f"{width} names", names)
    for feature in nominal:
        if not isinstance(feature, str | int | np.integer) or (
            feature not in chosen and feature not in range(width)
        ):
            raise ParameterError.of("nominal", "from_arrays", "made of feature names or indices", feature)
    return chosen


def _classes(labels: NDArray[np.generic], classes: Sequence[object] | None) -> tuple[str, ...]:
    if classes is not None:
        return tuple(str(label_of(value)) for value in classes)
    found = {label_of(value) for value in labels.tolist()}
    return tuple(natural_order(label for label in found if label is not None))


def _coded(rows: NDArray[np.generic], labels: NDArray[np.generic], schema: Schema) -> NDArray[Any]:
    """The class indices, or numbers; a DataError if these or the rows are not what the schema says."""
    _expect_instances(rows, schema)
    if schema.numeric:
        return _numbers_of(labels)
    if labels.dtype.kind in "iu":
        return class_indices(labels, len(rows), schema.n_classes)
    return _indices(labels, schema.classes)


def _expect_instances(rows: NDArray[np.generic], schema: Schema) -> None:
    validator = Validator(schema)
    step = max(1, MOST_CHECKED // rows.shape[1])  # some at a time: checking makes a copy
    for start in range(0, max(1, len(rows)), step):
        validator.instances(rows[start : start + step], first_row=start)


def _numbers_of(labels: NDArray[np.generic]) -> NDArray[np.float64]:
    """The targets; a DataError names the first that is no finite number."""
    try:
        return target_numbers(labels, len(labels))
    except DataError as error:
        raise DataError(f"from_arrays: {error}") from None


def _indices(labels: NDArray[np.generic], classes: tuple[str, ...]) -> NDArray[np.int64]:
    """The class index of each label, by its name."""
    known = Codes(classes)
    names = (label_of(value) for value in labels.tolist())
    indices = np.array([-1 if name is None else known.get(name, -1) for name in names], dtype=np.int64)
    wrong = np.flatnonzero(indices < 0)
    if len(wrong):
        row = int(wrong[0])
        rule = f"be one of {', '.join(map(repr, classes))}"
        raise DataError(
            f"from_arrays, row {row + 1}: the label must {rule}. Got {labels.tolist()[row]!r} instead."
        )
    return indices
