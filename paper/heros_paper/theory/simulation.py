"""Simulation of the paper's stochastic model with the policies of HEROS."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from heros._base.parameters import whole
from heros.policies import CompiledPolicy, Zeta
from heros_paper.theory.model import Model

__all__ = ["Draws", "Pool", "finite_threshold", "simulate"]


class Pool(NamedTuple):
    """The number of models, and the number of chosen models."""

    models: int
    k: int

    def __str__(self) -> str:
        return f"M = {self.models:,}, k = {self.k:,}"


@dataclass(frozen=True)
class Draws:
    """The scores and costs of each policy's choice, per draw; all policies have the same draws."""

    pool: Pool
    performance: dict[CompiledPolicy, NDArray[np.float64]]
    cost: dict[CompiledPolicy, NDArray[np.float64]]


def simulate(
    model: Model,
    policies: Sequence[CompiledPolicy],
    pools: Sequence[Pool],
    draws: int,
    rng: np.random.Generator,
    advance: Callable[[int], None] = lambda models: None,
) -> list[Draws]:
    """Draw pools of one size M and let every policy choose k models, for every k.

    Parameters
    ----------
    model
        The distribution of scores and costs.
    policies
        The policies, which must be built in.
    pools
        Pools with equal M; each draw is used for every k.
    draws
        The number of draws, at least 2.
    rng
        The random generator.
    advance
        Called after each choice with M, for a progress bar.

    Examples
    --------
    >>> from heros.policies import PerformBest
    >>> best = PerformBest()
    >>> [seen] = simulate(Model(1, 1), [best], [Pool(9, 1)], 2000, np.random.default_rng(1))
    >>> round(float(seen.performance[best].mean()), 2)
    0.9
    """
    whole(draws, "draws", "simulate", 2)
    size = pools[0].models
    assert all(pool.models == size for pool in pools)
    worth = np.empty((2, len(pools), len(policies), draws))
    for draw in range(draws):
        scores, costs = _draw(model, size, rng)
        for p, pool in enumerate(pools):
            for q, policy in enumerate(policies):
                chosen = policy.choose(scores, costs, pool.k, rng)
                worth[:, p, q, draw] = scores[chosen].mean(), costs[chosen].mean()
                advance(size)
    return [
        Draws(pool, *(dict(zip(policies, worth[figure, p], strict=True)) for figure in (0, 1)))
        for p, pool in enumerate(pools)
    ]


def finite_threshold(
    model: Model, pool: Pool, draws: int = 1000, seed: int = 1, *, halvings: int = 10
) -> float:
    """Return the ζ at which the ζ-policy and CAND score the same on average in a pool of finite size.

    Uses bisection of [0, 1], always with the same draws; CAND's mean is exact. The result has the errors of
    the simulation and of the bisection.

    Parameters
    ----------
    model, pool
        The distribution, and the size of the pool.
    draws
        The number of draws.
    seed
        The seed of the draws.
    halvings
        The number of bisection steps: 2^-halvings is the width of the last interval.

    Examples
    --------
    >>> 0.4 < finite_threshold(Model(1, 1), Pool(200, 2), draws=200, halvings=6) < 0.6  # ½ in the limit
    True
    """
    rng = np.random.default_rng(seed)
    drawn = [_draw(model, pool.models, rng) for _ in range(draws)]
    cand = model.cand(*pool)
    low, high = 0.0, 1.0
    for _ in range(halvings):
        middle = (low + high) / 2
        policy = Zeta(middle)
        means = [scores[policy.choose(scores, costs, pool.k, rng)].mean() for scores, costs in drawn]
        low, high = (middle, high) if np.mean(means) > cand else (low, middle)
    return (low + high) / 2


def _draw(
    model: Model, size: int, rng: np.random.Generator
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return scores in descending order, and costs.

    The models are exchangeable, so their order does not matter. The core uses insertion sort, which is
    quadratic unless the scores are nearly sorted.
    """
    return np.sort(rng.beta(model.alpha, model.beta, size))[::-1], rng.random(size)
