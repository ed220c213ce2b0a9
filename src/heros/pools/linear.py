"""Pools of linear models."""

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
from heros.pools.base import Pool, expect_mappings, feature_values
from heros.pools.losses import expect_losses, split_losses, with_losses
from heros.pools.native import BoundNative, checked_costs, completed, divisor

__all__ = ["BoundLinear", "Linear", "LinearGrid"]

Costs = Literal["numbers", "measured"] | Sequence[float]

DEFAULTS: Mapping[str, Any] = MappingProxyType(
    {"optimizer": "adam", "learning_rate": 0.01, "l1": 0.0, "l2": 0.0}
)
EPSILON = 0.1
NUMBERS = {"sgd": 1, "adam": 3, "ftrl": 3, "pa": 1}  # kept per weight, itself included
COST_MODELS = {"numbers": lambda configuration: float(NUMBERS[configuration["optimizer"]])}


@dataclass(frozen=True, init=False)
class Linear(Pool):
    """Linear models of given configurations: logistic regressions or, of a number, regressions.

    Softmax cross-entropy, squared or Huber loss, one instance at a time, from weights of zero. Numbers are
    scaled by running moments, nominal features with more than two values are one-hot; a step touches the
    active inputs only, whatever their number. The results are those of dense steps (up to Adam's ε on inputs
    that were inactive).

    Parameters
    ----------
    configurations
        One mapping per model; what is left out has the default. The keys are

        `optimizer` ("adam")
            "sgd"; "adam" (β = .9, .999, ε = 1e-8); or "ftrl": FTRL-Proximal (McMahan et al. 2013) with β = 1,
            a learning rate per weight that falls with what it has learnt. Where the target is a number also
            "pa": passive-aggressive (Crammer et al. 2006, PA-I), which corrects each error beyond `epsilon`
            at once, by steps of at most `learning_rate`.
        `learning_rate` (0.01)
            η; α of FTRL.
        `l1` (0)
            Of "ftrl": weights below it are exactly zero. The bias pays neither l1 nor l2.
        `l2` (0)
            Of "ftrl", and of "sgd": weights shrink by 1 − η·l2 at every step.
        `loss` ("squared")
            Where the target is a number: half the square of the error, or "huber", which beyond an error of
            one standard deviation of the target is linear.
        `epsilon` (0.1)
            Of "pa": an error that is none, in standard deviations of the target.
    own_values
        How many values of a nominal feature have an input of their own: the first ones of the schema.
    hashed_to
        The others, of all features, share so many inputs, spread by a hash: a feature with very many values
        takes a bounded number of weights.
    costs
        γ, the cost of a training step: "numbers" (∝ the numbers kept per weight: 1 with "sgd", else 3),
        "measured" (CPU time on made-up instances when the pool is bound), or one number per model. Always
        scaled to sum to 1.
    scale
        By how many standard deviations numbers are divided, (x − mean)/(scale·sd), running. True: by 3,
        with 1, steps are larger. False: not at all, which is for data
        that is scaled already.

    Examples
    --------
    >>> pool = Linear([{}, {"optimizer": "ftrl", "learning_rate": 0.1, "l1": 0.01}])
    >>> pool.n_models, pool.configurations[0]
    (2, {'optimizer': 'adam', 'learning_rate': 0.01, 'l1': 0.0, 'l2': 0.0})
    """

    written: ClassVar[str] = "linear"
    described_by: ClassVar[tuple[str, ...]] = ("configurations", "own_values", "hashed_to", "costs", "scale")

    models: tuple[tuple[str, float, float, float], ...]
    losses: tuple[str, ...]  # where the target is a number
    epsilons: tuple[float, ...]  # of "pa"
    own_values: int
    hashed_to: int
    costs: Costs
    scale: bool | float
    divisor: float  # what `scale` comes to; True and 1.0 are equal, and are not the same

    def __init__(
        self,
        configurations: Iterable[Mapping[str, Any]],
        *,
        own_values: int = 1024,
        hashed_to: int = 4096,
        costs: Costs = "numbers",
        scale: bool | float = True,
    ) -> None:
        given, losses = split_losses(expect_mappings(configurations, "Linear"), "Linear")
        epsilons = tuple(map(_epsilon, given))
        given = [{key: value for key, value in model.items() if key != "epsilon"} for model in given]
        models = tuple(map(_checked, completed(given, DEFAULTS, "Linear")))
        own_values = whole(own_values, "own_values", "Linear", 3, 1 << 24)
        hashed_to = whole(hashed_to, "hashed_to", "Linear", 1, 1 << 24)
        object.__setattr__(self, "models", models)
        object.__setattr__(self, "losses", losses)
        object.__setattr__(self, "epsilons", epsilons)
        object.__setattr__(self, "own_values", own_values)
        object.__setattr__(self, "hashed_to", hashed_to)
        object.__setattr__(self, "costs", checked_costs(costs, COST_MODELS, len(models), "Linear"))
        by = divisor(scale, "Linear")
        object.__setattr__(self, "scale", bool(scale) if by in (0.0, 3.0) else by)
        object.__setattr__(self, "divisor", by)

    @property
    def configurations(self) -> tuple[Mapping[str, Any], ...]:
        """The settings of each model, in the order of the pool; a loss where it is not the usual one."""
        settings = [dict(zip(DEFAULTS, model, strict=True)) for model in self.models]
        for model, epsilon in zip(settings, self.epsilons, strict=True):
            if model["optimizer"] == "pa":
                model["epsilon"] = epsilon
        return with_losses(settings, self.losses)

    def bind(
        self, schema: Schema, rng: np.random.Generator, costs: NDArray[np.float64] | None = None
    ) -> BoundLinear:
        """The models, with weights of zero, for instances of this schema. Nothing is drawn from `rng`."""
        return BoundLinear(self, schema, costs)

    def expect_room(self, schema: Schema, state: Mapping[str, NDArray[Any]]) -> None:
        """Refuse a state that is too small to be one of these models, before memory is taken for them."""
        values = np.minimum(feature_values(schema), self.own_values)
        inputs = int(np.where(values > 2, values, 1).sum(dtype=np.int64))
        least = sum(NUMBERS[optimizer] for optimizer, *_ in self.models) * (1 + inputs) * schema.n_outputs
        if state["weights"].size < least:
            raise ParameterError.of("state", "Linear", f"at least {least} weights", state["weights"].size)

    def __repr__(self) -> str:
        costs = repr(self.costs) if isinstance(self.costs, str) else "given"
        return f"{type(self).__name__}({self.n_models} models, costs={costs})"


