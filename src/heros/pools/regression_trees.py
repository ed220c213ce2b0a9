"""Pools of Hoeffding trees for regression."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np

from heros._base import core as _core
from heros._base.parameters import among, inside_unit
from heros._base.settings import Setting
from heros.data.schema import Schema
from heros.pools import tree_settings
from heros.pools.family import CostModels, Family, by_setting, grid_of

Costs = Literal["max-bytes", "measured"] | Sequence[float]


@dataclass(frozen=True, kw_only=True, repr=False)
class RegressionTrees(Family):
    """Hoeffding trees for regression, with enforced byte limits.

    A leaf searches for the split that reduces the variance of its targets most. The leaf splits when the best
    feature is better than the second best with the given confidence, or when both are about equally good. As
    in FIMT (Ikonomovska et al. 2011), the ratio of the two variance reductions is compared with the Hoeffding
    bound. Numbers are counted in 24 bins of equal width; the width doubles when a value lies outside the
    bins. A nominal feature is split into one value and the others. The trees do not detect changes; HEROS
    detects changes from the scores of the models.

    Parameters
    ----------
    {settings}
    costs
        The cost γ of a training step: "max-bytes" (in proportion to the byte limit), "measured" (CPU time on
        random instances when the pool is bound), or one number per model. Costs are scaled to sum to 1.

    Examples
    --------
    >>> pool = RegressionTrees([{}, {"max_bytes": 20_000, "prediction": "mean"}])
    >>> pool.n_models, pool.configurations[1]["prediction"]
    (2, 'mean')
    """

    written: ClassVar[str] = "rtrees"
    settings = (
        replace(
            tree_settings.MAX_BYTES,
            default=1 << 20,
            text="The memory for the nodes and statistics. If a tree needs more memory, its leaves with the "
            "lowest squared error stop searching for splits.",
        ),
        tree_settings.GRACE_PERIOD,
        replace(tree_settings.SPLIT_CONFIDENCE, rule=inside_unit()),
        tree_settings.TIE_THRESHOLD,
        Setting(
            "prediction",
            "adaptive",
            among("mean", "linear", "adaptive"),
            "'mean' of the leaf's targets, 'linear' (a model of the numeric features, trained by normalised "
            "steps and copied to the children), or 'adaptive' (the method that was recently better in the "
            "leaf).",
        ),
        tree_settings.MAX_DEPTH,
    )
    cost_models: ClassVar[CostModels] = {"max-bytes": by_setting("max_bytes")}
    targets = "numbers"

    costs: Costs = "max-bytes"

    def least_sizes(self, schema: Schema) -> dict[str, int]:
        return {"nodes": self.n_models}


class RegressionTreesGrid(RegressionTrees):
    """Regression trees over a grid of byte limits, grace periods and prediction methods.

    Examples
    --------
    >>> RegressionTreesGrid().n_models
    8
    """

    def __init__(
        self,
        *,
        max_bytes: Iterable[int] = (1 << 16, 1 << 20),
        grace_periods: Iterable[int] = (50, 200),
        predictions: Iterable[str] = ("mean", "adaptive"),
        costs: Costs = "max-bytes",
        **settings: Any,
    ) -> None:
        axes = {"max_bytes": max_bytes, "grace_period": grace_periods, "prediction": predictions}
        super().__init__(grid_of(axes, settings), costs=costs)


class BoundRegressionTrees(tree_settings.BoundTrees, of=RegressionTrees):
    """The models of a `RegressionTrees` pool for one schema.

    Examples
    --------
    >>> bound = RegressionTrees([{}]).bind(Schema.of(["age"]), np.random.default_rng(1))
    >>> bound.stats()[0].leaves
    1
    """

    native: _core.RegressionTreePool

    def _native(self, schema: Schema, rng: np.random.Generator) -> _core.RegressionTreePool:
        return _core.RegressionTreePool(self._settings(_core.RegressionTreeSettings))
