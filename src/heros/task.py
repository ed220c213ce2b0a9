"""What is learnt: the target, the form of a model's output, and what is made of both."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from heros import _core
from heros.errors import DataError
from heros.schema import Schema

__all__ = ["Classification", "Task"]


@dataclass(frozen=True)
class Task(ABC):
    """What is learnt: the base of all tasks."""

    @abstractmethod
    def width(self, schema: Schema) -> int:
        """How many numbers the output of a model has."""

    @abstractmethod
    def targets(self, y: ArrayLike, n: int, schema: Schema) -> NDArray[np.float64]:
        """Y (n,) as the core takes it; a DataError names the first bad one."""

    @abstractmethod
    def prediction(self, outputs: NDArray[np.float64]) -> Any:
        """What outputs (..., width) say the target is."""

    @abstractmethod
    def native(self) -> _core.Task:
        """The task as the core knows it: how an output and a target become an outcome in [0, 1]."""


@dataclass(frozen=True)
class Classification(Task):
    """A class of several. An output is a probability per class; an outcome is 1 for a hit and 0 for a miss.

    Examples
    --------
    >>> schema = Schema.of(["age"], classes=["no", "yes"])
    >>> Classification().targets([0, 1, 2], 3, schema)
    Traceback (most recent call last):
        ...
    heros.errors.DataError: The label of row 2 must be a class index in [0, 1]. Got 2 instead.
    >>> int(Classification().prediction(np.array([0.3, 0.7])))
    1
    """

    def width(self, schema: Schema) -> int:
        """A probability per class."""
        return schema.n_classes

    def targets(self, y: ArrayLike, n: int, schema: Schema) -> NDArray[np.float64]:
        """Class indices; a DataError names the first bad label."""
        try:
            labels = np.asarray(y)
        except (TypeError, ValueError) as error:
            raise DataError(f"y must be an array of class indices: {error}.") from None
        if np.ma.isMaskedArray(y) and np.ma.getmaskarray(y).any():
            raise DataError("y must have a label for every instance. Got masked ones instead.")
        if labels.shape != (n,):
            raise DataError(f"y must have one label per instance ({n}). Got shape {labels.shape} instead.")
        if labels.dtype.kind not in "buif":
            raise DataError(f"y must hold class indices. Got {labels.dtype} instead.")
        bad = ~((labels >= 0) & (labels < schema.n_classes) & (labels == np.floor(labels)))
        if bad.any():
            row = int(bad.argmax())
            rule = f"a class index in [0, {schema.n_classes - 1}]"
            raise DataError(f"The label of row {row} must be {rule}. Got {labels[row]} instead.")
        return np.require(labels, np.float64, ["C", "A"])

    def prediction(self, outputs: NDArray[np.float64]) -> Any:
        """The class index with the highest probability."""
        return outputs.argmax(axis=-1)

    def native(self) -> _core.Classification:
        """The task as the core knows it."""
        return _core.Classification()
