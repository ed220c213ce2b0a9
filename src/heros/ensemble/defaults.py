"""What a Heros is made of: what was said of it, and what goes with its task where nothing was."""

from __future__ import annotations

from dataclasses import dataclass

from heros._base.parameters import whole
from heros.ensemble.task import Task
from heros.ensemble.watch import Answer, Stack, Top, Watch, checked_answer
from heros.errors import ParameterError
from heros.policies import Cand, Explore, Policy, Surprise, Zeta
from heros.policies.base import expect_policy
from heros.pools import Pool, default, default_regression

__all__ = ["Given", "Parts", "checked_k"]

DEFAULT_SHARE = 0.6  # of a pool that is given is trained if k is not: the paper's 30 of 50
DEFAULT_K = 10  # of the 13 models of the default pool
EXPECTED = 0.98  # above this probability of its class an instance did not surprise
SURE = 0.99  # of a class: then the slow models of the default pool are not evaluated


@dataclass(frozen=True, slots=True)
class Parts:
    """Those parts of a model that go together."""

    pool: Pool
    policy: Policy
    k: int
    answer: Answer


@dataclass(frozen=True, slots=True)
class Given:
    """What a model was told to be made of; None where that was left open."""

    task: Task | None
    pool: Pool | None
    policy: Policy | None
    k: int | None
    answer: Answer | None

    def completed(self, task: Task, watch: Watch) -> Parts:
        """All parts, checked: with what goes with this task, or with the pool, where nothing was given.

        Examples
        --------
        >>> from heros import pools
        >>> from heros.ensemble.task import Classification
        >>> parts = Given(None, pools.Paper(), None, None, "average").completed(Classification(), "all")
        >>> parts.policy, parts.k, parts.answer
        (Explore(policy=Zeta(zeta=0.05), epsilon=0.2), 30, 'average')
        """
        usual = _usual_for_task(task, watch) if self.pool is None else _usual_for_pool(self.pool)
        policy = usual.policy if self.policy is None else self.policy
        expect_policy(policy, "Heros")
        k = checked_k(usual.k if self.k is None else self.k, usual.pool)
        return Parts(
            usual.pool, policy, k, checked_answer(usual.answer if self.answer is None else self.answer)
        )


def checked_k(k: object, pool: Pool) -> int:
    """How many models of a pool may be trained, if it can be that many."""
    return whole(k, "k", "Heros", 1, pool.n_models)


def _usual_for_pool(pool: object) -> Parts:
    """As the paper has it."""
    if not isinstance(pool, Pool):
        raise ParameterError.of("pool", "Heros", "a pool, e.g. heros.pools.MLPGrid()", pool)
    return Parts(pool, Explore(Zeta(0.05), 0.2), max(1, round(DEFAULT_SHARE * pool.n_models)), "best")


def _usual_for_task(task: Task, watch: Watch) -> Parts:
    if task.numeric:
        pool, together = default_regression(), Stack() if watch == "all" else Top()
        return Parts(pool, Cand(), pool.n_models, together)  # what it costs to train them all pays
    return Parts(
        default(), Surprise(Cand(), EXPECTED), DEFAULT_K, Stack(sure=SURE) if watch == "all" else Top()
    )
