"""Policies around another one: what they share, and in which order they go."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from heros._base import core as _core
from heros.errors import ParameterError
from heros.policies.base import CompiledPolicy, Policy, compiled, expect_policy
from heros.policies.reasons import Floats, Mask, Reasons, explain

__all__ = ["Around"]


@dataclass(frozen=True)
class Around(CompiledPolicy):
    """A policy around another one, which chooses unless a class below this one says otherwise."""

    role: ClassVar[str] = "policy"

    layer: ClassVar[int] = 0
    """Its place in the order: a policy goes around those with a lower one."""

    twice: ClassVar[bool] = False
    """Whether it may go around another of its kind."""

    policy: Policy

    def __post_init__(self) -> None:
        owner, inner = type(self).__name__, self.policy
        expect_policy(inner, owner)
        if not isinstance(inner, Around):
            return
        if inner.layer > self.layer:
            rule = f"inside a {type(inner).__name__}, not around it"
            raise ParameterError.of("policy", owner, rule, inner)
        if inner.layer == self.layer and not self.twice:
            raise ParameterError.of("policy", owner, f"a policy without a {owner} of its own", inner)

    @property
    def explores(self) -> bool:
        """Whether it trains every model sooner or later; of a policy of your own, that is not known."""
        return bool(getattr(self.policy, "explores", True))

    def choose(
        self, scores: ArrayLike, costs: ArrayLike, k: int, rng: np.random.Generator
    ) -> NDArray[np.bool_]:
        """A mask of the models to train. See `Policy.choose`."""
        return self.policy.choose(np.asarray(scores), np.asarray(costs), k, rng)

    def explain(self, scores: Floats, costs: Floats, k: int, chosen: Mask) -> Reasons:
        """Why each of these models was chosen."""
        return explain(self.policy, scores, costs, k, chosen)

    def _compiled(self) -> _core.Policy | None:
        return compiled(self.policy)
