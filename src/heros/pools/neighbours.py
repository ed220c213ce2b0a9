"""Pools of nearest neighbours."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from heros._base import core as _core
from heros._base.parameters import above_zero, among, or_none, whole_number
from heros._base.settings import Setting
from heros.data.schema import Schema
from heros.pools.native import BoundNative, CostModels, Family, by_setting, grid_of, option

__all__ = ["BoundNeighbours", "NeighbourStats", "Neighbours", "NeighboursGrid"]

Costs = Literal["window", "measured"] | Sequence[float]
LONGEST_TIMED = 20_000


@dataclass(frozen=True, slots=True)
class NeighbourStats:
    """The window of one model.

    Parameters
    ----------
    rows
        How many instances the model looks at now: fewer than its window at the beginning of a stream, and
        after it has forgotten.
    most
        How many it can come to: its window, or what the byte limit leaves of it.
    window
        Its setting.
    """

    rows: int
    most: int
    window: int


@dataclass(frozen=True, kw_only=True, repr=False)
class Neighbours(Family):
    """The nearest of the last instances, with windows of given lengths.

    A model finds the k nearest of the instances in its window; each weighs 1/(distance + 0.001), or 1, for
    its class, and every class has 0.01 from the start; where the target is a number, the answer is the mean
    of theirs with these weights. The distance is Euclidean: numbers in standard deviations (running; each
    instance is kept as it was scaled when it came, and what is more than 6 from the mean counts as 6), a
    nominal value that differs counts like one standard deviation. A missing number counts as the mean, a
    missing nominal value as a value of its own. Distances are those of a brute-force search in float32; of
    instances at the same distance the newer are taken.

    All models share one store of instances and one pass over it. So the store takes an instance if any of the
    models is chosen for training, and then all of them see it; if none is, no one does. What a model does for
    itself when it is chosen is to watch for change: see `forget`.

    Parameters
    ----------
    configurations
        One mapping per model; a setting that is left out has its default. The keys are

        {settings}
    max_bytes
        What the store may hold. Where the longest window does not fit, windows are as long as the store:
        `BoundNeighbours.stats` says how long.
    forget
        A model whose hits become fewer (numbers: whose errors become larger, see
        `heros.ensemble.task.Regression`), as ADWIN finds with this δ over the instances it was
        trained on, forgets what is older than ADWIN's window; its own window grows again from there.
        None: never.
    costs
        γ, the cost of a training step: "window" (∝ the window), "measured" (CPU time on made-up instances
        when the pool is bound), or one number per model. Always scaled to sum to 1.

    Examples
    --------
    >>> pool = Neighbours([{}, {"window": 5000, "neighbours": 5}])
    >>> pool.n_models, pool.configurations[1]
    (2, {'window': 5000, 'neighbours': 5, 'weighting': 'distance'})
    """

    written: ClassVar[str] = "neighbours"
    settings = (
        Setting("window", 1000, whole_number(1, 1 << 31), "How many of the last instances a model searches."),
        Setting("neighbours", 10, whole_number(1, 1 << 20), "k: how many neighbours predict."),
        Setting("weighting", "distance", among("distance", "uniform"), "How neighbours are weighted."),
    )
    cost_models: ClassVar[CostModels] = {"window": by_setting("window")}

    max_bytes: int = option(64 << 20, whole_number(1, 1 << 62))
    forget: float | None = option(0.1, or_none(above_zero(1)))
    costs: Costs = "window"

    @property
    def settles_after(self) -> int:
        """When the longest window is full; one that would take more than a second or so counts as shorter."""
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

    grid: ClassVar[bool] = True

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
    """The models of a `Neighbours` pool, for one schema.

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
        """What the store of instances holds."""
        return self.native.bytes

    def stats(self) -> list[NeighbourStats]:
        """The window of every model."""
        rows, most = self.native.windows()
        windows = [one["window"] for one in self.pool.configurations]
        return [NeighbourStats(int(r), int(m), w) for r, m, w in zip(rows, most, windows, strict=True)]
