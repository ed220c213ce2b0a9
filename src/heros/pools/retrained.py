"""Pools of boosted trees that are retrained on a window of the latest instances."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import log2
from types import MappingProxyType
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from heros._base import core as _core
from heros._base.parameters import number, positive, whole
from heros.data.schema import Schema
from heros.errors import ParameterError
from heros.pools.base import Pool, feature_values
from heros.pools.native import BoundNative, checked_costs, completed

__all__ = ["BoundRetrained", "Retrained", "RetrainedGrid", "RetrainedStats"]

Costs = Literal["training", "measured"] | Sequence[float]

DEFAULTS: Mapping[str, Any] = MappingProxyType(
    {
        "window": 5000,
        "every": 1000,
        "spread": None,
        "trees": 30,
        "leaves": 15,
        "learning_rate": 0.2,
        "bins": 63,
        "min_leaf": 20,
        "shrinkage": 1.0,
        "max_bytes": 64 << 20,
    }
)
MOST = 1 << 30  # instances of a window
FEWEST = 50  # instances of the first training, as in the core


def _training(configuration: Mapping[str, Any]) -> float:
    """Work per instance: all trees, each of which sorts the instances of the window into its leaves."""
    per_training = configuration["trees"] * log2(2 * configuration["leaves"]) * configuration["window"]
    return float(per_training / configuration["every"])


COST_MODELS = {"training": _training}


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


@dataclass(frozen=True, init=False)
class Retrained(Pool):
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
        One mapping per model; what is left out has the default. The keys are

        `window` (5000)
            How many of the latest instances a training uses.
        `every` (1000)
            Instances between two trainings.
        `spread` (None)
            Over how many instances the work of a training is spread, at most `every`; 1: all of it at once.
            None: over as many as it takes for a step of about a millisecond, at most half of `every`.
        `trees` (30), `leaves` (15), `learning_rate` (0.2)
            Trees per output, their largest number of leaves, and what a tree's step counts.
        `bins` (63)
            Bins of a numeric feature, at most 255.
        `min_leaf` (20)
            Instances in a leaf, at least; estimated from second derivatives, as LightGBM does.
        `shrinkage` (1)
            λ, added to a leaf's second derivatives: the larger, the smaller its step.
        `max_bytes` (64 MiB)
            The memory of instances, trees and a training. Where the window does not fit, it is shorter:
            `BoundRetrained.stats` says how long.
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
    described_by: ClassVar[tuple[str, ...]] = ("configurations", "costs")

    models: tuple[tuple[Any, ...], ...]
    costs: Costs

    def __init__(
        self, configurations: Iterable[Mapping[str, Any]] = ({},), *, costs: Costs = "training"
    ) -> None:
        models = tuple(map(_checked, completed(configurations, DEFAULTS, "Retrained")))
        object.__setattr__(self, "models", models)
        object.__setattr__(self, "costs", checked_costs(costs, COST_MODELS, len(models), "Retrained"))

    @property
    def configurations(self) -> tuple[Mapping[str, Any], ...]:
        """The settings of each model, in the order of the pool."""
        return tuple(dict(zip(DEFAULTS, model, strict=True)) for model in self.models)

    def bind(
        self, schema: Schema, rng: np.random.Generator, costs: NDArray[np.float64] | None = None
    ) -> BoundRetrained:
        """The models, without any instance yet, for instances of this schema. Nothing is drawn from `rng`."""
        return BoundRetrained(self, schema, costs)

    def __repr__(self) -> str:
        costs = repr(self.costs) if isinstance(self.costs, str) else "given"
        return f"{type(self).__name__}({self.n_models} models, costs={costs})"


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
        grid = product(windows, trees)
        super().__init__([{"window": w, "trees": n, **settings} for w, n in grid], costs=costs)


class BoundRetrained(BoundNative):
    """The models of a `Retrained` pool, for one schema.

    Examples
    --------
    >>> schema = Schema.of(["age", ("colour", "red", "green")], classes=["no", "yes"])
    >>> bound = Retrained([{"window": 2000}]).bind(schema, np.random.default_rng(1))
    >>> bound.stats()[0].window, bound.stats()[0].trainings, bound.gains(0)
    (2000, 0, {'age': 0.0, 'colour': 0.0})
    """

    kind = Retrained
    cost_models = COST_MODELS
    native: _core.RetrainedPool
    pool: Retrained

    def __init__(self, pool: Retrained, schema: Schema, costs: NDArray[np.float64] | None = None) -> None:
        settings = [
            _core.RetrainedSettings(**{**one, "spread": one["spread"] or 0}) for one in pool.configurations
        ]
        super().__init__(pool, _core.RetrainedPool(settings, schema.numeric), schema, costs)

    def stats(self) -> list[RetrainedStats]:
        """What every model holds."""
        limits = [configuration["max_bytes"] for configuration in self.pool.configurations]
        return [RetrainedStats(*self.native.summary(i), limit) for i, limit in enumerate(limits)]

    def gains(self, i: int) -> dict[str, float]:
        """By how much the splits of model i by each feature lowered the loss in the last training."""
        whole(i, "i", "gains", 0, self.pool.n_models - 1)
        names = [feature.name for feature in self.schema.features]
        return dict(zip(names, self.native.gains(i).tolist(), strict=True))

    def _fit(self, schema: Schema) -> None:
        for i, configuration in enumerate(self.pool.configurations):
            least = self.native.least_bytes(i, feature_values(schema), schema.n_outputs)
            if configuration["max_bytes"] < least:
                rule = f"at least {least} with {schema.n_features} features and {schema.n_outputs} outputs"
                raise ParameterError.of("max_bytes", "Retrained", rule, configuration["max_bytes"])
        super()._fit(schema)


def _checked(configuration: Mapping[str, Any]) -> tuple[Any, ...]:
    owner = "Retrained"
    every = whole(configuration["every"], "every", owner, 1, MOST)
    return (
        whole(configuration["window"], "window", owner, FEWEST, MOST),
        every,
        None
        if configuration["spread"] is None
        else whole(configuration["spread"], "spread", owner, 1, every),
        whole(configuration["trees"], "trees", owner, 1, 1000),
        whole(configuration["leaves"], "leaves", owner, 2, 1000),
        positive(configuration["learning_rate"], "learning_rate", owner, 1),
        whole(configuration["bins"], "bins", owner, 2, 255),
        whole(configuration["min_leaf"], "min_leaf", owner, 1, MOST),
        number(configuration["shrinkage"], "shrinkage", owner, 0),
        whole(configuration["max_bytes"], "max_bytes", owner, 1, 1 << 62),
    )
