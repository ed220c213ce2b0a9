"""Pools of forests."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from types import MappingProxyType
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from heros._base import core as _core
from heros._base.parameters import number, one_of, positive, whole
from heros.data.schema import Schema
from heros.errors import ParameterError
from heros.pools.base import Pool, expect_classes
from heros.pools.native import BoundNative, checked_costs, completed
from heros.pools.tree_text import tree_text

__all__ = ["BoundForest", "Forest", "ForestGrid", "ForestStats"]

Costs = Literal["trees", "measured"] | Sequence[float]

DEFAULTS: Mapping[str, Any] = MappingProxyType(
    {
        "trees": 30,
        "features": 0.6,
        "subspace": "node",
        "bagging": 6.0,
        "grace_period": 50,
        "split_confidence": 0.01,
        "tie_threshold": 0.1,
        "random_cuts": False,
        "warning": 0.01,
        "drift": 0.001,
        "max_bytes": 64 << 20,
    }
)
SUBSPACES = ("tree", "node")
COST_MODELS = {"trees": lambda configuration: float(configuration["trees"])}
MOST_TREES, MOST_BAGGING = 1000, 100


@dataclass(frozen=True, slots=True)
class ForestStats:
    """The size of one forest.

    Parameters
    ----------
    trees, background
        How many trees answer, and how many more grow in the background, to take over if drift is found.
    nodes, leaves, active_leaves
        Of all trees that answer. Leaves that are not active have been deactivated to stay inside the byte
        limit: they count classes and answer with the majority.
    depth
        The number of tests on the longest way down.
    bytes, max_bytes
        What the nodes and observers of all trees hold, and the limit that is never crossed.
    warnings, replaced
        How many trees have begun in the background, and how many have been replaced, since the beginning.
    """

    trees: int
    background: int
    nodes: int
    leaves: int
    active_leaves: int
    depth: int
    bytes: int
    max_bytes: int
    warnings: int
    replaced: int


@dataclass(frozen=True, init=False)
class Forest(Pool):
    """Forests of Hoeffding trees of given configurations; each forest is one model.

    Its trees differ: each draws from a Poisson distribution how often an instance counts (online bagging,
    Oza and Russell 2001), and sees or is offered a random part of the features. A tree whose hits become
    fewer is replaced (ADWIN): at a warning another one begins in its background, and takes over at drift.
    The forest's probabilities are those of its trees, averaged, each weighted by its accuracy since it was
    last replaced. With ``subspace="node"`` that is an adaptive random forest (Gomes et al. 2017), with
    ``"tree"`` streaming random patches (Gomes, Read and Bifet 2019). Departures from MOA's are listed in
    docs/families.md; the one that matters: nominal features are split by one value against the rest.

    Parameters
    ----------
    configurations
        One mapping per forest; what is left out has the default. The keys are

        `trees` (30)
            How many.
        `features` (0.6)
            The share of the features that a tree sees, or that a leaf may be split by.
        `subspace` ("node")
            "tree": drawn once for each tree, which knows no others; "node": drawn for every leaf, and leaves
            observe all features.
        `bagging` (6)
            λ, the mean of how often an instance counts; 0: each counts once.
        `grace_period` (50), `split_confidence` (0.01), `tie_threshold` (0.1)
            As for `Hoeffding`. An instance that counts six times moves a leaf six steps.
        `random_cuts` (False)
            Whether a numeric feature offers one cut drawn at random instead of twelve at even distances.
        `warning` (0.01), `drift` (0.001)
            δ of the two ADWINs of a tree; None: it is not looked for.
        `max_bytes` (64 MiB)
            What the nodes and observers of all trees may hold, at every instance. Each tree has an equal
            part, of which a quarter is kept for the one in its background.
    costs
        γ, the cost of a training step: "trees" (∝ their number), "measured" (CPU time on made-up instances
        when the pool is bound), or one number per forest. Always scaled to sum to 1.

    Examples
    --------
    >>> pool = Forest([{}, {"trees": 10, "subspace": "tree"}])
    >>> pool.n_models, pool.configurations[1]["trees"], pool.configurations[1]["features"]
    (2, 10, 0.6)
    """

    written: ClassVar[str] = "forest"
    described_by: ClassVar[tuple[str, ...]] = ("configurations", "costs")

    models: tuple[tuple[Any, ...], ...]
    costs: Costs

    def __init__(
        self, configurations: Iterable[Mapping[str, Any]] = ({},), *, costs: Costs = "trees"
    ) -> None:
        models = tuple(map(_checked, completed(configurations, DEFAULTS, "Forest")))
        object.__setattr__(self, "models", models)
        object.__setattr__(self, "costs", checked_costs(costs, COST_MODELS, len(models), "Forest"))

    @property
    def configurations(self) -> tuple[Mapping[str, Any], ...]:
        """The settings of each forest, in the order of the pool."""
        return tuple(dict(zip(DEFAULTS, model, strict=True)) for model in self.models)

    def bind(
        self, schema: Schema, rng: np.random.Generator, costs: NDArray[np.float64] | None = None
    ) -> BoundForest:
        """The forests, each tree a single leaf. A seed for each forest is drawn from `rng`."""
        return BoundForest(self, schema, rng, costs)

    def expect_room(self, schema: Schema, state: Mapping[str, NDArray[Any]]) -> None:
        """Refuse a state that is too small to be one of these forests, before memory is taken for them."""
        for i, configuration in enumerate(self.configurations):
            trees, found = configuration["trees"], state.get(f"forest_{i}_behind", np.empty(0)).size
            if found < trees:
                raise ParameterError.of("state", "Forest", f"one of {trees} trees", found)

    def __repr__(self) -> str:
        costs = repr(self.costs) if isinstance(self.costs, str) else "given"
        return f"{type(self).__name__}({self.n_models} models, costs={costs})"


class ForestGrid(Forest):
    """Forests over a grid of sizes and subspaces.

    Examples
    --------
    >>> ForestGrid().n_models
    4
    >>> ForestGrid(trees=[20], subspaces=["tree"], features=0.8).configurations[0]["features"]
    0.8
    """

    grid: ClassVar[bool] = True

    def __init__(
        self,
        *,
        trees: Iterable[int] = (10, 30),
        subspaces: Iterable[str] = SUBSPACES,
        costs: Costs = "trees",
        **settings: Any,
    ) -> None:
        grid = product(trees, subspaces)
        super().__init__([{"trees": n, "subspace": s, **settings} for n, s in grid], costs=costs)


class BoundForest(BoundNative):
    """The forests of a `Forest` pool, for one schema.

    Examples
    --------
    >>> schema = Schema.of(["age", ("colour", "red", "green")], classes=["no", "yes"])
    >>> bound = Forest([{"trees": 2, "max_bytes": 4096}]).bind(schema, np.random.default_rng(1))
    >>> bound.stats()[0].nodes, bound.stats()[0].bytes
    (2, 72)
    >>> print(bound.text(0, tree=1))
    no (0 of 0)
    """

    kind = Forest
    cost_models = COST_MODELS
    native: _core.ForestPool
    pool: Forest

    def __init__(
        self,
        pool: Forest,
        schema: Schema,
        rng: np.random.Generator,
        costs: NDArray[np.float64] | None = None,
    ) -> None:
        expect_classes(schema, "Forest")
        seeds = rng.integers(0, 1 << 64, size=pool.n_models, dtype=np.uint64).tolist()
        settings = [_settings(configuration) for configuration in pool.configurations]
        super().__init__(pool, _core.ForestPool(settings, seeds), schema, costs)

    @property
    def bytes(self) -> NDArray[np.int64]:
        """What the trees of each forest hold."""
        return self.native.bytes

    def stats(self) -> list[ForestStats]:
        """The size of every forest."""
        return [self._stats(i, c) for i, c in enumerate(self.pool.configurations)]

    def text(self, i: int, *, tree: int = 0) -> str:
        """A tree of forest i as indented text: its tests, and for each leaf the majority and its count."""
        whole(i, "i", "text", 0, self.pool.n_models - 1)
        whole(tree, "tree", "text", 0, self.pool.configurations[i]["trees"] - 1)
        columns, state = self.native.tree(i, tree)
        features = tuple(self.schema.features[f] for f in columns)
        return tree_text(state, Schema(features, self.schema.classes))

    def _stats(self, i: int, configuration: Mapping[str, Any]) -> ForestStats:
        background, nodes, leaves, active, depth, size, warnings, replaced = self.native.summary(i)
        trees, limit = configuration["trees"], configuration["max_bytes"]
        return ForestStats(trees, background, nodes, leaves, active, depth, size, limit, warnings, replaced)

    def _fit(self, schema: Schema) -> None:
        for configuration in self.pool.configurations:
            trees, limit = configuration["trees"], configuration["max_bytes"]
            least = 4 * trees * (20 + 8 * schema.n_classes)
            if limit < least:
                rule = f"at least {least} with {trees} trees and {schema.n_classes} classes"
                raise ParameterError.of("max_bytes", "Forest", rule, limit)
        super()._fit(schema)


def _settings(configuration: Mapping[str, Any]) -> _core.ForestSettings:
    tree = _core.TreeSettings(
        max_bytes=configuration["max_bytes"],
        grace_period=configuration["grace_period"],
        split_confidence=configuration["split_confidence"],
        tie_threshold=configuration["tie_threshold"],
        criterion="information_gain",
        prediction="adaptive",
        binary_splits=True,
        max_depth=-1,
    )
    return _core.ForestSettings(
        tree,
        trees=configuration["trees"],
        features=configuration["features"],
        per_leaf=configuration["subspace"] == "node",
        random_cuts=configuration["random_cuts"],
        bagging=configuration["bagging"],
        warning=configuration["warning"] or 0.0,
        drift=configuration["drift"] or 0.0,
    )


def _checked(configuration: Mapping[str, Any]) -> tuple[Any, ...]:
    return (
        whole(configuration["trees"], "trees", "Forest", 1, MOST_TREES),
        positive(configuration["features"], "features", "Forest", 1),
        one_of(configuration["subspace"], "subspace", "Forest", SUBSPACES, "'tree' or 'node'"),
        number(configuration["bagging"], "bagging", "Forest", 0, MOST_BAGGING),
        whole(configuration["grace_period"], "grace_period", "Forest", 1, (1 << 31) - 1),
        positive(configuration["split_confidence"], "split_confidence", "Forest", 1),
        number(configuration["tie_threshold"], "tie_threshold", "Forest", 0),
        bool(configuration["random_cuts"]),
        _delta(configuration["warning"], "warning"),
        _delta(configuration["drift"], "drift"),
        whole(configuration["max_bytes"], "max_bytes", "Forest", 1, 1 << 62),
    )


def _delta(value: Any, name: str) -> float | None:
    return None if value is None else positive(value, name, "Forest", 1, "in (0, 1] or None")
