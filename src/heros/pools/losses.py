"""What an error costs a model that learns a number by gradients: a setting that other targets do not have."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from heros._base.parameters import one_of
from heros.data.schema import Schema
from heros.errors import ParameterError

__all__ = ["LOSSES", "expect_losses", "split_losses", "with_losses"]

LOSSES = ("squared", "huber")


def split_losses(
    configurations: Sequence[Mapping[str, Any]], owner: str
) -> tuple[list[Mapping[str, Any]], tuple[str, ...]]:
    """Configurations without their losses, and these: the usual one where none is given.

    Examples
    --------
    >>> split_losses([{"hidden": 8}, {"loss": "huber"}], "MLP")
    ([{'hidden': 8}, {}], ('squared', 'huber'))
    """
    losses = [model.get("loss", LOSSES[0]) for model in configurations]
    for loss in losses:
        one_of(loss, "loss", owner, LOSSES, "'squared' or 'huber'")
    rest: list[Mapping[str, Any]] = [
        {key: value for key, value in model.items() if key != "loss"} for model in configurations
    ]
    return rest, tuple(losses)


def with_losses(
    configurations: Sequence[dict[str, Any]], losses: Sequence[str]
) -> tuple[Mapping[str, Any], ...]:
    """Configurations with their losses where these are not the usual one."""
    return tuple(
        model if loss == LOSSES[0] else {**model, "loss": loss}
        for model, loss in zip(configurations, losses, strict=True)
    )


def expect_losses(losses: Sequence[str], schema: Schema, owner: str) -> None:
    """Refuse a loss of numbers where the target is a class."""
    for loss in losses:
        if loss != LOSSES[0] and not schema.numeric:
            rule = "left out where the target is a class: that is learnt with cross-entropy"
            raise ParameterError.of("loss", owner, rule, loss)
