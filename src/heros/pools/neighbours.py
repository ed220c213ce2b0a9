"""Pools of nearest neighbours."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from types import MappingProxyType
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from heros._base import core as _core
from heros._base.parameters import number, one_of, whole
from heros.data.schema import Schema
from heros.errors import ParameterError
from heros.pools.base import Pool, feature_values
from heros.pools.native import BoundNative, checked_costs, completed

__all__ = ["BoundNeighbours", "NeighbourStats", "Neighbours", "NeighboursGrid"]

Costs = Literal["window", "measured"] | Sequence[float]

DEFAULTS: Mapping[str, Any] = MappingProxyType({"window": 1000, "neighbours": 10, "weighting": "distance"})
WEIGHTINGS = ("distance", "uniform")
COST_MODELS = {"window": lambda configuration: float(configuration["window"])}
LONGEST_TIMED = 20_000
FEW_VALUES, ROWS = 255, 64  # nominal features with at most so many values take a byte; rows in a block


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


@dataclass(frozen=True, init=False)
class Neighbours(Pool):
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
        One mapping per model with the keys `window` (1000: how many of the last instances it looks at),
        `neighbours` (10: k) and `weighting` ("distance", or "uniform").
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
    described_by: ClassVar[tuple[str, ...]] = ("configurations", "max_bytes", "forget", "costs")

    models: tuple[tuple[int, int, str], ...]
    max_bytes: int
    forget: float | None
    costs: Costs

    def __init__(
        self,
        configurations: Iterable[Mapping[str, Any]],
        *,
        max_bytes: int = 64 << 20,
        forget: float | None = 0.1,
        costs: Costs = "window",
    ) -> None:
        models = tuple(map(_checked, completed(configurations, DEFAULTS, "Neighbours")))
        whole(max_bytes, "max_bytes", "Neighbours", 1, 1 << 62)
        if forget is not None and number(forget, "forget", "Neighbours", 0, 1) == 0:
            raise ParameterError.of("forget", "Neighbours", "in (0, 1] or None", forget)
        object.__setattr__(self, "models", models)
        object.__setattr__(self, "max_bytes", int(max_bytes))
        object.__setattr__(self, "forget", None if forget is None else float(forget))
        object.__setattr__(self, "costs", checked_costs(costs, COST_MODELS, len(models), "Neighbours"))

    @property
    def configurations(self) -> tuple[Mapping[str, Any], ...]:
        """The settings of each model, in the order of the pool."""
        return tuple(dict(zip(DEFAULTS, model, strict=True)) for model in self.models)

    @property
    def settles_after(self) -> int:
        """When the longest window is full; one that would take more than a second or so counts as shorter."""
        return min(max(window for window, _, _ in self.models), LONGEST_TIMED)

    def bind(
        self, schema: Schema, rng: np.random.Generator, costs: NDArray[np.float64] | None = None
    ) -> BoundNeighbours:
        """The models, without any instance yet, for instances of this schema. Nothing is drawn from `rng`."""
        return BoundNeighbours(self, schema, costs)

    def __repr__(self) -> str:
        costs = repr(self.costs) if isinstance(self.costs, str) else "given"
        return f"{type(self).__name__}({self.n_models} models, costs={costs})"


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
        grid = product(windows, neighbours, weightings)
        configurations = [dict(zip(DEFAULTS, point, strict=True)) for point in grid]
        super().__init__(configurations, max_bytes=max_bytes, forget=forget, costs=costs)


class BoundNeighbours(BoundNative):
    """The models of a `Neighbours` pool, for one schema.

    Examples
    --------
    >>> schema = Schema.of(["age", ("colour", "red", "green")], classes=["no", "yes"])
    >>> bound = Neighbours([{"window": 500}], max_bytes=4096).bind(schema, np.random.default_rng(1))
    >>> bound.stats(), bound.bytes
    ([NeighbourStats(rows=0, most=192, window=500)], 0)
    """

    kind = Neighbours
    cost_models = COST_MODELS
    native: _core.NeighboursPool
    pool: Neighbours

    def __init__(self, pool: Neighbours, schema: Schema, costs: NDArray[np.float64] | None = None) -> None:
        super().__init__(pool, _native(pool, schema.numeric), schema, costs)

    @property
    def bytes(self) -> int:
        """What the store of instances holds."""
        return self.native.bytes

    def stats(self) -> list[NeighbourStats]:
        """The window of every model."""
        rows, most = self.native.windows()
        windows = [window for window, _, _ in self.pool.models]
        return [NeighbourStats(int(r), int(m), w) for r, m, w in zip(rows, most, windows, strict=True)]

    def _fit(self, schema: Schema) -> None:
        least = _block_bytes(schema)
        if self.pool.max_bytes < least:
            rule = f"at least {least} with {schema.n_features} features ({ROWS} instances)"
            raise ParameterError.of("max_bytes", "Neighbours", rule, self.pool.max_bytes)
        super()._fit(schema)


def _native(pool: Neighbours, numeric: bool) -> _core.NeighboursPool:
    return _core.NeighboursPool(
        np.array([window for window, _, _ in pool.models], dtype=np.int64),
        np.array([neighbours for _, neighbours, _ in pool.models], dtype=np.int32),
        np.array([weighting == "distance" for _, _, weighting in pool.models], dtype=np.uint8),
        pool.max_bytes,
        pool.forget or 0.0,
        numeric,
    )


def _block_bytes(schema: Schema) -> int:
    """The least that the store takes: numbers, codes, half a norm and the class of some instances."""
    values = feature_values(schema)
    few = int(((values > 0) & (values <= FEW_VALUES)).sum())
    return ROWS * (4 * (schema.n_features - few + 1) + few + 8)


def _checked(configuration: Mapping[str, Any]) -> tuple[int, int, str]:
    window = whole(configuration["window"], "window", "Neighbours", 1, 1 << 31)
    return (
        window,
        whole(configuration["neighbours"], "neighbours", "Neighbours", 1, 1 << 20),
        one_of(configuration["weighting"], "weighting", "Neighbours", WEIGHTINGS, "'distance' or 'uniform'"),
    )
