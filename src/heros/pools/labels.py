"""Pools of memories of labels: what follows what."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from types import MappingProxyType
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from heros._base import core as _core
from heros._base.parameters import number, whole
from heros.data.schema import Schema
from heros.errors import HerosError, ParameterError
from heros.pools.base import Pool
from heros.pools.native import BoundNative, checked_costs, completed

__all__ = ["BoundLabelMemory", "LabelMemory", "LabelMemoryGrid"]

Costs = Literal["equal", "measured"] | Sequence[float]

DEFAULTS: Mapping[str, Any] = MappingProxyType({"fading": 0.9995, "order": 1, "seasons": 2})
COST_MODELS = {"equal": lambda configuration: 1.0}
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


@dataclass(frozen=True, init=False)
class LabelMemory(Pool):
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
        One mapping per model; what is left out has the default. The keys are

        `fading` (0.9995)
            What an instance weighs against the next one, in [0.5, 1]: with .9995 the last 2000 or so count.
        `order` (1)
            Classes: how many of the last labels count, 1 or 2.
        `seasons` (2)
            Numbers: how many seasonal lags are used at most: 0, 1 or 2.
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
    described_by: ClassVar[tuple[str, ...]] = ("configurations", "memory", "costs")

    models: tuple[tuple[float, int, int], ...]
    memory: int
    costs: Costs

    def __init__(
        self, configurations: Iterable[Mapping[str, Any]], *, memory: int = 512, costs: Costs = "equal"
    ) -> None:
        models = tuple(map(_checked, completed(configurations, DEFAULTS, "LabelMemory")))
        object.__setattr__(self, "models", models)
        object.__setattr__(self, "memory", whole(memory, "memory", "LabelMemory", 4, 1 << 20))
        object.__setattr__(self, "costs", checked_costs(costs, COST_MODELS, len(models), "LabelMemory"))

    @property
    def configurations(self) -> tuple[Mapping[str, Any], ...]:
        """The settings of each model, in the order of the pool."""
        return tuple(dict(zip(DEFAULTS, model, strict=True)) for model in self.models)

    def bind(
        self, schema: Schema, rng: np.random.Generator, costs: NDArray[np.float64] | None = None
    ) -> BoundLabelMemory:
        """The models, without any label yet, for instances of this schema. Nothing is drawn from `rng`."""
        return BoundLabelMemory(self, schema, costs)

    def expect_room(self, schema: Schema, state: Mapping[str, NDArray[Any]]) -> None:
        """Refuse a state that is too small to be one of these models, before memory is taken for them."""
        name = "sums" if schema.numeric else "counts"
        least = self.n_models * schema.n_outputs
        if state[name].size < least:
            raise ParameterError.of("state", "LabelMemory", f"at least {least} {name}", state[name].size)

    def __repr__(self) -> str:
        costs = repr(self.costs) if isinstance(self.costs, str) else "given"
        return f"{type(self).__name__}({self.n_models} models, costs={costs})"


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
        grid = product(fading, orders)
        super().__init__([{"fading": f, "order": o, **settings} for f, o in grid], memory=memory, costs=costs)


class BoundLabelMemory(BoundNative):
    """The models of a `LabelMemory` pool, for one schema."""

    kind = LabelMemory
    cost_models = COST_MODELS
    native: _core.LabelPool
    pool: LabelMemory

    def __init__(self, pool: LabelMemory, schema: Schema, costs: NDArray[np.float64] | None = None) -> None:
        settings = [_core.LabelSettings(**configuration) for configuration in pool.configurations]
        super().__init__(pool, _core.LabelPool(settings, pool.memory, schema.numeric), schema, costs)

    def follows(self, i: int) -> NDArray[np.float64]:
        """Return the probability of each class (columns) after each last label (rows), by model i."""
        if self.schema.numeric:
            raise HerosError("Numbers have no table of what follows what: ask coefficients.")
        return self.native.follows(self._expect_model(i))

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
        weights = self.native.coefficients(self._expect_model(i)).tolist()
        return dict(zip(INPUTS, weights, strict=True))

    @property
    def seasons(self) -> tuple[int, ...]:
        """The lags at which the labels repeat themselves, as far as they have been found."""
        return tuple(lag for lag in self.native.seasons.tolist() if lag)

    @property
    def remembered(self) -> int:
        """How many labels are kept now."""
        return self.native.remembered

    def _expect_model(self, i: int) -> int:
        return whole(i, "i", "BoundLabelMemory", 0, self.pool.n_models - 1)


def _checked(configuration: Mapping[str, Any]) -> tuple[float, int, int]:
    return (
        number(configuration["fading"], "fading", "LabelMemory", 0.5, 1),
        whole(configuration["order"], "order", "LabelMemory", 1, 2),
        whole(configuration["seasons"], "seasons", "LabelMemory", 0, 2),
    )
