"""Streams from arrays and data frames in memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from heros._base.errors import DataError, ParameterError
from heros._base.parameters import expect_list
from heros.data.check import Validator, class_indices, is_masked, is_numeric, labels_array, target_numbers
from heros.data.codes import MOST_VALUES
from heros.data.encoder import Encoder
from heros.data.frames import table_of
from heros.data.schema import Feature, Schema
from heros.data.values import label_of, natural_order
from heros.streams.arrow import MemoryReader
from heros.streams.base import Block, Stream
from heros.streams.live.base import passed
from heros.streams.options import Options
from heros.streams.tables import TableStream, weighed

__all__ = ["from_arrays", "from_frame"]

MOST_FEATURES = 1 << 24  # the names take memory even if there are no rows


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
    """Create a stream of the rows of X with the labels y.

    The arrays are not copied. Do not change the arrays while the stream is in use. Blocks are copies.

    Parameters
    ----------
    X
        (n, n_features) numbers; NaN is a missing value.
    y
        (n,) labels: strings, whole numbers or booleans as classes, or numeric targets.
    schema
        The schema. If a schema is given, X must hold the codes of nominal values, and y must hold class
        indices or class names.
    names
        Names of the features; default ``x1, x2, …``.
    nominal
        Features (names or indices) whose numbers stand for names and not for quantities.
    classes
        All classes in the order of their indices; by default the classes in y, sorted.
    task
        "classification" or "regression": whether y holds classes or numbers. By default y holds classes,
        unless some of its numbers have decimals. For more than a hundred distinct whole numbers, `task` is
        required.
    name
        The name of the stream.

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
    rows, labels = _arrays(X, y)
    if schema is not None and not isinstance(schema, Schema):
        raise ParameterError.of("schema", "from_arrays", "a heros.Schema", schema)
    nominal = expect_list(nominal, "nominal", "from_arrays")
    classes = None if classes is None else expect_list(classes, "classes", "from_arrays")
    if schema is not None:
        return ArrayStream(rows, _coded(rows, labels, schema), schema, (), name)
    numeric = is_numeric(labels, task, classes is not None, "from_arrays", "y")
    features, tables = [], []
    for j, feature in enumerate(_chosen(names, nominal, rows.shape[1])):
        column, values = rows[:, j], None
        absent = np.isnan(column) if rows.dtype.kind == "f" else np.zeros(len(rows), dtype=np.bool_)
        if feature in nominal or j in nominal:
            found = np.unique(column[~absent]).astype(np.float64)
            values = tuple(str(label_of(value)) for value in found)
            tables.append((j, found))
        features.append(Feature(feature, values, bool(absent.any())))
    names_of_classes = [str(label_of(value)) for value in classes or ()]
    if classes is None and not numeric:
        names_of_classes = natural_order(name for name in map(label_of, labels.tolist()) if name is not None)
    given = Schema(tuple(features), () if numeric else tuple(names_of_classes), numeric)
    return ArrayStream(rows, _targets(labels, given), given, tuple(tables), name)


def from_frame(
    frame: Any,
    *,
    target: str | int | None = None,
    nominal: Sequence[str] | Mapping[str, Sequence[object] | None] = (),
    numeric: Sequence[str] = (),
    ignore: Sequence[str] = (),
    classes: Sequence[object] | None = None,
    on_bad_row: str = "skip",
    name: str = "frame",
    dates: Sequence[str] | Mapping[str, str | None] = (),
    most_values: int | None = MOST_VALUES,
    task: str | None = None,
    weights: str | None = None,
    missing: Sequence[str] = (),
) -> Stream:
    """Create a stream of the rows of a data frame.

    Parameters
    ----------
    frame
        A pandas or polars data frame, an Arrow table or record batch, a mapping of columns, or
        any object that supports the Arrow or the data frame interchange protocol. Only Arrow must be
        installed. Categorical, string and boolean columns are nominal.
    target, nominal, numeric, ignore, classes, on_bad_row, dates, most_values, task, weights, missing
        As for `heros.streams.read`.
    name
        The name of the stream.

    Examples
    --------
    >>> frame = {"age": [18, 21, None], "colour": ["red", "blue", "red"], "label": [0, 1, 0]}
    >>> stream = from_frame(frame, target="label")
    >>> stream.draw(3)
    (array([[18.,  1.],
           [21.,  0.],
           [nan,  1.]]), array([0, 1, 0]))
    """
    options, _ = Options.of("from_frame", locals())
    reader = MemoryReader(table_of(frame, "from_frame"), name, missing)
    return weighed(TableStream(reader, options, name), options)


