"""The interface of policies, and the base class of compiled policies.

Export new policies in `__init__.py`; the recipe is in CONTRIBUTING.md.
"""

from __future__ import annotations

from dataclasses import fields
from typing import ClassVar, Protocol, cast, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from heros._base import core as _core
from heros._base.errors import ParameterError
from heros._base.registry import Part, policy_of


@runtime_checkable
class Policy(Protocol):
    """The interface of a policy, which chooses the models to train at each step.

    Any object with the method `choose` is a policy: see the example in `heros.Heros`. If it also has a method
    ``update(outcomes, trained)``, this method is called after each instance with the outcome in [0, 1] of
    each trained model, and NaN for the other models.
    """

    def choose(
        self, scores: NDArray[np.float64], costs: NDArray[np.float64], k: int, rng: np.random.Generator
    ) -> NDArray[np.bool_]:
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
    """A policy of the compiled core; `choose` and the loop over a block call the same function."""

    role: ClassVar[str] = "policy"

    rule: ClassVar[str] = ""
    """The name of the policy in the core; a policy with parameters overrides `_compiled` instead."""

    explorable: ClassVar[bool] = True
    """Whether wrapping this policy in `Explore`, which sometimes trains k random models, is useful."""

    @property
    def explores(self) -> bool:
        """Whether the policy repeatedly trains every model, regardless of the scores."""
        return not self.explorable

    def choose(
        self, scores: ArrayLike, costs: ArrayLike, k: int, rng: np.random.Generator
    ) -> NDArray[np.bool_]:
        """Return a mask of the models to train. See `Policy.choose`."""
        scores = _vector(scores, "scores", self)
        costs = _vector(costs, "costs", self)
        if len(scores) != len(costs):
            raise ParameterError.of(
                "costs", type(self).__name__, f"one per score ({len(scores)})", len(costs)
            )
        if not isinstance(k, int | np.integer) or isinstance(k, bool) or not 1 <= k <= len(scores):
            raise ParameterError.of("k", type(self).__name__, f"in [1, {len(scores)}]", k)
        if not isinstance(rng, np.random.Generator):
            raise ParameterError.of("rng", type(self).__name__, "a numpy.random.Generator", rng)
        if np.any(costs < 0):
            raise ParameterError.of("costs", type(self).__name__, "non-negative", float(costs.min()))
        policy = self._compiled()
        assert policy is not None, f"{type(self).__name__} must override choose if it is not compiled"
        return _core.choose(policy, scores, costs, int(k), rng.bit_generator.capsule)

    def _compiled(self) -> _core.Policy | None:
        """Return the compiled policy; None if a part of the policy is written in Python."""
        return _core.Policy(self.rule)

    def __str__(self) -> str:
        """Return the policy in short notation: `Explore(Zeta(0.05), 0.2)`."""
        values = (getattr(self, field.name) for field in fields(self))  # type: ignore[arg-type]
        return f"{type(self).__name__}({', '.join(map(_plain, values))})"


def as_policy(policy: object, owner: str) -> Policy:
    """Return a checked policy; a string is parsed in the notation of the command line.

    Examples
    --------
    >>> print(as_policy("zeta:0.05@0.2", "Heros"))
    Explore(Zeta(0.05), 0.2)
    """
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
    if not isinstance(policy, CompiledPolicy) or _overrides(type(policy)):
        return None
    return policy._compiled()


def _overrides(kind: type) -> bool:
    for parent in kind.__mro__:
        if "_compiled" in vars(parent):
            return False
        if "choose" in vars(parent):
            return True
    return False


def _plain(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _vector(values: ArrayLike, name: str, owner: object) -> NDArray[np.float64]:
    try:
        array = np.require(values, np.float64, ["C", "A"])
    except (TypeError, ValueError, OverflowError, MemoryError):
        array = np.empty((0, 0))
    if array.ndim != 1 or not np.all(np.isfinite(array)):
        raise ParameterError.of(name, type(owner).__name__, "a vector of finite numbers", values)
    return array
