"""Pools of forests."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from heros._base import core as _core
from heros._base.parameters import above_zero, among, flag, or_none, real_number, whole, whole_number
from heros._base.settings import Setting
from heros.data.schema import Schema
from heros.errors import ParameterError
from heros.pools.native import BoundNative, CostModels, Family, by_setting, grid_of, seeds_of
from heros.pools.tree_settings import GRACE_PERIOD, MAX_BYTES, SPLIT_CONFIDENCE, TIE_THRESHOLD, tree_text

__all__ = ["BoundForest", "Forest", "ForestGrid", "ForestStats"]

Costs = Literal["trees", "measured"] | Sequence[float]
SUBSPACES = ("tree", "node")


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


@dataclass(frozen=True, kw_only=True, repr=False)
class Forest(Family):
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
        One mapping per forest; a setting that is left out has its default. The keys are

        {settings}
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
    settings = (
        Setting("trees", 30, whole_number(1, 1000), "How many trees."),
        Setting(
            "features",
            0.6,
            above_zero(1),
            "The share of the features that a tree sees, or that a leaf may be split by.",
        ),
        Setting(
            "subspace",
            "node",
            among(*SUBSPACES),
            "'tree': the features are drawn once for each tree, which knows no others; 'node': they are "
            "drawn for every leaf, and leaves observe all features.",
        ),
        Setting(
            "bagging",
            6.0,
            real_number(0, 100),
            "λ, the mean of how often an instance counts; 0: each counts once.",
        ),
        replace(GRACE_PERIOD, default=50),
        replace(SPLIT_CONFIDENCE, default=0.01),
        replace(TIE_THRESHOLD, default=0.1),
        Setting(
            "random_cuts",
            False,
            flag(),
            "Whether a numeric feature offers one cut drawn at random instead of twelve at even distances.",
        ),
        Setting(
            "warning",
            0.01,
            or_none(above_zero(1)),
            "δ of the ADWIN that starts a tree in the background; None: never.",
            none=0.0,
        ),
        Setting(
            "drift",
            0.001,
            or_none(above_zero(1)),
            "δ of the ADWIN that replaces a tree; None: never.",
            none=0.0,
        ),
        replace(
            MAX_BYTES,
            default=64 << 20,
            text="The memory of the nodes and observers of all trees, kept at every instance. Each tree has "
            "an equal part, of which a quarter is kept for the one in its background.",
        ),
    )
    cost_models: ClassVar[CostModels] = {"trees": by_setting("trees")}
    targets = "classes"

    costs: Costs = "trees"

    def expect_room(self, schema: Schema, state: Mapping[str, NDArray[Any]]) -> None:
        """Refuse a state that is too small to be one of these forests, before memory is taken for them."""
        for i, configuration in enumerate(self.configurations):
            trees, found = configuration["trees"], state.get(f"forest_{i}_behind", np.empty(0)).size
            if found < trees:
                raise ParameterError.of("state", "Forest", f"one of {trees} trees", found)


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
        axes = {"trees": trees, "subspace": subspaces}
        super().__init__(grid_of(axes, settings), costs=costs)


class BoundForest(BoundNative, of=Forest):
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

    native: _core.ForestPool

    def _native(self, schema: Schema, rng: np.random.Generator) -> _core.ForestPool:
        return _core.ForestPool(self._settings(_settings), seeds_of(rng, self.pool.n_models))

    @property
    def bytes(self) -> NDArray[np.int64]:
        """What the trees of each forest hold."""
        return self.native.bytes

    def stats(self) -> list[ForestStats]:
        """The size of every forest."""
        return [self._stats(i, c) for i, c in enumerate(self.pool.configurations)]

    def text(self, i: int, *, tree: int = 0) -> str:
        """A tree of forest i as indented text: its tests, and for each leaf the majority and its count."""
        self._expect_model(i, "text")
        whole(tree, "tree", "text", 0, self.pool.configurations[i]["trees"] - 1)
        columns, state = self.native.tree(i, tree)
        features = tuple(self.schema.features[f] for f in columns)
        return tree_text(state, Schema(features, self.schema.classes))

    def _stats(self, i: int, configuration: Mapping[str, Any]) -> ForestStats:
        background, nodes, leaves, active, depth, size, warnings, replaced = self.native.summary(i)
        trees, limit = configuration["trees"], configuration["max_bytes"]
        return ForestStats(trees, background, nodes, leaves, active, depth, size, limit, warnings, replaced)


def _settings(*, subspace: str, **settings: Any) -> _core.ForestSettings:
    names = ("max_bytes", "grace_period", "split_confidence", "tie_threshold")
    tree = _core.TreeSettings(
        **{name: settings.pop(name) for name in names},
        criterion="information_gain",
        prediction="adaptive",
        binary_splits=True,
        max_depth=-1,
    )
    return _core.ForestSettings(tree, per_leaf=subspace == "node", **settings)
