"""ε-greedy exploration around any policy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from heros._base import core as _core
from heros._base.errors import ParameterError
from heros._base.parameters import number
from heros.policies.base import Around, Mask, compiled
from heros.policies.ranked import Random


@dataclass(frozen=True)
class Explore(Around):
    """Train k random models with probability ε, else the models that `policy` chooses.

    Parameters
    ----------
    policy
        The inner policy, built-in or your own.
    epsilon
        The probability ε of exploration, in [0, 1].

    Examples
    --------
    >>> import numpy as np
    >>> from heros.policies import Cheapest
    >>> rng = np.random.default_rng(1)
    >>> policy = Explore(Cheapest(), 0.2)
    >>> cheap = [policy.choose([0.5, 0.5], [0.1, 0.9], 1, rng)[0] for _ in range(1000)]
    >>> bool(860 < sum(cheap) < 940)  # 800 by the inner policy, half of the other 200 by chance
    True
    """

    suffix: ClassVar[str] = "@"
    layer: ClassVar[int] = 1
    twice: ClassVar[bool] = True

    epsilon: float

    def __post_init__(self) -> None:
        number(self.epsilon, "epsilon", "Explore", 0, 1)
        super().__post_init__()

    @property
    def explores(self) -> bool:
        return self.epsilon > 0 or super().explores

    def choose(self, scores: ArrayLike, costs: ArrayLike, k: int, rng: np.random.Generator) -> Mask:
        if compiled(self) is not None:
            return super(Around, self).choose(scores, costs, k, rng)
        if not isinstance(rng, np.random.Generator):
            raise ParameterError.of("rng", "Explore", "a numpy.random.Generator", rng)
        if rng.random() < self.epsilon:  # the core makes the same draw
            return Random().choose(scores, costs, k, rng)
        return super().choose(scores, costs, k, rng)

    explain = Around.explain  # the reasons for choices without exploration

    def _compiled(self) -> _core.Policy | None:
        inner = super()._compiled()
        return None if inner is None else _core.Policy("explore", self.epsilon, inner)
