"""What the pools of the core's own families share: settings with defaults, costs, growth and state."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from heros._base import core as _core
from heros._base.parameters import number, one_of
from heros.data.schema import Schema
from heros.errors import ParameterError
from heros.pools.base import BoundPool, Pool, expect_mappings, expect_schema, feature_values, shares
from heros.pools.timing import seconds_alone

__all__ = ["BoundNative", "CostModel", "checked_costs", "completed", "divisor"]

CostModel = Callable[[Mapping[str, Any]], float]
"""What a model costs, by its configuration, on any scale."""


_Native = (
    _core.NeighboursPool
    | _core.LinearPool
    | _core.BayesPool
    | _core.LabelPool
    | _core.ForestPool
    | _core.BoostedPool
    | _core.RetrainedPool
    | _core.RegressionTreePool
)


def completed(
    configurations: object, defaults: Mapping[str, Any], owner: str
) -> tuple[Mapping[str, Any], ...]:
    """The configurations of a pool's models, with the defaults where something is left out.

    Examples
    --------
    >>> completed([{"window": 500}], {"window": 1000, "weighting": "distance"}, "Neighbours")
    ({'window': 500, 'weighting': 'distance'},)
    """
    models = expect_mappings(configurations, owner)
    if not models:
        raise ParameterError.of("configurations", owner, "at least one model", [])
    for model in models:
        unknown = sorted(set(model) - set(defaults))
        if unknown:
            rule = f"mappings with keys among {list(defaults)}"
            raise ParameterError.of("configurations", owner, rule, unknown)
    return tuple({**defaults, **model} for model in models)


def checked_costs(
    costs: str | Sequence[float], known: Mapping[str, CostModel], n_models: int, owner: str
) -> str | tuple[float, ...]:
    """The costs parameter of a pool: a cost model's name, "measured", or numbers, as shares of their sum."""
    if not isinstance(costs, str):
        return tuple(shares(costs, n_models, owner).tolist())
    rule = ", ".join(map(repr, known)) + ", 'measured' or numbers"
    return one_of(costs, "costs", owner, (*known, "measured"), rule)


def divisor(scale: object, owner: str) -> float:
    """How many standard deviations of a number become 1, by a pool's `scale`; 0: it is taken as it is.

    Examples
    --------
    >>> divisor(True, "MLP"), divisor(False, "MLP"), divisor(1, "MLP")
    (3.0, 0.0, 1.0)
    """
    if isinstance(scale, bool | np.bool_):
        return 3.0 if scale else 0.0
    try:
        deviations = number(scale, "scale", owner, 0, 1e6)
    except ParameterError:
        deviations = 0.0
    if deviations == 0:
        raise ParameterError.of("scale", owner, "True, False or a number in (0, 1e6]", scale)
    return deviations


class BoundNative(BoundPool):
    """The models of one of the core's families, for one schema. What they draw at random is their own."""

    kind: ClassVar[type[Pool]]
    """The class of pools whose models they are."""

    cost_models: ClassVar[Mapping[str, CostModel]]
    native: _Native

    def __init__(
        self, pool: Pool, native: _Native, schema: Schema, costs: NDArray[np.float64] | None
    ) -> None:
        self.pool, self.native = pool, native
        self._fit(schema)
        self.costs = self._costs() if costs is None else costs

    def grow(self, schema: Schema, rng: np.random.Generator) -> None:
        """Fit the models to a schema that extends the one they know. What they have learnt stays."""
        self._fit(schema)
        self.costs = self._costs()

    def state(self) -> dict[str, NDArray[Any]]:
        """Everything learnt, as arrays."""
        return {**self.native.state(), "gamma": self.costs}

    def restore(self, state: dict[str, NDArray[Any]]) -> None:
        """Take back what `state` gave."""
        owner = self.kind.__name__
        expect_schema(state, self.schema, owner)
        costs = shares(state.get("gamma", ()), self.pool.n_models, owner)
        self.native.restore(state)
        self.costs = costs

    def _fit(self, schema: Schema) -> None:
        self.native.grow(feature_values(schema), schema.n_outputs)
        self.schema = schema

    def _costs(self) -> NDArray[np.float64]:
        costs: Any = self.pool.costs
        if costs == "measured":
            costs = [self._seconds(configuration) for configuration in self.pool.configurations]
        elif isinstance(costs, str):
            costs = [self.cost_models[costs](configuration) for configuration in self.pool.configurations]
        return shares(costs, self.pool.n_models, self.kind.__name__)

    def _seconds(self, configuration: Mapping[str, Any]) -> float:
        settings = {name: getattr(self.pool, name) for name in self.kind.described_by}
        alone = self.kind.made_of(**{**settings, "configurations": [configuration], "costs": [1.0]})
        return seconds_alone(alone, self.schema, 1000)
