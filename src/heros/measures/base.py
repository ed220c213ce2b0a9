"""The base class of measures: a value over a stream, from predictions made before each target was known."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from heros._base.errors import DataError, ParameterError
from heros._base.parameters import one_of
from heros._base.registry import Part, parts

Better = Literal["higher", "lower"]
Array = NDArray[Any]
Floats = NDArray[np.float64]
Labels = NDArray[np.int64]
Counts = NDArray[np.int64]
State = Mapping[str, Array]
Predicted = tuple[Labels, Floats]
"""Labels (n,) and probabilities (n, classes)."""


@dataclass(frozen=True, slots=True)
class Caption:
    """The name and label of a measure, and whether higher or lower is better."""

    name: str
    label: str
    better: Better = "higher"
    note: str = ""

    def text(self, figure: float) -> str:
        """Return the value with four decimals, or a dash for NaN (e.g. AUROC with a single class).

        Examples
        --------
        >>> Caption("auroc", "AUROC").text(0.75), Caption("auroc", "AUROC").text(math.nan)
        ('0.7500', '–')
        """
        return "–" if math.isnan(figure) else f"{figure:.4f}"

    @classmethod
    def of(cls, measure: Measure) -> Caption:
        """Return the caption of a measure."""
        return cls(measure.name, measure.label, measure.better, measure.note)


class Measure(Part, ABC):
    """A measure over a stream, updated as predictions are made.

    Runs, curves and records store the value under the measure's `name`. Tables show the measure's `label`.
    `better` is "higher" or "lower". A measure with settings must override `fresh`.

    Attributes
    ----------
    note : str
        A remark shown with the value; may be empty.
    predictions
        All predictions so far, as a list of parts; None if the measure does not need all predictions.
        Checkpoints append these predictions to a file instead of writing the measure's state.

    Examples
    --------
    >>> import numpy as np
    >>> from heros.measures import Accuracy
    >>> accuracy = Accuracy()
    >>> accuracy.update(np.array([0, 1, 1]), np.array([[0.9, 0.1], [0.2, 0.8], [0.7, 0.3]]))
    >>> round(accuracy.value, 3)
    0.667
    >>> Measure.of("f1"), Measure.names()[:2]
    (F1(), ('accuracy', 'auroc'))
    """

    role: ClassVar[str] = "measure"
    plain: ClassVar[bool] = False  # files store the state of a measure, not its description
    name: ClassVar[str]
    label: ClassVar[str]
    better: ClassVar[Better] = "higher"
    numeric: ClassVar[bool] = False  # whether the measure is for regression
    note: str = ""
    predictions: list[Predicted] | None = None

    @staticmethod
    def names() -> tuple[str, ...]:
        """Return the names of all measures."""
        return tuple(sorted(_known()))

    @staticmethod
    def of(name: str) -> Measure:
        """Return a new, empty measure with this name.

        Examples
        --------
        >>> Measure.of("cost")
        Traceback (most recent call last):
            ...
        heros.ParameterError: The 'name' parameter of Measure.of must be one of accuracy, auroc, ...
        """
        one_of(name, "name", "Measure.of", Measure.names(), f"one of {', '.join(Measure.names())}")
        return _known()[name]()

    @abstractmethod
    def update(self, y: Array, output: Array) -> None:
        """Add targets (n,) and the predictions (n, outputs) made before the targets were known."""

    @property
    @abstractmethod
    def value(self) -> float:
        """The value over all instances so far; NaN if it is undefined."""

    @abstractmethod
    def state(self) -> dict[str, Array]:
        """Return the state of the measure as numeric arrays."""

    @abstractmethod
    def restore(self, state: State) -> None:
        """Restore the arrays that `state` returned; raise a DataError if the arrays are invalid."""

    @abstractmethod
    def merge(self, other: Self) -> None:
        """Add the instances of another measure of the same class."""

    def fresh(self) -> Measure:
        """Return an empty measure with the same settings."""
        return type(self)()

    def bounded(self) -> Measure:
        """Return an empty measure whose memory does not grow with the stream."""
        return self.fresh()

    def add(self, y: Array, output: Array) -> float:
        """Add a part of the stream and return the value over this part.

        The caller must not change the arrays afterwards.
        """
        part = self.fresh()
        part.update(y, output)
        self.merge(part)
        return part.value

    @property
    def resumable(self) -> bool:
        """Whether checkpoints can store the state of the measure."""
        return True

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class Mean(Measure):
    """The base class of measures that are means over instances: one sum divided by another."""

    def __init__(self) -> None:
        self.over = self.under = 0.0

    @abstractmethod
    def _sums(self, y: Array, output: Array) -> tuple[float, float]:
        """Return the contribution of these instances to the numerator and the denominator."""

    def update(self, y: Array, output: Array) -> None:
        over, under = self._sums(y, output)
        self.over, self.under = self.over + over, self.under + under

    @property
    def value(self) -> float:
        """The mean over all instances so far; NaN without instances."""
        return self.over / self.under if self.under > 0 else math.nan

    def state(self) -> dict[str, Array]:
        return {"sums": np.array([self.over, self.under])}

    def restore(self, state: State) -> None:
        sums = expect_array(state, "sums", np.float64, (2,), type(self).__name__)
        self.over, self.under = sums.tolist()

    def merge(self, other: Mean) -> None:
        expect_same(self, other)
        self.over, self.under = self.over + other.over, self.under + other.under


def _known() -> dict[str, type[Measure]]:
    """Return the measures of HEROS by name; base classes have no name."""
    return {kind.name: kind for kind in parts("measure").values() if hasattr(kind, "name")}


def expect_same(measure: Measure, other: object) -> None:
    """Raise an error unless both measures are of the same Python class."""
    if type(other) is not type(measure):
        kind = type(measure).__name__
        raise ParameterError.of("other", f"{kind}.merge", f"a measure of type {kind}", other)


def expect_array(state: State, key: str, kind: type, shape: tuple[int | None, ...], owner: str) -> Array:
    """Return an array of a state; raise a DataError if the array is missing or invalid.

    The array must have this type and shape (None means any length). Values below 0 are invalid.
    """
    array = state.get(key)
    fits = (
        array is not None
        and array.dtype == kind
        and array.ndim == len(shape)
        and all(length is None or length == n for length, n in zip(shape, array.shape, strict=True))
        and not (array < 0).any()
    )
    if array is None or not fits:
        raise DataError(
            f"The state of {owner} must have an array {key!r} of shape {shape} and type {kind.__name__}, "
            "without values below 0."
        )
    return array


def macro(per_class: ArrayLike) -> float:
    """Return the mean over classes, ignoring NaN; NaN if all values are NaN."""
    figures = np.asarray(per_class, dtype=np.float64)
    known = figures[~np.isnan(figures)]
    return float(known.mean()) if len(known) else math.nan


def stacked(parts: Sequence[Floats]) -> Floats:
    """Concatenate probabilities; a new class gets probability 0 in earlier parts."""
    classes = max(part.shape[1] for part in parts)
    missing = [classes - part.shape[1] for part in parts]
    return np.concatenate(
        [np.pad(part, ((0, 0), (0, n))) if n else part for part, n in zip(parts, missing, strict=True)]
    )


def joined(parts: Sequence[Predicted]) -> Predicted:
    """Concatenate all labels and all probabilities."""
    if not parts:
        return np.empty(0, dtype=np.int64), np.empty((0, 1))
    return np.concatenate([labels for labels, _ in parts]), stacked([p for _, p in parts])
