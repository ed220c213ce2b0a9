"""M-LCB, a policy with a regret guarantee from confidence bounds on the performance of models."""

from __future__ import annotations

from dataclasses import dataclass

from heros._base import core as _core
from heros._base.parameters import inside_unit, number, positive
from heros.policies.base import CompiledPolicy, Floats, Mask, Reasons, by_rank


@dataclass(frozen=True)
class MLCB(CompiledPolicy):
    """Train the k models with the highest upper confidence bound on their performance.

    M-LCB chooses which of M *learning* models to update (Latypov et al. 2025, arXiv:2510.22654, who state the
    policy with lower bounds on the loss). For a model that was trained n times and correctly predicted a
    share p of these instances before their labels were known, the bound at instance t is

        p + scale · (√(ln(2·M·t·(t + 1)/δ) / (2·n)) + n^(α − 1))

    The first term in brackets is the uncertainty of p; the second term is the possible future improvement of
    the model. Models that were never trained come first (ties: the lowest index). The policy computes p
    itself and does not use the `score` of the ensemble, which only selects the models that predict.

    **Guarantee** (docs/theory.md has the proof and the paper's statement). Assume that all instances come
    from one distribution, that training makes no model worse in expectation, and that a model's own regret
    after n updates is at most n^α. Then, with probability 1 − δ and at any time T, the best of the k models
    trained at each instance makes at most Õ(√(M·T/k) + (M/k)^(1−α)·T^α) more errors in total than the best
    model would make if it were fully trained from the start.

    **Limits.** The guarantee fails in three cases: for streams with drift (set `factor`); for models that
    become worse by training, such as perceptrons with too high a learning rate; and for `answer="best"`,
    which uses L instead of these bounds. The policy ignores costs. A `scale` below 1 gives narrower bounds
    without the guarantee. With scale 1 and 50 models, a model that is .02 worse than the best model is no
    longer trained after about 60,000 updates.

    **Drift.** With `factor` < 1 the weight of an update falls with each instance. The bound of an idle model
    therefore rises until the model is trained again. The guarantee then holds, up to a constant, for each
    stretch of 1/(1 − factor) instances; each change costs a few such stretches.

    Parameters
    ----------
    scale
        The factor of the width of the bounds. The guarantee needs 1; with 0, the models with the highest p
        are trained.
    factor
        The factor by which the weight of an update falls per instance, in (0, 1]; 1 means no forgetting.
    rate
        The exponent α of the models' own regret, in [0, 1]. At .5 their regret grows like √n.
    delta
        The probability δ that a bound fails, in (0, 1).

    Examples
    --------
    >>> from heros import Heros, pools, streams
    >>> stream = streams.Agrawal(function=2)
    >>> pool = pools.MLP([{"hidden": 64}, {"hidden": 4}, {"optimizer": "sgd", "learning_rate": 1e-6}])
    >>> model = Heros(pool, MLCB(), k=1, watch="trained", warmup=0, seed=1, schema=stream.schema)
    >>> model = model.learn(*stream.draw(3000))
    >>> int(model.trained.argmax()), int(model.trained.argmin())  # the last model learns almost nothing
    (0, 2)
    """

    scale: float = 1.0
    factor: float = 1.0
    rate: float = 0.5
    delta: float = 0.05

    def __post_init__(self) -> None:
        number(self.scale, "scale", "MLCB", 0)
        positive(self.factor, "factor", "MLCB", 1)
        number(self.rate, "rate", "MLCB", 0, 1)
        inside_unit().check(self.delta, "delta", "MLCB")

    @property
    def explores(self) -> bool:
        """Whether the policy repeatedly trains every model, because the bounds of idle models rise."""
        return self.scale > 0

    def explain(self, scores: Floats, costs: Floats, k: int, chosen: Mask) -> Reasons:
        return by_rank(scores, "upper bound", chosen)  # MLCB gets the upper bounds as scores

    def _compiled(self) -> _core.Policy:
        return _core.Policy("mlcb", bounds=(self.scale, self.factor, self.rate, self.delta))
