"""Train on what surprises: the effort goes where the ensemble was not sure, or wrong."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from heros._base import core as _core
from heros._base.parameters import number
from heros.errors import ParameterError
from heros.policies.base import CompiledPolicy, Policy, compiled, expect_policy
from heros.policies.reasons import Floats, Mask, Reasons, explain
from heros.policies.within import Within

__all__ = ["Surprise", "by_surprise"]


@dataclass(frozen=True)
class Surprise(CompiledPolicy):
    """What `policy` chooses, but seldom for an instance that the ensemble expected.

    A class was expected if the ensemble gave it a probability above `sure`; a number, if the error of the
    prediction is below `inside` times half the width of the running interval. On an expected instance the
    chosen models are trained with probability `share` only. Models that learn at next to no cost
    (`pools.Neighbours`, `pools.LabelMemory`, the window of `pools.Retrained`) are trained whenever they are
    chosen. Every instance counts for the scores; the weights of `Stack` learn from the same instances as the
    models. After a change little is expected, so the models are trained on nearly every instance again.

    With late labels an instance is judged by what the ensemble says when the label comes. Warm-up trains all
    models. `Surprise` goes around a policy, and `Within` around both:
    ``Within(Surprise(Cand()), microseconds=40)``.

    Parameters
    ----------
    policy
        Which models to train on an instance that surprises.
    sure
        The probability above which a class is expected, in [0, 1].
    share
        How often models are trained on expected instances, in [0, 1].
    inside
        Numbers: the share of the interval's half width below which an error is expected.

    Examples
    --------
    >>> from heros import Heros, policies, pools, streams
    >>> stream = streams.Agrawal(function=1)
    >>> pool = pools.Join(pools.NaiveBayes([{}]), pools.Neighbours([{}]), costs=[1, 1])
    >>> policy = Surprise(policies.Everything(), sure=0.9)
    >>> model = Heros(pool, policy, k=2, answer="average", seed=1, schema=stream.schema)
    >>> model = model.learn(*stream.draw(1000))
    >>> bool(model.trained[0] < 800), int(model.trained[1])
    (True, 1000)
    """

    policy: Policy
    sure: float = 0.95
    share: float = 0.1
    inside: float = 0.25

    @property
    def explores(self) -> bool:
        """Whether it comes back to every model sooner or later."""
        return bool(getattr(self.policy, "explores", True))

    def __post_init__(self) -> None:
        expect_policy(self.policy, "Surprise")
        if isinstance(self.policy, Within):
            raise ParameterError.of("policy", "Surprise", "inside a Within, not around it", self.policy)
        if isinstance(self.policy, Surprise):
            rule = "a policy without a Surprise of its own"
            raise ParameterError.of("policy", "Surprise", rule, self.policy)
        number(self.sure, "sure", "Surprise", 0, 1)
        number(self.share, "share", "Surprise", 0, 1)
        number(self.inside, "inside", "Surprise", 0)

    def choose(
        self, scores: ArrayLike, costs: ArrayLike, k: int, rng: np.random.Generator
    ) -> NDArray[np.bool_]:
        """A mask of the models to train on an instance that surprises."""
        return self.policy.choose(np.asarray(scores), np.asarray(costs), k, rng)

    def explain(self, scores: Floats, costs: Floats, k: int, chosen: Mask) -> Reasons:
        """Why each of these models was chosen."""
        return explain(self.policy, scores, costs, k, chosen)

    def _compiled(self) -> _core.Policy | None:
        return compiled(self.policy)


def by_surprise(policy: Policy) -> tuple[Policy, _core.Surprise | None]:
    """The policy that chooses, and what it takes for an instance to be trained on, if that is asked for."""
    if not isinstance(policy, Surprise):
        return policy, None
    return policy.policy, _core.Surprise(policy.sure, policy.share, policy.inside)
