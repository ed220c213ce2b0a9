"""Measures of how probabilities rank instances: exact from all of them, or from a histogram."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from heros.errors import DataError, ParameterError
from heros.measures.base import Measure, State, expect_array, expect_same
from heros.measures.checks import expect_answers
from heros.measures.predictions import Predicted, joined

__all__ = ["Ranked"]


class Running(Protocol):
    """A figure from a histogram."""

    counts: NDArray[np.int64]

    @property
    def value(self) -> float:
        """The figure."""
        ...

    def update(self, y: NDArray[np.int64], probabilities: NDArray[np.float64], /) -> None:
        """Count instances."""
        ...

    def merge(self, other: Any, /) -> None:
        """Count what another one has counted."""
        ...

    def restore(self, state: State, owner: str, /) -> None:
        """Go on from the counts of a state."""
        ...


class Ranked(Measure):
    """A figure of the order into which probabilities bring instances.

    Parameters
    ----------
    exact
        Whether all probabilities are kept (8 bytes per class and instance). If not, the figure comes from
        a histogram of log-odds in constant memory; that of a window is exact all the same.
    """

    def __init__(self, exact: bool = True) -> None:
        if not isinstance(exact, bool | np.bool_):
            raise ParameterError.of("exact", type(self).__name__, "True or False", exact)
        self.exact = bool(exact)
        self.note = "" if exact else "from a histogram"
        self.predictions: list[Predicted] | None = [] if exact else None
        self._running = self._histogram()

    @staticmethod
    @abstractmethod
    def _figure(y: NDArray[np.int64], probabilities: NDArray[np.float64]) -> float:
        """The exact figure."""

    @staticmethod
    @abstractmethod
    def _histogram() -> Running:
        """An empty histogram."""

    def update(self, y: NDArray[np.int64], output: NDArray[np.float64]) -> None:
        """Count labels (n,) and the probabilities (n, classes) given before they were seen."""
        if self.predictions is None:
            self._running.update(y, output)
        else:
            y, output = expect_answers(y, output, type(self).__name__)
            self.predictions.append((y.copy(), output.copy()))

    def add(self, y: NDArray[np.int64], output: NDArray[np.float64]) -> float:
        """Count a stretch of the stream, and give the exact figure over it alone. The arrays are kept."""
        figure = self._figure(y, output)
        if self.predictions is None:
            self._running.update(y, output)
        else:
            self.predictions.append((y, output))
        return figure

    @property
    def value(self) -> float:
        """The figure over everything counted; NaN if no class has instances of both kinds."""
        return self._running.value if self.predictions is None else self._figure(*joined(self.predictions))

    @property
    def error(self) -> float:
        """The exact figure is at most this far away."""
        error: float = 0.0 if self.exact else self._running.error  # type: ignore[attr-defined]
        return error

    def state(self) -> dict[str, NDArray[Any]]:
        """All labels and probabilities, or the histogram."""
        if self.predictions is None:
            return {"counts": self._running.counts}
        labels, probabilities = joined(self.predictions)
        return {"labels": labels, "probabilities": probabilities}

    def restore(self, state: State) -> None:
        """Go on from what `state` gave."""
        owner = type(self).__name__
        if self.predictions is None:
            self._running.restore(state, owner)
            return
        labels = expect_array(state, "labels", np.int64, (None,), owner)
        probabilities = expect_array(state, "probabilities", np.float64, (None, None), owner)
        if len(labels) != len(probabilities):
            raise DataError(f"The state of {owner} must have as many labels as probabilities. Got others.")
        self.predictions = [expect_answers(labels, probabilities, owner)]

    def merge(self, other: Ranked) -> None:
        """Count what another one has counted. A running one takes in an exact one, but not the reverse."""
        expect_same(self, other)
        if self.predictions is None:
            if other.predictions is None:
                self._running.merge(other._running)
            for part in other.predictions or ():
                self._running.update(*part)
        elif other.predictions is None:
            raise ParameterError.of("other", f"{type(self).__name__}.merge", "exact, as this one is", other)
        else:
            self.predictions += other.predictions

    def fresh(self) -> Ranked:
        """An empty one of the same settings."""
        return type(self)(self.exact)

    def bounded(self) -> Ranked:
        """An empty one that counts in a histogram."""
        return type(self)(exact=False)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({'' if self.exact else 'exact=False'})"
