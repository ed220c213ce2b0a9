"""Pools of boosted trees."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from heros._base import core as _core
from heros._base.parameters import above_zero, inside_unit, or_none, real_number, whole_number
from heros._base.settings import Setting
from heros.data.schema import Schema
from heros.errors import ParameterError
from heros.pools.native import BoundNative, CostModels, Family, by_setting, grid_of, seeds_of
from heros.pools.tree_settings import (
    GRACE_PERIOD,
    MAX_BYTES,
    MAX_DEPTH,
    SPLIT_CONFIDENCE,
    TIE_THRESHOLD,
    TreeStats,
    gains_of,
    stats_of,
)

__all__ = ["Boosted", "BoostedGrid", "BoundBoosted"]

Costs = Literal["rounds", "measured"] | Sequence[float]


@dataclass(frozen=True, kw_only=True, repr=False)
class Boosted(Family):
    """Trees one after the other, each of which mends what those before it left; each such row is one model.

    All trees learn from every instance. A tree sees the first and second derivatives of the loss at what the
    trees before it say (SGBT, Gunasekara et al. 2024), and its leaves answer with the step that lowers the
    loss most, times the learning rate. The loss of classes is the log-loss, that of a number half the squared
    error. A leaf splits where two steps are better than one, once the best feature is ahead of the second
    with the confidence asked for, or both are as good. Departures from SGBT are listed in docs/families.md:
    one tree per round with a step for every class, and leaves that hold derivatives rather than FIMT-DD's
    means and linear models.

    Parameters
    ----------
    configurations
        One mapping per model; a setting that is left out has its default. The keys are

        {settings}
    costs
        γ, the cost of a training step: "rounds" (∝ their number), "measured" (CPU time on made-up instances
        when the pool is bound), or one number per model. Always scaled to sum to 1.

    Examples
    --------
    >>> pool = Boosted([{}, {"rounds": 10, "horizon": 5000}])
    >>> pool.n_models, pool.configurations[1]["rounds"], pool.configurations[1]["learning_rate"]
    (2, 10, 0.2)
    """

    written: ClassVar[str] = "boosted"
    settings = (
        Setting("rounds", 50, whole_number(1, 1000), "How many trees."),
        Setting("learning_rate", 0.2, above_zero(1), "The weight of a tree's step."),
        Setting(
            "features", 0.75, above_zero(1), "The share of the features that a tree knows, drawn at random."
        ),
        replace(GRACE_PERIOD, default=50),
        replace(SPLIT_CONFIDENCE, default=0.05, rule=inside_unit()),
        replace(TIE_THRESHOLD, default=0.1),
        MAX_DEPTH,
        Setting(
            "shrinkage",
            1.0,
            above_zero(),
            "λ: the larger, the smaller the steps of leaves that have seen little.",
        ),
        Setting(
            "horizon",
            1000.0,
            or_none(real_number(1, 1e12)),
            "A leaf's step follows about so many of its latest instances; None: all of them.",
            none=0.0,
        ),
        replace(
            MAX_BYTES,
            text="The memory of nodes and statistics of all trees; each tree has an equal part. Where "
            "that is not enough, the leaves that the fewest instances come to stop searching for splits.",
        ),
    )
    cost_models: ClassVar[CostModels] = {"rounds": by_setting("rounds")}

    costs: Costs = "rounds"

    def expect_room(self, schema: Schema, state: Mapping[str, NDArray[Any]]) -> None:
        """Refuse a state that is too small to be one of these models, before memory is taken for them."""
        for i, configuration in enumerate(self.configurations):
            rounds, found = configuration["rounds"], state.get(f"model_{i}_ints_sizes", np.empty(0)).size
            if found < rounds:
                raise ParameterError.of("state", "Boosted", f"one of {rounds} trees", found)


class BoostedGrid(Boosted):
    """Boosted trees over a grid of rounds and learning rates.

    Examples
    --------
    >>> BoostedGrid().n_models
    4
    >>> BoostedGrid(rounds=[20], horizon=1000).configurations[0]["horizon"]
    1000.0
    """

    grid: ClassVar[bool] = True

    def __init__(
        self,
        *,
        rounds: Iterable[int] = (10, 30),
        learning_rates: Iterable[float] = (0.3, 0.1),
        costs: Costs = "rounds",
        **settings: Any,
    ) -> None:
        axes = {"rounds": rounds, "learning_rate": learning_rates}
        super().__init__(grid_of(axes, settings), costs=costs)


class BoundBoosted(BoundNative, of=Boosted):
    """The models of a `Boosted` pool, for one schema.

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

    def stats(self) -> list[TreeStats]:
        """The size of every model: of all its trees together, the depth of the deepest."""
        return stats_of(self)

    def gains(self, i: int) -> dict[str, float]:
        """By how much the splits of model i by each feature have lowered the loss."""
        return gains_of(self, self._expect_model(i, "gains"))
