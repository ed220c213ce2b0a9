"""Pools of Hoeffding trees."""

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
from heros.pools.base import (
    BoundPool,
    Pool,
    expect_classes,
    expect_mappings,
    expect_schema,
    feature_values,
    shares,
)
from heros.pools.timing import seconds_alone
from heros.pools.tree_text import tree_text

__all__ = ["BoundHoeffding", "Hoeffding", "HoeffdingGrid", "TreeStats"]

Costs = Literal["max-bytes", "bytes", "measured"] | Sequence[float]

DEFAULTS: Mapping[str, Any] = MappingProxyType(
    {
        "max_bytes": 32 << 20,
        "grace_period": 200,
        "split_confidence": 1e-7,
        "tie_threshold": 0.05,
        "criterion": "information_gain",
        "prediction": "adaptive",
        "binary_splits": False,
        "max_depth": None,
        "split_on": "bound",
    }
)
CRITERIA = ("information_gain", "gini")
SPLITS = ("bound", "change")
PREDICTIONS = ("majority", "naive_bayes", "adaptive")
COST_MODELS = ("max-bytes", "bytes", "measured")
SIZES = tuple(1024 << k for k in range(1, 11))  # 2, 4, ..., 1024 KB
NO_LIMIT = -1


@dataclass(frozen=True, slots=True)
class TreeStats:
    """The size of one tree.

    Parameters
    ----------
    nodes, leaves
        How many there are; a leaf is a node, too.
    active_leaves
        Leaves that learn. The others have been deactivated to stay inside the byte limit: they count
        classes and answer with the majority.
    depth
        The number of tests on the longest way down.
    bytes, max_bytes
        What the nodes and observers hold, and the limit that is never crossed.
    """

    nodes: int
    leaves: int
    active_leaves: int
    depth: int
    bytes: int
    max_bytes: int


@dataclass(frozen=True, init=False)
class Hoeffding(Pool):
    """Hoeffding trees of given configurations.

    The VFDT of Domingos and Hulten (2000), equal to MOA's `HoeffdingTree` with the same settings where
    no byte limit binds: Gaussian observers with 10 candidate cuts for numbers, a branch per value for
    nominal features. A leaf is split when the best test is better than the second by more than
    ε = √(R² ln(1/δ) / 2n), or when ε is below the tie threshold. Features are taken as they come:
    nothing is scaled or one-hot. Departures from MOA are listed in docs/trees.md.

    Parameters
    ----------
    configurations
        One mapping per tree; what is left out has the default. The keys are

        `max_bytes` (32 MiB)
            What the nodes and observers of the tree may hold. The limit is kept at every instance: when
            something new would cross it, the least promising leaves are deactivated; they come back when
            they promise more than others. MOA and River look at theirs every million instances.
        `grace_period` (200)
            How many instances a leaf sees between two looks for a split.
        `split_confidence` (1e-7)
            δ: the probability of choosing another test than an infinite sample would.
        `tie_threshold` (0.05)
            Below this ε the best test wins even if the second is as good.
        `criterion` ("information_gain")
            Or "gini".
        `prediction` ("adaptive")
            How leaves answer: "majority", "naive_bayes", or "adaptive": whichever of the two was right
            more often at that leaf.
        `binary_splits` (False)
            Whether nominal features are split by one value against the rest only.
        `max_depth` (None)
            The most tests on the way to a leaf.
        `split_on` ("bound")
            Or "change": a leaf takes the best test as soon as its hits have become more or fewer (HDDM-A with
            `split_confidence` as its δ, 0.001 or so), however far ahead the test is, in the manner of local
            adaptive streaming trees (LAST). Grace period and tie threshold then mean nothing.
    costs
        γ, the cost of a training step: "max-bytes" (∝ the byte limit, as in the paper), "bytes" (∝ what
        each tree holds, measured anew every 1000 instances), "measured" (CPU time on made-up instances
        when the pool is bound), or one number per tree. Always scaled to sum to 1.

    Examples
    --------
    >>> pool = Hoeffding([{}, {"max_bytes": 4096}, {"grace_period": 50, "prediction": "majority"}])
    >>> pool.n_models, pool.configurations[1]["max_bytes"], pool.configurations[1]["grace_period"]
    (3, 4096, 200)
    """

    written: ClassVar[str] = "trees"
    described_by: ClassVar[tuple[str, ...]] = ("configurations", "costs")

    models: tuple[tuple[Any, ...], ...]
    costs: Costs

    def __init__(self, configurations: Iterable[Mapping[str, Any]], *, costs: Costs = "max-bytes") -> None:
        models = tuple(map(_checked, expect_mappings(configurations, "Hoeffding")))
        if not models:
            raise ParameterError.of("configurations", "Hoeffding", "at least one model", [])
        if isinstance(costs, str):
            one_of(costs, "costs", "Hoeffding", COST_MODELS, "'max-bytes', 'bytes', 'measured' or numbers")
        else:
            costs = tuple(shares(costs, len(models), "Hoeffding").tolist())
        object.__setattr__(self, "models", models)
        object.__setattr__(self, "costs", costs)

    @property
    def configurations(self) -> tuple[Mapping[str, Any], ...]:
        """The settings of each tree, in the order of the pool."""
        return tuple(dict(zip(DEFAULTS, model, strict=True)) for model in self.models)

    def bind(
        self, schema: Schema, rng: np.random.Generator, costs: NDArray[np.float64] | None = None
    ) -> BoundHoeffding:
        """The trees, each a single leaf, for instances of this schema. Nothing is drawn from `rng`."""
        return BoundHoeffding(self, schema, costs)

    def __repr__(self) -> str:
        costs = repr(self.costs) if isinstance(self.costs, str) else "given"
        return f"{type(self).__name__}({self.n_models} models, costs={costs})"


