"""The paper's stochastic model of a pool, with all results that need no simulation."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

from scipy import integrate, optimize, special

from heros import ParameterError
from heros._base.parameters import number, whole

__all__ = ["MEAN_COST", "Model", "Worth"]

MEAN_COST = 0.5
"""E γ, for γ uniform on [0, 1]."""


class Worth(NamedTuple):
    """The mean score and the mean cost of the chosen models."""

    performance: float
    cost: float


@dataclass(frozen=True)
class Model:
    """M models with scores X_i ~ Beta(α, β) and costs γ_i ~ U(0, 1), all independent.

    In the paper, γ is uniform on {1/M, …, M/M} or, alternatively, on [0, 1]. The latter has no ties, and
    E γ = ½ for every M. Needs the extra ``paper``.

    Parameters
    ----------
    alpha, beta
        The shape of the scores' distribution, both > 0.

    Examples
    --------
    >>> uniform = Model(1, 1)
    >>> uniform.mean, round(uniform.mean_above(0.8), 10)
    (0.5, 0.9)
    >>> uniform.claimed_threshold(), round(uniform.threshold(), 10)
    (0.25, 0.5)
    """

    alpha: float
    beta: float

    def __post_init__(self) -> None:
        for name in ("alpha", "beta"):
            if number(getattr(self, name), name, "Model", 0) == 0:
                raise ParameterError.of(name, "Model", "a number > 0", getattr(self, name))

    def __str__(self) -> str:
        return f"Beta({self.alpha:g}, {self.beta:g})"

    @property
    def mean(self) -> float:
        """E X."""
        return self.alpha / (self.alpha + self.beta)

    def survival(self, score: float) -> float:
        """Return P(X ≥ score), accurate in the far tail."""
        return float(special.betainc(self.beta, self.alpha, 1 - score))

    def quantile(self, share: float) -> float:
        """Return the score that a share of the models reaches: P(X ≥ score) = share."""
        return 1 - float(special.betaincinv(self.beta, self.alpha, share))

    def mean_above(self, score: float) -> float:
        """Return E[X | X ≥ score]; uses that x·Beta(α, β) is E X times the density of Beta(α + 1, β)."""
        tail = self.survival(score)
        if tail == 0:  # below float precision: there the density is (1 − x)^(β − 1) up to a factor
            return 1 - (1 - score) * self.beta / (self.beta + 1)
        return self.mean * Model(self.alpha + 1, self.beta).survival(score) / tail

    # --- the limits of the paper: M → ∞ first, then k → ∞ -------------------------------------------

    @property
    def cand_limit(self) -> float:
        """The mean score of CAND's chosen models in the limit: ½ + ½ E X."""
        return 0.5 + 0.5 * self.mean

    def zeta_limit(self, zeta: float) -> float:
        """Return the mean score of the ζ-policy's chosen models in the limit: E[X | X ≥ 1 − ζ]."""
        return self.mean_above(1 - zeta) if zeta > 0 else 1.0

    def claimed_threshold(self, epsilon: float = 0.0) -> float:
        """Return the paper's ζ below which ζ scores more than CAND: (1 − E X)/2. Sufficient, not necessary.

        With ε, the mean over all steps is compared: the ζ-policy explores, CAND does not. Exploration costs
        ε·(1 − E X) at ζ → 0, so the threshold falls to (1 − E X)·(½ − ε)/(1 − ε).
        """
        number(epsilon, "epsilon", "Model.claimed_threshold", 0, 1)
        return max(0.0, (1 - self.mean) * (0.5 - epsilon) / (1 - epsilon)) if epsilon < 1 else 0.0

    def threshold(self) -> float:
        """Return the ζ at which ζ and CAND are equal in the limit: E[X | X ≥ 1 − ζ] = ½ + ½ E X."""
        low = self.claimed_threshold()  # sufficient, so the root is not below
        return float(optimize.brentq(lambda zeta: self.zeta_limit(zeta) - self.cand_limit, low, 1))

    def pool_for(self, k: int, zeta: float) -> float:
        """Return the M with an expected k models of X ≥ 1 − ζ; the limits need far larger pools.

        Examples
        --------
        >>> round(Model(1, 1).pool_for(30, 0.01))
        3000
        """
        return k / self.survival(1 - zeta) if zeta > 0 else float("inf")

    # --- exact means for finite M and k -----------------------------------------------------------

    def best(self, models: int, k: int) -> float:
        """Return the expected mean of the k highest of M scores: the score of perform-best's choice.

        Σ_{i ≤ k} E X_(M−i+1) = ∫ E min(N_x, k) dx, where N_x, the number of scores above x, is binomial.

        Examples
        --------
        >>> round(Model(1, 1).best(9, 1), 10)  # the highest of 9 uniforms
        0.9
        """
        whole(k, "k", "Model.best", 1, models)
        corners = [self.quantile(min(1.0, share / models)) for share in (k + 6 * k**0.5, k, k / 2, 0.1)]
        edges = [0.0, *sorted(corners), 1.0]
        return (
            sum(
                float(integrate.quad(lambda x: self._expected_above(x, models, k), low, high)[0])
                for low, high in pairwise(edges)
            )
            / k
        )

    def _expected_above(self, score: float, models: int, k: int) -> float:
        """Return E min(N, k), where N is the number of M scores above `score`."""
        p = self.survival(score)
        if k == models:
            return models * p
        # Σ_{n ≤ k} n·b(n; M, p) = M·p·P(Bin(M − 1, p) ≤ k − 1), and P(N > k) as a separate tail.
        few = special.betainc(models - k, k, 1 - p) if p < 1 else 0.0
        return float(models * p * few + k * special.betainc(k + 1, models - k, p))

    def cand(self, models: int, k: int) -> float:
        """Return the expected score of CAND's choice: the ⌊k/2⌋ best models, and a sample of the others.

        Without the best models, the others score less than E X on average.

        Examples
        --------
        >>> Model(1, 1).cand(2, 2)  # everything
        0.5
        """
        whole(k, "k", "Model.cand", 1, models)
        half = k // 2
        top = half * self.best(models, half) if half else 0.0
        others = (models * self.mean - top) / (models - half)
        return (top + (k - half) * others) / k

    def sufficient_threshold(self, models: int, k: int) -> float:
        """Return the ζ below which ζ scores more than CAND on average in pools of this size (Theorem IV.3).

        The t-th model that ζ chooses scores at least (1 − ζ) times the best remaining model, which scores at
        least as much as the t-th best of all. So ζ scores at least (1 − ζ) times perform-best in every draw,
        and more than CAND on average if ζ < 1 − E[CAND]/E[perform-best]. For M → ∞ this is (1 − E X)/2.

        Examples
        --------
        >>> model = Model(8, 3)
        >>> round(model.sufficient_threshold(50, 30), 3), round(model.claimed_threshold(), 3)
        (0.055, 0.136)
        """
        return 1 - self.cand(models, k) / self.best(models, k)

    # --- the limits for k = κM: M → ∞ with k in proportion ------------------------------------------

    def best_share(self, share: float) -> float:
        """Return the score of perform-best's choice for M → ∞ with k = share·M."""
        return self.mean_above(self.quantile(share))

    def cand_share(self, share: float) -> float:
        """Return the score of CAND's choice for M → ∞ with k = share·M."""
        top = self.best_share(share / 2)
        return 0.5 * top + 0.5 * (self.mean - share / 2 * top) / (1 - share / 2)

    def zeta_share(self, zeta: float, share: float) -> Worth | None:
        """Return score and cost of the ζ-policy's choice for M → ∞ with k = share·M, or None without a limit.

        If k models fit into the window X ≥ 1 − ζ, the k cheapest of them are chosen; they cost up to
        k/(M·P(X ≥ 1 − ζ)), not 0. A larger k uses up the window, including its expensive models. Then the
        last models of the window determine how far it slides down at each choice. According to simulations,
        the result stays random for any M.

        Examples
        --------
        >>> Model(1, 1).zeta_share(0.5, 0.25)  # half of the window
        Worth(performance=0.75, cost=0.25)
        >>> Model(1, 1).zeta_share(0.5, 0.6)  # more than the window holds
        """
        window = self.survival(1 - zeta)
        return Worth(self.zeta_limit(zeta), MEAN_COST * share / window) if share < window else None
