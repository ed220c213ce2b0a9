"""Pools of Hoeffding trees that learn a number."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from types import MappingProxyType
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from heros._base import core as _core
from heros._base.parameters import number, one_of, whole
from heros.data.schema import Schema
from heros.errors import ParameterError
from heros.pools.base import Pool, feature_values
from heros.pools.hoeffding import TreeStats
from heros.pools.native import BoundNative, checked_costs, completed

__all__ = ["BoundRegressionTrees", "RegressionTrees", "RegressionTreesGrid"]

Costs = Literal["max-bytes", "measured"] | Sequence[float]

DEFAULTS: Mapping[str, Any] = MappingProxyType(
    {
        "max_bytes": 1 << 20,
        "grace_period": 200,
        "split_confidence": 1e-7,
        "tie_threshold": 0.05,
        "prediction": "adaptive",
        "max_depth": -1,
    }
)
PREDICTIONS = ("mean", "linear", "adaptive")
COST_MODELS = {"max-bytes": lambda configuration: float(configuration["max_bytes"])}

Model = tuple[int, int, float, float, str, int]


@dataclass(frozen=True, init=False)
class RegressionTrees(Pool):
    """Hoeffding trees for a target that is a number, with byte limits that bind.

    A leaf looks for the split that takes most variance from its targets, and takes it once the best feature
    is ahead of the second with the confidence asked for (FIMT, Ikonomovska et al. 2011: the ratio of their
    merits against the Hoeffding bound), or both are as good. Numbers are seen through 24 bins of equal width,
    which double when a value is outside; a nominal feature splits into one value and the others. Changes are
    not looked for in the tree: HEROS's scores see them.

    Parameters
    ----------
    configurations
        One mapping per model; what is left out has the default. The keys are `max_bytes` (1 MB: nodes and
        statistics; where these do not fit, the leaves with the least squared error stop looking for splits),
        `grace_period` (200), `split_confidence` (1e-7), `tie_threshold` (0.05), `max_depth` (-1: any) and
        `prediction`: "mean" of the leaf's targets, "linear" (a model of the numeric features, learnt by
        normalised steps and handed on to the children), or "adaptive" (the default), whichever of both has
        been better in the leaf lately.
    costs
        γ, the cost of a training step: "max-bytes", "measured" (CPU time on made-up instances when the pool
        is bound), or one number per model. Always scaled to sum to 1.

    Examples
    --------
    >>> pool = RegressionTrees([{}, {"max_bytes": 20_000, "prediction": "mean"}])
    >>> pool.n_models, pool.configurations[1]["prediction"]
    (2, 'mean')
    """

    written: ClassVar[str] = "rtrees"
    described_by: ClassVar[tuple[str, ...]] = ("configurations", "costs")

    models: tuple[Model, ...]
    costs: Costs

    def __init__(self, configurations: Iterable[Mapping[str, Any]], *, costs: Costs = "max-bytes") -> None:
        models = tuple(map(_checked, completed(configurations, DEFAULTS, "RegressionTrees")))
        object.__setattr__(self, "models", models)
        object.__setattr__(self, "costs", checked_costs(costs, COST_MODELS, len(models), "RegressionTrees"))

    @property
    def configurations(self) -> tuple[Mapping[str, Any], ...]:
        """The settings of each model, in the order of the pool."""
        return tuple(dict(zip(DEFAULTS, model, strict=True)) for model in self.models)

    def bind(
        self, schema: Schema, rng: np.random.Generator, costs: NDArray[np.float64] | None = None
    ) -> BoundRegressionTrees:
        """The models, which have seen nothing, for instances of this schema. Nothing is drawn from `rng`."""
        return BoundRegressionTrees(self, schema, costs)

    def expect_room(self, schema: Schema, state: Mapping[str, NDArray[Any]]) -> None:
        """Refuse a state that is too small to be one of these models, before memory is taken for them."""
        if state["nodes"].size < self.n_models:
            rule = f"at least {self.n_models} trees"
            raise ParameterError.of("state", "RegressionTrees", rule, state["nodes"].size)

    def __repr__(self) -> str:
        costs = repr(self.costs) if isinstance(self.costs, str) else "given"
        return f"{type(self).__name__}({self.n_models} models, costs={costs})"


class RegressionTreesGrid(RegressionTrees):
    """Regression trees over a grid of byte limits, grace periods and ways to answer.

    Examples
    --------
    >>> RegressionTreesGrid().n_models
    8
    """

    grid: ClassVar[bool] = True

    def __init__(
        self,
        *,
        max_bytes: Iterable[int] = (1 << 16, 1 << 20),
        grace_periods: Iterable[int] = (50, 200),
        predictions: Iterable[str] = ("mean", "adaptive"),
        costs: Costs = "max-bytes",
        **settings: Any,
    ) -> None:
        grid = product(max_bytes, grace_periods, predictions)
        super().__init__(
            [{"max_bytes": b, "grace_period": g, "prediction": p, **settings} for b, g, p in grid],
            costs=costs,
        )


class BoundRegressionTrees(BoundNative):
    """The models of a `RegressionTrees` pool, for one schema.

    Examples
    --------
    >>> bound = RegressionTrees([{}]).bind(Schema.of(["age"]), np.random.default_rng(1))
    >>> bound.stats()[0].leaves
    1
    """

    kind = RegressionTrees
    cost_models = COST_MODELS
    native: _core.RegressionTreePool
    pool: RegressionTrees

    def __init__(
        self, pool: RegressionTrees, schema: Schema, costs: NDArray[np.float64] | None = None
    ) -> None:
        if not schema.numeric:
            rule = "one with a number as its target"
            raise ParameterError(
                f"The 'schema' parameter of RegressionTrees must be {rule}. Got classes instead."
            )
        settings = [_core.RegressionTreeSettings(**configuration) for configuration in pool.configurations]
        super().__init__(pool, _core.RegressionTreePool(settings), schema, costs)

    def stats(self) -> list[TreeStats]:
        """The size of every tree."""
        limits = [model[0] for model in self.pool.models]
        return [TreeStats(*self.native.summary(i), limit) for i, limit in enumerate(limits)]

    def _fit(self, schema: Schema) -> None:
        numbers = int((feature_values(schema) == 0).sum())
        least = 16 + 8 * (9 + numbers)
        smallest = min(model[0] for model in self.pool.models)
        if smallest < least:
            rule = f"at least {least} with {schema.n_features} features (a tree of one node)"
            raise ParameterError.of("max_bytes", "RegressionTrees", rule, smallest)
        super()._fit(schema)


def _checked(configuration: Mapping[str, Any]) -> Model:
    owner = "RegressionTrees"
    confidence = number(configuration["split_confidence"], "split_confidence", owner, 0, 1)
    if confidence in (0.0, 1.0):
        raise ParameterError.of("split_confidence", owner, "in (0, 1)", confidence)
    return (
        whole(configuration["max_bytes"], "max_bytes", owner, 1, 1 << 40),
        whole(configuration["grace_period"], "grace_period", owner, 1, 1 << 40),
        confidence,
        number(configuration["tie_threshold"], "tie_threshold", owner, 0),
        one_of(
            configuration["prediction"], "prediction", owner, PREDICTIONS, "'mean', 'linear' or 'adaptive'"
        ),
        whole(configuration["max_depth"], "max_depth", owner, -1, 1 << 20),
    )
