"""What is learnt: the target, the form of a model's output, and what is made of both."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from heros import core as _core
from heros.measures import Accuracy, Auroc, Kappa, LogLoss, Measure
from heros.registry import Part
from heros.schema import Schema
from heros.validation import class_indices

if TYPE_CHECKING:
    from heros.measures import Measure

__all__ = ["Classification", "Task"]


@dataclass(frozen=True)
class Task(Part, ABC):
    """What is learnt: the base of all tasks."""

    role: ClassVar[str] = "task"

    @abstractmethod
    def width(self, schema: Schema) -> int:
        """How many numbers the output of a model has."""

    @abstractmethod
    def targets(self, y: ArrayLike, n: int, schema: Schema) -> NDArray[np.float64]:
        """Y (n,) as the core takes it; a DataError names the first bad one."""

    @abstractmethod
    def prediction(self, outputs: NDArray[np.float64]) -> Any:
        """What outputs (..., width) say the target is."""

    def named(self, predictions: Any, schema: Schema) -> Any:
        """What `prediction` gave, as people call it: as it is, unless it is a class."""
        return predictions

    @abstractmethod
    def measures(self) -> list[Measure]:
        """What is measured if nobody says otherwise, empty."""

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
        """Class indices, or names of classes; a DataError names the first bad label."""
        return class_indices(y, n, schema.classes).astype(np.float64)

    def prediction(self, outputs: NDArray[np.float64]) -> Any:
        """The class index with the highest probability."""
        return outputs.argmax(axis=-1)

    def named(self, predictions: Any, schema: Schema) -> Any:
        """The names of classes.

        Examples
        --------
        >>> schema = Schema.of(["age"], classes=["no", "yes"])
        >>> Classification().named(np.array([1, 1, 0]), schema)
        array(['yes', 'yes', 'no'], dtype='<U3')
        """
        return np.asarray(schema.classes)[predictions]

    def measures(self) -> list[Measure]:
        """AUROC, accuracy, Cohen's κ and the logarithmic loss.

        Examples
        --------
        >>> [measure.name for measure in Classification().measures()]
        ['auroc', 'accuracy', 'kappa', 'log_loss']
        """
        return [Auroc(), Accuracy(), Kappa(), LogLoss()]

    def native(self) -> _core.Classification:
        """The task as the core knows it."""
        return _core.Classification()
