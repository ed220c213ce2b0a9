"""Pools of models that predict a label from earlier labels."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from heros._base import core as _core
from heros._base.errors import HerosError
from heros._base.parameters import real_number, whole_number
from heros._base.settings import Setting
from heros.data.schema import Schema
from heros.pools.base import Floats
from heros.pools.family import BoundNative, CostModels, Family, equal, grid_of, option

Costs = Literal["equal", "measured"] | Sequence[float]
INPUTS = (
    "constant",
    "mean",
    "trend",
    "last few",
    "season",
    "season before",
    "second season",
    "second season before",
)


@dataclass(frozen=True, kw_only=True, repr=False)
class LabelMemory(Family):
    """Models that predict a label from earlier labels and ignore the features.

    For classes, a model counts which class followed the last label (`order` 1) or the last two (`order` 2).
    The counts of a rare context (the last label or labels) are smoothed with the counts of the shorter
    context, and finally with the class frequencies. For numbers, the prediction is the last label plus a
    weighted sum. The terms of the sum are the trend (the difference between the last two labels) and the
    differences from the last label to the mean, to the mean of the last eight labels and to the labels one
    season ago. The weights are fitted by least squares with fading. A season is a lag at which the
    differences between labels are correlated. The pool finds up to two seasons among the lags below `memory`.

    All models share one store of the latest labels. Each label is stored, regardless of which models are
    trained. With late labels the pool uses only labels that had arrived when the instance was predicted (see
    the `delay` parameter of `Heros.learn`). If labels do not depend on earlier labels, a model predicts the
    class frequencies or the mean. Features are never used, so join a pool of this family with other pools.

    Parameters
    ----------
    {settings}
    memory
        The number of labels to store. If an instance has at least this `delay` (see `Heros.learn`), the
        models predict the class frequencies or the mean.
    costs
        The cost γ of a training step: "equal", "measured" (CPU time on random instances when the pool is
        bound), or one number per model. Costs are scaled to sum to 1.

    Examples
    --------
    >>> from heros import Heros
    >>> model = Heros(LabelMemory([{}]), seed=1, schema=Schema.of(["size"], classes=["red", "blue"]))
    >>> model = model.learn(np.zeros((200, 1)), np.arange(200) % 2)
    >>> model.bound.follows(0).round(2)
    array([[0.01, 0.99],
           [0.99, 0.01]])
    """

    written: ClassVar[str] = "labels"
    settings = (
        Setting(
            "fading",
            0.9995,
            real_number(0.5, 1),
            "The weight of an instance relative to the next instance: .9995 uses about the last 2000 "
            "instances.",
        ),
        Setting("order", 1, whole_number(1, 2), "In classification: the number of previous labels to use."),
        Setting("seasons", 2, whole_number(0, 2), "In regression: the maximum number of seasonal lags."),
    )
    cost_models: ClassVar[CostModels] = {"equal": equal}

    memory: int = option(512, whole_number(4, 1 << 20))
    costs: Costs = "equal"

    def least_sizes(self, schema: Schema) -> dict[str, int]:
        return {"sums" if schema.numeric else "counts": self.n_models * schema.n_outputs}


class LabelMemoryGrid(LabelMemory):
    """Label memories over a grid of fading factors and orders.

    Examples
    --------
    >>> LabelMemoryGrid().n_models
    6
    """

    def __init__(
        self,
        *,
        fading: Iterable[float] = (1.0, 0.9995, 0.995),
        orders: Iterable[int] = (1, 2),
        memory: int = 512,
        costs: Costs = "equal",
        **settings: Any,
    ) -> None:
        super().__init__(grid_of({"fading": fading, "order": orders}, settings), memory=memory, costs=costs)


class BoundLabelMemory(BoundNative, of=LabelMemory):
    """The models of a `LabelMemory` pool for one schema."""

    native: _core.LabelPool

    def _native(self, schema: Schema, rng: np.random.Generator) -> _core.LabelPool:
        return _core.LabelPool(self._settings(_core.LabelSettings), self.pool.memory, schema.numeric)

    def follows(self, i: int) -> Floats:
        """Return the probability of each next class (columns) after each last class (rows) in model i."""
        if self.schema.numeric:
            raise HerosError("Regression has no table of class transitions. Call coefficients() instead.")
        return self.native.follows(self._expect_model(i, "BoundLabelMemory"))

    def coefficients(self, i: int) -> dict[str, float]:
        """Return the weight of each input in the predictions of model i, for regression.

        Examples
        --------
        >>> from heros import Heros
        >>> model = Heros(LabelMemory([{}]), seed=1, schema=Schema.of(["size"]))
        >>> days = np.arange(600)
        >>> model = model.learn(np.zeros((600, 1)), 1.0 * (days % 7))
        >>> model.bound.seasons, round(model.bound.coefficients(0)["season"], 1)
        ((7,), 1.0)
        """
        if not self.schema.numeric:
            raise HerosError("Classification has no coefficients. Call follows() instead.")
        weights = self.native.coefficients(self._expect_model(i, "BoundLabelMemory")).tolist()
        return dict(zip(INPUTS, weights, strict=True))

    @property
    def seasons(self) -> tuple[int, ...]:
        """The seasonal lags found so far in the labels."""
        return tuple(lag for lag in self.native.seasons.tolist() if lag)

    @property
    def remembered(self) -> int:
        """The number of labels that are currently stored."""
        return self.native.remembered