def _arrays(X: ArrayLike, y: ArrayLike) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return X and y as arrays; raise a DataError if they are invalid."""
    must, both = "The 'X' of from_arrays must", "The 'X' and 'y' of from_arrays must"
    try:
        rows, labels = np.asarray(X), labels_array(y)
        matrix = rows.dtype.kind == "f" and rows.ndim == 2
        infinite = np.argwhere(np.isinf(rows)) if matrix else np.empty((0, 2), dtype=np.int64)
    except MemoryError:
        raise DataError(f"{must} fit into memory. Got the shape {rows.shape} instead.") from None
    except (TypeError, ValueError) as error:
        raise DataError(f"{both} be arrays. The error was: {error}") from None
    if is_masked(X) or is_masked(y):
        raise DataError(f"{both} not be masked. Got masked arrays (use NaN for missing values).")
    if rows.ndim != 2 or rows.shape[1] == 0 or rows.dtype.kind not in "fiub":
        what = f"an array of {rows.dtype} with shape {rows.shape}"
        raise DataError(f"{must} be a matrix of numbers. Got {what} instead.")
    if rows.shape[1] > MOST_FEATURES:
        raise DataError(f"{must} have at most {MOST_FEATURES} columns. Got {rows.shape[1]} instead.")
    if labels.shape != rows.shape[:1]:
        what = f"shape {labels.shape}"
        raise DataError(f"The 'y' of from_arrays must have {len(rows)} labels. Got {what} instead.")
    if len(infinite):
        row, column = infinite[0]
        where = f"{rows[row, column]} in row {row + 1}, column {column + 1}"
        raise DataError(f"{must} hold only finite numbers or NaN. Got {where} instead.")
    return rows, labels


class ArrayStream(Stream):
    """A stream of the rows of a matrix."""

    _shared: ClassVar[frozenset[str]] = frozenset({"_X", "_y", "_tables"})

    schema = passed("_schema")
    n_instances = passed("_n")

    def __init__(
        self, X: NDArray[np.generic], y: NDArray[Any], schema: Schema, tables: tuple[Any, ...], name: str
    ) -> None:
        self.name, self._schema = name, schema
        self._X, self._y, self._n = X, y, len(y)
        self._tables = tables  # (column, sorted values) for columns that must be converted to codes

    def _draw(self, n: int) -> Block:
        part = slice(self._position, self._position + n)
        X = np.array(self._X[part], dtype=np.float64, order="C")  # a copy, since the caller may write to it
        for column, values in self._tables:
            missing = np.isnan(X[:, column])
            X[:, column] = np.searchsorted(values, X[:, column])
            X[missing, column] = np.nan
        return X, self._y[part].copy()

    def _restart(self) -> None:
        pass


def _chosen(names: Sequence[str] | None, nominal: Sequence[str | int], width: int) -> list[str]:
    if names is not None:
        names = expect_list(names, "names", "from_arrays")
    chosen = [f"x{j + 1}" for j in range(width)] if names is None else [str(name) for name in names]
    if len(chosen) != width:
        raise ParameterError.of("names", "from_arrays", f"a list of {width} names", names)
    for feature in nominal:
        valid = isinstance(feature, str | int | np.integer) and (feature in chosen or feature in range(width))
        if not valid:
            raise ParameterError.of("nominal", "from_arrays", "a list of feature names or indices", feature)
    return chosen


def _coded(rows: NDArray[np.generic], labels: NDArray[np.generic], schema: Schema) -> NDArray[Any]:
    """Convert labels to class indices or numbers; raise a DataError if rows or labels violate the schema."""
    validator = Validator(schema)
    step = max(1, (1 << 20) // rows.shape[1])  # validate in steps, since validation copies the rows
    for start in range(0, max(1, len(rows)), step):
        validator.instances(rows[start : start + step], first_row=start)
    if not schema.numeric and labels.dtype.kind in "iu":
        return class_indices(labels, len(rows), schema.classes)
    return _targets(labels, schema)


def _targets(labels: NDArray[np.generic], schema: Schema) -> NDArray[Any]:
    """Convert labels to numeric targets, or class names to class indices."""
    if schema.numeric:
        try:
            return target_numbers(labels, len(labels))
        except DataError as error:
            raise DataError(f"from_arrays: {error}") from None
    distinct, codes = labels, np.arange(len(labels))
    if labels.dtype.kind in "biufU":
        distinct, codes = np.unique(labels, return_inverse=True)
    indices = Encoder(Schema((), schema.classes)).targets(distinct.tolist())[codes]
    if (wrong := np.isnan(indices)).any():
        row, rule = int(wrong.argmax()), f"be one of {', '.join(map(repr, schema.classes))}"
        what = f"from_arrays, row {row + 1}: the label must {rule}"
        raise DataError(f"{what}. Got {labels.tolist()[row]!r} instead.")
    return indices.astype(np.int64)
