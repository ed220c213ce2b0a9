"""The settings of `heros.Heros`: for other classes that have the same settings, and for records of runs."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from functools import cache
from typing import Any

from heros._base.registry import policy_id, pool_id
from heros.ensemble.heros import Heros
from heros.ensemble.watch import Answer, Watch
from heros.policies import Policy
from heros.pools import Pool

SETTINGS = tuple(name for name in inspect.signature(Heros).parameters if name not in {"task", "schema"})
"""The names of all settings of `heros.Heros` except `task` and `schema`."""


@dataclass(eq=False, repr=False)
class ModelSettings:
    """The settings of `heros.Heros` that experiments and the River, scikit-learn and CapyMOA models share.

    A subclass adds `score`, `class_weight` and `seed`, under these names or under the names that the library
    uses.
    """

    pool: Pool | None = None
    policy: Policy | None = None
    k: int | None = None
    _: KW_ONLY
    answer: Answer | None = None
    watch: Watch = "all"
    burst: int = 0
    warmup: int = 100
    budget: str | None = None
    explainable: bool = False


def heros_of(owner: object, **more: Any) -> Heros:
    """Create a `Heros` with the settings in the attributes of an object; `more` takes precedence."""
    return Heros(**{name: getattr(owner, name) for name in SETTINGS if hasattr(owner, name)} | more)


def settings_of(model: Heros) -> dict[str, Any]:
    """Return the settings of a model with a schema, as JSON data.

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
        **parts_written(model),
        "models": [dict(configuration) for configuration in model.pool.configurations],
        "costs": model.costs.tolist(),
        **({} if model.dial is None else {"dial": model.dial.as_dict()}),
    }


def parts_written(model: Heros) -> dict[str, Any]:
    """Return, as JSON data, the settings that do not depend on the schema."""
    return {
        "pool": pool_id(model.pool),
        "policy": policy_id(model.policy),
        "k": model.k,
        "seed": model.seed,
        "answer": str(model.answer),
        "watch": model.watch,
        "burst": model.burst,
        "warmup": model.warmup,
        "score": repr(model.score),
        "policy_as_written": str(model.policy),
        "pool_as_written": repr(model.pool),
        **({} if model.class_weight is None else {"class_weight": model.class_weight}),
        **({} if model.budget is None else {"budget": model.budget}),
    }


def is_default(settings: Mapping[str, Any]) -> bool:
    """Return whether the recorded settings equal the defaults; the seed and the budget are ignored.

    Examples
    --------
    >>> is_default(parts_written(Heros(seed=3))), is_default(parts_written(Heros(watch="trained")))
    (True, False)
    >>> is_default(parts_written(Heros(budget="20 us")))
    True
    """
    return settings.get("class_weight") is None and any(
        all(settings.get(name) == value for name, value in usual.items())
        for usual in _defaults("1 ms" if settings.get("budget") else None)
    )


@cache
def _defaults(budget: str | None) -> tuple[dict[str, Any], ...]:
    """Return the settings of `Heros()` for each task, without the seed and the value of the budget."""
    models = (Heros(task=task, budget=budget) for task in ("classification", "regression"))
    own = ("seed", "budget")
    return tuple(
        {name: value for name, value in parts_written(model).items() if name not in own} for model in models
    )
