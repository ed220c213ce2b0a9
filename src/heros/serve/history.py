"""The history of a service: the performance of its predictions, the trained models, and drifts."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heros._base.errors import DataError
from heros.measures import Measure
from heros.measures.base import joined
from heros.run.baselines import Baselines
from heros.run.curves import Points
from heros.scores import Adwin

MOST_POINTS = 240
MOST_DRIFTS = 50
DELTA = 0.002  # significance level of a drift
CHECKED = 32  # number of predictions between two drift checks
HELD = 256  # instances that are buffered before they are added to the measures; windows may be longer
RECENT = 1000.0  # number of recent targets from which the standard deviation is computed
QUIET = 500  # a change within this many instances after a drift belongs to the same drift
COUNTS = ("learnt", "drift_count", "spent", "window")


class Nearness:
    """A score in [0, 1] for numeric predictions, which is 1 for an error of 0.

    The score is 1 − |error| / (|error| + s), where s is the standard deviation of recent targets, as
    in `heros.ensemble.task.Regression`.

    Examples
    --------
    >>> nearness = Nearness()
    >>> nearness.update(np.array([1.0, 3.0, 3.0]), np.array([[1.0], [2.0], [3.0]])).round(3)
    array([1. , 0.5, 1. ])
    """

    def __init__(self) -> None:
        self._n, self._mean, self._variance = 0.0, 0.0, 0.0

    def update(self, y: NDArray[np.float64], answers: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the score of each prediction, for targets of shape (n,) and predictions (n, width)."""
        scores = []
        for target, error in zip(y, np.abs(y - answers[:, 0]), strict=True):
            self._n = min(self._n + 1.0, RECENT)
            off = target - self._mean
            self._mean += off / self._n
            self._variance = (1 - 1 / self._n) * (self._variance + off * off / self._n)
            spread = math.sqrt(self._variance)
            scores.append(spread / (error + spread) if error > 0 else 1.0)
        return np.array(scores)

    def state(self) -> dict[str, NDArray[Any]]:
        """Return the state as arrays."""
        return {"moments": np.array([self._n, self._mean, self._variance])}

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Restore the arrays that `state` returned."""
        n, mean, variance = (float(one) for one in state["moments"])
        if not (0 <= n <= RECENT and 0 <= variance < math.inf and math.isfinite(mean)):
            raise DataError("The moments of targets must be finite, and their variance must not be negative.")
        self._n, self._mean, self._variance = n, mean, variance


class Worse:
    """A drift detector: ADWIN over the scores of predictions, such as 1 for correct and 0 for wrong.

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
        """Add scores in [0, 1]; return whether the predictions have become worse."""
        worse = False
        for hit in hits[:, np.newaxis]:
            before = self._scores.values[0] if self._left == 1 else 0.0
            self._scores.update(hit)
            self._left -= 1
            if self._left == 0:
                self._left, width = CHECKED, int(self._scores.state()["width"][0])
                worse |= width < self._width and bool(self._scores.values[0] < before)
                self._width = width
        return worse

    def state(self) -> dict[str, NDArray[Any]]:
        """Return the state as arrays."""
        return {**self._scores.state(), "left": np.array([self._left]), "last": np.array([self._width])}

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Restore the arrays that `state` returned."""
        kept = dict(state)
        self._left, self._width = int(kept.pop("left")[0]), int(kept.pop("last")[0])
        self._scores.restore(kept)


class History:
    """The measures of predictions whose labels have arrived, in total and as curves, in bounded memory.

    Parameters
    ----------
    measures
        The measures.
    models
        The number of models.
    window
        The initial number of instances per point of the curves. After points are merged, each new point
        covers as many instances as one merged point.
    numeric
        Whether the labels are numbers.
    watched
        Whether to detect drifts in the error; not needed for a single model, which detects drifts itself.
    """

    def __init__(
        self,
        measures: Iterable[Measure],
        models: int,
        window: int = 100,
        *,
        numeric: bool = False,
        watched: bool = False,
    ) -> None:
        self.measures = tuple(measure.bounded() for measure in measures)
        self.window = window
        names = [measure.name for measure in self.measures]
        self.points = Points(names, MOST_POINTS, sums=("spent", "trained"), latest=("end", "time"))
        self.drifts: list[int] = []  # the most recent drifts
        self.drift_count = self.learnt = 0
        self.spent, self._models = 0.0, models
        self._noticed: int | None = None  # position of the last detected drift
        self._worse = Worse() if watched else None
        self._nearness = Nearness() if watched and numeric else None
        self._baselines = Baselines(numeric)
        self._open()

    def _open(self) -> None:
        self._buffer: list[tuple[NDArray[Any], NDArray[np.float64]]] = []  # labels and predictions
        self._held = self._counted = 0
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
        """Add a block: labels (n,), predictions (n, width), trained models (n, M) and training costs (n,)."""
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
        self._buffer.append((y, answers))
        self._held += len(y)
        self._spent += spent
        self._trained += chosen.sum(axis=0)
        if self._held - self._counted >= HELD:
            self._count()
        if self._worse is None:
            return
        if self._nearness is None:
            outcomes = (answers.argmax(axis=1) == y).astype(np.float64)
        else:
            outcomes = self._nearness.update(y, answers)
        if self._worse.update(outcomes):
            if self._noticed is None or self.learnt - self._noticed > QUIET:
                self.drift_count += 1
                self.drifts = [*self.drifts, self.learnt][-MOST_DRIFTS:]
            self._noticed = self.learnt

    def close(self, now: float) -> None:
        """Add a point to the curves for the instances since the last point."""
        if self._held == 0:
            return
        self._count()
        figures = {part.name: part.value for part in self._parts}
        for measure, part in zip(self.measures, self._parts, strict=True):
            measure.merge(part)
        held = {"spent": self._spent, "trained": self._trained}
        self.points.add({"end": self.learnt, "time": now, **held, **figures})
        self.window = max(self.window, self.points.curves["end"][0])  # the length of merged points
        self._open()

    def _count(self) -> None:
        if not self._buffer:
            return
        y, answers = joined(self._buffer)
        self._baselines.update(y)
        for part in self._parts:
            part.add(y, answers)
        self._buffer, self._counted = [], self._held

    @property
    def figures(self) -> dict[str, float]:
        """The values of the measures over all instances, including those after the last recorded point."""
        return {
            measure.name: self._with_open(measure, part).value if self._held else measure.value
            for measure, part in zip(self.measures, self._parts, strict=True)
        }

    def _with_open(self, measure: Measure, part: Measure) -> Measure:
        """Return a copy of a measure that also covers the instances since the last point."""
        total = measure.fresh()
        total.merge(measure)
        total.merge(part)
        if self._buffer:
            total.add(*joined(self._buffer))
        return total

    @property
    def baselines(self) -> dict[str, dict[str, float]]:
        """The measures of simple predictors: the majority class or the mean, and the previous label."""
        return self._baselines.figures()

    @property
    def lately(self) -> dict[str, float]:
        """The values of the measures at the last point; empty if there is no point."""
        if len(self.points) == 0:
            return {}
        return {measure.name: self.points.last(measure.name) for measure in self.measures}

    def state(self) -> dict[str, dict[str, NDArray[Any]]]:
        """Return the state as groups of arrays, including the instances after the last recorded point."""
        self._count()
        counts = {name: np.array([getattr(self, name)]) for name in COUNTS}
        return {
            "curves": {name: np.asarray(curve, np.float64) for name, curve in self.points.columns().items()},
            **({} if self._worse is None else {"worse": self._worse.state()}),
            "baselines": self._baselines.state(),
            **({} if self._nearness is None else {"nearness": self._nearness.state()}),
            "counts": counts | {"drifts": np.array(self.drifts, dtype=np.int64)},
            "open": {"spent": np.array([self._spent]), "trained": self._trained},
            **{f"open/{part.name}": part.state() for part in self._parts},
            **{f"measures/{measure.name}": measure.state() for measure in self.measures},
        }

    def restore(self, state: Mapping[str, Mapping[str, NDArray[Any]]]) -> None:
        """Restore the groups of arrays that `state` returned."""
        points = len(state["curves"]["end"])
        for name, like in self.state()["curves"].items():
            shape = (points, self._models) if name == "trained" and points else (points,)
            if state["curves"][name].shape != shape or state["curves"][name].dtype != like.dtype:
                raise DataError(f"The curve {name!r} must have {points} points of type {like.dtype}.")
        counts, ends = state["counts"], state["curves"]["end"]
        whole = [*counts["learnt"], *counts["drift_count"], *counts["drifts"], *ends]
        if not all(0 <= one < 2**62 and one == int(one) for one in whole) or (np.diff(ends) <= 0).any():
            raise DataError("The instance counts of the curves must be increasing whole numbers.")
        self.points.restore(state["curves"])
        self.points.curves["end"] = [int(end) for end in self.points.curves["end"]]
        self._restore_open(state)
        if self._worse is not None:
            self._worse.restore(state["worse"])
        self._baselines.restore(state["baselines"])
        if self._nearness is not None:
            self._nearness.restore(state["nearness"])
        self.learnt, self.drift_count = int(counts["learnt"][0]), int(counts["drift_count"][0])
        self.spent = float(counts["spent"][0])
        self.drifts = [int(at) for at in counts["drifts"]]
        self._noticed = self.drifts[-1] if self.drifts else None
        for measure in self.measures:
            measure.restore(state[f"measures/{measure.name}"])

    def _restore_open(self, state: Mapping[str, Mapping[str, NDArray[Any]]]) -> None:
        window = int(state["counts"]["window"][0])
        held = int(state["counts"]["learnt"][0]) - (self.points.last("end") if len(self.points) else 0)
        spent, trained = state["open"]["spent"], state["open"]["trained"]
        if not 0 <= held < window < 2**62:
            raise DataError("The number of instances since the last point must be smaller than the window.")
        if trained.shape != (self._models,) or not np.isfinite([*spent, *trained]).all():
            raise DataError("The costs and training steps since the last point must be finite numbers.")
        self._open()
        self.window, self._held, self._counted = window, held, held
        self._spent, self._trained = float(spent[0]), trained.astype(np.float64)
        for part in self._parts:
            part.restore(state[f"open/{part.name}"])
