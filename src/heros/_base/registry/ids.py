"""Names and settings of a model's parts, for records and tables."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import fields, is_dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from heros._base.registry.part import name_of

__all__ = ["Made", "parts_written", "policy_id", "pool_id", "settings_of", "variant_id"]


class Made(Protocol):
    """The attributes of a model that this module reads."""

    policy: Any
    score: Any
    k: int
    seed: int | None
    watch: Any
    burst: int
    warmup: int
    class_weight: Any

    @property
    def budget(self) -> str | None:
        """The budget as given, or None."""
        ...

    @property
    def pool(self) -> Any:
        """The pool of models."""
        ...

    @property
    def answer(self) -> Any:
        """The rule that combines the predictions of the models."""
        ...

    @property
    def costs(self) -> NDArray[np.float64]:
        """The training cost γ of each model."""
        ...

    @property
    def dial(self) -> Any:
        """The controller that keeps the cost within the budget, or None without a budget."""
        ...


class _Models(Protocol):
    @property
    def n_models(self) -> int: ...


def settings_of(model: Made) -> dict[str, Any]:
    """Return the settings of a model with a schema, as JSON data.

    Examples
    --------
    >>> from heros import Heros, Schema, policies, pools
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
        **({} if model.dial is None else {"dial": model.dial.told()}),
    }


def parts_written(model: Made) -> dict[str, Any]:
    """Return the settings of a model that need no schema, as JSON data."""
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


def pool_id(pool: _Models) -> str:
    """Return a short name of a pool: `mlp50`, `mlp50+trees50`; a user-defined pool is named by its class."""
    joined = getattr(pool, "pools", ())
    if joined:
        return "+".join(pool_id(part) for part in joined)
    return f"{name_of(type(pool))}{pool.n_models}"


def policy_id(policy: object) -> str:
    """Return a short name of a policy.

    Examples
    --------
    >>> from heros import policies
    >>> policy_id(policies.Explore(policies.Zeta(0.05), 0.2)), policy_id(policies.PerformBest())
    ('zeta_0.05_0.2', 'perform_best')
    """
    values, kind = _values(policy), type(policy)
    numbers = [f"{value:g}" for value in values if isinstance(value, int | float)]
    inside = [policy_id(value) for value in values if hasattr(value, "choose")]
    suffix: str = getattr(kind, "suffix", "")
    name = _word(suffix) if inside and suffix else name_of(kind)
    return "_".join([*inside[:1], *([name] if name else []), *numbers])


def variant_id(
    watch: object, answer: object, burst: int = 0, warmup: int = 100, budget: str | None = None
) -> str:
    """Return a short name of the `watch` and `answer` settings; empty for the settings of the paper.

    Examples
    --------
    >>> from heros import Top
    >>> variant_id("all", "best"), variant_id("trained", "best"), variant_id(8, Top(5))
    ('', '-watch_trained', '-watch_8-top_5_60')
    >>> variant_id("trained", "best", burst=300), variant_id("all", "best", budget="500 J/h")
    ('-watch_trained-burst_300', '-budget_500_j_per_h')
    """
    who_looks = "" if watch == "all" else f"-{_word(f'watch {watch}')}"
    who_looks += f"-burst_{burst}" if burst else ""
    who_looks += f"-warmup_{warmup}" if warmup != 100 else ""
    who_looks += "" if budget is None else f"-budget_{_word(budget.replace('µ', 'u').replace('/', ' per '))}"
    return who_looks + ("" if answer == "best" else f"-{_word(str(answer))}")


def _word(text: str) -> str:
    return re.sub(r"[^a-z0-9.]+", "_", text.lower()).strip("_")


def _values(part: object) -> Sequence[Any]:
    return [getattr(part, field.name) for field in fields(part)] if is_dataclass(part) else []
