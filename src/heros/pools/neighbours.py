"""Pools of nearest-neighbour models."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from heros._base import core as _core
from heros._base.parameters import above_zero, among, or_none, whole_number
from heros._base.settings import Setting
from heros.data.schema import Schema
from heros.pools.family import BoundNative, CostModels, Family, by_setting, grid_of, option

Costs = Literal["window", "measured"] | Sequence[float]
LONGEST_TIMED = 20_000


@dataclass(frozen=True, slots=True)
class NeighbourStats:
    """The window of one model.

    Parameters
    ----------
    rows
        The number of instances that the model currently searches. At the start of a stream and after a change
        (see `forget`), this number is less than the length of the window.
    most
        The maximum number of instances: the setting `window`, or fewer if the byte limit is too small for
        this many instances.
    window
        The setting `window` of the model.
    """

    rows: int
    most: int
    window: int


@dataclass(frozen=True, kw_only=True, repr=False)
class Neighbours(Family):
    """k nearest neighbours among the latest instances, with windows of given lengths.

    A model finds the k nearest instances in its window. Each neighbour adds a weight to its class:
    1/(distance + 0.001), or 1 if `weighting` is "uniform". The initial weight of each class is 0.01. In
    regression, the prediction is the weighted mean of the neighbours' targets. The distance is Euclidean.
    Numbers are divided by their running standard deviation when the instance arrives, and limited to 6
    standard deviations from the mean. Two different nominal values differ by one standard deviation. A
    missing number counts as the mean; a missing nominal value counts as a separate value. The search is
    exact, by brute force in float32; at equal distances the newer instance is used.

    All models share one store of instances and one pass over this store. An instance is stored if any of the
    models is chosen for training; all models can then use the instance. Only a chosen model tests for a
    change (see `forget`).

    Parameters
    ----------
    {settings}
    max_bytes
        The maximum size of the store. If the longest window does not fit, windows are shortened until they
        fit; `BoundNeighbours.stats` returns their lengths.
    forget
        The significance level δ of an ADWIN that tests the outcomes of a model (for regression see
        `heros.ensemble.task.Regression`). The test uses the instances that the model was trained on. When the
        outcomes get worse, the model drops all instances older than ADWIN's window. The model's window then
        grows again. None turns the test off.
    costs
        The cost γ of a training step: "window" (in proportion to the window), "measured" (CPU time on random
        instances when the pool is bound), or one number per model. Costs are scaled to sum to 1.

    Examples
    --------
    >>> pool = Neighbours([{}, {"window": 5000, "neighbours": 5}])
    >>> pool.n_models, pool.configurations[1]
    (2, {'window': 5000, 'neighbours': 5, 'weighting': 'distance'})
    """

    written: ClassVar[str] = "neighbours"
    settings = (
        Setting("window", 1000, whole_number(1, 1 << 31), "The number of latest instances to search."),
        Setting("neighbours", 10, whole_number(1, 1 << 20), "The number k of neighbours."),
        Setting("weighting", "distance", among("distance", "uniform"), "How neighbours are weighted."),
    )
    cost_models: ClassVar[CostModels] = {"window": by_setting("window")}

    max_bytes: int = option(64 << 20, whole_number(1, 1 << 62))
    forget: float | None = option(0.1, or_none(above_zero(1)))
    costs: Costs = "window"

    @property
    def instances_until_stable(self) -> int:
        """The length of the longest window, limited so that measuring the costs takes about a second."""
        longest: int = max(one["window"] for one in self.configurations)
        return min(longest, LONGEST_TIMED)


class NeighboursGrid(Neighbours):
    """Nearest neighbours over a grid of windows and numbers of neighbours.

    Examples
    --------
    >>> NeighboursGrid().n_models
    6
    >>> NeighboursGrid(windows=[200], weightings=["distance", "uniform"]).n_models
    4
    """

    def __init__(
        self,
        *,
        windows: Iterable[int] = (500, 1000, 5000),
        neighbours: Iterable[int] = (5, 10),
        weightings: Iterable[str] = ("distance",),
        max_bytes: int = 64 << 20,
        forget: float | None = 0.1,
        costs: Costs = "window",
    ) -> None:
        axes = {"window": windows, "neighbours": neighbours, "weighting": weightings}
        super().__init__(grid_of(axes), max_bytes=max_bytes, forget=forget, costs=costs)


class BoundNeighbours(BoundNative, of=Neighbours):
    """The models of a `Neighbours` pool for one schema.

    Examples
    --------
    >>> schema = Schema.of(["age", ("colour", "red", "green")], classes=["no", "yes"])
    >>> bound = Neighbours([{"window": 500}], max_bytes=4096).bind(schema, np.random.default_rng(1))
    >>> bound.stats(), bound.bytes
    ([NeighbourStats(rows=0, most=192, window=500)], 0)
    """

    native: _core.NeighboursPool

    def _native(self, schema: Schema, rng: np.random.Generator) -> _core.NeighboursPool:
        pool, models = self.pool, self.pool.configurations
        return _core.NeighboursPool(
            np.array([one["window"] for one in models], dtype=np.int64),
            np.array([one["neighbours"] for one in models], dtype=np.int32),
            np.array([one["weighting"] == "distance" for one in models], dtype=np.uint8),
            pool.max_bytes,
            pool.forget or 0.0,
            schema.numeric,
        )

    @property
    def bytes(self) -> int:
        """The size of the store of instances in bytes."""
        return self.native.bytes

    def stats(self) -> list[NeighbourStats]:
        """Return the window of each model."""
        rows, most = self.native.windows()
        windows = [one["window"] for one in self.pool.configurations]
        return [NeighbourStats(int(r), int(m), w) for r, m, w in zip(rows, most, windows, strict=True)]
