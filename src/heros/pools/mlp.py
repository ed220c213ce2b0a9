"""Pools of multilayer perceptrons."""

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
from heros.pools.base import BoundPool, Pool, expect_mappings, expect_schema, feature_values, shares
from heros.pools.losses import expect_losses, split_losses, with_losses
from heros.pools.native import divisor
from heros.pools.timing import seconds_alone

__all__ = ["MLP", "BoundMLP", "MLPGrid"]

Costs = Literal["hidden", "multiply-adds", "measured"] | Sequence[float]

DEFAULTS: Mapping[str, Any] = MappingProxyType({"optimizer": "adam", "learning_rate": 0.005, "hidden": 64})
OPTIMIZERS = ("adam", "sgd")


@dataclass(frozen=True, init=False)
class MLP(Pool):
    """Multilayer perceptrons of given configurations.

    One hidden layer, ReLU, one instance at a time; softmax cross-entropy or, where the target is a number, a
    linear output. PyTorch's default initialisation and optimiser settings (Adam with β = .9, .999 and ε =
    1e-8; SGD without momentum), and its results up to float rounding. Numbers are scaled by running moments,
    nominal features with more than two values are one-hot.

    Parameters
    ----------
    configurations
        One mapping per model with the keys `optimizer` ("adam" or "sgd"), `learning_rate` and `hidden`;
        what is left out has the default ("adam", .005, 64). Where the target is a number also `loss`:
        "squared" (half the square of the error, the default) or "huber", which beyond an error of one
        standard deviation of the target is linear.
    costs
        γ, the cost of a training step: "hidden" (∝ hidden units, as in the paper), "multiply-adds"
        (∝ their number for one instance with every input active), "measured" (by timing each model when
        the pool is bound), or one number per model. Always scaled to sum to 1.
    scale
        By how many standard deviations numbers are divided, (x − mean)/(scale·sd), running. True: by 3,
        as in the paper; with 1, steps are larger and drift is followed faster. False: not at all, which
        is for data that is scaled already: on Electricity the AUROC falls from .966 to .894 without it.
    isa
        The instruction set of the kernels; by default the widest the machine has (`heros._core.isas()`).

    Examples
    --------
    >>> pool = MLP([{}, {"hidden": 16}, {"optimizer": "sgd", "learning_rate": 0.05}])
    >>> pool.n_models, pool.configurations[1]
    (3, {'optimizer': 'adam', 'learning_rate': 0.005, 'hidden': 16})
    """

    written: ClassVar[str] = "mlp"
    described_by: ClassVar[tuple[str, ...]] = ("configurations", "costs", "scale", "isa")

    models: tuple[tuple[str, float, int], ...]
    losses: tuple[str, ...]  # where the target is a number
    costs: Costs
    scale: bool | float
    isa: str | None
    divisor: float  # what `scale` comes to; True and 1.0 are equal, and are not the same

    def __init__(
        self,
        configurations: Iterable[Mapping[str, Any]],
        *,
        costs: Costs = "hidden",
        scale: bool | float = True,
        isa: str | None = None,
    ) -> None:
        given, losses = split_losses(expect_mappings(configurations, "MLP"), "MLP")
        models = tuple(map(_checked, given))
        if not models:
            raise ParameterError.of("configurations", "MLP", "at least one model", [])
        if isinstance(costs, str):
            one_of(costs, "costs", "MLP", COST_MODELS, "'hidden', 'multiply-adds', 'measured' or numbers")
        else:
            costs = tuple(shares(costs, len(models), "MLP").tolist())
        if isa is not None:
            one_of(isa, "isa", "MLP", _core.isas(), f"one of {_core.isas()}")
        by = divisor(scale, "MLP")
        scale = bool(scale) if by in (0.0, 3.0) else by
        values = {
            "models": models,
            "losses": losses,
            "costs": costs,
            "scale": scale,
            "isa": isa,
            "divisor": by,
        }
        for name, value in values.items():
            object.__setattr__(self, name, value)

    @property
    def configurations(self) -> tuple[Mapping[str, Any], ...]:
        """The settings of each model, in the order of the pool; a loss where it is not the usual one."""
        settings = [dict(zip(DEFAULTS, model, strict=True)) for model in self.models]
        return with_losses(settings, self.losses)

    def bind(
        self, schema: Schema, rng: np.random.Generator, costs: NDArray[np.float64] | None = None
    ) -> BoundMLP:
        """The models, freshly initialised, for instances of this schema."""
        return BoundMLP(self, schema, rng, costs)

    def expect_room(self, schema: Schema, state: Mapping[str, NDArray[Any]]) -> None:
        """Refuse a state that is too small to be one of these models, before memory is taken for them."""
        values = feature_values(schema)
        inputs = int(np.where(values > 2, values, 1).sum(dtype=np.int64))
        least = sum(hidden for _, _, hidden in self.models) * (inputs + schema.n_outputs)
        if state["weights"].size < least:
            raise ParameterError.of("state", "MLP", f"at least {least} weights", state["weights"].size)

    def __repr__(self) -> str:
        costs = repr(self.costs) if isinstance(self.costs, str) else "given"
        return f"{type(self).__name__}({self.n_models} models, costs={costs})"


