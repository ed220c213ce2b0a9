"""A model as the options of a command describe it."""

from __future__ import annotations

from heros._base.registry import answer_of, policy_of, pool_of
from heros.cli.parsing import class_weight_of, watch_of
from heros.ensemble import Heros
from heros.policies import Policy, Within

__all__ = ["described"]

DEFAULT_POLICY = "cand"
PAPER_POLICY, PAPER_EPSILON = "zeta:0.05", 0.2  # where a pool is given


def described(
    pool: str | None,
    policy: str | None,
    epsilon: float | None,
    k: int | None,
    *,
    watch: str = "all",
    burst: int = 0,
    within: float | None = None,
    answer: str | None = None,
    class_weight: str | None = None,
    task: str | None = None,
    seed: int = 1,
) -> Heros:
    """A new model; what is not said is as `heros.Heros` has it.

    Examples
    --------
    >>> described(None, None, None, None).pool.n_models
    11
    >>> model = described("mlp", "cand", None, 10, watch="trained", within=50, answer="top:5")
    >>> print(model.policy.policy, model.policy.microseconds, model.answer)
    Cand() 50 Top(5, 60)
    """
    return Heros(
        None if pool is None else pool_of(pool),
        _policy(pool, policy, epsilon, within),
        k,
        task=task,
        seed=seed,
        watch=watch_of(watch),
        burst=burst,
        answer=None if answer is None else answer_of(answer),
        class_weight=class_weight_of(class_weight),
    )


def _policy(
    pool: str | None, policy: str | None, epsilon: float | None, within: float | None
) -> Policy | None:
    """Who decides; None: what goes with the pool."""
    chosen = None
    if policy is not None:
        chosen = policy_of(policy, epsilon)
    elif pool is not None:
        chosen = policy_of(PAPER_POLICY, PAPER_EPSILON if epsilon is None else epsilon)
    elif epsilon is not None:
        chosen = policy_of(DEFAULT_POLICY, epsilon)
    if within is None:
        return chosen
    return Within(policy_of(DEFAULT_POLICY) if chosen is None else chosen, microseconds=within)
