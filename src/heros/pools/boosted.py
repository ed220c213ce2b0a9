"""Pools of boosted trees."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from types import MappingProxyType
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from heros._base import core as _core
from heros._base.parameters import number, positive, whole
from heros.data.schema import Schema
from heros.errors import ParameterError
from heros.pools.base import Pool
from heros.pools.hoeffding import TreeStats
from heros.pools.native import BoundNative, checked_costs, completed

__all__ = ["Boosted", "BoostedGrid", "BoundBoosted"]

Costs = Literal["rounds", "measured"] | Sequence[float]

DEFAULTS: Mapping[str, Any] = MappingProxyType(
    {
        "rounds": 50,
        "learning_rate": 0.2,
        "features": 0.75,
        "grace_period": 50,
        "split_confidence": 0.05,
        "tie_threshold": 0.1,
        "max_depth": -1,
        "shrinkage": 1.0,
        "horizon": 1000.0,
        "max_bytes": 32 << 20,
    }
)
COST_MODELS = {"rounds": lambda configuration: float(configuration["rounds"])}
MOST_ROUNDS = 1000


@dataclass(frozen=True, init=False)
class Boosted(Pool):
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
        One mapping per model; what is left out has the default. The keys are

        `rounds` (50)
            How many trees.
        `learning_rate` (0.2)
            What a tree's step counts.
        `features` (0.75)
            The share of the features that a tree knows, drawn at random.
        `grace_period` (50), `split_confidence` (0.05), `tie_threshold` (0.1), `max_depth` (-1: any)
            As for `Hoeffding`.
        `shrinkage` (1)
            λ: the larger, the smaller the steps of leaves that have seen little.
        `horizon` (1000)
            A leaf's step follows about so many of its latest instances; None: all of them.
        `max_bytes` (32 MiB)
            What nodes and statistics of all trees may hold; each tree has an equal part. Where that is not
            enough, the leaves that the fewest instances come to stop looking for splits.
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
    described_by: ClassVar[tuple[str, ...]] = ("configurations", "costs")

    models: tuple[tuple[Any, ...], ...]
    costs: Costs

    def __init__(
        self, configurations: Iterable[Mapping[str, Any]] = ({},), *, costs: Costs = "rounds"
    ) -> None:
        models = tuple(map(_checked, completed(configurations, DEFAULTS, "Boosted")))
        object.__setattr__(self, "models", models)
        object.__setattr__(self, "costs", checked_costs(costs, COST_MODELS, len(models), "Boosted"))

    @property
    def configurations(self) -> tuple[Mapping[str, Any], ...]:
        """The settings of each model, in the order of the pool."""
        return tuple(dict(zip(DEFAULTS, model, strict=True)) for model in self.models)

    def bind(
        self, schema: Schema, rng: np.random.Generator, costs: NDArray[np.float64] | None = None
    ) -> BoundBoosted:
        """The models, each tree a single leaf. A seed for each model is drawn from `rng`."""
        return BoundBoosted(self, schema, rng, costs)

    def expect_room(self, schema: Schema, state: Mapping[str, NDArray[Any]]) -> None:
        """Refuse a state that is too small to be one of these models, before memory is taken for them."""
        for i, configuration in enumerate(self.configurations):
            rounds, found = configuration["rounds"], state.get(f"model_{i}_ints_sizes", np.empty(0)).size
            if found < rounds:
                raise ParameterError.of("state", "Boosted", f"one of {rounds} trees", found)

    def __repr__(self) -> str:
        costs = repr(self.costs) if isinstance(self.costs, str) else "given"
        return f"{type(self).__name__}({self.n_models} models, costs={costs})"


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
        grid = product(rounds, learning_rates)
        super().__init__([{"rounds": n, "learning_rate": r, **settings} for n, r in grid], costs=costs)


class BoundBoosted(BoundNative):
    """The models of a `Boosted` pool, for one schema.

    Examples
    --------
    >>> schema = Schema.of(["age", ("colour", "red", "green")], classes=["no", "yes"])
    >>> bound = Boosted([{"rounds": 2}]).bind(schema, np.random.default_rng(1))
    >>> bound.stats()[0].leaves, bound.gains(0)
    (2, {'age': 0.0, 'colour': 0.0})
    """

    kind = Boosted
    cost_models = COST_MODELS
    native: _core.BoostedPool
    pool: Boosted

    def __init__(
        self,
        pool: Boosted,
        schema: Schema,
        rng: np.random.Generator,
        costs: NDArray[np.float64] | None = None,
    ) -> None:
        seeds = rng.integers(0, 1 << 64, size=pool.n_models, dtype=np.uint64).tolist()
        settings = [_settings(configuration) for configuration in pool.configurations]
        super().__init__(pool, _core.BoostedPool(settings, schema.numeric, seeds), schema, costs)

    def stats(self) -> list[TreeStats]:
        """The size of every model: of all its trees together, the depth of the deepest."""
        limits = [configuration["max_bytes"] for configuration in self.pool.configurations]
        return [TreeStats(*self.native.summary(i), limit) for i, limit in enumerate(limits)]

    def gains(self, i: int) -> dict[str, float]:
        """By how much the splits of model i by each feature have lowered the loss: what it goes by."""
        whole(i, "i", "gains", 0, self.pool.n_models - 1)
        names = [feature.name for feature in self.schema.features]
        return dict(zip(names, self.native.gains(i).tolist(), strict=True))

    def _fit(self, schema: Schema) -> None:
        outputs = 1 if schema.n_outputs <= 2 else schema.n_outputs
        for configuration in self.pool.configurations:
            rounds, limit = configuration["rounds"], configuration["max_bytes"]
            least = rounds * (16 + 8 * (3 + 2 * outputs))
            if limit < least:
                rule = f"at least {least} with {rounds} rounds and {schema.n_outputs} outputs"
                raise ParameterError.of("max_bytes", "Boosted", rule, limit)
        super()._fit(schema)


def _settings(configuration: Mapping[str, Any]) -> _core.BoostedSettings:
    return _core.BoostedSettings(**{**configuration, "horizon": configuration["horizon"] or 0.0})


def _checked(configuration: Mapping[str, Any]) -> tuple[Any, ...]:
    owner = "Boosted"
    horizon = configuration["horizon"]
    confidence = positive(configuration["split_confidence"], "split_confidence", owner, 1)
    if confidence == 1:
        raise ParameterError.of("split_confidence", owner, "in (0, 1)", confidence)
    return (
        whole(configuration["rounds"], "rounds", owner, 1, MOST_ROUNDS),
        positive(configuration["learning_rate"], "learning_rate", owner, 1),
        positive(configuration["features"], "features", owner, 1),
        whole(configuration["grace_period"], "grace_period", owner, 1, 1 << 40),
        confidence,
        number(configuration["tie_threshold"], "tie_threshold", owner, 0),
        whole(configuration["max_depth"], "max_depth", owner, -1, 1 << 20),
        positive(configuration["shrinkage"], "shrinkage", owner),
        None if horizon is None else number(horizon, "horizon", owner, 1, 1e12),
        whole(configuration["max_bytes"], "max_bytes", owner, 1, 1 << 62),
    )
