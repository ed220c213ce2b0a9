"""The paper's claims about the stochastic model: the quantity, its limit, and the pool size needed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from heros.policies import Cand, PerformBest, Zeta
from heros_paper.theory.model import MEAN_COST, Model, Worth
from heros_paper.theory.simulation import Draws

__all__ = [
    "BEST",
    "BEST_COST",
    "BEST_PERFORMANCE",
    "CAND",
    "CAND_COST",
    "CAND_PERFORMANCE",
    "CHEAPER_THAN_BEST",
    "CHEAPER_THAN_CAND",
    "CLOSE_TO_BEST",
    "ZETA_ABOVE_CAND",
    "ZETA_COST",
    "ZETA_PERFORMANCE",
    "Claim",
    "Instance",
    "instances",
]

CAND, BEST = Cand(), PerformBest()
NEAR = 0.05
"""The largest distance of the best models from 1 for which a pool is informative about the limit 1."""


@dataclass(frozen=True)
class Claim:
    """A numbered statement of the paper."""

    number: str
    statement: str
    inequality: bool = False
    """Whether the paper claims that the quantity is positive, and not only that it converges."""
    strict: bool = True
    """Whether the inequality is strict."""


CAND_PERFORMANCE = Claim("Lemma IV.1", "X̄ of CAND → ½ + ½ E X")
CAND_COST = Claim("Lemma IV.1", "γ̄ of CAND → E γ")
ZETA_PERFORMANCE = Claim("Lemma IV.2", "X̄ of ζ → E[X | X ≥ 1 − ζ]")
ZETA_COST = Claim("Lemma IV.2", "γ̄ of ζ → 0")
ZETA_ABOVE_CAND = Claim("Theorem IV.3", "X̄ of ζ − X̄ of CAND > 0 if ζ < (1 − E X)/2", inequality=True)
CHEAPER_THAN_CAND = Claim("Theorem IV.4", "γ̄ of CAND − γ̄ of ζ > 0", inequality=True)
CLOSE_TO_BEST = Claim("Theorem IV.5", "ζ − (X̄ of perform-best − X̄ of ζ) ≥ 0", inequality=True, strict=False)
CHEAPER_THAN_BEST = Claim("Theorem IV.6", "γ̄ of perform-best − γ̄ of ζ > 0", inequality=True)
BEST_PERFORMANCE = Claim("Lemma A.1", "X̄ of perform-best → 1")
BEST_COST = Claim("Lemma A.1", "γ̄ of perform-best → E γ")


@dataclass(frozen=True)
class Instance:
    """A claim for one distribution of the scores and one ζ: the quantity to measure, and its limits."""

    claim: Claim
    model: Model
    zeta: float | None
    quantity: Callable[[Draws], NDArray[np.float64]]
    """The quantity that should converge or be positive, per draw."""
    limit: float
    """The limit for M → ∞, then k → ∞."""
    proportional: Callable[[float], float | None]
    """The limit for M → ∞ and k = share·M; None if the quantity stays random."""
    exact: Callable[[int, int], float] | None = None
    """The mean for finite M and k, if it has a closed form."""
    claimed: bool = True
    """Whether the paper makes the claim for this ζ."""

    def pool_needed(self, k: int) -> float:
        """Return the M with an expected 10·k models close enough to 1 for the limit.

        These are models within ζ of 1 and, since windows depend on the best model, models near 1.
        """
        return 10 * self.model.pool_for(k, NEAR if self.zeta is None else min(self.zeta, NEAR))


def instances(model: Model, zetas: Sequence[float]) -> list[Instance]:
    """Return every claim of the paper for one distribution of the scores, for each ζ if it depends on ζ.

    Examples
    --------
    >>> len(instances(Model(2, 2), [0.05, 0.1]))  # 4 without ζ, 6 with
    16
    """
    return _without_zeta(model) + [claim for zeta in zetas for claim in _with_zeta(model, zeta)]


def _without_zeta(model: Model) -> list[Instance]:
    def mean_cost(models: int, k: int) -> float:
        return MEAN_COST

    def half(share: float) -> float:
        return MEAN_COST

    return [
        Instance(
            CAND_PERFORMANCE, model, None, lambda d: d.performance[CAND], model.cand_limit, model.cand_share,
            model.cand,
        ),
        Instance(CAND_COST, model, None, lambda d: d.cost[CAND], MEAN_COST, half, mean_cost),
        Instance(
            BEST_PERFORMANCE, model, None, lambda d: d.performance[BEST], 1.0, model.best_share, model.best
        ),
        Instance(BEST_COST, model, None, lambda d: d.cost[BEST], MEAN_COST, half, mean_cost),
    ]  # fmt: skip


def _with_zeta(model: Model, zeta: float) -> list[Instance]:
    policy = Zeta(zeta)
    limit = Worth(model.zeta_limit(zeta), 0.0)

    def expect(
        claim: Claim,
        quantity: Callable[[Draws], NDArray[np.float64]],
        of_worth: Callable[[Worth, float, float], float],
        *,
        claimed: bool = True,
    ) -> Instance:
        """Return an instance whose limits follow from the choices of ζ, CAND and perform-best."""

        def proportional(share: float) -> float | None:
            worth = model.zeta_share(zeta, share)
            if worth is None:
                return None
            return of_worth(worth, model.cand_share(share), model.best_share(share))

        return Instance(
            claim,
            model,
            zeta,
            quantity,
            of_worth(limit, model.cand_limit, 1.0),
            proportional,
            claimed=claimed,
        )

    return [
        expect(
            ZETA_PERFORMANCE, lambda d: d.performance[policy], lambda worth, cand, best: worth.performance
        ),
        expect(ZETA_COST, lambda d: d.cost[policy], lambda worth, cand, best: worth.cost),
        expect(
            ZETA_ABOVE_CAND,
            lambda d: d.performance[policy] - d.performance[CAND],
            lambda worth, cand, best: worth.performance - cand,
            claimed=zeta < model.claimed_threshold(),
        ),
        expect(
            CHEAPER_THAN_CAND,
            lambda d: d.cost[CAND] - d.cost[policy],
            lambda worth, cand, best: MEAN_COST - worth.cost,
        ),
        expect(
            CLOSE_TO_BEST,
            lambda d: zeta - (d.performance[BEST] - d.performance[policy]),
            lambda worth, cand, best: zeta - (best - worth.performance),
        ),
        expect(
            CHEAPER_THAN_BEST,
            lambda d: d.cost[BEST] - d.cost[policy],
            lambda worth, cand, best: MEAN_COST - worth.cost,
        ),
    ]
