"""What a service has seen so far: how good its answers were, what was trained, where things got worse."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heros.errors import DataError
from heros.measures import Measure
from heros.run.curves import Points
from heros.scores import Adwin

__all__ = ["History", "Worse"]

MOST_POINTS = 240
MOST_DRIFTS = 50
DELTA = 0.002  # how unlikely a change must be to be marked
CHECKED = 32  # outcomes between two looks for one
HELD = 256  # instances that are held before they are counted: windows grow with the stream, this does not
RECENT = 1000.0  # targets that the spread of numbers is taken over
QUIET = 500  # what gets worse again before so many instances is still the same drift


class Nearness:
    """How right numbers are, in [0, 1]: 1 − |error| / (|error| + s), s the deviation of recent targets.

    As `heros.ensemble.task.Regression` has it.

    Examples
    --------
    >>> nearness = Nearness()
    >>> nearness.update(np.array([1.0, 3.0, 3.0]), np.array([[1.0], [2.0], [3.0]])).round(3)
    array([1. , 0.5, 1. ])
    """

    def __init__(self) -> None:
        self._n, self._mean, self._variance = 0.0, 0.0, 0.0

    def update(self, y: NDArray[np.float64], answers: NDArray[np.float64]) -> NDArray[np.float64]:
        """Of targets (n,) and the answers that were given (n, width), each how right it was."""
        errors = np.abs(y - answers[:, 0])
        return np.array([_near(error, self._spread(one)) for one, error in zip(y, errors, strict=True)])

    def _spread(self, target: float) -> float:
        """The deviation of the last thousand targets or so, this one included."""
        self._n = min(self._n + 1.0, RECENT)
        off = target - self._mean
        self._mean += off / self._n
        self._variance = (1 - 1 / self._n) * (self._variance + off * off / self._n)
        return math.sqrt(self._variance)

    def state(self) -> dict[str, NDArray[Any]]:
        """What it knows."""
        return {"moments": np.array([self._n, self._mean, self._variance])}

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Take that back."""
        self._n, self._mean, self._variance = (float(one) for one in state["moments"])


def _near(error: float, spread: float) -> float:
    return spread / (error + spread) if error > 0 else 1.0


