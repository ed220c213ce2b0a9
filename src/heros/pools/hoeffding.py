"""Pools of Hoeffding trees."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from heros._base import core as _core
from heros._base.parameters import among, flag
from heros._base.settings import Setting
from heros.data.schema import Schema
from heros.pools import tree_settings
from heros.pools.base import Floats
from heros.pools.family import CostModels, Family, by_setting, grid_of

Costs = Literal["max-bytes", "bytes", "measured"] | Sequence[float]
SIZES = tuple(1024 << k for k in range(1, 11))  # 2, 4, ..., 1024 KB


@dataclass(frozen=True, kw_only=True, repr=False)
class Hoeffding(Family):
    """Hoeffding trees with given settings.

    This is the VFDT of Domingos and Hulten (2000). Unless a tree reaches its byte limit, it equals MOA's
    `HoeffdingTree` with the same settings. Numeric features have Gaussian observers with 10 candidate cuts. A
    split of a nominal feature has a branch per value. A leaf is split when the best test is better than the
    second best by more than ε = √(R² ln(1/δ) / 2n), or when ε is below the tie threshold. Features are
    neither scaled nor one-hot encoded. docs/models.md lists the differences from MOA.

    Parameters
    ----------
    {settings}
    costs
        The cost γ of a training step: "max-bytes" (in proportion to the byte limit, as in the paper), "bytes"
        (in proportion to the current size of each tree, updated every 1000 instances), "measured" (CPU time
        on random instances when the pool is bound), or one number per tree. Costs are scaled to sum to 1.

    Examples
    --------
    >>> pool = Hoeffding([{}, {"max_bytes": 4096}, {"grace_period": 50, "prediction": "majority"}])
    >>> pool.n_models, pool.configurations[1]["max_bytes"], pool.configurations[1]["grace_period"]
    (3, 4096, 200)
    """

    written: ClassVar[str] = "trees"
    settings = (
        tree_settings.MAX_BYTES,
        tree_settings.GRACE_PERIOD,
        tree_settings.SPLIT_CONFIDENCE,
        tree_settings.TIE_THRESHOLD,
        Setting(
            "criterion",
            "information_gain",
            among("information_gain", "gini"),
            "The criterion that compares tests.",
        ),
        Setting(
            "prediction",
            "adaptive",
            among("majority", "naive_bayes", "adaptive"),
            "How leaves predict; 'adaptive' uses the method that was more accurate in the leaf.",
        ),
        Setting(
            "binary_splits",
            False,
            flag(),
            "Whether nominal features are split only into one value and all other values.",
        ),
        tree_settings.MAX_DEPTH,
        Setting(
            "split_on",
            "bound",
            among("bound", "change"),
            "With 'change', a leaf splits by the best test as soon as the accuracy of the leaf changes, even "
            "if other tests are nearly as good. This is the method of local adaptive streaming trees (LAST). "
            "HDDM-A detects the change, with `split_confidence` as its δ, e.g. 0.001. The grace period and "
            "the tie threshold then have no effect.",
        ),
    )
    cost_models: ClassVar[CostModels] = {
        "max-bytes": by_setting("max_bytes"),
        "bytes": lambda bound: [float(n) for n in bound.native.bytes],
    }
    targets = "classes"

    costs: Costs = "max-bytes"


class HoeffdingGrid(Hoeffding):
    """Hoeffding trees over a grid of byte limits and grace periods; the paper's pool of 50 by default.

    In the paper, the byte limits had no effect (CapyMOA reads a size of 0, and MOA checks the limit only
    every million instances), so the cheapest trees were equal to the most expensive trees. Here, the limits
    have an effect.

    Examples
    --------
    >>> grid = HoeffdingGrid()
    >>> grid.n_models, grid.configurations[0]["max_bytes"], grid.configurations[-1]["max_bytes"]
    (50, 2048, 1048576)
    >>> HoeffdingGrid(grace_periods=[200], prediction="majority").n_models
    10
    """

    def __init__(
        self,
        *,
        max_bytes: Iterable[int] = SIZES,
        grace_periods: Iterable[int] = (50, 100, 200, 400, 800),
        costs: Costs = "max-bytes",
        **settings: Any,
    ) -> None:
        axes = {"max_bytes": max_bytes, "grace_period": grace_periods}
        super().__init__(grid_of(axes, settings), costs=costs)


class BoundHoeffding(tree_settings.BoundTrees, of=Hoeffding):
    """The trees of a `Hoeffding` pool for one schema.

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

    def _native(self, schema: Schema, rng: np.random.Generator) -> _core.HoeffdingPool:
        self.costs_change = self.pool.costs == "bytes"
        return _core.HoeffdingPool(self._settings(_settings))

    def text(self, i: int) -> str:
        """Return tree i as indented text, with its tests and the majority class and count of each leaf."""
        return tree_settings.tree_text(self.native.tree_state(self._expect_model(i, "text")), self.schema)

    def measure(self) -> Floats:
        if self.costs_change:
            self.costs = self._costs()
        return self.costs


def _settings(*, split_on: str, **settings: Any) -> _core.TreeSettings:
    return _core.TreeSettings(**settings, on_change=split_on == "change")
