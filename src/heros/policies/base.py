"""The interface of policies, the base classes of compiled and of wrapping policies, and reasons for choices.

Export new policies in `__init__.py`; the recipe is in CONTRIBUTING.md.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import ClassVar, Protocol, cast, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from heros._base import core as _core
from heros._base.errors import ParameterError
from heros._base.registry import Part, policy_of

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]
Reasons = dict[int, str]
"""The reason for each chosen model, in the order of the choice."""


@runtime_checkable
class Policy(Protocol):
    """The interface of a policy, which chooses the models to train at each step.

    Any object with the method `choose` is a policy: see the example in `heros.Heros`. If the object also has
    a method ``update(outcomes, trained)``, this method is called after each instance with the outcome in [0,
    1] of each trained model, and NaN for the other models.
    """

    def choose(self, scores: Floats, costs: Floats, k: int, rng: np.random.Generator) -> Mask:
        """Return a mask of the models to train, at most k of them.

        Parameters
        ----------
        scores : (M,)
            The running score L of each model, the current instance included.
        costs : (M,)
            The cost γ of a training step of each model; the costs sum to 1.
        k
            The maximum number of models to train.
        rng
            The random generator; a policy must not use any other source of random numbers.
        """
        ...


class CompiledPolicy(Part):
    """A policy of the compiled core. `choose` and the core's loop over instances call the same function."""

    role: ClassVar[str] = "policy"

    rule: ClassVar[str] = ""
    """The name of the policy in the core; a policy with parameters overrides `_compiled` instead."""

    explorable: ClassVar[bool] = True
    """Whether it is useful to wrap this policy in `Explore`, which sometimes trains k random models."""

    @property
    def explores(self) -> bool:
        """Whether the policy repeatedly trains every model, regardless of the scores."""
        return not self.explorable

    def choose(self, scores: ArrayLike, costs: ArrayLike, k: int, rng: np.random.Generator) -> Mask:
        """Return a mask of the models to train. See `Policy.choose`."""
        owner = type(self).__name__
        scores, costs = _vector(scores, "scores", owner), _vector(costs, "costs", owner)
        if len(scores) != len(costs):
            raise ParameterError.of("costs", owner, f"one cost per score ({len(scores)})", len(costs))
        if not isinstance(k, int | np.integer) or isinstance(k, bool) or not 1 <= k <= len(scores):
            raise ParameterError.of("k", owner, f"in [1, {len(scores)}]", k)
        if not isinstance(rng, np.random.Generator):
            raise ParameterError.of("rng", owner, "a numpy.random.Generator", rng)
        if np.any(costs < 0):
            raise ParameterError.of("costs", owner, "non-negative", float(costs.min()))
        policy = self._compiled()
        assert policy is not None, f"{owner} must override choose if it is not compiled"
        return _core.choose(policy, scores, costs, int(k), rng.bit_generator.capsule)

    def explain(self, scores: Floats, costs: Floats, k: int, chosen: Mask) -> Reasons:
        """Return the reason for each chosen model; by default the model's ranks by score and by cost."""
        return _by_ranks(self, scores, costs, chosen)

    def _compiled(self) -> _core.Policy | None:
        """Return the compiled policy; None if a part of the policy is written in Python."""
        return _core.Policy(self.rule)

    def __str__(self) -> str:
        """Return the policy in short notation, e.g. `Explore(Zeta(0.05), 0.2)`."""
        values = (getattr(self, field.name) for field in fields(self))  # type: ignore[arg-type]
        return f"{type(self).__name__}({', '.join(map(_plain, values))})"


def as_policy(policy: object, owner: str) -> Policy:
    """Return a checked policy; a string is parsed in the notation of the command line."""
    if isinstance(policy, str):
        policy = policy_of(policy, owner=owner)
    expect_policy(policy, owner)
    return cast(Policy, policy)


def expect_policy(policy: object, owner: str) -> None:
    """Raise an error unless the object is a policy; arrays have a method `choose` but are not policies."""
    if not isinstance(policy, Policy) or isinstance(policy, np.ndarray | np.generic):
        raise ParameterError.of("policy", owner, "a policy (an object with a 'choose' method)", policy)


def compiled(policy: Policy) -> _core.Policy | None:
    """Return the compiled policy, or None if the core must call the policy in Python.

    A subclass that overrides `choose` but not `_compiled` is called in Python.
    """
    if not isinstance(policy, CompiledPolicy):
        return None
    for parent in type(policy).__mro__:
        if "_compiled" in vars(parent):
            break
        if "choose" in vars(parent):
            return None
    return policy._compiled()


def _plain(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _vector(values: ArrayLike, name: str, owner: str) -> Floats:
    try:
        array = np.require(values, np.float64, ["C", "A"])
    except (TypeError, ValueError, OverflowError, MemoryError):
        array = np.empty((0, 0))
    if array.ndim != 1 or not np.all(np.isfinite(array)):
        raise ParameterError.of(name, owner, "a vector of finite numbers", values)
    return array


def explain(policy: Policy, scores: Floats, costs: Floats, k: int, chosen: Mask) -> Reasons:
    """Return the reason for each chosen model, from the policy's method `explain` or else from the ranks.

    The method ``explain(scores, costs, k, chosen)`` of a policy returns a reason for each chosen model. If a
    subclass overrides only `choose`, the `explain` of its base class is not used.
    """
    for parent in type(policy).__mro__:
        if "explain" in vars(parent):
            own: Reasons = policy.explain(scores, costs, k, chosen)  # type: ignore[attr-defined]
            return own
        if "choose" in vars(parent):
            break
    return _by_ranks(policy, scores, costs, chosen)


def _by_ranks(policy: Policy, scores: Floats, costs: Floats, chosen: Mask) -> Reasons:
    by_score, by_cost = _ranks(scores), _ranks(-costs)
    name, models = type(policy).__name__, len(scores)
    return {
        int(i): f"chosen by {name}: rank {by_score[i]} of {models} by L, {by_cost[i]} by γ (lowest first)"
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


@dataclass(frozen=True)
class Around(CompiledPolicy):
    """A policy that wraps another policy; the inner policy chooses unless a subclass overrides `choose`."""

    role: ClassVar[str] = "policy"

    layer: ClassVar[int] = 0
    """The position in the order of layers: a policy can wrap policies with a lower position."""

    twice: ClassVar[bool] = False
    """Whether the policy can wrap another policy of the same class."""

    policy: Policy

    def __post_init__(self) -> None:
        owner, inner = type(self).__name__, self.policy
        expect_policy(inner, owner)
        if not isinstance(inner, Around):
            return
        if inner.layer > self.layer:
            rule = f"a policy that {owner} can wrap (wrap {owner} in {type(inner).__name__} instead)"
            raise ParameterError.of("policy", owner, rule, inner)
        if inner.layer == self.layer and not self.twice:
            raise ParameterError.of("policy", owner, f"a policy without another {owner}", inner)

    @property
    def explores(self) -> bool:
        """Whether the inner policy repeatedly trains every model; True if that policy has no `explores`."""
        return bool(getattr(self.policy, "explores", True))

    def choose(self, scores: ArrayLike, costs: ArrayLike, k: int, rng: np.random.Generator) -> Mask:
        return self.policy.choose(np.asarray(scores), np.asarray(costs), k, rng)

    def explain(self, scores: Floats, costs: Floats, k: int, chosen: Mask) -> Reasons:
        return explain(self.policy, scores, costs, k, chosen)

    def _compiled(self) -> _core.Policy | None:
        return compiled(self.policy)