class Worse:
    """Notices when answers get worse: ADWIN over how right they were, e.g. hits and misses.

    Examples
    --------
    >>> worse = Worse()
    >>> worse.update(np.ones(500)), worse.update(np.zeros(200))
    (False, True)
    """

    def __init__(self) -> None:
        self._scores = Adwin(DELTA).bind(1)
        self._left, self._width = CHECKED, 0

    def update(self, hits: NDArray[np.float64]) -> bool:
        """Whether they got worse within these, each in [0, 1]."""
        worse = False
        for hit in hits[:, np.newaxis]:
            before = self._scores.values[0] if self._left == 1 else 0.0
            self._scores.update(hit)
            self._left -= 1
            if self._left == 0:
                self._left = CHECKED
                worse |= self._has_shrunk() and bool(self._scores.values[0] < before)
        return worse

    def _has_shrunk(self) -> bool:
        width = int(self._scores.state()["width"][0])
        shrunk, self._width = width < self._width, width
        return shrunk

    def state(self) -> dict[str, NDArray[Any]]:
        """What it knows."""
        return {**self._scores.state(), "left": np.array([self._left]), "last": np.array([self._width])}

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Take that back."""
        kept = dict(state)
        self._left, self._width = int(kept.pop("left")[0]), int(kept.pop("last")[0])
        self._scores.restore(kept)


class History:
    """Curves and figures of the answers whose labels have come, in bounded memory.

    Parameters
    ----------
    measures
        What is measured.
    models
        How many models there are.
    window
        Over how many instances a point of the curves is taken, to begin with: when points are merged, those
        to come are as long.
    numeric
        Whether labels are numbers.
    """

    def __init__(
        self, measures: Iterable[Measure], models: int, window: int = 100, *, numeric: bool = False
    ) -> None:
        self.measures = tuple(measure.bounded() for measure in measures)
        self.window = window
        self.points = Points(
            [measure.name for measure in self.measures],
            MOST_POINTS,
            sums=("spent", "trained"),
            latest=("end", "time"),
        )
        self.drifts: list[int] = []  # the last of them
        self.drift_count = 0
        self.learnt = 0
        self.spent = 0.0
        self._models = models
        self._noticed: int | None = None  # when it last got worse
        self._worse = Worse()
        self._nearness = Nearness() if numeric else None
        self._labels: list[NDArray[Any]] = []
        self._answers: list[NDArray[np.float64]] = []
        self._open()

    def _open(self) -> None:
        self._labels, self._answers, self._held, self._counted = [], [], 0, 0
        self._parts = [measure.fresh() for measure in self.measures]
        self._spent, self._trained = 0.0, np.zeros(self._models)

    def add(
        self,
        y: NDArray[Any],
        answers: NDArray[np.float64],
        chosen: NDArray[np.bool_],
        spent: NDArray[np.float64],
        now: float,
    ) -> None:
        """Count a block: labels (n,), answers (n, width), which models were trained (n, M), Σγ (n,)."""
        start = 0
        while start < len(y):
            part = slice(start, start + self.window - self._held)
            self._add(y[part], answers[part], chosen[part], float(spent[part].sum()))
            if self._held >= self.window:
                self.close(now)
            start = part.stop

    def _add(
        self, y: NDArray[Any], answers: NDArray[np.float64], chosen: NDArray[np.bool_], spent: float
    ) -> None:
        self.learnt += len(y)
        self.spent += spent
        self._labels.append(y)
        self._answers.append(answers)
        self._held += len(y)
        self._spent += spent
        self._trained += chosen.sum(axis=0)
        if self._held - self._counted >= HELD:
            self._count()
        if self._worse.update(self._outcomes(y, answers)):
            if self._noticed is None or self.learnt - self._noticed > QUIET:
                self.drift_count += 1
                self.drifts = [*self.drifts, self.learnt][-MOST_DRIFTS:]
            self._noticed = self.learnt

    def _outcomes(self, y: NDArray[Any], answers: NDArray[np.float64]) -> NDArray[np.float64]:
        """How right each answer was, in [0, 1]."""
        if self._nearness is not None:
            return self._nearness.update(y, answers)
        hits: NDArray[np.bool_] = answers.argmax(axis=1) == y
        return hits.astype(np.float64)

    def close(self, now: float) -> None:
        """Make a point of what was counted since the last one."""
        if self._held == 0:
            return
        self._count()
        figures = {part.name: part.value for part in self._parts}
        for measure, part in zip(self.measures, self._parts, strict=True):
            measure.merge(part)
        held = {"spent": self._spent, "trained": self._trained}
        self.points.add({"end": self.learnt, "time": now, **held, **figures})
        self.window = max(self.window, self.points.curves["end"][0])  # as long as those that were merged
        self._open()

    def _count(self) -> None:
        """Count what is held."""
        if not self._labels:
            return
        width = max(block.shape[1] for block in self._answers)
        y = np.concatenate(self._labels)
        answers = np.concatenate([_wide(block, width) for block in self._answers])
        for part in self._parts:
            part.add(y, answers)
        self._labels, self._answers, self._counted = [], [], self._held

    @property
    def figures(self) -> dict[str, float]:
        """The figures over everything counted in points."""
        return {measure.name: measure.value for measure in self.measures}

    @property
    def lately(self) -> dict[str, float]:
        """The figures of the last point."""
        if len(self.points) == 0:
            return {}
        return {measure.name: self.points.last(measure.name) for measure in self.measures}

    def state(self, now: float) -> dict[str, dict[str, NDArray[Any]]]:
        """All of it as groups of arrays; a point is made of what was counted since the last one."""
        self.close(now)
        return {
            "curves": {
                name: np.asarray(values, np.float64) for name, values in self.points.columns().items()
            },
            "worse": self._worse.state(),
            **({} if self._nearness is None else {"nearness": self._nearness.state()}),
            "counts": {
                "learnt": np.array([self.learnt]),
                "drift_count": np.array([self.drift_count]),
                "spent": np.array([self.spent]),
                "drifts": np.array(self.drifts, dtype=np.int64),
            },
            **{f"measures/{measure.name}": measure.state() for measure in self.measures},
        }

    def restore(self, state: Mapping[str, Mapping[str, NDArray[Any]]]) -> None:
        """Go on from what `state` gave."""
        points = len(state["curves"]["end"])
        for name, like in self.state(0.0)["curves"].items():
            shape = (points, self._models) if name == "trained" and points else (points,)
            if state["curves"][name].shape != shape or state["curves"][name].dtype != like.dtype:
                raise DataError(f"The curve {name!r} must have {points} points. Got others.")
        counts = state["counts"]
        whole = [*counts["learnt"], *counts["drift_count"], *counts["drifts"], *state["curves"]["end"]]
        if (
            not all(0 <= one < 2**62 and one == int(one) for one in whole)
            or (np.diff(state["curves"]["end"]) <= 0).any()
        ):
            raise DataError("Counts must be whole numbers that grow. Got others.")
        self.points.restore(state["curves"])
        self.points.curves["end"] = [int(end) for end in self.points.curves["end"]]
        self._worse.restore(state["worse"])
        if self._nearness is not None:
            self._nearness.restore(state["nearness"])
        self.learnt, self.drift_count = int(counts["learnt"][0]), int(counts["drift_count"][0])
        self.spent = float(counts["spent"][0])
        self.drifts = [int(at) for at in counts["drifts"]]
        self._noticed = self.drifts[-1] if self.drifts else None
        for measure in self.measures:
            measure.restore(state[f"measures/{measure.name}"])


def _wide(block: NDArray[np.float64], width: int) -> NDArray[np.float64]:
    """The answers, with no probability for classes that nobody knew then."""
    missing = width - block.shape[1]
    return block if missing == 0 else np.pad(block, ((0, 0), (0, missing)))