class HoeffdingGrid(Hoeffding):
    """Hoeffding trees over a grid of sizes and grace periods; the paper's pool of 50 by default.

    In the paper the sizes never took effect (CapyMOA reads a size of 0, and MOA looks at its limit only
    every million instances), so its cheapest trees equal its most expensive ones. Here they do.

    Examples
    --------
    >>> grid = HoeffdingGrid()
    >>> grid.n_models, grid.configurations[0]["max_bytes"], grid.configurations[-1]["max_bytes"]
    (50, 2048, 1048576)
    >>> HoeffdingGrid(grace_periods=[200], prediction="majority").n_models
    10
    """

    grid: ClassVar[bool] = True

    def __init__(
        self,
        *,
        max_bytes: Iterable[int] = SIZES,
        grace_periods: Iterable[int] = (50, 100, 200, 400, 800),
        costs: Costs = "max-bytes",
        **settings: Any,
    ) -> None:
        grid = product(max_bytes, grace_periods)
        super().__init__([{"max_bytes": b, "grace_period": g, **settings} for b, g in grid], costs=costs)


class BoundHoeffding(BoundPool):
    """The trees of a `Hoeffding` pool, for one schema.

    Examples
    --------
    >>> schema = Schema.of(["age", ("colour", "red", "green")], classes=["no", "yes"])
    >>> bound = HoeffdingGrid().bind(schema, np.random.default_rng(1))
    >>> bound.stats()[0]
    TreeStats(nodes=1, leaves=1, active_leaves=1, depth=0, bytes=36, max_bytes=2048)
    >>> print(bound.text(0))
    no (0 of 0)
    """

    native: _core.HoeffdingPool

    def __init__(self, pool: Hoeffding, schema: Schema, costs: NDArray[np.float64] | None = None) -> None:
        expect_classes(schema, "Hoeffding")
        self.pool = pool
        self.costs_change = pool.costs == "bytes"
        self.native = _native(pool)
        self._fit(schema)
        self.costs = self._costs() if costs is None else costs

    def grow(self, schema: Schema, rng: np.random.Generator) -> None:
        """Fit the trees to a schema that extends the one they know. What they have learnt stays.

        Nodes and observers are larger in a larger schema: leaves may be deactivated, and the splits that
        have seen least undone, to stay inside the byte limits.
        """
        self._fit(schema)
        self.costs = self._costs()

    def stats(self) -> list[TreeStats]:
        """The size of every tree."""
        limits = [int(model[0]) for model in self.pool.models]
        return [TreeStats(*self.native.summary(i), limit) for i, limit in enumerate(limits)]

    def text(self, i: int) -> str:
        """Tree i as indented text: its tests, and for each leaf the majority class and its count."""
        whole(i, "i", "text", 0, self.pool.n_models - 1)
        return tree_text(self.native.tree_state(i), self.schema)

    def measure(self) -> NDArray[np.float64]:
        """γ as it is now: measured anew if it goes by bytes."""
        if self.costs_change:
            self.costs = self._costs()
        return self.costs

    def state(self) -> dict[str, NDArray[Any]]:
        """Everything learnt, as arrays."""
        return {**self.native.state(), "gamma": self.costs}

    def restore(self, state: dict[str, NDArray[Any]]) -> None:
        """Take back what `state` gave."""
        expect_schema(state, self.schema, "Hoeffding")
        costs = shares(state.get("gamma", ()), self.pool.n_models, "Hoeffding")
        self.native.restore(state)
        self.costs = costs

    def _fit(self, schema: Schema) -> None:
        smallest = min(int(model[0]) for model in self.pool.models)
        one_node = 20 + 8 * schema.n_classes
        if smallest < one_node:
            rule = f"at least {one_node} with {schema.n_classes} classes (a tree of one node)"
            raise ParameterError.of("max_bytes", "Hoeffding", rule, smallest)
        self.native.grow(feature_values(schema), schema.n_classes)
        self.schema = schema

    def _costs(self) -> NDArray[np.float64]:
        costs = self.pool.costs
        if isinstance(costs, str):
            costs = {"max-bytes": self._max_bytes, "bytes": self._bytes, "measured": self._seconds}[costs]()
        return shares(costs, self.pool.n_models, "Hoeffding")

    def _max_bytes(self) -> list[float]:
        return [float(model[0]) for model in self.pool.models]

    def _bytes(self) -> list[float]:
        return [float(n) for n in self.native.bytes]

    def _seconds(self) -> list[float]:
        return [seconds_alone(Hoeffding([c]), self.schema, 2000) for c in self.pool.configurations]


