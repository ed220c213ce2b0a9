"""Means that are kept in the compiled core."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from heros._base import core as _core
from heros._base.parameters import number, whole
from heros.errors import ParameterError
from heros.scores.base import BuiltInScore

__all__ = ["Adwin", "Cumulative", "Fading", "Window"]


@dataclass(frozen=True)
class Adwin(BuiltInScore):
    """The mean over an adaptive window, which forgets its older part when performance changes.

    ADWIN (Bifet and Gavaldà 2007) as River and MOA define it: at most 5 buckets per size, a look for a
    change every 32 instances that the model looked at. Constant memory per model.

    Parameters
    ----------
    delta
        δ: how unlikely a difference between the older and the newer part must be to forget the older
        one. The paper has 1e-5.
    restart
        Whether to forget everything, not just the older part, one instance after a change. River's
        `drift.ADWIN` does so (it is a detector of changes first); MOA's and the published algorithm
        do not, and neither does River's own window below that class.

    Examples
    --------
    >>> import numpy as np
    >>> scores = Adwin().bind(2)
    >>> for hit in [1, 1, 0, 1]:
    ...     scores.update(np.array([hit, 0.0]))
    >>> scores.values
    array([0.75, 0.  ])
    """

    delta: float = 1e-5
    restart: bool = False

    def __post_init__(self) -> None:
        if not 0 < number(self.delta, "delta", "Adwin", 0, 1) < 1:
            raise ParameterError.of("delta", "Adwin", "in (0, 1)", self.delta)
        if not isinstance(self.restart, bool):
            raise ParameterError.of("restart", "Adwin", "True or False", self.restart)

    def bind(self, models: int) -> _core.Scores:
        """Scores for so many models."""
        return _core.Scores("adwin", _models(models), float(self.delta), bool(self.restart))


@dataclass(frozen=True)
class Cumulative(BuiltInScore):
    """The mean over everything that the model has looked at.

    Examples
    --------
    >>> import numpy as np
    >>> scores = Cumulative().bind(1)
    >>> for hit in [1, 0, 0, 0]:
    ...     scores.update(np.array([float(hit)]))
    >>> scores.values
    array([0.25])
    """

    def bind(self, models: int) -> _core.Scores:
        """Scores for so many models."""
        return _core.Scores("cumulative", _models(models), 0.0)


@dataclass(frozen=True)
class Window(BuiltInScore):
    """The mean over the last `size` instances that the model looked at.

    Examples
    --------
    >>> import numpy as np
    >>> scores = Window(2).bind(1)
    >>> for hit in [1, 0, 0]:
    ...     scores.update(np.array([float(hit)]))
    >>> scores.values
    array([0.])
    """

    size: int = 1000

    def __post_init__(self) -> None:
        whole(self.size, "size", "Window", 1, 1 << 24)

    def bind(self, models: int) -> _core.Scores:
        """Scores for so many models."""
        return _core.Scores("window", _models(models), float(self.size))

    def expect_room(self, models: int, state: Mapping[str, NDArray[Any]]) -> None:
        """Refuse a state that is too small for so many models, before memory is taken for them."""
        if state["ring"].size != self.size * models:
            raise ParameterError.of("state", "Window", f"one of {self.size} instances", state["ring"].size)


@dataclass(frozen=True)
class Fading(BuiltInScore):
    """The mean with weights that fade by `factor` per instance that the model looked at (Gama et al. 2013).

    Examples
    --------
    >>> import numpy as np
    >>> scores = Fading(0.5).bind(1)
    >>> for hit in [1, 0]:
    ...     scores.update(np.array([float(hit)]))
    >>> scores.values.round(3)
    array([0.333])
    """

    factor: float = 0.999

    def __post_init__(self) -> None:
        if not 0 < number(self.factor, "factor", "Fading", 0, 1) < 1:
            raise ParameterError.of("factor", "Fading", "in (0, 1)", self.factor)

    def bind(self, models: int) -> _core.Scores:
        """Scores for so many models."""
        return _core.Scores("fading", _models(models), float(self.factor))


def _models(models: object) -> int:
    return whole(models, "models", "bind", 1, 1 << 20)
