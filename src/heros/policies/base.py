"""What a policy is, and how the built-in ones reach the compiled core."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import fields
from typing import ClassVar, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from heros._base import core as _core
from heros._base.registry import Part
from heros.errors import ParameterError

__all__ = ["CompiledPolicy", "Policy", "compiled", "expect_policy"]


@runtime_checkable
class Policy(Protocol):
    """Decides, at every step, which models are worth training.

    Anything with this one method is a policy: see the example in `heros.Heros`. One that also has a method
    ``update(outcomes, trained)`` is told, after every instance, how right the models were that are trained
    on it: an outcome in [0, 1] each, NaN for the others.
    """

    def choose(
        self, scores: NDArray[np.float64], costs: NDArray[np.float64], k: int, rng: np.random.Generator
    ) -> NDArray[np.bool_]:
        """A mask of the models to train, at most k of them.

        Parameters
        ----------
        scores : (M,)
            L: the running performance of each model, the present instance included.
        costs : (M,)
            γ: what a training step of each model costs; they sum to 1.
        k
            How many models may be trained.
        rng
            The one source of randomness.
        """
        ...


class CompiledPolicy(Part):
    """A policy of the compiled core: `choose` and the loop over a block run the same function."""

    role: ClassVar[str] = "policy"

    explorable: ClassVar[bool] = True
    """Whether it is of use to explore around it: to train k random models now and then."""

    @property
    def explores(self) -> bool:
        """Whether it comes back to every model sooner or later, whatever their scores are."""
        return not self.explorable

    def choose(
        self, scores: ArrayLike, costs: ArrayLike, k: int, rng: np.random.Generator
    ) -> NDArray[np.bool_]:
        """A mask of the models to train. See `Policy.choose`."""
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
        assert policy is not None, f"{type(self).__name__} must override choose where it is not compiled"
        return _core.choose(policy, scores, costs, int(k), rng.bit_generator.capsule)

    @abstractmethod
    def _compiled(self) -> _core.Policy | None:
        """The policy as the core knows it; None if part of it is Python."""

    def __str__(self) -> str:
        """The policy as people write it: `Explore(Zeta(0.05), 0.2)`."""
        values = (getattr(self, field.name) for field in fields(self))  # type: ignore[arg-type]
        return f"{type(self).__name__}({', '.join(map(_plain, values))})"


def expect_policy(policy: object, owner: str) -> None:
    """Refuse what is not a policy. An array is none, though it has a method of that name."""
    if not isinstance(policy, Policy) or isinstance(policy, np.ndarray | np.generic):
        raise ParameterError.of("policy", owner, "a policy (an object with a 'choose' method)", policy)


def compiled(policy: Policy) -> _core.Policy | None:
    """The policy as the core knows it, or None if it has to be called back in Python.

    A class that overrides `choose` without `_compiled` is its own policy, whatever it inherits.
    """
    if not isinstance(policy, CompiledPolicy) or _overrides(type(policy)):
        return None
    return policy._compiled()


def _overrides(kind: type) -> bool:
    """Whether `choose` was overridden further down the line than `_compiled`."""
    for ancestor in kind.__mro__:
        if "_compiled" in vars(ancestor):
            return False
        if "choose" in vars(ancestor):
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
