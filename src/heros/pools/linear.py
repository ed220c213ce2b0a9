"""Pools of linear models."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from heros._base import core as _core
from heros._base.errors import ParameterError
from heros._base.parameters import above_zero, among, real_number, whole_number
from heros._base.settings import Setting
from heros.data.schema import Schema
from heros.pools.base import Floats, feature_values
from heros.pools.family import BoundNative, CostModels, grid_of, option
from heros.pools.gradients import LOSS, Scaled, expect_loss

Costs = Literal["numbers", "measured"] | Sequence[float]


def _numbers(bound: Any) -> list[float]:
    """Return the number of values that each model stores per weight, including the weight itself."""
    return [float(_core.LinearPool.numbers(one["optimizer"])) for one in bound.pool.configurations]


@dataclass(frozen=True, kw_only=True, repr=False)
class Linear(Scaled):
    """Linear models: logistic regression for classes, linear regression for numbers.

    Models start with zero weights and are trained on one instance at a time. The loss is softmax
    cross-entropy for classes, and the squared or Huber loss for numbers. Numeric features are scaled by their
    running mean and standard deviation; nominal features with more than two values are one-hot encoded. A
    training step reads and writes only the weights of inputs that are not 0. The results are the same as with
    steps on all weights, except for the effect of Adam's ε on inputs that are 0.

    Parameters
    ----------
    {settings}
    own_values
        The number of values per nominal feature that have their own input. These are the first values in the
        schema.
    hashed_to
        The number of inputs that all other values share by hashing. This limits the number of weights of
        features with very many values.
    costs
        The cost γ of a training step: "numbers" (in proportion to how many numbers a model stores per weight:
        1 for "sgd" and "pa", else 3), "measured" (CPU time on random instances when the pool is bound), or
        one number per model. Costs are scaled to sum to 1.
    scale
        Numbers are scaled to (x − mean)/(scale·sd), with running moments. True means 3; with 1, training
        steps are larger. False turns scaling off, for data that is already scaled.

    Examples
    --------
    >>> pool = Linear([{}, {"optimizer": "ftrl", "learning_rate": 0.1, "l1": 0.01}])
    >>> pool.n_models, pool.configurations[0]
    (2, {'optimizer': 'adam', 'learning_rate': 0.01, 'l1': 0.0, 'l2': 0.0})
    """

    written: ClassVar[str] = "linear"
    settings = (
        Setting(
            "optimizer",
            "adam",
            among("sgd", "adam", "ftrl", "pa"),
            "'adam' has β = .9, .999 and ε = 1e-8. 'ftrl' is FTRL-Proximal (McMahan et al. 2013) with β = 1: "
            "the learning rate of each weight falls with its past gradients. 'pa', for numbers only, is "
            "passive-aggressive learning (Crammer et al. 2006, PA-I). Each step corrects the error beyond "
            "`epsilon` at once, with a step size of at most `learning_rate`.",
        ),
        Setting("learning_rate", 0.01, above_zero(), "The learning rate η; α for FTRL."),
        Setting(
            "l1",
            0.0,
            real_number(0),
            "L1 regularisation, for 'ftrl': small weights become exactly zero. The bias is not regularised.",
        ),
        Setting(
            "l2",
            0.0,
            real_number(0),
            "L2 regularisation, for 'ftrl' and 'sgd': weights shrink by 1 − η·l2 at every step.",
        ),
        LOSS,
        Setting(
            "epsilon",
            0.1,
            real_number(0),
            "For 'pa': the size, in standard deviations of the target, below which errors are ignored.",
            optional=True,
        ),
    )
    cost_models: ClassVar[CostModels] = {"numbers": _numbers}

    own_values: int = option(1024, whole_number(3, 1 << 24))
    hashed_to: int = option(4096, whole_number(1, 1 << 24))
    costs: Costs = "numbers"

    def expect_together(self, settings: Mapping[str, Any], given: Mapping[str, Any]) -> None:
        optimizer, l1, l2 = settings["optimizer"], settings["l1"], settings["l2"]
        if l1 > 0 and optimizer != "ftrl":
            raise ParameterError.of("l1", "Linear", "0 unless the optimizer is 'ftrl'", l1)
        if l2 > 0 and optimizer in ("adam", "pa"):
            raise ParameterError.of("l2", "Linear", f"0 if the optimizer is {optimizer!r}", l2)
        if "epsilon" in given and optimizer != "pa":
            rule = "left out unless the optimizer is 'pa'"
            raise ParameterError.of("epsilon", "Linear", rule, given["epsilon"])

    def least_sizes(self, schema: Schema) -> dict[str, int]:
        values = np.minimum(feature_values(schema), self.own_values)
        inputs = int(np.where(values > 2, values, 1).sum(dtype=np.int64))
        numbers = sum(_core.LinearPool.numbers(one["optimizer"]) for one in self.configurations)
        return {"weights": numbers * (1 + inputs) * schema.n_outputs}


class LinearGrid(Linear):
    """Linear models over a grid of optimisers and learning rates.

    Examples
    --------
    >>> LinearGrid().n_models
    12
    >>> LinearGrid(optimizers=["ftrl"], l1=0.01).configurations[0]["l1"]
    0.01
    """

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
            grid_of({"optimizer": optimizers, "learning_rate": learning_rates}, settings),
            own_values=own_values,
            hashed_to=hashed_to,
            costs=costs,
            scale=scale,
        )


class BoundLinear(BoundNative, of=Linear):
    """The models of a `Linear` pool for one schema.

    Examples
    --------
    >>> schema = Schema.of(["age", ("colour", "red", "green", "blue")], classes=["no", "yes"])
    >>> bound = Linear([{}]).bind(schema, np.random.default_rng(1))
    >>> bound.weights(0).shape
    (5, 2)
    """

    native: _core.LinearPool

    def _native(self, schema: Schema, rng: np.random.Generator) -> _core.LinearPool:
        pool = self.pool
        expect_loss(pool.configurations, schema, "Linear")
        if not schema.numeric and any(one["optimizer"] == "pa" for one in pool.configurations):
            rule = "'sgd', 'adam' or 'ftrl' if the target is a class"
            raise ParameterError.of("optimizer", "Linear", rule, "pa")
        settings = self._settings(_core.LinearSettings)
        return _core.LinearPool(settings, pool.divisor, pool.own_values, pool.hashed_to, schema.numeric)

    def weights(self, i: int) -> Floats:
        """Return the weights of model i, an array of shape (rows, classes).

        The first row is the bias; then come the shared inputs (see `hashed_to`), then all other inputs.
        """
        weights = np.empty((self.native.rows, self.native.outputs))
        self.native.read_weights(self._expect_model(i, "weights"), weights)
        return weights
