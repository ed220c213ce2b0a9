"""The command-line options about a model."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from heros._base.registry import answer_of, policy_of, pool_of
from heros.cli import options
from heros.cli.file_options import with_options
from heros.cli.parsing import class_weight_of, watch_of
from heros.ensemble import Heros
from heros.policies import Policy, Within

__all__ = ["EnsembleOptions", "ModelOptions", "describes_model", "describes_models"]

DEFAULT_POLICY = "cand"
PAPER_POLICY, PAPER_EPSILON = "zeta:0.05", 0.2  # the defaults if --pool is given


@dataclass(frozen=True)
class EnsembleOptions:
    """The values of the options shared by models with different policies, one field per option."""

    pool: options.PoolName = None
    epsilon: options.Epsilon = None
    k: options.K = None
    watch: options.WatchName = "all"
    burst: options.Burst = 0
    answer: options.AnswerName = None

    @property
    def settings(self) -> dict[str, Any]:
        """The settings of `heros.Heros` that do not depend on the policy."""
        return {
            "k": self.k,
            "watch": watch_of(self.watch),
            "burst": self.burst,
            "answer": None if self.answer is None else answer_of(self.answer),
        }


@dataclass(frozen=True)
class ModelOptions(EnsembleOptions):
    """The values of the options about one model; options not given keep the defaults of `heros.Heros`.

    Examples
    --------
    >>> ModelOptions().model().pool.n_models
    14
    >>> said = ModelOptions("mlp", k=10, watch="trained", answer="top:5", policy="cand", within=50)
    >>> print(said.model().policy.policy, said.model().policy.microseconds, said.model().answer)
    Cand() 50 Top(5, 60)
    """

    policy: options.PolicyName = None
    within: options.WithinName = None
    class_weight: options.ClassWeights = None
    seed: options.Seed = 1

    def model(self, task: str | None = None) -> Heros:
        """Make the model."""
        pool = None if self.pool is None else pool_of(self.pool)
        weight = class_weight_of(self.class_weight)
        return Heros(pool, self._policy(), task=task, class_weight=weight, seed=self.seed, **self.settings)

    def _policy(self) -> Policy | None:
        """Return the chosen policy, or None for the default policy of the pool."""
        chosen = None
        if self.policy is not None:
            chosen = policy_of(self.policy, self.epsilon)
        elif self.pool is not None:
            chosen = policy_of(PAPER_POLICY, PAPER_EPSILON if self.epsilon is None else self.epsilon)
        elif self.epsilon is not None:
            chosen = policy_of(DEFAULT_POLICY, self.epsilon)
        if self.within is None:
            return chosen
        return Within(policy_of(DEFAULT_POLICY) if chosen is None else chosen, microseconds=self.within)


def describes_model(command: Callable[..., None]) -> Callable[..., None]:
    """Replace the parameter `described` of a command by the options of `ModelOptions`."""
    return with_options(command, "described", ModelOptions)


def describes_models(command: Callable[..., None]) -> Callable[..., None]:
    """Replace the parameter `described` of a command by the options of `EnsembleOptions`."""
    return with_options(command, "described", EnsembleOptions)
