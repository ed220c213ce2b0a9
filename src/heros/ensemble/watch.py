"""The parameters `watch` (which models are evaluated) and `answer` (which models make the prediction)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from heros._base import core as _core
from heros._base.errors import ParameterError
from heros._base.parameters import number, whole
from heros._base.registry import Part, answer_of
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


@dataclass(frozen=True)
class AnswerPart(Part):
    """The base class of `Top` and `Stack`, the values of the parameter `answer` that have settings."""

    role: ClassVar[str] = "answer"

    n: int = 5
    sharpness: float = 60.0

    def __post_init__(self) -> None:
        whole(self.n, "n", type(self).__name__, 1, (1 << 31) - 1)
        number(self.sharpness, "sharpness", type(self).__name__, 0)


@dataclass(frozen=True)
class Top(AnswerPart):
    """The n models with the highest score L predict together; a higher L gives a higher weight.

    The probabilities of model i are weighted by exp(−sharpness · (L_best − L_i)). With a sharpness of 0 all n
    models have the same weight. With a high sharpness only the best models have weight.

    Parameters
    ----------
    n
        The number of models that predict.
    sharpness
        The rate at which the weight falls with L: with 60, a model whose L is .01 below the best has weight
        .55.

    Examples
    --------
    >>> from heros import Heros, streams
    >>> stream = streams.Agrawal(function=2)
    >>> model = Heros(k=10, answer=Top(5), watch="trained", seed=1, schema=stream.schema)
    >>> model = model.learn(*stream.draw(500))
    >>> model.predict_proba(stream.draw(1)[0]).shape
    (1, 2)
    """

    def __str__(self) -> str:
        return f"Top({self.n}, {self.sharpness:g})"


@dataclass(frozen=True)
class Stack(AnswerPart):
    """All models predict together: the ensemble adds up their log-odds with learnt weights.

    The mixture of the n best models, as in `Top`, is an additional input. The mixture starts with half of the
    weight, and the models share the other half equally. After each label, each weight takes a gradient step
    on the log loss of the ensemble's prediction. If models make different errors, a stack can be better than
    any mixture of the models (figures in docs/policies.md). In regression, the stack adds up each model's
    difference from the mixture, with weights that start at 0 and are trained on the squared error (NLMS). All
    models are evaluated, since all models predict; the policy still chooses which models are trained.

    With `sure` below 1, models that take long to evaluate (forests, and neighbours with a window of more than
    1,000 instances) are evaluated last. If a separate stack of the other models gives a class a higher
    probability than `sure`, the slow models are not evaluated. Slow models that are not evaluated are assumed
    to agree with that stack, both in the prediction and in the scores L. A `sure` below 1 saves time only
    together with `policies.Surprise`, since a model that is trained must be evaluated.

    Parameters
    ----------
    n, sharpness
        The settings of the mixture: see `Top`.
    rate
        The learning rate of the weights, in [0, 1]. With 0 the weights do not change. With several rates,
        each rate has its own set of weights. The ensemble averages the predictions of the sets; a set with a
        lower recent loss has a higher weight.
    sure
        The probability of a class above which slow models are not evaluated, in [0, 1]. All models are
        evaluated if `sure` is 1, if `watch` is not "all", and in regression.

    Examples
    --------
    >>> from heros import Heros, streams
    >>> stream = streams.Agrawal(function=2)
    >>> model = Heros(k=10, answer=Stack(), seed=1, schema=stream.schema).learn(*stream.draw(500))
    >>> model.predict_proba(stream.draw(1)[0]).shape
    (1, 2)
    """

    rate: float | tuple[float, ...] = 0.02
    sure: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.rate, list | tuple) and self.rate:
            object.__setattr__(self, "rate", tuple(self.rate))
        for rate in self.rates:
            number(rate, "rate", "Stack", 0, 1)
        number(self.sure, "sure", "Stack", 0, 1)

    @property
    def rates(self) -> tuple[float, ...]:
        """All learning rates."""
        return self.rate if isinstance(self.rate, tuple) and self.rate else (self.rate,)  # type: ignore[return-value]

    def __str__(self) -> str:
        sure = "" if self.sure == 1 else f", {self.sure:g}"
        rates = "/".join(f"{rate:g}" for rate in self.rates)
        return f"Stack({self.n}, {self.sharpness:g}, {rates}{sure})"


Answer = Literal["best", "average", "weighted"] | Top | Stack
Watch = Literal["all", "trained"] | int


def checked_answer(answer: object) -> Answer:
    """Return `answer`, or raise an error if it is not valid; ``"top:5"`` is read as on the command line."""
    found = answer_of(answer, "Heros") if isinstance(answer, str) else answer
    if isinstance(found, Top | Stack) or (isinstance(found, str) and found in ANSWERS):
        return found  # type: ignore[return-value]
    rule = "'best', 'average', 'weighted', 'stack', 'top:5', a heros.Top or a heros.Stack"
    raise ParameterError.of("answer", "Heros", rule, answer)


def native_answer(answer: Answer) -> _core.Answer:
    """Return `answer` as an object of the compiled core."""
    if isinstance(answer, Stack):
        return _core.Answer("stacked", answer.n, answer.sharpness, answer.rates, answer.sure)
    if isinstance(answer, Top):
        return _core.Answer("top", answer.n, answer.sharpness)
    return _core.Answer(answer)


def checked_watch(watch: object) -> Watch:
    """Return `watch`, or raise an error if it is not valid."""
    if isinstance(watch, str) and watch in ("all", "trained"):
        return watch  # type: ignore[return-value]
    try:
        return whole(watch, "watch", "Heros", 1, 1 << 62)
    except ParameterError:
        raise ParameterError.of("watch", "Heros", "'all', 'trained' or a whole number >= 1", watch) from None


def checked_burst(burst: object, watch: Watch) -> int:
    """Return `burst`, or raise an error if it is not valid for this `watch`."""
    length = whole(burst, "burst", "Heros", 0, 1 << 62)
    if length > 0 and watch == "all":
        raise ParameterError.of("burst", "Heros", "0 if all models are evaluated (watch='all')", burst)
    return length


def expect_watched(watch: Watch, policy: Policy) -> None:
    """Raise an error for a policy that never explores, if idle models would never be evaluated again."""
    if watch == "trained" and not getattr(policy, "explores", True):
        why = f"{policy!r}, because this policy never explores and idle models would not be evaluated again"
        raise ParameterError.of("watch", "Heros", f"'all' or a whole number, e.g. 8, with {why}", watch)


def native_watch(watch: Watch) -> int:
    """Return how often the core evaluates an idle model: 0: always; -1: never; n: every n instances."""
    return watch if isinstance(watch, int) else {"all": 0, "trained": -1}[watch]
