"""What a model was made of, in plain data: for records and tables."""

from __future__ import annotations

import re
from dataclasses import fields, is_dataclass
from typing import Any

from heros.ensemble import Heros
from heros.policies import Explore, Policy
from heros.pools import MLP, Hoeffding, Pool

__all__ = ["policy_id", "pool_id", "settings_of"]


def settings_of(model: Heros) -> dict[str, Any]:
    """The settings of a model that is bound, as JSON knows them.

    Examples
    --------
    >>> from heros import Schema, policies, pools
    >>> pool = pools.MLPGrid(optimizers=["sgd"], learning_rates=[0.1], hidden=[8, 16])
    >>> model = Heros(pool, policies.Zeta(0.05), seed=1, schema=Schema.of(["age"], classes=["no", "yes"]))
    >>> settings = settings_of(model)
    >>> settings["pool"], settings["policy"], settings["k"], settings["models"][1]
    ('mlp2', 'zeta_0.05', 1, {'optimizer': 'sgd', 'learning_rate': 0.1, 'hidden': 16})
    """
    return {
        "pool": pool_id(model.pool),
        "policy": policy_id(model.policy),
        "k": model.k,
        "seed": model.seed,
        "answer": model.answer,
        "warmup": model.warmup,
        "score": repr(model.score),
        "policy_as_written": str(model.policy),
        "pool_as_written": repr(model.pool),
        "models": [dict(configuration) for configuration in model.pool.configurations],
        "costs": model.costs.tolist(),
    }


def pool_id(pool: Pool) -> str:
    """A pool in a word: `mlp50`, `trees50`; a pool of another kind by its class."""
    if isinstance(pool, MLP):
        kind = "mlp"
    elif isinstance(pool, Hoeffding):
        kind = "trees"
    else:
        kind = _snake(type(pool).__name__)
    return f"{kind}{pool.n_models}"


def policy_id(policy: Policy) -> str:
    """A policy in a word.

    Examples
    --------
    >>> from heros import policies
    >>> policy_id(policies.Explore(policies.Zeta(0.05), 0.2)), policy_id(policies.PerformBest())
    ('zeta_0.05_0.2', 'perform_best')
    """
    if isinstance(policy, Explore):
        return f"{policy_id(policy.policy)}_{policy.epsilon:g}"
    names: list[str] = [field.name for field in fields(policy)] if is_dataclass(policy) else []
    values = [getattr(policy, name) for name in names]
    numbers = [f"{value:g}" for value in values if isinstance(value, int | float)]
    return "_".join([_snake(type(policy).__name__), *numbers])


def _snake(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()
