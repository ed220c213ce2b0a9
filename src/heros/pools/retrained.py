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
from heros.pools.family import BoundNative, CostModels, Family, grid_of
from heros.pools.tree_settings import MAX_BYTES, gains_of

Costs = Literal["training", "measured"] | Sequence[float]
MOST = 1 << 30  # maximum number of instances in a window


def _training(bound: Any) -> list[float]:
    """Estimate the work of each model per instance of the stream.

    In every training, each tree assigns all instances of the window to its leaves.
    """
    return [
        float(one["trees"] * log2(2 * one["leaves"]) * one["window"] / one["every"])
        for one in bound.pool.configurations
    ]


@dataclass(frozen=True)
class RetrainedStats:
    """The size of one model of a `Retrained` pool."""

    trainings: int
    """The number of completed retrainings, including the first training."""
    trees: int
    """The number of trees in the last training."""
    leaves: int
    """The number of leaves of these trees."""
    depth: int
    """The number of splits above the deepest leaf."""
    instances: int
    """The number of instances in the window."""
    window: int
    """The maximum number of instances in the window; lower than the setting if `max_bytes` is too small."""
    bytes: int
    """The bytes of instances, trees and the training in progress."""
    max_bytes: int
    """The limit of `bytes`."""


@dataclass(frozen=True, kw_only=True, repr=False)
class Retrained(Family):
    """Gradient-boosted trees, retrained on a window of the latest instances.

    Each training grows `trees` trees in sequence, or `trees` trees per class if there are three or more
    classes. As in LightGBM, a tree is grown leaf by leaf from the first and second derivatives of the loss,
    over histograms of binned features. The loss is the log loss for classes and half the squared error for
    numbers. The first training starts after 50 instances. The next training starts when the number of
    instances has doubled, or after `every` instances. The work is spread over the following instances,
    because a whole training would delay a single instance (see `spread`). The previous trees predict until
    the training is complete. The trees of the other boosted family, `Boosted`, grow with each instance and
    are never retrained.

    Nominal features are split by sets of values. A missing value goes to the side that lowers the loss more.
    Training uses no random numbers.

    Parameters
    ----------
    {settings}
    costs
        The cost γ of a training step: "training" (in proportion to
        trees · log₂(2 · leaves) · window / every), "measured" (CPU time on random instances when the pool is
        bound), or one number per model. Costs are scaled to sum to 1.

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
            "The number of latest instances used for each training.",
        ),
        Setting("every", 1000, whole_number(1, MOST), "The number of instances between two retrainings."),
        Setting(
            "spread",
            None,
            or_none(whole_number(1, MOST)),
            "The number of instances over which the work of one training is spread, at most `every`. With 1, "
            "all work is done at once. With None, a step takes about a millisecond, and the work is spread "
            "over at most half of `every` instances.",
            none=0,
        ),
        Setting("trees", 30, whole_number(1, 1000), "The number of trees per output."),
        Setting("leaves", 15, whole_number(2, 1000), "The maximum number of leaves of a tree."),
        Setting("learning_rate", 0.2, above_zero(1), "The factor that multiplies each tree's step."),
        Setting("bins", 63, whole_number(2, 255), "The number of bins of a numeric feature."),
        Setting(
            "min_leaf",
            20,
            whole_number(1, MOST),
            "The minimum number of instances in a leaf, estimated from second derivatives as in LightGBM.",
        ),
        Setting(
            "shrinkage",
            1.0,
            real_number(0),
            "The L2 term λ added to a leaf's second derivatives: a larger λ gives smaller steps.",
        ),
        Setting(
            "most_trees",
            None,
            or_none(whole_number(1, 1 << 16)),
            "The maximum number of trees over all outputs. If this limit leaves fewer than `trees` trees per "
            "output, the learning rate is raised in proportion, up to .5.",
            none=0,
        ),
        Setting(
            "drift",
            None,
            or_none(above_zero(1)),
            "The significance level δ of an ADWIN that tests the loss of the trees. If the loss has risen, "
            "the window restarts at the change, and the next training starts at once. None turns the test "
            "off.",
            none=0.0,
        ),
        replace(
            MAX_BYTES,
            default=1 << 30,
            text="The memory of instances, trees and a training. A window that does not fit is shortened; "
            "`BoundRetrained.stats` returns its length.",
        ),
    )
    cost_models: ClassVar[CostModels] = {"training": _training}

    costs: Costs = "training"

    def expect_together(self, settings: Mapping[str, Any], given: Mapping[str, Any]) -> None:
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

    def __init__(
        self,
        *,
        windows: Iterable[int] = (2000, 10000),
        trees: Iterable[int] = (15, 30),
        costs: Costs = "training",
        **settings: Any,
    ) -> None:
        super().__init__(grid_of({"window": windows, "trees": trees}, settings), costs=costs)


class BoundRetrained(BoundNative, of=Retrained):
    """The models of a `Retrained` pool for one schema.

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
        """Return the size of each model."""
        limits = [configuration["max_bytes"] for configuration in self.pool.configurations]
        return [RetrainedStats(*self.native.summary(i), limit) for i, limit in enumerate(limits)]

    def gains(self, i: int) -> dict[str, float]:
        """Return how much the splits on each feature reduced the loss in the last training of model i."""
        return gains_of(self, self._expect_model(i, "gains"))
