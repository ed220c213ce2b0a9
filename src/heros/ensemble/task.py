"""What is learnt: the target, the form of a model's output, and what is made of both."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from heros._base import core as _core
from heros._base.parameters import number
from heros._base.registry import Part, parts
from heros.data.check import class_indices, target_numbers
from heros.data.schema import Schema
from heros.errors import ParameterError
from heros.measures import (
    MAE,
    R2,
    RMSE,
    Accuracy,
    Auroc,
    Coverage,
    IntervalWidth,
    Kappa,
    LogLoss,
    Measure,
    RelativeError,
)

if TYPE_CHECKING:
    from heros.measures import Measure

__all__ = ["Classification", "Regression", "Task", "task_of"]


@dataclass(frozen=True)
class Task(Part, ABC):
    """What is learnt: the base of all tasks."""

    role: ClassVar[str] = "task"
    numeric: ClassVar[bool] = False
    """Whether the target is a number."""

    @abstractmethod
    def width(self, schema: Schema) -> int:
        """How many numbers the ensemble says of an instance."""

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

    Parameters
    ----------
    level
        The share of classes that the sets of `Heros.predict_set` are to hold; None for no sets. A class is in
        a set if its probability is not lower than the classes of the last 1000 instances had (conformal
        prediction), with a level that is corrected by how often the sets held (Gibbs and Candès 2021).

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

    level: float | None = None

    def __post_init__(self) -> None:
        if self.level is not None:
            object.__setattr__(self, "level", _level(self.level, "Classification"))

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
        return _core.Classification(self.level or 0.0)


@dataclass(frozen=True)
class Regression(Task):
    """A number.

    A model says what it is, in its own unit; the ensemble adds the two ends of an interval and, to compare
    with, the running mean of the targets. An outcome, of which a model's score L is the running mean, is 1 −
    |error| / (|error| + s): 1 if the model says what the target is, 1/2 if it is off by s, towards 0
    beyond. s is the standard deviation of recent targets (the last thousand or so, the one at hand included).
    ADWIN sees a change where these outcomes change: a model that has become worse than it was, in units of
    what the target varies by. A score of 0.8 is a typical error of s/4.

    Inside, perceptrons and linear models learn the target in standard deviations from its mean, both running;
    when these have moved by a tenth, weights are taken over into the new unit, so that answers stay what they
    were. A target more than ten standard deviations off is learnt as one that is ten off.

    Parameters
    ----------
    level
        The share of targets that an answer's interval is to hold. It is as wide as the last 1000 errors ask
        for (conformal prediction), with a level that is corrected by how often it held (Gibbs and Candès
        2021); measures tell how often that was (`heros.measures.Coverage`). The first answer, before any
        target was seen, is 0 and counts as an error like every other, but not for the intervals.

    Examples
    --------
    >>> from heros import Heros, streams
    >>> stream = streams.Friedman().take(2000)
    >>> model = Heros(task="regression", seed=1, schema=stream.schema)
    >>> for X, y in stream.blocks(500):
    ...     block = model.test_then_train(X, y)
    >>> block.outputs.shape, bool(abs(block.outputs[:, 0] - y).mean() < y.std())
    ((500, 4), True)
    """

    numeric: ClassVar[bool] = True

    level: float = 0.9

    def __post_init__(self) -> None:
        object.__setattr__(self, "level", _level(self.level, "Regression"))

    def width(self, schema: Schema) -> int:
        """The answer, the two ends of its interval, the running mean of the targets."""
        return 4

    def targets(self, y: ArrayLike, n: int, schema: Schema) -> NDArray[np.float64]:
        """Finite numbers; a DataError names the first that is none."""
        return target_numbers(y, n)

    def prediction(self, outputs: NDArray[np.float64]) -> Any:
        """The answer.

        Examples
        --------
        >>> float(Regression().prediction(np.array([3.5, 3.0, 4.0, 1.0])))
        3.5
        """
        return outputs[..., 0]

    def measures(self) -> list[Measure]:
        """RMSE, MAE, R², the error relative to a running mean's, coverage and width of intervals.

        Examples
        --------
        >>> [measure.name for measure in Regression().measures()]
        ['rmse', 'mae', 'r2', 'relative_error', 'coverage', 'interval_width']
        """
        return [RMSE(), MAE(), R2(), RelativeError(), Coverage(), IntervalWidth()]

    def native(self) -> _core.Regression:
        """The task as the core knows it."""
        return _core.Regression(self.level)


def _level(level: object, owner: str) -> float:
    """A share that can be asked for."""
    share = number(level, "level", owner, 0, 1)
    if share in (0.0, 1.0):
        raise ParameterError.of("level", owner, "in (0, 1)", level)
    return share


def task_of(task: object) -> Task:
    """A task, or the one of this name.

    Examples
    --------
    >>> task_of("regression")
    Regression(level=0.9)
    >>> task_of("ranking")
    Traceback (most recent call last):
        ...
    heros.errors.ParameterError: The 'task' parameter of Heros must be a task, 'classification' or
    'regression'. Got 'ranking' instead.
    """
    if isinstance(task, Task):
        return task
    named = {name.lower(): kind for name, kind in parts("task").items()}
    if not isinstance(task, str) or task not in named:
        names = " or ".join(map(repr, sorted(named)))
        raise ParameterError.of("task", "Heros", f"a task, {names}", task)
    made: Task = named[task]()
    return made
