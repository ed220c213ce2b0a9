"""Pools of boosted trees."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np

from heros._base import core as _core
from heros._base.parameters import above_zero, inside_unit, or_none, real_number, whole_number
from heros._base.settings import Setting
from heros.data.schema import Schema
from heros.pools import tree_settings
from heros.pools.family import CostModels, Family, by_setting, grid_of, seeds_of

Costs = Literal["rounds", "measured"] | Sequence[float]


@dataclass(frozen=True, kw_only=True, repr=False)
class Boosted(Family):
    """Incremental gradient-boosted trees. Each model is a sequence of trees that correct the previous trees.

    All trees learn from every instance. A tree is trained on the first and second derivatives of the loss,
    taken at the summed predictions of the previous trees (SGBT, Gunasekara et al. 2024). Each leaf predicts
    the step that lowers the loss most, multiplied by the learning rate. The loss is the log loss for classes
    and half the squared error for numbers. A leaf splits when the best feature is better than the second best
    with the given confidence, or when both are about equally good. There are two differences from SGBT
    (docs/models.md). Each round has one tree, which predicts a step for each class; SGBT has one tree per
    class. The leaves store derivatives; SGBT's trees are FIMT-DD, whose leaves store means and linear models.

    Parameters
    ----------
    {settings}
    costs
        The cost γ of a training step: "rounds" (in proportion to the setting `rounds`), "measured"
        (CPU time on random instances when the pool is bound), or one number per model. Costs are scaled to
        sum to 1.

    Examples
    --------
    >>> pool = Boosted([{}, {"rounds": 10, "horizon": 5000}])
    >>> pool.n_models, pool.configurations[1]["rounds"], pool.configurations[1]["learning_rate"]
    (2, 10, 0.2)
    """

    written: ClassVar[str] = "boosted"
    settings = (
        Setting("rounds", 50, whole_number(1, 1000), "The number of trees."),
        Setting("learning_rate", 0.2, above_zero(1), "The factor that multiplies each tree's step."),
        Setting(
            "features", 0.75, above_zero(1), "The share of the features that a tree uses, drawn at random."
        ),
        replace(tree_settings.GRACE_PERIOD, default=50),
        replace(tree_settings.SPLIT_CONFIDENCE, default=0.05, rule=inside_unit()),
        replace(tree_settings.TIE_THRESHOLD, default=0.1),
        tree_settings.MAX_DEPTH,
        Setting(
            "shrinkage",
            1.0,
            above_zero(),
            "The L2 term λ: a larger λ gives smaller steps in leaves with few instances.",
        ),
        Setting(
            "horizon",
            1000.0,
            or_none(real_number(1, 1e12)),
            "The approximate number of recent instances that determine a leaf's step; None means all "
            "instances.",
            none=0.0,
        ),
        replace(
            tree_settings.MAX_BYTES,
            text="The memory for the nodes and statistics of all trees, divided equally among the trees. If "
            "a tree needs more memory, its leaves with the fewest instances stop searching for splits.",
        ),
    )
    cost_models: ClassVar[CostModels] = {"rounds": by_setting("rounds")}

    costs: Costs = "rounds"

    def least_sizes(self, schema: Schema) -> dict[str, int]:
        return {f"model_{i}_ints_sizes": one["rounds"] for i, one in enumerate(self.configurations)}


class BoostedGrid(Boosted):
    """Boosted trees over a grid of rounds and learning rates.

    Examples
    --------
    >>> BoostedGrid().n_models
    4
    >>> BoostedGrid(rounds=[20], horizon=1000).configurations[0]["horizon"]
    1000.0
    """

    def __init__(
        self,
        *,
        rounds: Iterable[int] = (10, 30),
        learning_rates: Iterable[float] = (0.3, 0.1),
        costs: Costs = "rounds",
        **settings: Any,
    ) -> None:
        super().__init__(grid_of({"rounds": rounds, "learning_rate": learning_rates}, settings), costs=costs)


class BoundBoosted(tree_settings.BoundTrees, of=Boosted):
    """The models of a `Boosted` pool for one schema.

    Examples
    --------
    >>> schema = Schema.of(["age", ("colour", "red", "green")], classes=["no", "yes"])
    >>> bound = Boosted([{"rounds": 2}]).bind(schema, np.random.default_rng(1))
    >>> bound.stats()[0].leaves, bound.gains(0)
    (2, {'age': 0.0, 'colour': 0.0})
    """

    native: _core.BoostedPool

    def _native(self, schema: Schema, rng: np.random.Generator) -> _core.BoostedPool:
        settings = self._settings(_core.BoostedSettings)
        return _core.BoostedPool(settings, schema.numeric, seeds_of(rng, self.pool.n_models))

    def gains(self, i: int) -> dict[str, float]:
        """Return the total reduction of the loss by the splits on each feature in model i."""
        return tree_settings.gains_of(self, self._expect_model(i, "gains"))
