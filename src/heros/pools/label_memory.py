"""Pools of memories of labels: what follows what."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from heros._base import core as _core
from heros._base.parameters import real_number, whole_number
from heros._base.settings import Setting
from heros.data.schema import Schema
from heros.errors import HerosError, ParameterError
from heros.pools.native import BoundNative, CostModels, Family, equal, grid_of, option

__all__ = ["BoundLabelMemory", "LabelMemory", "LabelMemoryGrid"]

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
    """Models that predict a label from the labels before it, and ignore the features.

    Classes: the model counts which class followed the last label (`order` 1) or the last two (`order` 2). A
    context that was seen seldom borrows from the shorter context, the shortest being how frequent the classes
    are. Numbers: the last label plus a weighted sum of the trend, the mean, the mean of the last eight labels
    and the labels one season ago, each as a difference from the last label. The weights come from least
    squares with fading. Seasons are lags at which differences between labels are correlated; the pool finds
    up to two of them among lags below `memory`.

    All models share the latest labels, which are kept whichever models are trained. With late labels the pool
    uses only labels that had arrived when the instance was predicted (see the `delay` parameter of
    `Heros.learn`). In streams without order in their labels a model predicts the frequencies of the classes,
    or the mean. Features are never used, so a pool of this family is meant to be joined with others.

    Parameters
    ----------
    configurations
        One mapping per model; a setting that is left out has its default. The keys are

        {settings}
    memory
        How many labels are kept. A label that comes later than that is predicted from the frequencies of the
        classes, or the mean.
    costs
        γ, the cost of a training step: "equal", "measured" (CPU time on made-up instances when the pool is
        bound), or one number per model. Always scaled to sum to 1.

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
            "The weight of an instance compared with the next: with .9995 the last 2000 or so count.",
        ),
        Setting("order", 1, whole_number(1, 2), "Classes: how many of the last labels count."),
        Setting("seasons", 2, whole_number(0, 2), "Numbers: how many seasonal lags are used at most."),
    )
    cost_models: ClassVar[CostModels] = {"equal": equal}

    memory: int = option(512, whole_number(4, 1 << 20))
    costs: Costs = "equal"

    def expect_room(self, schema: Schema, state: Mapping[str, NDArray[Any]]) -> None:
        """Refuse a state that is too small to be one of these models, before memory is taken for them."""
        name = "sums" if schema.numeric else "counts"
        least = self.n_models * schema.n_outputs
        if state[name].size < least:
            raise ParameterError.of("state", "LabelMemory", f"at least {least} {name}", state[name].size)


class LabelMemoryGrid(LabelMemory):
    """Memories of labels over a grid of how fast they fade and how many labels count.

    Examples
    --------
    >>> LabelMemoryGrid().n_models
    6
    """

    grid: ClassVar[bool] = True

    def __init__(
        self,
        *,
        fading: Iterable[float] = (1.0, 0.9995, 0.995),
        orders: Iterable[int] = (1, 2),
        memory: int = 512,
        costs: Costs = "equal",
        **settings: Any,
    ) -> None:
        axes = {"fading": fading, "order": orders}
        super().__init__(grid_of(axes, settings), memory=memory, costs=costs)


class BoundLabelMemory(BoundNative, of=LabelMemory):
    """The models of a `LabelMemory` pool, for one schema."""

    native: _core.LabelPool

    def _native(self, schema: Schema, rng: np.random.Generator) -> _core.LabelPool:
        return _core.LabelPool(self._settings(_core.LabelSettings), self.pool.memory, schema.numeric)

    def follows(self, i: int) -> NDArray[np.float64]:
        """Return the probability of each class (columns) after each last label (rows), by model i."""
        if self.schema.numeric:
            raise HerosError("Numbers have no table of what follows what: ask coefficients.")
        return self.native.follows(self._expect_model(i, "BoundLabelMemory"))

    def coefficients(self, i: int) -> dict[str, float]:
        """Return the weight of each input in the predictions of model i, where the target is a number.

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
            raise HerosError("Classes have no coefficients: ask follows.")
        weights = self.native.coefficients(self._expect_model(i, "BoundLabelMemory")).tolist()
        return dict(zip(INPUTS, weights, strict=True))

    @property
    def seasons(self) -> tuple[int, ...]:
        """The lags at which the labels repeat themselves, as far as they have been found."""
        return tuple(lag for lag in self.native.seasons.tolist() if lag)

    @property
    def remembered(self) -> int:
        """How many labels are kept now."""
        return self.native.remembered
