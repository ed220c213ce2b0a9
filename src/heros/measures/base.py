"""What every measure is: figures of a stream from what was answered before each target was seen."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Self

from numpy.typing import NDArray

from heros._base.parameters import one_of
from heros._base.registry import Part, parts
from heros.errors import DataError, ParameterError
from heros.measures.predictions import Predicted

__all__ = ["Better", "Caption", "Measure", "State", "expect_array", "expect_same"]

Better = Literal["higher", "lower"]
State = Mapping[str, NDArray[Any]]


@dataclass(frozen=True, slots=True)
class Caption:
    """What a figure is called, and which way is better."""

    name: str
    label: str
    better: Better = "higher"
    note: str = ""

    def text(self, figure: float) -> str:
        """A figure for people; a dash where there is none, as of the AUROC of a stream of one class.

        Examples
        --------
        >>> Caption("auroc", "AUROC").text(0.75), Caption("auroc", "AUROC").text(math.nan)
        ('0.7500', '–')
        """
        return "–" if math.isnan(figure) else f"{figure:.4f}"

    @classmethod
    def of(cls, measure: Measure) -> Caption:
        """Of a measure."""
        return cls(measure.name, measure.label, measure.better, measure.note)


class Measure(Part, ABC):
    """A figure over a stream, kept while the stream runs.

    A measure has a name, under which runs, curves and records have its figure, a label for people, and says
    whether higher or lower is better. `fresh` has to be overridden by a measure that has settings.

    Attributes
    ----------
    note : str
        What a reader has to know about the figure, if anything.
    predictions
        Everything it was updated with, if it needs that, part by part: checkpoints keep it in a file that
        only grows, instead of the measure's state.

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
    plain: ClassVar[bool] = False  # a file holds what it has counted, not what it is
    name: ClassVar[str]
    label: ClassVar[str]
    better: ClassVar[Better] = "higher"
    numeric: ClassVar[bool] = False  # whether it measures numbers rather than classes
    note: str = ""
    predictions: list[Predicted] | None = None

    @staticmethod
    def names() -> tuple[str, ...]:
        """The names of the measures there are."""
        return tuple(sorted(_known()))

    @staticmethod
    def of(name: str) -> Measure:
        """The measure of this name, empty.

        Examples
        --------
        >>> Measure.of("cost")
        Traceback (most recent call last):
            ...
        heros.errors.ParameterError: The 'name' parameter of Measure.of must be one of accuracy, auroc, ...
        """
        one_of(name, "name", "Measure.of", Measure.names(), f"one of {', '.join(Measure.names())}")
        return _known()[name]()

    @abstractmethod
    def update(self, y: NDArray[Any], output: NDArray[Any]) -> None:
        """Count targets (n,) and what was answered (n, outputs) before they were seen."""

    @property
    @abstractmethod
    def value(self) -> float:
        """The figure over everything counted; NaN if there is none."""

    @abstractmethod
    def state(self) -> dict[str, NDArray[Any]]:
        """All it knows, as arrays of numbers."""

    @abstractmethod
    def restore(self, state: State) -> None:
        """Go on from what `state` gave; a DataError if that is something else."""

    @abstractmethod
    def merge(self, other: Self) -> None:
        """Count what another one has counted, after what this one has."""

    def fresh(self) -> Measure:
        """An empty one of the same settings."""
        return type(self)()

    def bounded(self) -> Measure:
        """An empty one whose memory does not grow with the stream."""
        return self.fresh()

    def add(self, y: NDArray[Any], output: NDArray[Any]) -> float:
        """Count a stretch of the stream, and give the figure over it alone. The arrays may be kept."""
        part = self.fresh()
        part.update(y, output)
        self.merge(part)
        return part.value

    @property
    def resumable(self) -> bool:
        """Whether a checkpoint can keep it."""
        return True

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


def _known() -> dict[str, type[Measure]]:
    """The measures of HEROS by name; classes that several share have none."""
    return {kind.name: kind for kind in parts("measure").values() if hasattr(kind, "name")}


def expect_same(measure: Measure, other: object) -> None:
    """Refuse to merge with a measure of another kind."""
    if type(other) is not type(measure):
        kind = type(measure).__name__
        raise ParameterError.of("other", f"{kind}.merge", f"a measure of the kind {kind}", other)


def expect_array(
    state: State, key: str, kind: type, shape: tuple[int | None, ...], owner: str
) -> NDArray[Any]:
    """An array of a state, if it has this type and shape (None: any length) and nothing below 0.

    Examples
    --------
    >>> expect_array({}, "counts", int, (2,), "Kappa")
    Traceback (most recent call last):
        ...
    heros.errors.DataError: The state of Kappa must have an array 'counts' of shape (2,). Got none or another.
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
            f"The state of {owner} must have an array {key!r} of shape {shape}. Got none or another."
        )
    return array
