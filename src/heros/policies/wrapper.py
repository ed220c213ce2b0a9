"""The base class of policies that wrap another policy, and the order of their layers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from heros._base import core as _core
from heros._base.errors import ParameterError
from heros.policies.base import CompiledPolicy, Policy, compiled, expect_policy
from heros.policies.reasons import Floats, Mask, Reasons, explain


@dataclass(frozen=True)
class Around(CompiledPolicy):
    """A policy that wraps another policy; the inner policy chooses unless a subclass overrides `choose`."""

    role: ClassVar[str] = "policy"

    layer: ClassVar[int] = 0
    """The position in the order of layers: a policy can wrap policies with a lower position."""

    twice: ClassVar[bool] = False
    """Whether the policy can wrap another policy of the same class."""

    policy: Policy

    def __post_init__(self) -> None:
        owner, inner = type(self).__name__, self.policy
        expect_policy(inner, owner)
        if not isinstance(inner, Around):
            return
        if inner.layer > self.layer:
            rule = f"a policy without a {type(inner).__name__}, which must be the outer policy"
            raise ParameterError.of("policy", owner, rule, inner)
        if inner.layer == self.layer and not self.twice:
            raise ParameterError.of("policy", owner, f"a policy without another {owner}", inner)

    @property
    def explores(self) -> bool:
        """Whether the inner policy repeatedly trains every model; True if it has no attribute `explores`."""
        return bool(getattr(self.policy, "explores", True))

    def choose(
        self, scores: ArrayLike, costs: ArrayLike, k: int, rng: np.random.Generator
    ) -> NDArray[np.bool_]:
        return self.policy.choose(np.asarray(scores), np.asarray(costs), k, rng)

    def explain(self, scores: Floats, costs: Floats, k: int, chosen: Mask) -> Reasons:
        return explain(self.policy, scores, costs, k, chosen)

    def _compiled(self) -> _core.Policy | None:
        return compiled(self.policy)
