"""A policy written in Python, as the core calls it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heros._base import core as _core
from heros.errors import ParameterError
from heros.policies.base import Policy, compiled
from heros.policies.explore import Explore

__all__ = ["PolicyCalls", "bound_policy"]


class PolicyCalls:
    """What the core calls to have a policy written in Python choose; the choice is checked."""

    def __init__(self, policy: Policy, rng: np.random.Generator) -> None:
        self.policy, self.rng = policy, rng
        self.draws: Mapping[str, Any] | None = None  # the generator before an exploring policy was asked

    def choose(self, scores: NDArray[np.float64], costs: NDArray[np.float64], k: int) -> NDArray[np.bool_]:
        """The models to train."""
        self.draws = self.rng.bit_generator.state if isinstance(self.policy, Explore) else None
        mask = np.asarray(self.policy.choose(scores, costs, k, self.rng))
        if mask.shape != scores.shape or mask.dtype != np.bool_:
            rule = f"a boolean mask of {len(scores)} models"
            raise ParameterError(f"The policy {self.policy!r} must return {rule}. Got {mask!r} instead.")
        if mask.sum() > k:
            rule = f"at most {k} models"
            raise ParameterError(
                f"The policy {self.policy!r} must choose {rule}. Got {int(mask.sum())} instead."
            )
        return np.ascontiguousarray(mask)

    @property
    def learns(self) -> bool:
        """Whether the policy wants to know how right the models were that are trained."""
        return hasattr(_innermost(self.policy), "update")

    def update(self, outcomes: NDArray[np.float64], trained: NDArray[np.bool_]) -> None:
        """How right the models were that are trained on the instance; NaN for the others."""
        _innermost(self.policy).update(outcomes, trained)


def _innermost(policy: Any) -> Any:
    """The policy that chooses where nothing is explored."""
    while isinstance(policy, Explore):
        policy = policy.policy
    return policy


def bound_policy(policy: Policy, rng: np.random.Generator) -> _core.Policy | PolicyCalls:
    """The policy as the core takes it."""
    native = compiled(policy)
    return PolicyCalls(policy, rng) if native is None else native
