"""Pools of boosted trees that are retrained on a window of the latest instances."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import log2
from typing import Any, ClassVar, Literal

import numpy as np

from heros._base import core as _core
from heros._base.parameters import above_zero, or_none, real_number, whole, whole_number
from heros._base.settings import Setting
from heros.data.schema import Schema
from heros.pools.native import BoundNative, CostModels, Family, grid_of
from heros.pools.tree_settings import MAX_BYTES, gains_of

__all__ = ["BoundRetrained", "Retrained", "RetrainedGrid", "RetrainedStats"]

Costs = Literal["training", "measured"] | Sequence[float]
MOST = 1 << 30  # instances of a window


def _training(bound: Any) -> list[float]:
    """Work per instance: all trees, each of which sorts the instances of the window into its leaves."""
    return [
        float(one["trees"] * log2(2 * one["leaves"]) * one["window"] / one["every"])
        for one in bound.pool.configurations
    ]


@dataclass(frozen=True)
class RetrainedStats:
    """What one model of a `Retrained` pool holds."""

    trainings: int
    """Trainings that are done."""
    trees: int
    """Trees of the last one."""
    leaves: int
    """Leaves of all these trees."""
    depth: int
    """Splits above the deepest leaf."""
    instances: int
    """Instances in the window."""
    window: int
    """Instances that the window can hold: fewer than asked for if `max_bytes` is too small."""
    bytes: int
    """Bytes of instances, trees and the training that is going on."""
    max_bytes: int
    """The limit."""


@dataclass(frozen=True, kw_only=True, repr=False)
class Retrained(Family):
    """Gradient-boosted trees, trained anew on a window of the latest instances.

    Each training grows `trees` trees (with three classes or more: for each class) one after the other on the
    first and second derivatives of the loss, leaf by leaf, over histograms of binned features, as LightGBM
    does. The loss of classes is the log-loss, the loss of a number half the squared error. The first training
    is at 50 instances; the next when the instances have doubled, or after `every` of them. The work of a
    training is spread over the instances that come next (`spread`), so that no single one waits for a whole
    training; until it is done the trees of the training before predict. `Boosted` is the other family of
    boosted trees: its trees grow with every instance and are never trained anew.

    Nominal features are split by sets of values, and a missing value goes to the side that lowers the loss
    more. The results depend on the instances alone: nothing is drawn at random.

    Parameters
    ----------
    configurations
        One mapping per model; a setting that is left out has its default. The keys are

        {settings}
    costs
        γ, the cost of a training step: "training" (∝ trees · log₂(2 · leaves) · window / every), "measured"
        (CPU time on made-up instances when the pool is bound), or one number per model. Always scaled to sum
        to 1.

    Examples
    --------
    >>> pool = Retrained([{}, {"window": 10000, "trees": 50}])
    >>> pool.n_models, pool.configurations[1]["trees"], pool.configurations[1]["leaves"]
    (2, 50, 15)
    """

    written: ClassVar[str] = "retrained"
    settings = (
        Setting(
            "window",
            5000,
            whole_number(_core.RetrainedPool.FIRST, MOST),
            "How many of the latest instances a training uses.",
        ),
        Setting("every", 1000, whole_number(1, MOST), "Instances between two trainings."),
        Setting(
            "spread",
            None,
            or_none(whole_number(1, MOST)),
            "Over how many instances the work of a training is spread, at most `every`; 1: all of it at "
            "once. None: over as many as a step of about a millisecond takes, at most half of `every`.",
            none=0,
        ),
        Setting("trees", 30, whole_number(1, 1000), "Trees per output."),
        Setting("leaves", 15, whole_number(2, 1000), "The largest number of leaves of a tree."),
        Setting("learning_rate", 0.2, above_zero(1), "The weight of a tree's step."),
        Setting("bins", 63, whole_number(2, 255), "Bins of a numeric feature."),
        Setting(
            "min_leaf",
            20,
            whole_number(1, MOST),
            "Instances in a leaf, at least; estimated from second derivatives, as LightGBM does.",
        ),
        Setting(
            "shrinkage",
            1.0,
            real_number(0),
            "λ, added to a leaf's second derivatives: the larger, the smaller its step.",
        ),
        Setting(
            "most_trees",
            None,
            or_none(whole_number(1, 1 << 16)),
            "Trees of all outputs together, at most. Where that leaves fewer than `trees` for an output, "
            "each has a learning rate that is higher in proportion, up to .5.",
            none=0,
        ),
        replace(
            MAX_BYTES,
            default=64 << 20,
            text="The memory of instances, trees and a training. Where the window does not fit, it is "
            "shorter: `BoundRetrained.stats` says how long.",
        ),
    )
    cost_models: ClassVar[CostModels] = {"training": _training}

    costs: Costs = "training"

    def expect_together(self, settings: Mapping[str, Any], given: Mapping[str, Any]) -> None:
        """Refuse a training that is spread over more instances than there are before the next one."""
        if settings["spread"] is not None:
            whole(settings["spread"], "spread", "Retrained", 1, settings["every"])


class RetrainedGrid(Retrained):
    """Retrained boosted trees over a grid of windows and numbers of trees.

    Examples
    --------
    >>> RetrainedGrid().n_models
    4
    >>> RetrainedGrid(windows=[5000], every=500).configurations[0]["every"]
    500
    """

    grid: ClassVar[bool] = True

    def __init__(
        self,
        *,
        windows: Iterable[int] = (2000, 10000),
        trees: Iterable[int] = (15, 30),
        costs: Costs = "training",
        **settings: Any,
    ) -> None:
        axes = {"window": windows, "trees": trees}
        super().__init__(grid_of(axes, settings), costs=costs)


class BoundRetrained(BoundNative, of=Retrained):
    """The models of a `Retrained` pool, for one schema.

    Examples
    --------
    >>> schema = Schema.of(["age", ("colour", "red", "green")], classes=["no", "yes"])
    >>> bound = Retrained([{"window": 2000}]).bind(schema, np.random.default_rng(1))
    >>> bound.stats()[0].window, bound.stats()[0].trainings, bound.gains(0)
    (2000, 0, {'age': 0.0, 'colour': 0.0})
    """

    native: _core.RetrainedPool

    def _native(self, schema: Schema, rng: np.random.Generator) -> _core.RetrainedPool:
        return _core.RetrainedPool(self._settings(_core.RetrainedSettings), schema.numeric)

    def stats(self) -> list[RetrainedStats]:
        """What every model holds."""
        limits = [configuration["max_bytes"] for configuration in self.pool.configurations]
        return [RetrainedStats(*self.native.summary(i), limit) for i, limit in enumerate(limits)]

    def gains(self, i: int) -> dict[str, float]:
        """By how much the splits of model i by each feature lowered the loss in the last training."""
        return gains_of(self, self._expect_model(i, "gains"))
