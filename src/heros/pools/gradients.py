"""Parameters shared by families trained by gradient descent: the scale of numbers and the loss."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from heros._base.errors import ParameterError
from heros._base.parameters import above_zero, among
from heros._base.settings import Setting
from heros.data.schema import Schema
from heros.pools.family import Family

LOSS = Setting(
    "loss",
    "squared",
    among("squared", "huber"),
    "The loss for regression: 'squared' (half the squared error) or 'huber', which is linear for errors "
    "above one standard deviation of the target.",
    optional=True,
)


@dataclass(frozen=True, kw_only=True, repr=False)
class Scaled(Family):
    """A family whose models scale numbers by their running standard deviation."""

    role: ClassVar[str] = "pool"

    scale: bool | float = True
    divisor: float = field(init=False, repr=False)  # 3.0 if `scale` is True, 1.0 if it is 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        divisor = divisor_of(self.scale, self.family.__name__)
        object.__setattr__(self, "divisor", divisor)
        object.__setattr__(self, "scale", bool(divisor) if divisor in (0.0, 3.0) else divisor)


def divisor_of(scale: object, owner: str) -> float:
    """Return the number of standard deviations that `scale` maps to 1; 0 means no scaling."""
    if isinstance(scale, bool | np.bool_):
        return 3.0 if scale else 0.0
    try:
        divisor: float = above_zero(1e6).check(scale, "scale", owner)
    except ParameterError:
        raise ParameterError.of("scale", owner, "True, False or a number in (0, 1e6]", scale) from None
    return divisor


def expect_loss(configurations: Any, schema: Schema, owner: str) -> None:
    """Raise an error if models have a regression loss but the target is a class."""
    losses = [one["loss"] for one in configurations if "loss" in one]
    if losses and not schema.numeric:
        rule = "left out if the target is a class, because classification uses cross-entropy"
        raise ParameterError.of("loss", owner, rule, losses[0])
