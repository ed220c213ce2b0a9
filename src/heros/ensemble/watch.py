"""Who looks at an instance, and who answers for the ensemble."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from heros._base import core as _core
from heros._base.parameters import number, whole
from heros._base.registry import Part
from heros.errors import ParameterError
from heros.policies import Policy

__all__ = [
    "Answer",
    "AnswerPart",
    "Stack",
    "Top",
    "Watch",
    "checked_answer",
    "checked_burst",
    "checked_watch",
    "expect_watched",
    "native_answer",
    "native_watch",
]

ANSWERS = ("best", "average", "weighted")


class AnswerPart(Part):
    """A way to answer that has settings."""

    role: ClassVar[str] = "answer"


@dataclass(frozen=True)
class Top(AnswerPart):
    """The n models with the highest L answer together, the best of them with the most weight.

    The probabilities of model i are weighted by exp(−sharpness · (L_best − L_i)): with a sharpness of 0 all n
    count the same, with a high one it is the best model that counts, and those that are as good.

    Parameters
    ----------
    n
        How many answer.
    sharpness
        How fast a lower L counts less: at 60, a model whose L is .01 below the best counts .55.

    Examples
    --------
    >>> from heros import Heros, streams
    >>> stream = streams.Agrawal(function=2)
    >>> model = Heros(k=10, answer=Top(5), watch="trained", seed=1, schema=stream.schema)
    >>> model = model.learn(*stream.draw(500))
    >>> model.predict_proba(stream.draw(1)[0]).shape
    (1, 2)
    """

    n: int = 5
    sharpness: float = 60.0

    def __post_init__(self) -> None:
        whole(self.n, "n", "Top", 1, (1 << 31) - 1)
        number(self.sharpness, "sharpness", "Top", 0)

    def __str__(self) -> str:
        return f"Top({self.n}, {self.sharpness:g})"


@dataclass(frozen=True)
class Stack(AnswerPart):
    """All models answer together: their log-odds are added up, with weights that are learnt as well.

    To them comes a mixture of the n best, as `Top` answers. At first half of the weight is the mixture's, and
    the other half the models' in equal parts; after every label each weight takes a step down the gradient
    of the log loss of what was answered. Where models know different things, that is more than any mixture
    of them: docs/choosing.md has figures. Of a number, what each model says beyond the mixture is added up,
    with weights that begin at 0 and follow the squared error (NLMS). All models look, since all answer; who
    is trained is the policy's to say.

    With `sure` below 1, models that take long to evaluate (forests, and neighbours of more than the last
    1,000 instances) are asked last. If a stack of the other models, with weights of its own, gives a class a
    higher probability than `sure`, the slow models are not evaluated and are taken to agree with it, in the
    prediction and in their scores L. Evaluation is saved where `policies.Surprise` saves training: a model
    that is trained has to be evaluated anyway.

    Parameters
    ----------
    n, sharpness
        Of the mixture: see `Top`.
    rate
        How fast weights are learnt, in [0, 1]. 0: never.
    sure
        Classes: the probability above which models that take long to evaluate are not asked, in [0, 1].
        1: all models are asked. With `watch` other than "all", and for numbers, all models are asked.

    Examples
    --------
    >>> from heros import Heros, streams
    >>> stream = streams.Agrawal(function=2)
    >>> model = Heros(k=10, answer=Stack(), seed=1, schema=stream.schema).learn(*stream.draw(500))
    >>> model.predict_proba(stream.draw(1)[0]).shape
    (1, 2)
    """

    n: int = 5
    sharpness: float = 60.0
    rate: float = 0.02
    sure: float = 1.0

    def __post_init__(self) -> None:
        whole(self.n, "n", "Stack", 1, (1 << 31) - 1)
        number(self.sharpness, "sharpness", "Stack", 0)
        number(self.rate, "rate", "Stack", 0, 1)
        number(self.sure, "sure", "Stack", 0, 1)

    def __str__(self) -> str:
        sure = "" if self.sure == 1 else f", {self.sure:g}"
        return f"Stack({self.n}, {self.sharpness:g}, {self.rate:g}{sure})"


Answer = Literal["best", "average", "weighted"] | Top | Stack
Watch = Literal["all", "trained"] | int


def checked_answer(answer: object) -> Answer:
    """Who answers, if that is what it says."""
    if isinstance(answer, Top | Stack) or (isinstance(answer, str) and answer in ANSWERS):
        return answer  # type: ignore[return-value]
    raise ParameterError.of(
        "answer", "Heros", "'best', 'average', 'weighted', a heros.Top or a heros.Stack", answer
    )


def native_answer(answer: Answer) -> _core.Answer:
    """Who answers, as the core knows it."""
    if isinstance(answer, Stack):
        return _core.Answer("stacked", answer.n, answer.sharpness, answer.rate, answer.sure)
    if isinstance(answer, Top):
        return _core.Answer("top", answer.n, answer.sharpness)
    return _core.Answer(answer)


def checked_watch(watch: object) -> Watch:
    """Who looks, if that is what it says."""
    if isinstance(watch, str) and watch in ("all", "trained"):
        return watch  # type: ignore[return-value]
    try:
        return whole(watch, "watch", "Heros", 1, 1 << 62)
    except ParameterError:
        raise ParameterError.of("watch", "Heros", "'all', 'trained' or a whole number >= 1", watch) from None


def checked_burst(burst: object, watch: Watch) -> int:
    """For how many instances all look once the best gets worse, if some do not look otherwise.

    Examples
    --------
    >>> checked_burst(100, "trained")
    100
    """
    length = whole(burst, "burst", "Heros", 0, 1 << 62)
    if length > 0 and watch == "all":
        raise ParameterError.of("burst", "Heros", "0 where all models look (watch='all')", burst)
    return length


def expect_watched(watch: Watch, policy: Policy) -> None:
    """Refuse a policy that would leave a model without an evaluation, and its score unchanged, for ever.

    Examples
    --------
    >>> from heros.policies import Cheapest
    >>> expect_watched("trained", Cheapest())
    Traceback (most recent call last):
        ...
    heros.errors.ParameterError: The 'watch' parameter of Heros must be 'all' or a whole number, e.g. 8, with
    Cheapest(): it never explores, so idle models would not be evaluated again. Got 'trained' instead.
    """
    if watch == "trained" and not getattr(policy, "explores", True):
        why = f"{policy!r}: it never explores, so idle models would not be evaluated again"
        raise ParameterError.of("watch", "Heros", f"'all' or a whole number, e.g. 8, with {why}", watch)


def native_watch(watch: Watch) -> int:
    """Return how often the core evaluates an idle model: 0 always, -1 never, n on every n-th instance.

    Examples
    --------
    >>> native_watch("all"), native_watch("trained"), native_watch(3)
    (0, -1, 3)
    """
    if isinstance(watch, int):
        return watch
    return 0 if watch == "all" else -1
