"""Validation of instances and labels against the schema."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence
from decimal import Decimal
from numbers import Real
from typing import Any, TypeGuard, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from heros._base import core as _core
from heros._base.errors import DataError
from heros.data.number_format import format_of
from heros.data.schema import Schema
from heros.data.values import LARGEST_TARGET, checked_task, listed, text_of

MANY = 100
"""If a target has more than this many distinct whole numbers, the user must set the task."""

MISSING, NOT_A_CODE = 2, 3  # faults that first_fault reports; 1 is an infinite value

MOST_LABELS = 1 << 40

N = TypeVar("N", bound=np.generic)


class Validator:
    """A validator that checks instances against a schema and converts them to arrays for the core."""

    def __init__(self, schema: Schema) -> None:
        self.schema = schema
        sizes = [-1 if feature.values is None else len(feature.values) for feature in schema.features]
        self._values = np.array(sizes, dtype=np.int32)  # -1 for a numeric feature
        self._missing = np.array([feature.missing for feature in schema.features], dtype=np.uint8)

    def instances(self, X: ArrayLike, first_row: int = 0) -> NDArray[np.float64]:
        """Convert X to an array (n, n_features) for the core; raise a DataError at the first bad value."""
        block = _numbers(X)
        if block.ndim != 2:
            got = f"an array with {block.ndim} dimensions"
            raise DataError(f"X must have one row per instance. Got {got} instead.")
        if block.shape[1] != self.schema.n_features:
            raise DataError(f"X must have {self.schema.n_features} features. Got {block.shape[1]} instead.")
        fault, row, column = _core.first_fault(block, self._values, self._missing)
        if fault:
            feature, rule = self.schema.features[column], "a finite number"
            if fault == MISSING:
                rule = "a finite number (to allow missing values, set missing=True in the feature)"
            elif fault == NOT_A_CODE:
                codes = f"the code of one of its values, in [0, {len(feature.values or ()) - 1}]"
                rule = codes if feature.values else "missing (NaN), because the feature has no known values"
            where = f"Column {feature.name!r} ({column}) of row {first_row + row}"
            raise DataError(f"{where} must be {rule}. Got {block[row, column]:g} instead.")
        return block


def delay_of(labels: int) -> int:
    """Clip a delay (a number of labels) to the range that models accept."""
    return min(max(0, labels), MOST_LABELS)


def checked_delays(delay: ArrayLike | None, n: int) -> NDArray[np.int64] | None:
    """Return the label delays (n,) as integers for the core, or None if no label is late."""
    if delay is None or (type(delay) is int and delay == 0):
        return None
    if type(delay) is int and 0 < delay <= MOST_LABELS:  # the fast path for predictions in the service
        same = np.empty(n, np.int64)
        same.fill(delay)  # np.full takes 3 µs
        return same
    try:
        delays = np.asarray(delay)
    except (TypeError, ValueError):
        delays = np.empty(0)
    fits = delays.dtype.kind in "iu" and delays.shape in ((), (n,))
    if not fits or np.any((delays < 0) | (delays > MOST_LABELS)):
        rule = f"a number of labels (a whole number >= 0), or one number per instance ({n})"
        raise DataError(f"delay must be {rule}. Got {delay!r:.60} instead.")
    return np.require(np.broadcast_to(delays, (n,)), np.int64, ["C", "A"])


def is_masked(values: object) -> TypeGuard[np.ma.MaskedArray[Any, Any]]:
    """Return whether this is a masked array. `numpy.ma` is not imported, as this takes 10 ms."""
    return "numpy.ma" in sys.modules and np.ma.isMaskedArray(values)


def one_row(values: ArrayLike) -> NDArray[Any]:
    """Add a leading axis to the values or the label of one instance; masked arrays keep their mask."""
    array: NDArray[Any] = np.ma.asarray(values) if is_masked(values) else labels_array(values)
    return array[np.newaxis]


def labels_array(y: ArrayLike) -> NDArray[Any]:
    r"""Convert labels to an array; strings that NumPy would change become objects.

    NumPy removes ``\0`` at the end of strings, and converts members of an enum of strings to the wrong text.

    Examples
    --------
    >>> labels_array(["a", "b"]).dtype.kind, labels_array(["a", "b\0"]).tolist()
    ('U', ['a', 'b\x00'])
    """
    if not isinstance(y, str | list | tuple):
        return np.asarray(y)
    texts = [y] if isinstance(y, str) else y
    changed = any(
        isinstance(one, str) and (type(one) not in (str, np.str_) or one.endswith("\0")) for one in texts
    )
    if not changed or not all(isinstance(one, str) for one in texts):
        return np.asarray(y)
    array = np.array([text_of(one) for one in texts], dtype=object)
    return array.reshape(()) if isinstance(y, str) else array


def class_indices(y: ArrayLike, n: int, classes: Sequence[str]) -> NDArray[np.int64]:
    """Convert labels (class indices or names) to class indices; raise a DataError at the first bad label."""
    labels = _one_each(y, n, "label", "class indices")
    if labels.dtype.kind in "UO" and all(isinstance(label, str) for label in labels.tolist()):
        codes = {name: code for code, name in enumerate(classes)}
        names = [*map(text_of, labels.tolist())]
        for row, name in enumerate(names):
            if name not in codes:
                rule = f"one of the classes {listed(list(classes))}"
                raise DataError(f"The label of row {row} must be {rule}. Got {name!r} instead.")
        return np.array([codes[name] for name in names], dtype=np.int64)
    if labels.dtype.kind not in "buif":
        raise DataError(f"y must hold class indices. Got an array of {labels.dtype} instead.")
    valid = (labels >= 0) & (labels < len(classes))
    if labels.dtype.kind == "f":
        valid &= labels == np.floor(labels)
    if not valid.all():
        row = int(valid.argmin())
        rule = f"a class index in [0, {len(classes) - 1}]"
        raise DataError(f"The label of row {row} must be {rule}. Got {labels[row]} instead.")
    return core_array(labels, np.int64)


def target_numbers(y: ArrayLike, n: int) -> NDArray[np.float64]:
    """Convert y (n,) to finite numbers; raise a DataError that names the first invalid target."""
    targets = _one_each(y, n, "target", "numbers")
    if targets.dtype.kind == "O":
        _expect_numbers(targets, "y must be an array of numbers")
    elif targets.dtype.kind not in "buif":
        raise DataError(f"y must be an array of numbers. Got an array of {targets.dtype} instead.")
    try:
        numbers = core_array(targets, np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise DataError(f"y must be an array of numbers. The error was: {error}") from None
    bad = ~(np.abs(numbers) <= LARGEST_TARGET)
    if bad.any():
        row = int(bad.argmax())
        rule = f"a finite number, at most {LARGEST_TARGET:g}"
        raise DataError(f"The target of row {row} must be {rule}. Got {numbers[row]:g} instead.")
    return numbers


def _one_each(y: ArrayLike, n: int, what: str, held: str) -> NDArray[Any]:
    """Convert y to an array (n,); raise a DataError if y has another shape or masked values."""
    try:
        array = labels_array(y)
    except (TypeError, ValueError) as error:
        raise DataError(f"y must be an array of {held}. The error was: {error}") from None
    if is_masked(y) and np.ma.getmaskarray(y).any():
        raise DataError(f"y must have a {what} for every instance. Got masked values instead.")
    if array.shape != (n,):
        raise DataError(f"y must have one {what} per instance ({n}). Got shape {array.shape} instead.")
    return array


def core_array(array: NDArray[Any], kind: type[N]) -> NDArray[N]:
    """Return an aligned array of this type in C order, without the 4 µs of `np.require` where possible."""
    flags = array.flags
    if array.dtype == kind and flags.c_contiguous and flags.aligned:
        return array
    return np.require(array, kind, ["C", "A"])


def _numbers(X: ArrayLike) -> NDArray[np.float64]:
    """Convert X to an array of numbers in C order, with NaN for masked values."""
    rule = "X must be an array of numbers (nominal values as codes)"
    try:
        array = np.asarray(X)
        masked = np.ma.getmaskarray(X) if is_masked(X) else None
        if array.dtype.kind == "O":
            _expect_numbers(array if masked is None else array[~masked], rule)
        if masked is not None and array.dtype.kind in "fiubO":
            array = np.where(masked, np.nan, array).astype(np.float64)
        if array.dtype.kind in "fiubO":
            return core_array(array, np.float64)
    except MemoryError:
        raise DataError(f"{rule} that fits into memory. Got the shape {np.shape(X)} instead.") from None
    except (TypeError, ValueError, OverflowError) as error:
        raise DataError(f"{rule}. The error was: {error}") from None
    raise DataError(f"{rule}. Got an array of {array.dtype} instead.")


def _expect_numbers(objects: NDArray[Any], rule: str) -> None:
    """Raise a DataError for strings, dates and complex numbers, which NumPy would convert to numbers."""
    for kind in set(map(type, objects.flat)):
        if not issubclass(kind, Real | np.bool_ | Decimal | None) or issubclass(kind, np.timedelta64):
            raise DataError(f"{rule}. Got an array that contains {kind.__name__} instead.")


def is_numeric(values: NDArray[np.generic], task: str | None, classes: bool, owner: str, name: str) -> bool:
    """Return whether the target is numeric according to `task` or, without a task, to the values."""
    if checked_task(task, owner) is not None:
        return task == "regression"
    if not classes and values.dtype.kind in "OU" and (text := _number_as_text(values)):
        what = f"The target {name!r} of {owner} has many different numbers written as text, such as {text!r}."
        way = "Convert this column to numbers, or set task='classification' if the texts are classes."
        raise DataError(f"{what} {way}")
    if classes or values.dtype.kind not in "iuf":
        return False
    finite = values[np.isfinite(values)] if values.dtype.kind == "f" else values
    if values.dtype.kind == "f" and (finite != np.floor(finite)).any():
        return True
    if len(finite) > MANY and len(np.unique(finite)) > MANY:
        what = f"The target {name!r} of {owner} has more than {MANY} different whole numbers. Set"
        which = "task='regression' if they are quantities, or task='classification' if they are classes."
        raise DataError(f"{what} {which}")
    return False


def _number_as_text(values: NDArray[np.generic]) -> str:
    """Return an example if more than `MANY` different numbers are written as text, else an empty string."""
    texts: Counter[str] = Counter()
    for value in values.tolist():
        if not isinstance(value, str):
            return ""
        texts[value.strip()] += 1
    return next(iter(texts)) if len(texts) > MANY and format_of(texts)[1] == len(values) else ""
