"""The base classes of the compiled families of models: settings, costs, growth and state."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, fields
from itertools import product
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from heros._base.errors import ParameterError
from heros._base.parameters import Rule, one_of, whole
from heros._base.settings import Setting, documented
from heros.data.schema import Schema
from heros.pools.base import BoundPool, Floats, Pool, expect_mappings, expect_schema, feature_values, shares
from heros.pools.timing import seconds_alone

CostModel = Callable[["BoundNative"], Sequence[float]]
"""A function that returns the cost of each model of a pool, on any scale."""

CostModels = Mapping[str, CostModel]

Configurations = Sequence[Mapping[str, Any]]


def by_setting(name: str) -> CostModel:
    """Return a function that sets the cost of each model in proportion to a setting."""
    return lambda bound: [float(one[name]) for one in bound.pool.configurations]


def equal(bound: BoundNative) -> list[float]:
    """Return the same cost for every model."""
    return [1.0] * bound.pool.n_models


def option(default: Any, rule: Rule) -> Any:
    """Return a dataclass field for a parameter of the whole pool; `rule` checks its value."""
    return field(default=default, metadata={"rule": rule})


def grid_of(axes: Mapping[str, Iterable[Any]], settings: Mapping[str, Any] | None = None) -> Configurations:
    """Return all combinations of the values of the axes, each with the additional settings."""
    return [{**dict(zip(axes, point, strict=True)), **(settings or {})} for point in product(*axes.values())]


@dataclass(frozen=True)
class Family(Pool):
    """The base class of pools of a compiled family; a subclass lists the settings of its models.

    ``{settings}`` in the docstring of a subclass is replaced by the documentation of `configurations`.
    """

    role: ClassVar[str] = "pool"

    settings: ClassVar[tuple[Setting, ...]]
    """The settings of a model, in the order of its configuration."""

    cost_models: ClassVar[CostModels]
    """The cost functions, by the names that `costs` accepts in addition to "measured"."""

    targets: ClassVar[Literal["classes", "numbers", "both"]] = "both"
    """The kinds of targets that the models can learn."""

    timed: ClassVar[int] = 1000
    """The number of instances on which a model is timed, if costs are measured."""

    family: ClassVar[type[Family]]
    """The class that defines the settings; for a grid, the base class of the grid."""

    bound_by: ClassVar[type[BoundNative]]
    """The class of the bound pool."""

    configurations: Configurations = field(default=({},), hash=False)
    _: KW_ONLY
    costs: str | Sequence[float] = ""

    def __init_subclass__(cls, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        if "settings" in vars(cls):
            cls.family = cls
            cls.__doc__ = documented(cls.__doc__, cls.settings)
        elif "__init__" in vars(cls) and "role" not in vars(cls):  # a grid of the same family
            cls.grid = True

    def __post_init__(self) -> None:
        owner = self.family.__name__
        models = expect_mappings(self.configurations, owner)
        if not models:
            raise ParameterError.of("configurations", owner, "a list of at least one model", [])
        checked: dict[str, Any] = {"configurations": tuple(self._checked(model) for model in models)}
        for parameter in fields(self):
            if "rule" in parameter.metadata:
                value = getattr(self, parameter.name)
                checked[parameter.name] = parameter.metadata["rule"].check(value, parameter.name, owner)
        if isinstance(self.costs, str):
            rule = ", ".join(map(repr, self.cost_models)) + ", 'measured' or numbers"
            one_of(self.costs, "costs", owner, (*self.cost_models, "measured"), rule)
        else:
            checked["costs"] = tuple(shares(self.costs, len(models), owner).tolist())
        for name, value in checked.items():
            object.__setattr__(self, name, value)

    def _checked(self, model: Mapping[str, Any]) -> dict[str, Any]:
        """Return the checked settings of a model, without optional settings that equal their default."""
        owner, known = self.family.__name__, {setting.name: setting for setting in self.settings}
        if unknown := sorted(set(model) - set(known)):
            rule = f"mappings with keys among {list(known)}"
            raise ParameterError.of("configurations", owner, rule, unknown)
        values = {name: one.checked(model.get(name, one.default), owner) for name, one in known.items()}
        self.expect_together(values, model)
        return {name: value for name, value in values.items() if not known[name].omits(value)}

    def expect_together(self, settings: Mapping[str, Any], given: Mapping[str, Any]) -> None:
        """Raise an error if settings of a model contradict each other."""

    def complete(self, i: int) -> dict[str, Any]:
        """Return all settings of model i for the core, with a number in place of None."""
        given = ((one, self.configurations[i].get(one.name, one.default)) for one in self.settings)
        return {one.name: one.none if value is None else value for one, value in given}

    def bind(self, schema: Schema, rng: np.random.Generator, costs: Floats | None = None) -> BoundNative:
        return self.bound_by(self, schema, rng, costs)

    def single_model(self, i: int) -> Family:
        """Return a pool with only model i."""
        others = {one.name: getattr(self, one.name) for one in fields(self) if one.init}
        return self.family(**{**others, "configurations": [self.configurations[i]], "costs": [1.0]})

    def least_sizes(self, schema: Schema) -> dict[str, int]:
        """Return the minimum sizes of the arrays of a state, which are checked before memory is allocated."""
        return {}

    def expect_room(self, schema: Schema, state: Mapping[str, NDArray[Any]]) -> None:
        for name, least in self.least_sizes(schema).items():
            found = state[name].size if name in state else 0
            if found < least:
                rule = f"the state of these models, with at least {least} numbers in {name!r}"
                raise ParameterError.of("state", self.family.__name__, rule, found)

    def __repr__(self) -> str:
        costs = repr(self.costs) if isinstance(self.costs, str) else "given"
        return f"{type(self).__name__}({self.n_models} models, costs={costs})"


class BoundNative(BoundPool):
    """The models of a compiled family for one schema.

    A subclass names its family: ``class BoundForest(BoundNative, of=Forest)``.
    """

    pool: Any
    native: Any  # a pool of the core: each family has its own class with the methods that this class calls

    def __init_subclass__(cls, of: type[Family] | None = None, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        if of is not None:
            of.bound_by = cls

    def __init__(self, pool: Family, schema: Schema, rng: np.random.Generator, costs: Floats | None) -> None:
        self.pool = pool
        self._expect_target(schema)
        self.native = self._native(schema, rng)
        self._fit(schema, rng)
        self.costs = self._costs() if costs is None else costs

    def _native(self, schema: Schema, rng: np.random.Generator) -> Any:
        """Create the compiled pool; `_fit` then passes the features of the schema to the pool."""
        raise NotImplementedError

    def _settings(self, kind: Callable[..., Any]) -> list[Any]:
        """Return the settings of each model as objects of the core."""
        return [kind(**self.pool.complete(i)) for i in range(self.pool.n_models)]

    def grow(self, schema: Schema, rng: np.random.Generator) -> None:
        self._fit(schema, rng)
        self.costs = self._costs()

    def state(self) -> dict[str, NDArray[Any]]:
        return {**self.native.state(), "gamma": self.costs}

    def restore(self, state: dict[str, NDArray[Any]]) -> None:
        expect_schema(state, self.schema, self._owner)
        costs = shares(state.get("gamma", ()), self.pool.n_models, self._owner)
        self.native.restore(state)
        self.costs = costs

    @property
    def _owner(self) -> str:
        return str(self.pool.family.__name__)

    def _expect_model(self, i: int, owner: str) -> int:
        return whole(i, "i", owner, 0, self.pool.n_models - 1)

    def _expect_target(self, schema: Schema) -> None:
        """Raise an error if the models cannot learn the target of a schema."""
        targets = self.pool.targets
        if targets == "both" or schema.numeric == (targets == "numbers"):
            return
        rule, got = ("a schema with classes, because this pool cannot predict numbers", "a number as target")
        if targets == "numbers":
            rule, got = ("a schema with a number as target", "classes")
        raise ParameterError(f"The 'schema' parameter of {self._owner} must be {rule}. Got {got} instead.")

    def _fit(self, schema: Schema, rng: np.random.Generator) -> None:
        self.expect_fit(schema)
        self._grow(feature_values(schema), schema.n_outputs, rng)
        self.schema = schema

    def _grow(self, values: NDArray[np.int32], outputs: int, rng: np.random.Generator) -> None:
        self.native.grow(values, outputs)

    def expect_fit(self, schema: Schema) -> None:
        values = feature_values(schema)
        for i, configuration in enumerate(self.pool.configurations):
            limit = configuration.get("max_bytes", getattr(self.pool, "max_bytes", None))
            if limit is None:
                return
            least = self.native.least_bytes(i, values, schema.n_outputs)
            if limit < least:
                target = "a numeric target" if schema.numeric else f"{schema.n_classes} classes"
                rule = f"at least {least} for {schema.n_features} features and {target}"
                raise ParameterError.of("max_bytes", self._owner, rule, limit)

    def _costs(self) -> Floats:
        costs: Any = self.pool.costs
        if costs == "measured":
            models = range(self.pool.n_models)
            costs = [seconds_alone(self.pool.single_model(i), self.schema, self.pool.timed) for i in models]
        elif isinstance(costs, str):
            costs = self.pool.cost_models[costs](self)
        return shares(costs, self.pool.n_models, self._owner)


def seeds_of(rng: np.random.Generator, models: int) -> list[int]:
    """Return a seed for each model that draws random numbers."""
    seeds: list[int] = rng.integers(0, 1 << 64, size=models, dtype=np.uint64).tolist()
    return seeds
