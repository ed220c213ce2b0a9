"""Checks of the paper's claims by simulations of growing size."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

from heros import ParameterError
from heros._base.progress import progress
from heros.policies import CompiledPolicy, Zeta
from heros_paper.theory.claims import BEST, CAND, Claim, Instance, instances
from heros_paper.theory.model import Model
from heros_paper.theory.simulation import Draws, Pool, simulate

__all__ = ["GROWING", "MODELS", "PROPORTIONAL", "ZETAS", "Check", "Measurement", "check_theory"]

MODELS = (Model(8, 3), Model(5, 2), Model(2, 2), Model(400, 100))
"""Two skewed distributions, a wide one, and a narrow one (.80 ± .018)."""
ZETAS = (0.01, 0.05, 0.08, 0.1, 0.2, 0.3)
GROWING = (Pool(100, 10), Pool(1_000, 10), Pool(10_000, 10), Pool(100_000, 10), Pool(100_000, 40))
"""The paper's order of limits: first M grows, then k."""
PROPORTIONAL = (Pool(50, 30), Pool(1_000, 600), Pool(10_000, 6_000))
"""Pools as in practice: the paper's M = 50, k = 30, and larger pools in proportion."""
SURE = 4.0
"""The number of standard errors beyond which a difference is significant."""


@dataclass(frozen=True)
class Measurement:
    """A quantity measured in pools of one size."""

    pool: Pool
    mean: float
    error: float
    """The standard error of the mean."""
    spread: float
    """The standard deviation over draws, which vanishes if the quantity converges in probability."""
    share: float
    """The share of the draws in which the quantity was not negative."""
    exact: float | None
    """The exact mean, if there is a closed form."""


@dataclass(frozen=True)
class Check:
    """A claim for one distribution and one ζ: its limits, the measurements, and the conclusion."""

    claim: Claim
    model: Model
    zeta: float | None
    limit: float
    proportional_limit: float | None
    """The limit for k = κM; None without a limit."""
    measured: tuple[Measurement, ...]
    """Measurements in the paper's order: first M grows, then k."""
    proportional: tuple[Measurement, ...]
    """Measurements with k in proportion to M, the paper's pool first."""
    claimed: bool
    """Whether the paper makes the claim for this ζ."""
    holds: bool | None
    """Whether the growing pools confirm the claim; None if they are too small or there is no claim."""
    remark: str

    @property
    def fails_at(self) -> tuple[Pool, ...]:
        """Return the pool sizes at which a claimed inequality is significantly violated."""
        if not (self.claimed and self.claim.inequality):
            return ()
        return tuple(m.pool for m in self.measured + self.proportional if m.mean + SURE * m.error < 0)


def check_theory(
    seed: int = 1,
    *,
    models: Sequence[Model] = MODELS,
    zetas: Sequence[float] = ZETAS,
    growing: Sequence[Pool] = GROWING,
    proportional: Sequence[Pool] = PROPORTIONAL,
    budget: int = 400_000,
    progress_bar: bool | None = None,
) -> list[Check]:
    """Simulate and check every claim of the paper's theory with the policies of HEROS.

    A limit is confirmed if the gap to it in the largest pool with the first k is at most a third of the gap
    in the smallest pool, up to four standard errors. An inequality is confirmed if it holds there by four
    standard errors. Pools with too few models close to the limit are reported as too small.

    Parameters
    ----------
    seed
        The seed of the draws.
    models
        Distributions of the scores.
    zetas
        The ζ to check, each in [0, 1].
    growing
        Pool sizes in the paper's order of limits: M grows with k fixed, then k may grow.
    proportional
        Pool sizes with one ratio k/M.
    budget
        The number of models to draw per M: pools are drawn budget/M times, but at least 20 and at most 2000
        times.
    progress_bar
        Whether to show a progress bar; by default if standard error is a terminal.

    Examples
    --------
    >>> checks = check_theory(
    ...     models=[Model(2, 2)], zetas=[0.2], budget=20_000,
    ...     growing=[Pool(100, 4), Pool(5000, 4)], proportional=[Pool(50, 30)],
    ... )
    >>> all(check.holds for check in checks), len(checks)
    (True, 10)
    """
    shares = {pool.k / pool.models for pool in proportional}
    if len(shares) != 1:
        raise ParameterError.of("proportional", "check_theory", "pools with one ratio k/M", proportional)
    [share] = shares
    rng = np.random.default_rng(seed)
    policies: list[CompiledPolicy] = [CAND, BEST, *(Zeta(zeta) for zeta in zetas)]
    pools = sorted({*growing, *proportional})
    runs = [(list(same), _draws(budget, size)) for size, same in groupby(pools, lambda pool: pool.models)]
    work = sum(len(same) * same[0].models * draws for same, draws in runs) * len(policies) * len(models)
    checks = []
    with progress(wanted=progress_bar) as bar:
        task = bar.add_task("theory", total=work)
        for model in models:
            drawn = {
                simulated.pool: simulated
                for same, draws in runs
                for simulated in simulate(model, policies, same, draws, rng, lambda n: bar.advance(task, n))
            }
            checks += [
                _check(
                    instance, [drawn[pool] for pool in growing], [drawn[pool] for pool in proportional], share
                )
                for instance in instances(model, zetas)
            ]
    return checks


def _draws(budget: int, models: int) -> int:
    return int(np.clip(budget // models, 20, 2000))


def _check(instance: Instance, growing: list[Draws], proportional: list[Draws], share: float) -> Check:
    measured = tuple(_measure(instance, draws) for draws in growing)
    holds, remark = _judge(instance, measured)
    return Check(
        instance.claim,
        instance.model,
        instance.zeta,
        instance.limit,
        instance.proportional(share),
        measured,
        tuple(_measure(instance, draws) for draws in proportional),
        instance.claimed,
        holds,
        remark,
    )


def _measure(instance: Instance, draws: Draws) -> Measurement:
    values: NDArray[np.float64] = instance.quantity(draws)
    spread = float(values.std(ddof=1))
    return Measurement(
        draws.pool,
        float(values.mean()),
        spread / len(values) ** 0.5,
        spread,
        float(np.mean(values >= -1e-12)),
        None if instance.exact is None else instance.exact(*draws.pool),
    )


def _judge(instance: Instance, measured: Sequence[Measurement]) -> tuple[bool | None, str]:
    """Return whether the claim holds in pools of these sizes (None if unknown), and a remark."""
    if not instance.claimed:
        return None, "nothing is claimed for this ζ"
    first = measured[0]
    last = [m for m in measured if m.pool.k == first.pool.k][-1]
    holds, remark = (
        _inequality(instance, last) if instance.claim.inequality else _limit(instance, first, last)
    )
    if holds:
        return True, ""
    needed = instance.pool_needed(last.pool.k)
    if np.isinf(needed):
        return False, f"{remark}; no pool is large enough"
    return (holds, remark) if needed <= last.pool.models else (None, f"{remark}; needs M > {needed:.0e}")


def _inequality(instance: Instance, last: Measurement) -> tuple[bool | None, str]:
    if last.mean > SURE * last.error or (not instance.claim.strict and last.share == 1):
        return True, ""
    if last.mean < -SURE * last.error:
        return False, f"the other way round at {last.pool}"
    return None, f"within the error of the simulation at {last.pool}"


def _limit(instance: Instance, first: Measurement, last: Measurement) -> tuple[bool, str]:
    gap = abs(last.mean - instance.limit)
    return (
        gap <= SURE * last.error + abs(first.mean - instance.limit) / 3,
        f"still {gap:.3f} away at {last.pool}",
    )
