"""Pools of forests."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from heros._base import core as _core
from heros._base.parameters import above_zero, among, flag, or_none, real_number, whole, whole_number
from heros._base.settings import Setting
from heros.data.schema import Schema
from heros.pools.family import BoundNative, CostModels, Family, by_setting, grid_of, seeds_of
from heros.pools.tree_settings import GRACE_PERIOD, MAX_BYTES, SPLIT_CONFIDENCE, TIE_THRESHOLD, tree_text

Costs = Literal["trees", "measured"] | Sequence[float]
SUBSPACES = ("tree", "node")


@dataclass(frozen=True, slots=True)
class ForestStats:
    """The size of one forest.

    Parameters
    ----------
    trees, background
        The number of trees that predict, and the number of background trees, which replace other trees after
        drift.
    nodes, leaves, active_leaves
        The numbers of nodes and leaves, summed over the trees that predict; see `TreeStats`.
    depth
        The number of tests on the longest path in any tree.
    bytes, max_bytes
        The memory of the nodes and observers of all trees, and the limit of this memory, which is never
        exceeded.
    warnings, replaced
        The number of trees started in the background so far, and the number of trees replaced so far.
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
    """Forests of Hoeffding trees; each forest is one model.

    Each tree draws the weight of an instance from a Poisson distribution (online bagging, Oza and Russell
    2001) and uses a random subset of the features. A tree whose accuracy falls is replaced. When ADWIN gives
    a warning, a new tree starts in the background. When ADWIN detects drift, the new tree replaces the old
    tree. The forest averages the probabilities of its trees. The weight of a tree is its running accuracy,
    which restarts when the tree is replaced. With ``subspace="node"`` the method is an adaptive random forest
    (Gomes et al. 2017). With ``subspace="tree"`` the method is streaming random patches (Gomes, Read and
    Bifet 2019). docs/models.md lists the differences from MOA. The main difference is that a split of a
    nominal feature separates one value from all other values.

    Parameters
    ----------
    {settings}
    costs
        The cost γ of a training step: "trees" (in proportion to the setting `trees`), "measured" (CPU time on
        random instances when the pool is bound), or one number per forest. Costs are scaled to sum to 1.

    Examples
    --------
    >>> pool = Forest([{}, {"trees": 10, "subspace": "tree"}])
    >>> pool.n_models, pool.configurations[1]["trees"], pool.configurations[1]["features"]
    (2, 10, 0.6)
    """

    written: ClassVar[str] = "forest"
    settings = (
        Setting("trees", 30, whole_number(1, 1000), "The number of trees."),
        Setting(
            "features",
            0.6,
            above_zero(1),
            "The share of the features that a tree uses (subspace 'tree') or that can split a leaf ('node').",
        ),
        Setting(
            "subspace",
            "node",
            among(*SUBSPACES),
            "'tree': features are drawn once for each tree, which ignores all others. 'node': features "
            "are drawn for each leaf, and leaves observe all features.",
        ),
        Setting(
            "bagging",
            6.0,
            real_number(0, 100),
            "The mean λ of the Poisson weight of an instance; 0 gives each instance weight 1.",
        ),
        replace(GRACE_PERIOD, default=50),
        replace(SPLIT_CONFIDENCE, default=0.01),
        replace(TIE_THRESHOLD, default=0.1),
        Setting(
            "random_cuts",
            False,
            flag(),
            "Whether a numeric feature has one random candidate cut instead of twelve evenly spaced cuts.",
        ),
        Setting(
            "warning",
            0.01,
            or_none(above_zero(1)),
            "The significance level δ of the ADWIN that starts a tree in the background; None turns this "
            "ADWIN off.",
            none=0.0,
        ),
        Setting(
            "drift",
            0.001,
            or_none(above_zero(1)),
            "The significance level δ of the ADWIN that replaces a tree; None turns this ADWIN off.",
            none=0.0,
        ),
        replace(
            MAX_BYTES,
            default=64 << 20,
            text="The memory of the nodes and observers of all trees, enforced at every instance. Each tree "
            "has an equal part, a quarter of which is reserved for its background tree.",
        ),
    )
    cost_models: ClassVar[CostModels] = {"trees": by_setting("trees")}
    targets = "classes"

    costs: Costs = "trees"

    def least_sizes(self, schema: Schema) -> dict[str, int]:
        return {f"forest_{i}_behind": one["trees"] for i, one in enumerate(self.configurations)}


class ForestGrid(Forest):
    """Forests over a grid of sizes and subspaces.

    Examples
    --------
    >>> ForestGrid().n_models
    4
    >>> ForestGrid(trees=[20], subspaces=["tree"], features=0.8).configurations[0]["features"]
    0.8
    """

    def __init__(
        self,
        *,
        trees: Iterable[int] = (10, 30),
        subspaces: Iterable[str] = SUBSPACES,
        costs: Costs = "trees",
        **settings: Any,
    ) -> None:
        super().__init__(grid_of({"trees": trees, "subspace": subspaces}, settings), costs=costs)


class BoundForest(BoundNative, of=Forest):
    """The forests of a `Forest` pool for one schema.

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
        """The bytes used by the trees of each forest."""
        return self.native.bytes

    def stats(self) -> list[ForestStats]:
        """Return the size of each forest."""
        found = []
        for i, one in enumerate(self.pool.configurations):
            *sizes, warnings, replaced = self.native.summary(i)
            found.append(ForestStats(one["trees"], *(*sizes, one["max_bytes"], warnings, replaced)))
        return found

    def text(self, i: int, *, tree: int = 0) -> str:
        """Return a tree of forest i as indented text, with its tests and the majority class of each leaf."""
        self._expect_model(i, "text")
        whole(tree, "tree", "text", 0, self.pool.configurations[i]["trees"] - 1)
        columns, state = self.native.tree(i, tree)
        features = tuple(self.schema.features[f] for f in columns)
        return tree_text(state, Schema(features, self.schema.classes))


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