def _native(pool: Hoeffding) -> _core.HoeffdingPool:
    settings = (dict(zip(DEFAULTS, model, strict=True)) for model in pool.models)
    return _core.HoeffdingPool([_settings(**s) for s in settings])


def _settings(*, max_depth: int | None, split_on: str, **same: Any) -> _core.TreeSettings:
    depth = NO_LIMIT if max_depth is None else max_depth
    return _core.TreeSettings(**same, max_depth=depth, on_change=split_on == "change")


def _checked(configuration: Mapping[str, Any]) -> tuple[Any, ...]:
    unknown = set(configuration) - set(DEFAULTS)
    if unknown:
        keys = list(DEFAULTS)
        raise ParameterError.of(
            "configurations", "Hoeffding", f"mappings with keys among {keys}", sorted(unknown)
        )
    full = {**DEFAULTS, **configuration}
    confidence = number(full["split_confidence"], "split_confidence", "Hoeffding", 0, 1)
    if confidence == 0:
        raise ParameterError.of("split_confidence", "Hoeffding", "in (0, 1]", full["split_confidence"])
    depth = full["max_depth"]
    return (
        whole(full["max_bytes"], "max_bytes", "Hoeffding", 1, 1 << 62),
        whole(full["grace_period"], "grace_period", "Hoeffding", 1, (1 << 31) - 1),
        confidence,
        number(full["tie_threshold"], "tie_threshold", "Hoeffding", 0),
        one_of(full["criterion"], "criterion", "Hoeffding", CRITERIA, "'information_gain' or 'gini'"),
        one_of(
            full["prediction"],
            "prediction",
            "Hoeffding",
            PREDICTIONS,
            "'majority', 'naive_bayes' or 'adaptive'",
        ),
        bool(full["binary_splits"]),
        None if depth is None else whole(depth, "max_depth", "Hoeffding", 0, 1 << 20),
        one_of(full["split_on"], "split_on", "Hoeffding", SPLITS, "'bound' or 'change'"),
    )