class LinearGrid(Linear):
    """Logistic regressions over a grid of optimisers and learning rates.

    Examples
    --------
    >>> LinearGrid().n_models
    12
    >>> LinearGrid(optimizers=["ftrl"], l1=0.01).configurations[0]["l1"]
    0.01
    """

    grid: ClassVar[bool] = True

    def __init__(
        self,
        *,
        optimizers: Iterable[str] = ("sgd", "adam", "ftrl"),
        learning_rates: Iterable[float] = (1.0, 0.1, 0.01, 0.001),
        own_values: int = 1024,
        hashed_to: int = 4096,
        costs: Costs = "numbers",
        scale: bool | float = True,
        **settings: Any,
    ) -> None:
        super().__init__(
            [
                {"optimizer": o, "learning_rate": r, **settings}
                for o, r in product(optimizers, learning_rates)
            ],
            own_values=own_values,
            hashed_to=hashed_to,
            costs=costs,
            scale=scale,
        )


class BoundLinear(BoundNative):
    """The models of a `Linear` pool, for one schema.

    Examples
    --------
    >>> schema = Schema.of(["age", ("colour", "red", "green", "blue")], classes=["no", "yes"])
    >>> bound = Linear([{}]).bind(schema, np.random.default_rng(1))
    >>> bound.weights(0).shape
    (5, 2)
    """

    kind = Linear
    cost_models = COST_MODELS
    native: _core.LinearPool
    pool: Linear

    def __init__(self, pool: Linear, schema: Schema, costs: NDArray[np.float64] | None = None) -> None:
        expect_losses(pool.losses, schema, "Linear")
        if not schema.numeric and any(optimizer == "pa" for optimizer, *_ in pool.models):
            rule = "'sgd', 'adam' or 'ftrl' where the target is a class"
            raise ParameterError.of("optimizer", "Linear", rule, "pa")
        super().__init__(pool, _native(pool, schema.numeric), schema, costs)

    def weights(self, i: int) -> NDArray[np.float64]:
        """The weights of model i (rows, classes): bias, shared inputs if there are any, the other inputs."""
        whole(i, "i", "weights", 0, self.pool.n_models - 1)
        weights = np.empty((self.native.rows, self.native.outputs))
        self.native.read_weights(i, weights)
        return weights


def _native(pool: Linear, numeric: bool) -> _core.LinearPool:
    settings = [_core.LinearSettings(**configuration) for configuration in pool.configurations]
    return _core.LinearPool(settings, pool.divisor, pool.own_values, pool.hashed_to, numeric)


def _epsilon(configuration: Mapping[str, Any]) -> float:
    if "epsilon" in configuration and configuration.get("optimizer") != "pa":
        rule = "left out unless the optimizer is 'pa'"
        raise ParameterError.of("epsilon", "Linear", rule, configuration["epsilon"])
    return number(configuration.get("epsilon", EPSILON), "epsilon", "Linear", 0)


def _checked(configuration: Mapping[str, Any]) -> tuple[str, float, float, float]:
    optimizer = one_of(
        configuration["optimizer"], "optimizer", "Linear", NUMBERS, "'sgd', 'adam', 'ftrl' or 'pa'"
    )
    rate = number(configuration["learning_rate"], "learning_rate", "Linear", 0)
    if rate == 0:
        raise ParameterError.of("learning_rate", "Linear", "above 0", configuration["learning_rate"])
    l1 = number(configuration["l1"], "l1", "Linear", 0)
    l2 = number(configuration["l2"], "l2", "Linear", 0)
    if l1 > 0 and optimizer != "ftrl":
        raise ParameterError.of("l1", "Linear", "0 unless the optimizer is 'ftrl'", l1)
    if l2 > 0 and optimizer in ("adam", "pa"):
        raise ParameterError.of("l2", "Linear", f"0 if the optimizer is {optimizer!r}", l2)
    return optimizer, rate, l1, l2
