"""The command-line options that describe a model."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from heros._base.registry import answer_of, policy_of, pool_of
from heros.cli import options
from heros.cli.file_options import with_options
from heros.cli.parsing import class_weight_of, watch_of
from heros.ensemble import Heros
from heros.ensemble.task import Task
from heros.policies import Policy

DEFAULT_POLICY = "cand"
PAPER_POLICY, PAPER_EPSILON = "zeta:0.05", 0.2  # the defaults if --pool is given


@dataclass(frozen=True)
class EnsembleOptions:
    """The values of the options that do not describe the policy, one field per option."""

    pool: options.PoolName = None
    epsilon: options.Epsilon = None
    k: options.K = None
    watch: options.WatchName = "all"
    burst: options.Burst = 0
    answer: options.AnswerName = None
    budget: options.BudgetName = None
    explainable: options.Explainable = False

    @property
    def settings(self) -> dict[str, Any]:
        """The settings of `heros.Heros` that do not depend on the policy."""
        return {
            "k": self.k,
            "watch": watch_of(self.watch),
            "burst": self.burst,
            "budget": self.budget,
            "answer": None if self.answer is None else answer_of(self.answer),
            "explainable": self.explainable,
        }


@dataclass(frozen=True)
class ModelOptions(EnsembleOptions):
    """The values of the options that describe one model; with the defaults of `heros.Heros`.

    Examples
    --------
    >>> ModelOptions().model().pool.n_models
    14
    >>> said = ModelOptions("mlp", k=10, watch="trained", answer="top:5", policy="cand", budget="50 us")
    >>> print(said.model().policy, said.model().budget, said.model().answer)
    Cand() 50 us Top(5, 60)
    """

    policy: options.PolicyName = None
    class_weight: options.ClassWeights = None
    seed: options.Seed = 1

    def model(self, task: Task | str | None = None) -> Heros:
        """Create the model from the options."""
        pool = None if self.pool is None else pool_of(self.pool)
        weight = class_weight_of(self.class_weight)
        return Heros(pool, self._policy(), task=task, class_weight=weight, seed=self.seed, **self.settings)

    def _policy(self) -> Policy | None:
        """Return the chosen policy, or None for the default policy of the pool."""
        chosen: Policy | None = None
        if self.policy is not None:
            chosen = policy_of(self.policy, self.epsilon)
        elif self.pool is not None and (self.budget is None or self.epsilon is not None):
            chosen = policy_of(PAPER_POLICY, PAPER_EPSILON if self.epsilon is None else self.epsilon)
        elif self.epsilon is not None:
            chosen = policy_of(DEFAULT_POLICY, self.epsilon)
        return chosen


def describes_model(command: Callable[..., None]) -> Callable[..., None]:
    """Replace the parameter `described` of a command by the options of `ModelOptions`."""
    return with_options(command, "described", ModelOptions)


def describes_models(command: Callable[..., None]) -> Callable[..., None]:
    """Replace the parameter `described` of a command by the options of `EnsembleOptions`."""
    return with_options(command, "described", EnsembleOptions)
