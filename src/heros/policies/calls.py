"""The interface between policies and the core: layers, and calls of policies written in Python."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from heros._base import core as _core
from heros._base.errors import ParameterError
from heros.policies.base import Policy, compiled
from heros.policies.explore import Explore
from heros.policies.surprise import Surprise


class Layers(NamedTuple):
    """A policy split into its layers."""

    policy: Policy
    """The policy that chooses, possibly an `Explore`."""
    surprise: Surprise | None
    """The rule that selects the training instances; None selects all instances."""

    @property
    def native_surprise(self) -> _core.Surprise | None:
        """`surprise` as an object of the compiled core, or None."""
        return None if self.surprise is None else self.surprise.native()


def layers_of(policy: Policy) -> Layers:
    """Split a policy ``Surprise(Explore(...))`` into its layers; each layer is optional."""
    surprise = policy if isinstance(policy, Surprise) else None
    return Layers(policy if surprise is None else surprise.policy, surprise)


class PolicyCalls:
    """The callbacks for a policy written in Python; each choice of the policy is checked."""

    def __init__(self, policy: Policy, rng: np.random.Generator) -> None:
        self.policy, self.rng = policy, rng
        self.draws: Mapping[str, Any] | None = None  # the generator state before an exploring policy chose

    def choose(self, scores: NDArray[np.float64], costs: NDArray[np.float64], k: int) -> NDArray[np.bool_]:
        """Return a mask of the models to train."""
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
        """Whether the policy has a method `update` for the outcomes of trained models."""
        return hasattr(_innermost(self.policy), "update")

    def update(self, outcomes: NDArray[np.float64], trained: NDArray[np.bool_]) -> None:
        """Pass the outcomes of the trained models to the policy; the outcome of every other model is NaN."""
        _innermost(self.policy).update(outcomes, trained)


def _innermost(policy: Any) -> Any:
    while isinstance(policy, Explore):
        policy = policy.policy
    return policy


def bound_policy(policy: Policy, rng: np.random.Generator) -> _core.Policy | PolicyCalls:
    """Return the compiled policy, or the callbacks for a policy written in Python."""
    native = compiled(policy)
    return PolicyCalls(policy, rng) if native is None else native
