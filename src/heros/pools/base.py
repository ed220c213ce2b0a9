"""What a pool is: a description of M models that is bound to a schema when it is first used."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from heros._base import core as _core
from heros._base.registry import Part
from heros.data.schema import Feature, Schema
from heros.errors import ParameterError

__all__ = [
    "BoundPool",
    "Pool",
    "expect_mappings",
    "expect_schema",
    "feature_values",
    "shares",
]

ROUNDING = 1e-12


class Pool(Part, ABC):
    """A description of M models. It holds no weights: `bind` makes the models."""

    role: ClassVar[str] = "pool"

    grid: ClassVar[bool] = False
    """Whether it is made from a grid of settings: what `--pool` and its name give."""

    @property
    @abstractmethod
    def configurations(self) -> Sequence[Mapping[str, Any]]:
        """The settings of each model, in the order of the pool."""

    @property
    def n_models(self) -> int:
        """M: how many models there are."""
        return len(self.configurations)

    @abstractmethod
    def bind(
        self, schema: Schema, rng: np.random.Generator, costs: NDArray[np.float64] | None = None
    ) -> BoundPool:
        """The models, fresh, for instances of this schema; with these costs, if they are known already."""

    @property
    def settles_after(self) -> int:
        """After how many instances a step costs what it will cost: costs are measured after these."""
        return 0

    def expect_room(self, schema: Schema, state: Mapping[str, NDArray[Any]]) -> None:
        """Refuse a state that is too small to be one of these models, before memory is taken for them."""
        return


class BoundPool(ABC):
    """M models for one schema."""

    native: _core.Pool
    pool: Any  # what it was made from
    schema: Schema
    parts: tuple[BoundPool, ...] = ()  # if it is made of other pools
    costs: NDArray[np.float64]  # (M,) γ, summing to 1
    costs_change: bool = False  # whether `measure` gives other costs as the models learn

    def measure(self) -> NDArray[np.float64]:
        """γ as it is now; kept in `costs`."""
        return self.costs

    def seconds(self) -> tuple[NDArray[np.float64], NDArray[np.float64]] | None:
        """CPU seconds of a look, and of a training step, of each model, if the pool keeps count of them."""
        return None

    @abstractmethod
    def grow(self, schema: Schema, rng: np.random.Generator) -> None:
        """Fit the models to a schema that extends the one they know."""

    @abstractmethod
    def state(self) -> dict[str, NDArray[Any]]:
        """Everything learnt, as arrays."""

    @abstractmethod
    def restore(self, state: dict[str, NDArray[Any]]) -> None:
        """Take back what `state` gave."""


def feature_values(schema: Schema) -> NDArray[np.int32]:
    """The number of values of each feature, 0 for a numeric one.

    A nominal feature whose values are all still to come counts as one with a single value: its kind never
    changes.
    """
    return np.array([_values(feature) for feature in schema.features], dtype=np.int32)


def _values(feature: Feature) -> int:
    return 0 if feature.values is None else max(1, len(feature.values))


def expect_mappings(configurations: object, owner: str) -> list[Mapping[str, Any]]:
    """The configurations of a pool's models, if that is what they are."""
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
    """Refuse a pool's state that was made for instances of another schema."""
    values, classes = state.get("values", np.empty(0)), state.get("classes", np.empty(0))
    plain = all(isinstance(array, np.ndarray) and array.dtype.kind in "iuf" for array in (values, classes))
    if not (
        plain
        and np.array_equal(values, feature_values(schema))
        and np.array_equal(classes, [schema.n_outputs])
    ):
        raise ParameterError.of("state", owner, "one of a pool for this schema", schema)


def shares(costs: ArrayLike | Sequence[float], n_models: int, owner: str) -> NDArray[np.float64]:
    """Costs as shares of their sum: γ, with Σγ = 1. What sums to 1 but for rounding stays as it is.

    Examples
    --------
    >>> shares([1, 3], 2, "MLP")
    array([0.25, 0.75])
    """
    try:
        gamma: NDArray[np.float64] = np.array(costs, dtype=np.float64)
    except (TypeError, ValueError, OverflowError, MemoryError):
        raise ParameterError.of("costs", owner, f"one number per model ({n_models})", costs) from None
    if gamma.shape != (n_models,):
        raise ParameterError.of("costs", owner, f"one number per model ({n_models})", costs)
    if not np.all(np.isfinite(gamma)) or np.any(gamma < 0) or not 0 < gamma.sum() < np.inf:
        raise ParameterError.of("costs", owner, "finite and non-negative, with a positive sum", costs)
    total = float(gamma.sum())
    return gamma if abs(total - 1) < ROUNDING else np.asarray(gamma / total)
