"""The paper's ζ-policy, which prefers the cheapest of the models with nearly equal scores."""

from __future__ import annotations

from dataclasses import dataclass

from heros._base import core as _core
from heros._base.parameters import number
from heros.policies.base import CompiledPolicy, Floats, Mask, Reasons


@dataclass(frozen=True)
class Zeta(CompiledPolicy):
    """Train k models, each the cheapest remaining model with a score within ζ of the best remaining score.

    Algorithm 1 of the paper: let j be the best model not yet chosen. Among the models l not yet chosen with
    L_l ≥ (1 − ζ)·L_j, choose the model with the lowest cost γ (ties: j itself, then the lowest index).
    ζ = 0 is `PerformBest`, ζ = 1 is `Cheapest`, up to ties.

    Difference from the paper: line 7 of the printed algorithm tests a_i = 0, but the correct test is a_l = 0.
    The printed test can choose the same model again; then only a few models are trained instead of k
    (Electricity, ζ = .01, ε = .1: an AUROC of .960 instead of .966; docs/paper.md).

    Parameters
    ----------
    zeta
        The relative difference in score up to which a cheaper model is preferred, in [0, 1]; by default 0.05.

    Examples
    --------
    >>> import numpy as np
    >>> scores, costs = [0.90, 0.89, 0.70], [0.5, 0.2, 0.3]
    >>> Zeta(0.05).choose(scores, costs, 1, np.random.default_rng(1)).astype(int)
    array([0, 1, 0])
    >>> Zeta(0.001).choose(scores, costs, 1, np.random.default_rng(1)).astype(int)
    array([1, 0, 0])
    """

    zeta: float = 0.05

    def __post_init__(self) -> None:
        number(self.zeta, "zeta", "Zeta", 0, 1)

    def explain(self, scores: Floats, costs: Floats, k: int, chosen: Mask) -> Reasons:
        reasons: Reasons = {}
        for pick in range(1, k + 1):
            remaining = [i for i in range(len(scores)) if i not in reasons]
            best = max(remaining, key=lambda i: (scores[i], -i))
            bar = (1 - self.zeta) * scores[best]
            near = [i for i in remaining if scores[i] >= bar and costs[i] < costs[best]]
            if near:
                model = min(near, key=lambda i: (costs[i], i))
                reasons[model] = (
                    f"pick {pick}: L {scores[model]:.4g} is within ζ = {self.zeta:g} of model {best} "
                    f"({scores[best]:.4g}), and γ {costs[model]:.4g} is less than the γ of model {best} "
                    f"({costs[best]:.4g})"
                )
            else:
                reasons[best] = (
                    f"pick {pick}: the best remaining model (L {scores[best]:.4g}); no model within "
                    f"ζ = {self.zeta:g} costs less than γ {costs[best]:.4g}"
                )
        return reasons

    def _compiled(self) -> _core.Policy:
        return _core.Policy("zeta", self.zeta)