class MLPGrid(MLP):
    """Multilayer perceptrons over a grid of settings; the paper's pool of 50 by default.

    The paper lists the widths 16, 64, 256 and 1024, which makes 40 models, and says 50; the fifth width,
    512, is our reading (docs/paper.md).

    Examples
    --------
    >>> MLPGrid().n_models
    50
    >>> MLPGrid(optimizers=["adam"], hidden=[8, 16]).n_models
    10
    """

    grid: ClassVar[bool] = True

    def __init__(
        self,
        *,
        optimizers: Iterable[str] = OPTIMIZERS,
        learning_rates: Iterable[float] = (0.5, 0.05, 0.005, 0.0005, 0.00005),
        hidden: Iterable[int] = (16, 64, 256, 512, 1024),
        costs: Costs = "hidden",
        scale: bool | float = True,
        isa: str | None = None,
    ) -> None:
        grid = product(optimizers, learning_rates, hidden)
        super().__init__(
            [dict(zip(DEFAULTS, point, strict=True)) for point in grid], costs=costs, scale=scale, isa=isa
        )


class BoundMLP(BoundPool):
    """The models of an `MLP` pool, for one schema."""

    native: _core.MlpPool

    def __init__(
        self, pool: MLP, schema: Schema, rng: np.random.Generator, costs: NDArray[np.float64] | None = None
    ) -> None:
        self.pool = pool
        expect_losses(pool.losses, schema, "MLP")
        self.native = _native(pool, schema.numeric)
        self._fit(schema, rng)
        self.costs = self._costs(schema) if costs is None else costs

    def grow(self, schema: Schema, rng: np.random.Generator) -> None:
        """Fit the models to a schema that extends the one they know; new weights are drawn like the first."""
        self._fit(schema, rng)
        self.costs = self._costs(schema)

    def _fit(self, schema: Schema, rng: np.random.Generator) -> None:
        self.native.grow(feature_values(schema), schema.n_outputs, rng.bit_generator.capsule)
        self.schema = schema

    def weights(self, i: int) -> dict[str, NDArray[np.float32]]:
        """The weights of model i, laid out and named as in a `torch.nn.Sequential` of two linear layers."""
        weights = self._empty_weights(i)
        self.native.read_weights(i, *weights.values())
        return weights

    def set_weights(self, i: int, weights: Mapping[str, NDArray[np.float32]]) -> None:
        """Give model i these weights, and forget its optimiser's moments."""
        shapes = {name: array.shape for name, array in self._empty_weights(i).items()}
        given = {
            name: np.array(weights[name], dtype=np.float32, order="C") for name in shapes if name in weights
        }
        if {name: array.shape for name, array in given.items()} != shapes:
            raise ParameterError.of("weights", "set_weights", f"arrays of the shapes {shapes}", weights)
        self.native.write_weights(i, *given.values())

    def state(self) -> dict[str, NDArray[Any]]:
        """Everything learnt, as arrays."""
        return {**self.native.state(), "gamma": self.costs}

    def restore(self, state: dict[str, NDArray[Any]]) -> None:
        """Take back what `state` gave."""
        expect_schema(state, self.schema, "MLP")
        costs = shares(state.get("gamma", ()), self.pool.n_models, "MLP")
        self.native.restore(state)
        self.costs = costs

    def _empty_weights(self, i: int) -> dict[str, NDArray[np.float32]]:
        whole(i, "i", "weights", 0, self.pool.n_models - 1)
        hidden, inputs, classes = self.pool.models[i][2], self.native.inputs, self.native.outputs
        shapes = {
            "0.weight": (hidden, inputs),
            "0.bias": (hidden,),
            "2.weight": (classes, hidden),
            "2.bias": (classes,),
        }
        return {name: np.empty(shape, dtype=np.float32) for name, shape in shapes.items()}

    def _costs(self, schema: Schema) -> NDArray[np.float64]:
        costs = self.pool.costs
        if isinstance(costs, str):
            costs = COST_MODELS[costs](self, schema)
        return shares(costs, self.pool.n_models, "MLP")


def _native(pool: MLP, numeric: bool) -> _core.MlpPool:
    return _core.MlpPool(
        np.array([hidden for _, _, hidden in pool.models], dtype=np.int32),
        np.array([optimizer == "adam" for optimizer, _, _ in pool.models], dtype=np.uint8),
        np.array([rate for _, rate, _ in pool.models], dtype=np.float64),
        pool.divisor,
        pool.isa or _core.isas()[0],
        numeric,
        list(pool.losses),
    )


def _checked(configuration: Mapping[str, Any]) -> tuple[str, float, int]:
    unknown = set(configuration) - set(DEFAULTS)
    if unknown:
        raise ParameterError.of(
            "configurations", "MLP", f"mappings with keys among {list(DEFAULTS)}", sorted(unknown)
        )
    full = {**DEFAULTS, **configuration}
    rate = number(full["learning_rate"], "learning_rate", "MLP", 0)
    return (
        one_of(full["optimizer"], "optimizer", "MLP", OPTIMIZERS, "'adam' or 'sgd'"),
        rate,
        whole(full["hidden"], "hidden", "MLP", 1, 1 << 20),
    )


def _by_hidden(bound: BoundMLP, schema: Schema) -> list[float]:
    return [float(hidden) for _, _, hidden in bound.pool.models]


def _by_multiply_adds(bound: BoundMLP, schema: Schema) -> list[float]:
    inputs, classes = bound.native.inputs, bound.native.outputs
    return [float(hidden * (inputs + classes)) for _, _, hidden in bound.pool.models]


def _by_time(bound: BoundMLP, schema: Schema) -> list[float]:
    pool = bound.pool
    alone = [MLP([configuration], scale=pool.scale, isa=pool.isa) for configuration in pool.configurations]
    return [seconds_alone(single, schema, 300) for single in alone]


COST_MODELS = {"hidden": _by_hidden, "multiply-adds": _by_multiply_adds, "measured": _by_time}
