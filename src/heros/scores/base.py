"""What a score is, and how one written in Python reaches the compiled core."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from heros._base import core as _core
from heros._base.registry import Part
from heros.errors import HerosError, ParameterError

__all__ = ["BoundScore", "BuiltInScore", "Score", "ScoreCalls", "bound_score", "expect_score"]

RULE = "a score, e.g. heros.scores.Adwin()"


class BoundScore(Protocol):
    """The running performance of M models, as it is now.

    If it has ``state()``, a mapping of names to arrays of numbers, and ``restore(state)``, files and
    checkpoints keep it.
    """

    @property
    def values(self) -> ArrayLike:
        """L: a finite number per model, in [0, 1] if nothing speaks against it."""
        ...

    def update(self, outcomes: NDArray[np.float64], looked: NDArray[np.bool_]) -> None:
        """Take what an instance showed of the models.

        Parameters
        ----------
        outcomes : (M,)
            How right each model was, in [0, 1]; NaN for one that did not look.
        looked : (M,)
            Which models looked at the instance: all, unless `Heros` watches only some of them.
        """
        ...


@runtime_checkable
class Score(Protocol):
    """How the running performance is kept. Anything with this one method is a score.

    Examples
    --------
    A score of your own, here one that forgets fast:

    >>> from heros import Heros, streams
    >>> class Recent:
    ...     def __init__(self, models): self.values = np.zeros(models)
    ...     def update(self, outcomes, looked):
    ...         self.values[looked] += 0.1 * (outcomes[looked] - self.values[looked])
    >>> class Forgetful:
    ...     def bind(self, models): return Recent(models)
    >>> stream = streams.Agrawal(function=2)
    >>> model = Heros(k=3, score=Forgetful(), seed=1, schema=stream.schema).learn(*stream.draw(200))
    >>> model.scores.shape
    (11,)
    """

    def bind(self, models: int) -> BoundScore:
        """Scores for so many models, of which nothing is known yet."""
        ...


@dataclass(frozen=True)
class BuiltInScore(Part):
    """A score of HEROS's own, which files and records know by its class: compiled, or in Python."""

    role: ClassVar[str] = "score"

    @abstractmethod
    def bind(self, models: int) -> BoundScore:
        """Scores for so many models."""

    def expect_room(self, models: int, state: Mapping[str, NDArray[Any]]) -> None:
        """Refuse a state that is too small for so many models, before memory is taken for them."""
        return


class ScoreCalls:
    """What the core calls to keep a score written in Python; what that says is checked."""

    def __init__(self, score: object, bound: BoundScore, models: int) -> None:
        self.score, self.bound, self.models = score, bound, models

    def values(self) -> NDArray[np.float64]:
        """L of every model."""
        rule = f"a finite number for each of {self.models} models"
        try:
            values = np.array(self.bound.values, dtype=np.float64)
        except (TypeError, ValueError, OverflowError):
            values = np.empty(0)
        if values.shape != (self.models,) or not np.isfinite(values).all():
            raise ParameterError(
                f"The score {self.score!r} must keep {rule}. Got {self.bound.values!r} instead."
            )
        return values

    def update(self, outcomes: NDArray[np.float64], looked: NDArray[np.bool_]) -> None:
        """Hand on what an instance showed."""
        self.bound.update(outcomes, looked)

    def state(self) -> dict[str, NDArray[Any]]:
        """What it has learnt, for a file."""
        if not (hasattr(self.bound, "state") and hasattr(self.bound, "restore")):
            raise HerosError(
                f"A file keeps the score {self.score!r} only if what it binds has state() and restore(): "
                f"keep the model with pickle."
            )
        return {name: np.asarray(array) for name, array in self.bound.state().items()}

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Take back what `state` gave."""
        self.bound.restore(state)  # type: ignore[attr-defined]


def expect_score(score: object, owner: str) -> None:
    """Refuse what is not a score. A class is none: its objects are."""
    if not isinstance(score, Score) or isinstance(score, type):
        raise ParameterError.of("score", owner, RULE, score)


def bound_score(score: Score, models: int) -> _core.Scores | ScoreCalls:
    """The score for so many models, as the core takes it."""
    try:
        bound = score.bind(models)
    except TypeError as error:  # something else with a method of that name
        raise ParameterError.of("score", "Heros", f"{RULE} (its bind(models): {error})", score) from error
    if isinstance(bound, _core.Scores):
        return bound
    if not callable(getattr(bound, "update", None)) or not hasattr(bound, "values"):
        rule = "a score, whose bind(models) gives an object with 'update' and 'values'"
        raise ParameterError.of("score", "Heros", rule, bound)
    calls = ScoreCalls(score, bound, models)
    calls.values()
    return calls
