"""Feature importance: how much the predictions depend on each column, now and over time."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heros._base.errors import DataError
from heros._base.extras import needed
from heros._base.tables import Table
from heros.data.schema import Schema

ROWS = 128  # maximum number of instances in the sample
SPACING = 11  # every 11th instance joins the sample, because data rarely has a period of 11
FEWEST = 16  # minimum number of instances in the sample for a measurement
EACH = 289  # instances between two measurements; odd, because a stream may alternate between two sources
AT_ONCE = 8  # number of columns per measurement; the columns take turns
MEMORY = 8  # number of measurements that the running mean of a column covers
MOST = 4000  # maximum number of predictions to measure all columns now, unless there are very many columns
REPEATS = 4  # maximum number of times that such a measurement uses an instance of the sample per column
POINTS = 200  # number of points of the history; when it has twice as many, every second point is dropped
EVERY = 500  # initial number of instances between two points

Predict = Callable[[NDArray[np.float64]], NDArray[np.float64]]


@dataclass(frozen=True)
class Importance:
    """The importance of each column for the predictions, now and over time.

    The importance of a column is the mean squared change of the prediction when the column's value is
    replaced by the value of another recent instance. For classification, the squared changes of all class
    probabilities are added up. If the probabilities are correct, the importance is the increase in the Brier
    score (for regression, in the squared error) when the column is permuted.

    Parameters
    ----------
    columns
        The columns of the source. A date is one column, even if it has several features.
    values
        The importance of each column now (C,); NaN if it was not measured yet.
    end
        The number of instances at each point of the history (P,).
    history
        The importance of each column at the points in `end` (P, C); NaN if it was not measured yet. The last
        point is `values` if `values` was measured now. The other points are means of at most eight
        predictions per column: they show large changes, but a single point is uncertain.

    Examples
    --------
    >>> from heros import Heros, streams
    >>> stream = streams.Agrawal(function=1)
    >>> model = Heros(explainable=True, seed=1, schema=stream.schema).learn(*stream.draw(5000))
    >>> importance = model.importance()
    >>> importance.ranked()[0]
    'age'
    >>> importance.history.shape == (len(importance.end), 9)
    True
    """

    columns: tuple[str, ...]
    values: NDArray[np.float64]
    end: NDArray[np.int64]
    history: NDArray[np.float64]

    def ranked(self) -> list[str]:
        """Return the names of the columns, most important first."""
        return list(self.shares())

    def shares(self) -> dict[str, float]:
        """Return each column's share of the total importance, largest first."""
        values = np.nan_to_num(self.values)
        total, order = values.sum(), np.argsort(-values, kind="stable").tolist()
        return {self.columns[i]: float(values[i] / total) if total > 0 else 0.0 for i in order}

    def to_pandas(self) -> Any:
        """Return the history as a pandas data frame: a row per point, a column per column of the data."""
        pandas = needed("pandas", "Importance.to_pandas", "notebook")
        return pandas.DataFrame(self.history, index=pandas.Index(self.end, name="end"), columns=self.columns)

    def plain(self) -> dict[str, Any]:
        """Return the importance as plain data for JSON; unknown values are None."""
        return {
            "columns": list(self.columns),
            "values": _plain(self.values),
            "end": self.end.tolist(),
            "history": [_plain(point) for point in self.history],
        }

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> Importance:
        """Create an `Importance` from the data that `plain` returned."""
        columns = tuple(plain["columns"])
        history = np.array(plain["history"], dtype=np.float64).reshape(-1, len(columns))
        values = np.array(plain["values"], dtype=np.float64)
        return cls(columns, values, np.array(plain["end"], dtype=np.int64), history)

    def since(self, start: int) -> Importance:
        """Return the importance without the history up to instance `start`, which becomes instance 0."""
        later = self.end > start
        return replace(self, end=self.end[later] - start, history=self.history[later])

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Importance):
            return NotImplemented
        return self.plain() == other.plain()

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        shares = self.shares()
        values = dict(zip(self.columns, self.values, strict=True))
        rows = [[name, values[name], f"{share:.1%}"] for name, share in shares.items()]
        return str(Table(["column", "importance", "share"], rows))


def _plain(values: NDArray[np.float64]) -> list[float | None]:
    return [None if np.isnan(value) else float(value) for value in values]


