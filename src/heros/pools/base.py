"""The base classes of pools: a description of M models, and the models bound to a schema."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from heros._base import core as _core
from heros._base.errors import ParameterError
from heros._base.registry import Part
from heros.data.schema import Schema

Floats = NDArray[np.float64]

ROUNDING = 1e-12


class Pool(Part, ABC):
    """A description of M models without weights; `bind` creates the models."""

    role: ClassVar[str] = "pool"

    grid: ClassVar[bool] = False
    """Whether the pool is a grid of settings that `--pool` accepts by name."""

    bounded: bool = False
    """Whether extreme numbers are limited; see the parameter `bounded` of `heros.pools.Join`."""

    @property
    @abstractmethod
    def configurations(self) -> Sequence[Mapping[str, Any]]:
        """The settings of each model, in the order of the pool."""

    @property
    def n_models(self) -> int:
        """The number M of models."""
        return len(self.configurations)

    @abstractmethod
    def bind(self, schema: Schema, rng: np.random.Generator, costs: Floats | None = None) -> BoundPool:
        """Create the models for this schema; `costs` are their costs, if already known."""

    @property
    def instances_until_stable(self) -> int:
        """The number of instances after which the cost of a step is stable and can be measured."""
        return 0

    def expect_room(self, schema: Schema, state: Mapping[str, NDArray[Any]]) -> None:
        """Before memory is allocated, raise an error if a state is too small for these models."""
        return


class BoundPool(ABC):
    """M models for one schema."""

    native: _core.Pool
    pool: Any  # the description of the models
    schema: Schema
    parts: tuple[BoundPool, ...] = ()  # the bound pools of a Join
    costs: Floats  # (M,) the cost γ of a training step of each model; the costs sum to 1
    costs_change: bool = False  # whether the costs change while the models learn

    def measure(self) -> Floats:
        """Update `costs` and return the current cost γ of each model."""
        return self.costs

    def seconds(self) -> tuple[Floats, Floats] | None:
        """Return each model's CPU seconds per evaluation and per training step, or None if unknown."""
        return None

    def expect_fit(self, schema: Schema) -> None:  # noqa: B027  most models fit every schema
        """Raise an error if a byte limit is too small for a model with this schema."""

    @abstractmethod
    def grow(self, schema: Schema, rng: np.random.Generator) -> None:
        """Extend the trained models to a schema with additional features, values or classes."""

    @abstractmethod
    def state(self) -> dict[str, NDArray[Any]]:
        """Return the learnt state as arrays."""

    @abstractmethod
    def restore(self, state: dict[str, NDArray[Any]]) -> None:
        """Restore the state that `state` returned."""


def feature_values(schema: Schema) -> NDArray[np.int32]:
    """Return the number of values of each feature, 0 for numeric features.

    A nominal feature without known values counts as having one value, so that it stays nominal.
    """
    values = (feature.values for feature in schema.features)
    return np.array([0 if known is None else max(1, len(known)) for known in values], dtype=np.int32)


def expect_mappings(configurations: object, owner: str) -> list[Mapping[str, Any]]:
    """Return the configurations as a list; raise an error if a configuration is not a mapping."""
    rule = "one mapping per model"
    try:
        models: list[Mapping[str, Any]] = list(configurations)  # type: ignore[call-overload]
    except TypeError:
        raise ParameterError.of("configurations", owner, rule, configurations) from None
    for model in models:
        if not isinstance(model, Mapping) or not all(isinstance(key, str) for key in model):
            raise ParameterError.of("configurations", owner, rule, model)
    return models


def expect_schema(state: Mapping[str, NDArray[Any]], schema: Schema, owner: str) -> None:
    """Raise an error if a state belongs to a pool for another schema."""
    values, classes = state.get("values", np.empty(0)), state.get("classes", np.empty(0))
    plain = all(isinstance(array, np.ndarray) and array.dtype.kind in "iuf" for array in (values, classes))
    if not (
        plain
        and np.array_equal(values, feature_values(schema))
        and np.array_equal(classes, [schema.n_outputs])
    ):
        raise ParameterError(
            f"The 'state' parameter of {owner} must be the state of a pool with the same features and "
            f"classes: {schema.n_features} features and {schema.n_outputs} outputs."
        )


def shares(costs: ArrayLike | Sequence[float], n_models: int, owner: str) -> Floats:
    """Return the costs as shares γ of their sum; costs that already sum to 1 are returned unchanged."""
    try:
        gamma: Floats = np.array(costs, dtype=np.float64)
    except (TypeError, ValueError, OverflowError, MemoryError):
        raise ParameterError.of("costs", owner, f"one number per model ({n_models})", costs) from None
    if gamma.shape != (n_models,):
        raise ParameterError.of("costs", owner, f"one number per model ({n_models})", costs)
    if not np.all(np.isfinite(gamma)) or np.any(gamma < 0) or not 0 < gamma.sum() < np.inf:
        raise ParameterError.of("costs", owner, "finite and non-negative, with a positive sum", costs)
    total = float(gamma.sum())
    return gamma if abs(total - 1) < ROUNDING else np.asarray(gamma / total)
