"""The interface of scores, and the calls from the core to scores written in Python."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, NoReturn, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from heros._base import core as _core
from heros._base.errors import HerosError, ParameterError
from heros._base.registry import Part

RULE = "a score, e.g. heros.scores.Adwin()"


class BoundScore(Protocol):
    """The current running performance of M models.

    Files and checkpoints can store the scores if this object has the methods ``state()`` and
    ``restore(state)``. The method ``state()`` returns a mapping from names to arrays of numbers.
    """

    @property
    def values(self) -> ArrayLike:
        """The score L of each model, a finite number, usually in [0, 1]."""
        ...

    def update(self, outcomes: NDArray[np.float64], evaluated: NDArray[np.bool_]) -> None:
        """Update the scores with the outcomes of an instance.

        Parameters
        ----------
        outcomes : (M,)
            The outcome of each model in [0, 1]; NaN for models that were not evaluated.
        evaluated : (M,)
            A mask of the models that were evaluated on the instance: all models if `watch` is "all".
        """
        ...


@runtime_checkable
class Score(Protocol):
    """The interface of a score: any object with the method `bind`.

    Examples
    --------
    A score of your own that forgets fast:

    >>> from heros import Heros, streams
    >>> class Recent:
    ...     def __init__(self, models): self.values = np.zeros(models)
    ...     def update(self, outcomes, evaluated):
    ...         self.values[evaluated] += 0.1 * (outcomes[evaluated] - self.values[evaluated])
    >>> class Forgetful:
    ...     def bind(self, models): return Recent(models)
    >>> stream = streams.Agrawal(function=2)
    >>> model = Heros(k=3, score=Forgetful(), seed=1, schema=stream.schema).learn(*stream.draw(200))
    >>> model.scores.shape
    (14,)
    """

    def bind(self, models: int) -> BoundScore:
        """Return the initial scores of a pool with this many models."""
        ...


@dataclass(frozen=True)
class BuiltInScore(Part):
    """A built-in score, compiled or in Python; files and records identify it by its class name."""

    role: ClassVar[str] = "score"

    @abstractmethod
    def bind(self, models: int) -> BoundScore:
        """Return the initial scores of a pool with this many models."""

    def __call__(self, *given: object, **named: object) -> NoReturn:
        """Raise an error, because `score` is not a method ``model.score(X, y)`` as in other libraries."""
        raise HerosError(
            "The 'score' of Heros is the running score of its models, not a method. To measure a model, use "
            "heros.evaluate(model, stream) or heros.integrations.sklearn.HerosClassifier.score(X, y)."
        )

    def expect_room(self, models: int, state: Mapping[str, NDArray[Any]]) -> None:
        """Before memory is allocated, raise an error if a state is too small for this number of models."""
        return


class ScoreCalls:
    """The callbacks for a score written in Python; the values of the score are checked."""

    def __init__(self, score: object, bound: BoundScore, models: int) -> None:
        self.score, self.bound, self.models = score, bound, models

    def values(self) -> NDArray[np.float64]:
        """Return the score L of each model."""
        rule = f"a finite number for each of {self.models} models"
        try:
            values = np.array(self.bound.values, dtype=np.float64)
        except (TypeError, ValueError, OverflowError):
            values = np.empty(0)
        if values.shape != (self.models,) or not np.isfinite(values).all():
            raise ParameterError(
                f"The score {self.score!r} must have {rule}. Got {self.bound.values!r} instead."
            )
        return values

    def update(self, outcomes: NDArray[np.float64], evaluated: NDArray[np.bool_]) -> None:
        """Pass the outcomes of an instance to the score."""
        self.bound.update(outcomes, evaluated)

    def state(self) -> dict[str, NDArray[Any]]:
        """Return the state of the score, for a file."""
        if not (hasattr(self.bound, "state") and hasattr(self.bound, "restore")):
            raise HerosError(
                f"The score {self.score!r} cannot be saved, because the object returned by its bind() "
                "lacks state() or restore(). Save the model with pickle instead."
            )
        return {name: np.asarray(array) for name, array in self.bound.state().items()}

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Restore the state that `state` returned."""
        self.bound.restore(state)  # type: ignore[attr-defined]


def expect_score(score: object, owner: str) -> None:
    """Raise an error unless the object is a score; a class of scores is rejected, too."""
    if not isinstance(score, Score) or isinstance(score, type):
        raise ParameterError.of("score", owner, RULE, score)


def bound_score(score: Score, models: int) -> _core.Scores | ScoreCalls:
    """Return the score for this number of models, as an object that the core can call."""
    try:
        bound = score.bind(models)
    except TypeError as error:  # `bind` has another signature
        raise ParameterError.of("score", "Heros", f"{RULE} (bind(models) raised: {error})", score) from error
    if isinstance(bound, _core.Scores):
        return bound
    if not callable(getattr(bound, "update", None)) or not hasattr(bound, "values"):
        rule = "a score whose bind(models) returns an object with 'update' and 'values'"
        raise ParameterError.of("score", "Heros", rule, bound)
    calls = ScoreCalls(score, bound, models)
    calls.values()
    return calls
