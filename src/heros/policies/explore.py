"""Now and then something else: ε-greedy exploration around any policy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from heros._base import core as _core
from heros._base.parameters import number
from heros.errors import ParameterError
from heros.policies.base import CompiledPolicy, Policy, compiled, expect_policy
from heros.policies.ranked import Random
from heros.policies.reasons import Reasons, explain
from heros.policies.surprise import Surprise
from heros.policies.within import Within

__all__ = ["Explore"]


@dataclass(frozen=True)
class Explore(CompiledPolicy):
    """With probability ε k models uniformly, else what `policy` chooses.

    Parameters
    ----------
    policy
        The policy to explore around; built-in or your own.
    epsilon
        How often to explore, in [0, 1].

    Examples
    --------
    >>> import numpy as np
    >>> from heros.policies import Cheapest
    >>> rng = np.random.default_rng(1)
    >>> policy = Explore(Cheapest(), 0.2)
    >>> cheap = [policy.choose([0.5, 0.5], [0.1, 0.9], 1, rng)[0] for _ in range(1000)]
    >>> bool(860 < sum(cheap) < 940)  # 800 by choice, half of the other 200 by chance
    True
    """

    suffix: ClassVar[str] = "@"

    policy: Policy
    epsilon: float

    @property
    def explores(self) -> bool:
        """Whether it comes back to every model sooner or later: of a policy of your own nothing is known."""
        return self.epsilon > 0 or getattr(self.policy, "explores", True)

    def __post_init__(self) -> None:
        number(self.epsilon, "epsilon", "Explore", 0, 1)
        expect_policy(self.policy, "Explore")
        if isinstance(self.policy, Within | Surprise):
            rule = f"inside a {type(self.policy).__name__}, not around it"
            raise ParameterError.of("policy", "Explore", rule, self.policy)

    def choose(
        self, scores: ArrayLike, costs: ArrayLike, k: int, rng: np.random.Generator
    ) -> NDArray[np.bool_]:
        """A mask of the models to train. See `Policy.choose`."""
        if compiled(self) is not None:
            return super().choose(scores, costs, k, rng)
        if not isinstance(rng, np.random.Generator):
            raise ParameterError.of("rng", "Explore", "a numpy.random.Generator", rng)
        if rng.random() < self.epsilon:  # the draw the core makes
            return Random().choose(scores, costs, k, rng)
        return self.policy.choose(np.asarray(scores), np.asarray(costs), k, rng)

    def explain(
        self, scores: NDArray[np.float64], costs: NDArray[np.float64], k: int, chosen: NDArray[np.bool_]
    ) -> Reasons:
        """Why each of these models was chosen, if that was not exploration."""
        return explain(self.policy, scores, costs, k, chosen)

    def _compiled(self) -> _core.Policy | None:
        inner = compiled(self.policy)
        return None if inner is None else _core.Policy("explore", self.epsilon, inner)
