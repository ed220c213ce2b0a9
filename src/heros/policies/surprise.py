"""A policy that trains mostly on instances that the ensemble predicted wrongly or with low confidence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from heros._base import core as _core
from heros._base.parameters import number, whole
from heros.policies.base import Around


@dataclass(frozen=True)
class Surprise(Around):
    """Train the models that `policy` chooses, but only rarely on instances that the ensemble expected.

    A class is expected if the ensemble gave it a probability above `sure`. A number is expected if the error
    of the prediction is below `inside` times half the width of the running interval. On an expected instance
    the chosen models are trained only with probability `share`. Models that learn at almost no cost
    (`pools.Neighbours`, `pools.LabelMemory`, the window of `pools.Retrained`) are trained whenever they are
    chosen. The scores are updated on all instances. The weights of `Stack` are trained on the same instances
    as the models. After a change, the ensemble expects few instances, so the models are trained on nearly
    every instance.

    With late labels, the prediction at the arrival of the label decides whether the instance is expected.
    Warm-up trains all models. With the parameter `budget` of `heros.Heros`, `sure` is lowered if training
    costs more than the budget allows (`heros.ensemble.dial.Dial`).

    Parameters
    ----------
    policy
        The policy that chooses the models to train on unexpected instances.
    sure
        The probability above which a class is expected, in [0, 1].
    share
        The probability of training on an expected instance, in [0, 1].
    inside
        Regression: the share of the interval's half width below which an error counts as expected.
    steady
        The minimum probability of training slow models (forests) on an unexpected instance while the loss is
        steady, in [0, 1]. The loss is steady if its mean over about 100 instances differs from its mean over
        about 1,000 instances by no more than chance can explain.
    after
        The number of instances after which slow models are trained less often. While the loss is steady, the
        probability of their training is `after` / n after n instances, but at least `steady`.

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
    steady: float = 1.0
    after: int = 25_000

    def __post_init__(self) -> None:
        super().__post_init__()
        number(self.sure, "sure", "Surprise", 0, 1)
        number(self.share, "share", "Surprise", 0, 1)
        number(self.inside, "inside", "Surprise", 0)
        number(self.steady, "steady", "Surprise", 0, 1)
        whole(self.after, "after", "Surprise", 0)

    def native(self) -> _core.Surprise:
        """Return the settings as an object of the core."""
        return _core.Surprise(self.sure, self.share, self.inside, self.steady, self.after)
