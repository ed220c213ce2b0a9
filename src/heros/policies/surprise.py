"""Train on what surprises: the effort goes where the ensemble was not sure, or wrong."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from heros._base import core as _core
from heros._base.parameters import number
from heros.policies.wrapper import Around

__all__ = ["Surprise"]


@dataclass(frozen=True)
class Surprise(Around):
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

    suffix: ClassVar[str] = "+surprise"
    layer: ClassVar[int] = 2

    sure: float = 0.95
    share: float = 0.1
    inside: float = 0.25

    def __post_init__(self) -> None:
        super().__post_init__()
        number(self.sure, "sure", "Surprise", 0, 1)
        number(self.share, "share", "Surprise", 0, 1)
        number(self.inside, "inside", "Surprise", 0)

    def native(self) -> _core.Surprise:
        """What makes an instance worth training on, as the core knows it."""
        return _core.Surprise(self.sure, self.share, self.inside)
