"""A pool that joins pools of several kinds, so that one policy chooses among all models."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from heros._base import core as _core
from heros._base.errors import ParameterError
from heros._base.parameters import one_of
from heros.data.schema import Schema
from heros.pools.base import BoundPool, Floats, Pool, expect_schema, feature_values, shares
from heros.pools.timing import prices
from heros.storage import archive

Costs = Literal["measured"] | Sequence[float]


@dataclass(frozen=True, init=False)
class Join(Pool):
    """Several pools joined into one: the models of the first pool, then those of the second, and so on.

    The policy chooses among all models, so all costs must be on the same scale.

    Parameters
    ----------
    pools
        The pools to join; a `Join` among them is replaced by its pools.
    costs
        The cost γ of a training step: "measured" (CPU time of an evaluation and a training step of each model
        on random instances when the pool is bound, which varies from run to run), one number per pool (the
        total cost of the pool's models, divided among these models in proportion to their costs in the pool),
        or one number per model. Costs are scaled to sum to 1.
    bounded
        Whether extreme numbers are clipped. After the first 100 numbers of a feature or a target, a number
        may exceed the previous range by at most 3 times the width of the range. A more extreme number is
        replaced by this limit, and the range doubles. Measures use the original target.

    Examples
    --------
    >>> from heros.pools import Hoeffding, MLP
    >>> pool = Join(MLP([{"hidden": 16}, {"hidden": 64}]), Hoeffding([{}]), costs=[5, 1])
    >>> pool.n_models, pool.configurations[0]
    (3, {'family': 'MLP', 'optimizer': 'adam', 'learning_rate': 0.005, 'hidden': 16})
    """

    described_by: ClassVar[tuple[str, ...]] = ("pools", "costs", "bounded")

    pools: tuple[Pool, ...]
    costs: Costs
    bounded: bool

    def __init__(self, *pools: Pool, costs: Costs = "measured", bounded: bool = False) -> None:
        for pool in pools:
            if not isinstance(pool, Pool):
                raise ParameterError.of("pools", "Join", "pools, e.g. heros.pools.MLPGrid()", pool)
        parts = tuple(part for pool in pools for part in (pool.pools if isinstance(pool, Join) else (pool,)))
        if not parts:
            raise ParameterError.of("pools", "Join", "one or more pools", [])
        if isinstance(costs, str):
            one_of(costs, "costs", "Join", ("measured",), "'measured' or numbers")
        else:
            costs = _checked_costs_of(costs, len(parts), sum(part.n_models for part in parts))
        if not isinstance(bounded, bool):
            raise ParameterError.of("bounded", "Join", "True or False", bounded)
        object.__setattr__(self, "pools", parts)
        object.__setattr__(self, "costs", costs)
        object.__setattr__(self, "bounded", bounded)

    @classmethod
    def from_settings(cls, **settings: Any) -> Join:
        return cls(*settings.pop("pools", ()), **settings)

    @property
    def plain(self) -> bool:  # type: ignore[override]
        """Whether files and checkpoints can store the models without pickle."""
        return all(part.plain for part in self.pools)

    @property
    def configurations(self) -> tuple[Mapping[str, Any], ...]:
        """The settings of each model and the name of its family, in the order of the pools.

        If pools of one family scale numbers differently, the settings include the scale.
        """
        scales: dict[str, set[float]] = {}
        for part in self.pools:
            scales.setdefault(type(part).__name__, set()).add(getattr(part, "divisor", 0.0))
        return tuple(
            {"family": family, **configuration}
            | ({"scale": getattr(part, "divisor", 0.0)} if len(scales[family]) > 1 else {})
            for part in self.pools
            for family in (type(part).__name__,)
            for configuration in part.configurations
        )

    def bind(self, schema: Schema, rng: np.random.Generator, costs: Floats | None = None) -> BoundJoin:
        return BoundJoin(self, schema, rng, costs)

    def expect_room(self, schema: Schema, state: Mapping[str, NDArray[Any]]) -> None:
        for i, part in enumerate(self.pools):
            part.expect_room(schema, archive.subset(state, str(i)))

    def __repr__(self) -> str:
        return f"Join({', '.join(map(repr, self.pools))})"


class BoundJoin(BoundPool):
    """The models of joined pools for one schema.

    Examples
    --------
    >>> from heros.pools import Hoeffding, MLP
    >>> schema = Schema.of(["age"], classes=["no", "yes"])
    >>> pool = Join(MLP([{"hidden": 16}, {"hidden": 48}]), Hoeffding([{}]), costs=[4, 1])
    >>> bound = pool.bind(schema, np.random.default_rng(1))
    >>> bound.costs, bound.parts[1].stats()[0].leaves
    (array([0.2, 0.6, 0.2]), 1)
    """

    native: _core.JoinedPool

    def __init__(
        self, pool: Join, schema: Schema, rng: np.random.Generator, costs: Floats | None = None
    ) -> None:
        self.pool, self.schema = pool, schema
        self.parts = tuple(
            part.bind(schema, rng, None if costs is None else _own_share(costs[at]))
            for part, at in zip(pool.pools, self._slices(), strict=True)
        )
        self.native = _core.JoinedPool([part.native for part in self.parts])
        self.costs_change = not self._costs_per_model and any(part.costs_change for part in self.parts)
        self.costs = self._costs() if costs is None else costs

    def expect_fit(self, schema: Schema) -> None:
        for part in self.parts:
            part.expect_fit(schema)

    def grow(self, schema: Schema, rng: np.random.Generator) -> None:
        """Extend all models to a schema with more features, values or classes; keep measured costs.

        If one pool cannot be extended to the schema, no pool is extended.
        """
        self.expect_fit(schema)
        for part in self.parts:
            part.grow(schema, rng)
        self.schema = schema
        if self.pool.costs != "measured":
            self.costs = self._costs()

    def measure(self) -> Floats:
        """Update and return `costs`, for pools whose costs change during training.

        The total cost of each pool stays the same, but the shares of the pool's models may change.
        """
        if self.costs_change:
            totals = [self.costs[at].sum() for at in self._slices()]
            parts = [total * part.measure() for total, part in zip(totals, self.parts, strict=True)]
            self.costs = shares(np.concatenate(parts), self.pool.n_models, "Join")
        return self.costs

    def state(self) -> dict[str, NDArray[Any]]:
        return {
            **archive.grouped({str(i): part.state() for i, part in enumerate(self.parts)}),
            "values": feature_values(self.schema),
            "classes": np.array([self.schema.n_outputs]),
            "gamma": self.costs,
        }

    def restore(self, state: dict[str, NDArray[Any]]) -> None:
        expect_schema(state, self.schema, "Join")
        costs = shares(state.get("gamma", ()), self.pool.n_models, "Join")
        for i, part in enumerate(self.parts):
            part.restore(archive.subset(state, str(i)))
        self.costs = costs

    def _slices(self) -> Iterator[slice]:
        start = 0
        for part in self.pool.pools:
            yield slice(start, start := start + part.n_models)

    @property
    def _costs_per_model(self) -> bool:
        costs = self.pool.costs
        return not isinstance(costs, str) and len(costs) != len(self.pool.pools)

    def _costs(self) -> Floats:
        costs = self.pool.costs
        if isinstance(costs, str):
            each = [sum(prices(part, self.schema)) for part in self.pool.pools]
        elif self._costs_per_model:
            return shares(costs, self.pool.n_models, "Join")
        else:
            each = [total * part.costs for total, part in zip(costs, self.parts, strict=True)]
        return shares(np.concatenate(each), self.pool.n_models, "Join")


def _checked_costs_of(costs: Sequence[float], pools: int, models: int) -> tuple[float, ...]:
    """Return costs as shares; raise an error unless there is one cost per pool or per model."""
    try:
        count = len(costs)
    except TypeError:
        count = -1
    if count not in (pools, models):
        rule = f"'measured', one number per pool ({pools}) or one per model ({models})"
        raise ParameterError.of("costs", "Join", rule, costs)
    return tuple(shares(costs, count, "Join").tolist())


def _own_share(costs: Floats) -> Floats:
    """Return the costs of the models of one pool, scaled to sum to 1."""
    total = costs.sum()
    return costs / total if total > 0 else np.full(len(costs), 1 / len(costs))
