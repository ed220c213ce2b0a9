"""Confidence bounds on what a model may come to: a policy with a guarantee."""

from __future__ import annotations

from dataclasses import dataclass

from heros._base import core as _core
from heros._base.parameters import number
from heros.errors import ParameterError
from heros.policies.base import CompiledPolicy
from heros.policies.reasons import Floats, Mask, Reasons, by_rank

__all__ = ["MLCB"]


@dataclass(frozen=True)
class MLCB(CompiledPolicy):
    """The k models that may still turn out best: those with the highest upper bound on their performance.

    M-LCB, for choosing which of M *learning* models to update (Latypov et al. 2025, arXiv:2510.22654; there
    it is the lowest bound on the loss). A model that was trained n times and was right at a share p of these
    instances, before each label was seen, has the bound

        p + scale · (√(ln(2·M·t·(t + 1)/δ) / (2·n)) + n^(α − 1))

    with t instances so far: what chance may have hidden of p, and what the model has yet to learn. A model
    never trained comes first (ties: the lowest index). It keeps this account by itself, whatever the `score`
    of the ensemble is: L decides who answers, not who is trained.

    **Guarantee** (proof, and the paper's own statement, in docs/theory.md). Let all instances come from one
    distribution, let no model be expected to get worse by training, and let its own regret after n updates be
    at most n^α. Then, with probability 1 − δ and at any time T, the best of the k models trained at each
    instance errs in all at most Õ(√(M·T/k) + (M/k)^(1−α)·T^α) more often than the best model would, fully
    trained, from the start.

    **What breaks it here**: a stream that drifts (set `factor`); models that get worse by training, such as
    perceptrons with too high a learning rate; `answer="best"`, which goes by L and not by these bounds; and
    costs, which it does not see. A `scale` below 1 gives up the guarantee for bounds that are less careful:
    at 1 and with 50 models, one that is .02 worse than the best is left alone after some 60,000 updates.

    **Drift.** With `factor` < 1 an update counts less with every instance that goes by, so that the bound of
    a model at rest rises until it is trained again. Per stretch of 1/(1 − factor) instances the guarantee is
    as above up to a constant; each change costs some such stretches.

    Parameters
    ----------
    scale
        How wide the bounds are; 1 is what the guarantee asks for, 0 trains those that did best so far.
    factor
        What an update counts one instance later, in (0, 1]; 1 forgets nothing.
    rate
        α: how fast the models learn, in [0, 1]. At .5 their own regret grows like √n.
    delta
        δ: how likely some bound may fail, in (0, 1).

    Examples
    --------
    >>> from heros import Heros, pools, streams
    >>> stream = streams.Agrawal(function=2)
    >>> pool = pools.MLP([{"hidden": 64}, {"hidden": 4}, {"optimizer": "sgd", "learning_rate": 1e-6}])
    >>> model = Heros(pool, MLCB(), k=1, watch="trained", warmup=0, seed=1, schema=stream.schema)
    >>> model = model.learn(*stream.draw(3000))
    >>> int(model.trained.argmax()), int(model.trained.argmin())  # the last one learns next to nothing
    (0, 2)
    """

    scale: float = 1.0
    factor: float = 1.0
    rate: float = 0.5
    delta: float = 0.05

    def __post_init__(self) -> None:
        number(self.scale, "scale", "MLCB", 0)
        if number(self.factor, "factor", "MLCB", 0, 1) == 0:
            raise ParameterError.of("factor", "MLCB", "in (0, 1]", self.factor)
        number(self.rate, "rate", "MLCB", 0, 1)
        if number(self.delta, "delta", "MLCB", 0, 1) in (0, 1):
            raise ParameterError.of("delta", "MLCB", "in (0, 1)", self.delta)

    @property
    def explores(self) -> bool:
        """Whether it comes back to every model sooner or later: bounds rise while a model is at rest."""
        return self.scale > 0

    def explain(self, scores: Floats, costs: Floats, k: int, chosen: Mask) -> Reasons:
        """Why each of these models was chosen; `scores` are the bounds."""
        return by_rank(scores, "upper bound", chosen)

    def _compiled(self) -> _core.Policy:
        return _core.Policy("mlcb", bounds=(self.scale, self.factor, self.rate, self.delta))
