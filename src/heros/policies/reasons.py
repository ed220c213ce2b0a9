"""Text that explains why a policy chose its models."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from heros.policies.base import Policy

Reasons = dict[int, str]
"""The reason for each chosen model, in the order of the choice."""

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]


def explain(policy: Policy, scores: Floats, costs: Floats, k: int, chosen: Mask) -> Reasons:
    """Return the reason for each chosen model, from the policy's method `explain` or else from the ranks.

    The method ``explain(scores, costs, k, chosen)`` of a policy returns a reason for each chosen model. If a
    subclass overrides only `choose`, the `explain` of its base class is not used.

    Examples
    --------
    >>> from heros.policies import Cheapest
    >>> scores, costs = np.array([0.9, 0.7, 0.8]), np.array([0.5, 0.2, 0.3])
    >>> explain(Cheapest(), scores, costs, 1, np.array([False, True, False]))
    {1: 'rank 1 by γ, lowest first (0.2)'}
    """
    for parent in type(policy).__mro__:
        if "explain" in vars(parent):
            own: Reasons = policy.explain(scores, costs, k, chosen)  # type: ignore[attr-defined]
            return own
        if "choose" in vars(parent):
            break
    by_score, by_cost = _ranks(scores), _ranks(-costs)
    name, models = type(policy).__name__, len(scores)
    return {
        int(i): f"{name} chose it: rank {by_score[i]} of {models} by L, rank {by_cost[i]} by γ (lowest first)"
        for i in np.flatnonzero(chosen)
    }


def by_rank(key: Floats, name: str, chosen: Mask, *, lowest_first: bool = False) -> Reasons:
    """Return the rank of each chosen model by a key, as text; ties are ranked by index."""
    ranks = _ranks(-key if lowest_first else key)
    order = "lowest first" if lowest_first else "highest first"
    models = sorted(np.flatnonzero(chosen), key=lambda i: ranks[i])
    return {int(i): f"rank {ranks[i]} by {name}, {order} ({key[i]:.4g})" for i in models}


def _ranks(key: Floats) -> NDArray[np.int64]:
    """Return the rank of each model, 1 for the highest key; ties are ranked by index."""
    ranks = np.empty(len(key), dtype=np.int64)
    ranks[np.argsort(-key, kind="stable")] = np.arange(1, len(key) + 1)
    return ranks
