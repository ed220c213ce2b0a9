"""Tasks, which define the kind of target, the outputs of a model and the default measures."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from heros._base import core as _core
from heros._base.errors import ParameterError
from heros._base.parameters import inside_unit
from heros._base.registry import Part, parts
from heros.data.check import class_indices, target_numbers
from heros.data.schema import Schema
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

__all__ = ["Classification", "Regression", "Task", "task_of"]


@dataclass(frozen=True)
class Task(Part, ABC):
    """The base class of all tasks."""

    role: ClassVar[str] = "task"
    numeric: ClassVar[bool] = False
    """Whether the target is a number."""

    @abstractmethod
    def width(self, schema: Schema) -> int:
        """Return the number of outputs of the ensemble per instance."""

    @abstractmethod
    def targets(self, y: ArrayLike, n: int, schema: Schema) -> NDArray[np.float64]:
        """Return the targets (n,) as numbers; raise a DataError that names the first invalid target."""

    @abstractmethod
    def prediction(self, outputs: NDArray[np.float64]) -> Any:
        """Return the predicted targets for outputs (..., width)."""

    def named(self, predictions: Any, schema: Schema) -> Any:
        """Return predictions with class indices replaced by class names; numbers are not changed."""
        return predictions

    @abstractmethod
    def measures(self) -> list[Measure]:
        """Return the default measures, without any data."""

    @abstractmethod
    def native(self) -> _core.Task:
        """Return the compiled task, which turns an output and a target into an outcome in [0, 1]."""


@dataclass(frozen=True)
class Classification(Task):
    """Classification. Outputs are class probabilities; an outcome is 1 for a correct prediction, else 0.

    Parameters
    ----------
    level
        The share of the prediction sets (`Heros.predict_set`) that should contain the true class; None means
        no sets. The threshold is computed from the probabilities of the true classes of the last 1000
        instances (conformal prediction). The level is adjusted according to the coverage so far (Gibbs and
        Candès 2021).

    Examples
    --------
    >>> schema = Schema.of(["age"], classes=["no", "yes"])
    >>> Classification().targets([0, 1, 2], 3, schema)
    Traceback (most recent call last):
        ...
    heros.DataError: The label of row 2 must be a class index in [0, 1]. Got 2 instead.
    >>> int(Classification().prediction(np.array([0.3, 0.7])))
    1
    """

    level: float | None = None

    def __post_init__(self) -> None:
        if self.level is not None:
            object.__setattr__(self, "level", inside_unit().check(self.level, "level", "Classification"))

    def width(self, schema: Schema) -> int:
        return schema.n_classes

    def targets(self, y: ArrayLike, n: int, schema: Schema) -> NDArray[np.float64]:
        return class_indices(y, n, schema.classes).astype(np.float64)

    def prediction(self, outputs: NDArray[np.float64]) -> Any:
        return outputs.argmax(axis=-1)

    def named(self, predictions: Any, schema: Schema) -> Any:
        return np.asarray(schema.classes)[predictions]

    def measures(self) -> list[Measure]:
        return [Auroc(), Accuracy(), Kappa(), LogLoss()]

    def native(self) -> _core.Classification:
        return _core.Classification(self.level or 0.0)


@dataclass(frozen=True)
class Regression(Task):
    """Regression, the prediction of a number.

    Each model predicts in the unit of the target. The ensemble adds a prediction interval and, as a
    reference, the running mean of the targets. The outcome of a prediction is 1 − |error| / (|error| + s).
    Here s is the standard deviation of about the last 1000 targets, including the current target. The outcome
    is 1 for an exact prediction, 1/2 for an error of s, and approaches 0 for larger errors. A model's score L
    is the running mean of its outcomes. For example, a score of 0.8 corresponds to a typical error of s/4.
    ADWIN detects changes in these outcomes, that is, errors that grow relative to the spread of the target.

    Perceptrons and linear models are trained on the standardised target: its distance from the running mean
    in running standard deviations. When the mean or the deviation has changed by a tenth, the weights are
    rescaled to keep the predictions the same. Distances are limited to ten standard deviations.

    Parameters
    ----------
    level
        The share of targets that the prediction interval should contain. The width is computed from the last
        1000 errors (conformal prediction). The level is adjusted according to the coverage so far (Gibbs and
        Candès 2021). `heros.measures.Coverage` measures the coverage. The first prediction is 0, because no
        target is known yet. The measures include the error of this prediction, but the intervals do not.

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
        object.__setattr__(self, "level", inside_unit().check(self.level, "level", "Regression"))

    def width(self, schema: Schema) -> int:
        """Return 4: the prediction, the two ends of its interval, and the running mean of the targets."""
        return 4

    def targets(self, y: ArrayLike, n: int, schema: Schema) -> NDArray[np.float64]:
        return target_numbers(y, n)

    def prediction(self, outputs: NDArray[np.float64]) -> Any:
        return outputs[..., 0]

    def measures(self) -> list[Measure]:
        return [RMSE(), MAE(), R2(), RelativeError(), Coverage(), IntervalWidth()]

    def native(self) -> _core.Regression:
        return _core.Regression(self.level)


def task_of(task: object) -> Task:
    """Return the task; the parameter `task` is a task or the name of a task.

    Examples
    --------
    >>> task_of("ranking")
    Traceback (most recent call last):
        ...
    heros.ParameterError: The 'task' parameter of Heros must be 'classification', 'regression'
    or a task object. Got 'ranking' instead.
    """
    if isinstance(task, Task):
        return task
    named = {name.lower(): kind for name, kind in parts("task").items()}
    if not isinstance(task, str) or task not in named:
        names = ", ".join(map(repr, sorted(named)))
        raise ParameterError.of("task", "Heros", f"{names} or a task object", task)
    made: Task = named[task]()
    return made