def columns_of(schema: Schema) -> list[tuple[str, list[int]]]:
    """Return the columns of the source, each with the indices of its features."""
    columns: dict[str, list[int]] = {}
    for i, feature in enumerate(schema.features):
        columns.setdefault(feature.source, []).append(i)
    return list(columns.items())


class RunningImportance:
    """A sample of recent instances, and the running mean of each column's effect on the predictions.

    At regular intervals, an instance is predicted several more times before the model learns from it. For
    each of these predictions, the value of one column is replaced by the value of the same column in an
    instance of the sample. These predictions do not change the models. Only the number of instances
    determines when these predictions are made. The model therefore learns the same with and without the
    measurements.
    """

    def __init__(self, schema: Schema) -> None:
        self.columns = columns_of(schema)
        self.rows = np.empty((0, schema.n_features))  # the sample; if full, the oldest row is replaced
        self.means = np.full(len(self.columns), np.nan)
        self.counts = np.zeros(len(self.columns), dtype=np.int64)  # number of measurements of each column
        self.kept = 0  # number of instances added to the sample so far
        self.turn = 0  # the next column to measure
        self.alarm = 0  # the instance of the last change of the ensemble's error
        self.every = EVERY
        self.end = np.zeros(0, dtype=np.int64)
        self.history = np.empty((0, len(self.columns)))

    def grow(self, schema: Schema) -> None:
        """Switch to an extended schema; new features have missing values in the sample."""
        self.columns = columns_of(schema)
        self.rows = _widened(self.rows, schema.n_features)
        for name in ("means", "counts", "history"):
            setattr(self, name, _widened(getattr(self, name), len(self.columns)))

    def to_predict(self, x: NDArray[np.float64], at: int, alarm: int) -> NDArray[np.float64] | None:
        """Return copies of instance `at`, each with one changed column, or None if the sample is too small.

        `alarm` is the instance at which the error of the ensemble last changed. Measurements before this
        instance are dropped.
        """
        if len(self.rows) < FEWEST:
            return None
        if alarm > self.alarm:
            self.alarm, self.counts = alarm, np.zeros_like(self.counts)
        self._note(at)
        X = np.repeat(x[np.newaxis], AT_ONCE, axis=0)
        for i, column in enumerate(self._turns()):
            features = self.columns[column][1]
            where: Any = features if len(features) > 1 else features[0]  # an integer index is much faster
            X[i, where] = self.rows[_random(at + i) % len(self.rows), where]
        return X

    def _turns(self) -> list[int]:
        return [(self.turn + i) % len(self.columns) for i in range(AT_ONCE)]

    def learn(self, before: NDArray[np.float64], after: NDArray[np.float64]) -> None:
        """Update the means with the predictions for an instance (`before`) and its copies (`after`)."""
        changes = np.square(after - before).sum(axis=1).tolist()
        for column, change in zip(self._turns(), changes, strict=True):
            if math.isfinite(change):
                count = int(self.counts[column]) + 1
                mean = float(self.means[column]) if count > 1 else 0.0
                self.means[column] = mean + (change - mean) / min(count, MEMORY)
                self.counts[column] = count
        self.turn = (self.turn + AT_ONCE) % len(self.columns)

    def add_to_sample(self, X: NDArray[np.float64], at: int) -> None:
        """Add every 11th of these instances to the sample; the first instance is number `at`."""
        rows = X[-at % SPACING :: SPACING]
        free = ROWS - len(self.rows)
        if free > 0:
            self.rows = np.concatenate([self.rows, rows[:free]])
            self.kept, rows = self.kept + len(rows[:free]), rows[free:]
        newest = rows[-ROWS:]
        self.kept += len(rows)
        self.rows[np.arange(self.kept - len(newest), self.kept) % ROWS] = newest

    def _note(self, at: int) -> None:
        """Add a point to the history if the next point is due."""
        last = int(self.end[-1]) if len(self.end) else 0
        if at // self.every == last // self.every or not self.counts.any():
            return
        self.end = np.append(self.end, at)
        self.history = np.concatenate([self.history, self.means[np.newaxis]])
        if len(self.end) == 2 * POINTS:
            self.every *= 2
            self.end, self.history = self.end[1::2], self.history[1::2]

    def result(self, values: NDArray[np.float64] | None = None, at: int = 0) -> Importance:
        """Return the importance, with `values` measured at instance `at` as the last point of the history.

        Without `values`, the importance of each column is its running mean.
        """
        names = tuple(name for name, _ in self.columns)
        if values is None or np.isnan(values).all():
            return Importance(names, self.means.copy(), self.end.copy(), self.history.copy())
        earlier = self.end < at
        end = np.append(self.end[earlier], at)
        return Importance(names, values, end, np.concatenate([self.history[earlier], values[np.newaxis]]))

    def measure(self, predict: Predict) -> NDArray[np.float64]:
        """Return the importance of all columns, measured now; NaN if the sample is too small."""
        if len(self.rows) < FEWEST:
            return np.full(len(self.columns), np.nan)
        share = MOST // len(self.columns)
        rows = self.rows[: max(share, FEWEST)]
        repeats = min(REPEATS, max(share // len(rows), 1))
        before = predict(rows)
        shifts = np.random.default_rng(0).integers(1, len(rows), size=(len(self.columns), repeats)).tolist()
        found = np.empty(len(self.columns))
        for i, (_, features) in enumerate(self.columns):
            X = np.tile(rows, (repeats, 1))
            X[:, features] = np.concatenate([np.roll(rows[:, features], by, axis=0) for by in shifts[i]])
            changes = np.square(predict(X) - np.tile(before, (repeats, 1))).sum(axis=1)
            found[i] = changes[np.isfinite(changes)].mean() if np.isfinite(changes).any() else np.nan
        return found

    def state(self) -> dict[str, NDArray[Any]]:
        """Return the state as arrays."""
        numbers = np.array([self.kept, self.turn, self.every, self.alarm], dtype=np.int64)
        return {"numbers": numbers} | {name: getattr(self, name).copy() for name in ARRAYS}

    def restore(self, state: Mapping[str, NDArray[Any]], schema: Schema) -> None:
        """Restore the arrays that `state` returned; raise a DataError if the arrays do not fit the schema."""
        points, rows = len(state.get("end", ())), len(state.get("rows", ()))
        lengths = {"rows": rows, "end": points, "history": points}
        fits = all(
            name in state
            and state[name].shape == (lengths.get(name, len(own)), *own.shape[1:])
            and state[name].dtype == own.dtype
            for name, own in self.state().items()
        )
        if not fits or rows > ROWS or points >= 2 * POINTS:
            raise DataError("The importance state must have arrays that fit the columns of the model.")
        kept, turn, every, alarm = state["numbers"].tolist()
        sound = kept >= rows and 0 <= turn < max(len(self.columns), 1) and every >= EVERY
        if not sound or (state["counts"] < 0).any() or (np.diff(state["end"], prepend=0) <= 0).any():
            raise DataError("The importance state must have valid counts.")
        for values, feature in zip(state["rows"].T, schema.features, strict=True):
            known, most = values[~np.isnan(values)], len(feature.values or ()) - 1
            codes = (known >= 0) & (known <= most) & (known == np.floor(known))
            if not (codes if feature.nominal else np.isfinite(known)).all():
                raise DataError(f"The sample of instances has an invalid value of {feature.name!r}.")
        self.kept, self.turn, self.every, self.alarm = kept, turn, every, alarm
        for name in ARRAYS:
            setattr(self, name, state[name].copy())


def _random(seed: int) -> int:
    """Return a pseudo-random number below 2**31 (splitmix64); creating a generator would be much slower."""
    z = seed * 0x9E3779B97F4A7C15 & 0xFFFFFFFFFFFFFFFF
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 & 0xFFFFFFFFFFFFFFFF
    z = (z ^ z >> 27) * 0x94D049BB133111EB & 0xFFFFFFFFFFFFFFFF
    return z >> 33


ARRAYS = ("rows", "means", "counts", "end", "history")


def _widened(array: NDArray[Any], width: int) -> NDArray[Any]:
    """Pad an array to a width with columns of NaN, or of 0 for integers."""
    more = [(0, 0)] * (array.ndim - 1) + [(0, width - array.shape[-1])]
    return np.pad(array, more, constant_values=np.nan if array.dtype.kind == "f" else 0)
