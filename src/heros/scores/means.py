"""The built-in scores: running means in the compiled core."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from heros._base import core as _core
from heros._base.errors import ParameterError
from heros._base.parameters import inside_unit, whole
from heros.scores.base import BuiltInScore


@dataclass(frozen=True)
class Adwin(BuiltInScore):
    """The mean over an adaptive window that drops its older part when performance changes.

    ADWIN (Bifet and Gavaldà 2007) as in River and MOA: at most 5 buckets per size, and a test for change on
    every 32nd instance on which the model is evaluated. Memory per model is constant.

    Parameters
    ----------
    delta
        The significance level δ of the test for a difference between the older and the newer part. The
        paper uses 1e-5.
    restart
        Whether to drop the whole window, not only the older part, one instance after a change. River's change
        detector `drift.ADWIN` drops the whole window; MOA and the published algorithm drop only the older
        part.

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
        inside_unit().check(self.delta, "delta", "Adwin")
        if not isinstance(self.restart, bool):
            raise ParameterError.of("restart", "Adwin", "True or False", self.restart)

    def bind(self, models: int) -> _core.Scores:
        return _core.Scores("adwin", _models(models), float(self.delta), bool(self.restart))


@dataclass(frozen=True)
class Cumulative(BuiltInScore):
    """The mean over all instances on which the model was evaluated.

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
        return _core.Scores("cumulative", _models(models), 0.0)


@dataclass(frozen=True)
class Window(BuiltInScore):
    """The mean over the last `size` instances on which the model was evaluated.

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
        return _core.Scores("window", _models(models), float(self.size))

    def expect_room(self, models: int, state: Mapping[str, NDArray[Any]]) -> None:
        if state["ring"].size != self.size * models:
            rule = f"the state of {self.size} instances per model"
            raise ParameterError.of("state", "Window", rule, state["ring"].size)


@dataclass(frozen=True)
class Fading(BuiltInScore):
    """A weighted mean: a new outcome multiplies the weights of older ones by `factor` (Gama et al. 2013).

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
        inside_unit().check(self.factor, "factor", "Fading")

    def bind(self, models: int) -> _core.Scores:
        return _core.Scores("fading", _models(models), float(self.factor))


def _models(models: object) -> int:
    return whole(models, "models", "bind", 1, 1 << 20)
