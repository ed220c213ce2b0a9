"""The parts of a Heros: parts passed by the user, and defaults for all other parts."""

from __future__ import annotations

from dataclasses import dataclass, replace

from heros._base.errors import ParameterError
from heros._base.parameters import whole
from heros._base.registry import written_parts
from heros.ensemble.task import Task
from heros.ensemble.watch import Answer, Stack, Top, Watch, checked_answer
from heros.policies import Cand, Everything, Explore, Policy, Surprise, Zeta
from heros.pools import Join, Pool, default, default_regression
from heros.pools.default_pools import nested

DEFAULT_SHARE = 0.6  # the default k as a share of the models of a given pool: 30 of 50 in the paper
DEFAULT_K = 11  # the default k for the 14 models of the default pool
EXPECTED = 0.98  # an instance is expected if the predicted probability of its class is higher than this
STEADY = 0.3  # the minimum share of the training of forests while the loss is steady
RATES = (0.005, 0.02, 0.1)  # learning rates of the stack that combines the default pool
SURE = 0.99  # if a class is more probable than this, the slow models of the default pool are not evaluated


@dataclass(frozen=True, slots=True)
class Parts:
    """The pool of an ensemble, and the parts whose defaults depend on the pool."""

    pool: Pool
    policy: Policy
    k: int
    answer: Answer


@dataclass(frozen=True, slots=True)
class GivenParts:
    """The parts that the user passed; None for every other part."""

    task: Task | None
    pool: Pool | None
    policy: Policy | None
    k: int | None
    answer: Answer | None

    def completed(self, task: Task, watch: Watch, budget: bool = False) -> Parts:
        """Return all parts after checking them; parts not given get the defaults of the task or the pool.

        With a budget, all awake models are trained by default, because the budget replaces the limit k.
        """
        defaults = _defaults_for_task(task, watch) if self.pool is None else _defaults_for_pool(self.pool)
        if budget:
            pool = defaults.pool
            if self.pool is None and isinstance(pool, Join):
                pool = nested(pool)
            everything = Surprise(Everything(), EXPECTED, steady=STEADY)
            defaults = replace(defaults, pool=pool, policy=everything, k=pool.n_models)
        given = {name: value for name in Parts.__slots__ if (value := getattr(self, name)) is not None}
        parts = replace(defaults, **given)
        return replace(parts, k=checked_k(parts.k, parts.pool), answer=checked_answer(parts.answer))


def checked_k(k: object, pool: Pool) -> int:
    """Return k after checking that it is between 1 and the number of models of the pool."""
    return whole(k, "k", "Heros", 1, pool.n_models)


def _defaults_for_pool(pool: object) -> Parts:
    """Return the paper's defaults for a given pool."""
    if not isinstance(pool, Pool):
        known = written_parts("pool")
        named = known.get(pool.lower()) if isinstance(pool, str) else pool if isinstance(pool, type) else None
        example = "MLPGrid" if named is None or named not in known.values() else named.__name__
        raise ParameterError.of("pool", "Heros", f"a pool, e.g. heros.pools.{example}()", pool)
    return Parts(pool, Explore(Zeta(0.05), 0.2), max(1, round(DEFAULT_SHARE * pool.n_models)), "best")


def _defaults_for_task(task: Task, watch: Watch) -> Parts:
    if task.numeric:
        pool, together = default_regression(), Stack(rate=RATES) if watch == "all" else Top()
        return Parts(pool, Cand(), pool.n_models, together)  # training all models is worth the cost
    together = Stack(rate=RATES, sure=SURE) if watch == "all" else Top()
    return Parts(default(), Surprise(Cand(), EXPECTED, steady=STEADY), DEFAULT_K, together)
