"""Groups of command-line options as objects: the options for reading a file, and those for the model."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import wraps
from pathlib import Path
from typing import Any, get_type_hints

from heros._base.registry import answer_of, policy_of, pool_of
from heros.cli import options
from heros.cli.parsing import class_weight_of, reading, watch_of
from heros.ensemble import Heros
from heros.ensemble.task import Task

DEFAULT_POLICY = "cand"
PAPER_POLICY, PAPER_EPSILON = "zeta:0.05", 0.2  # the defaults if --pool is given

Command = Callable[..., None]


@dataclass(frozen=True)
class FileOptions:
    r"""The values of the options for reading a file, one field per option.

    Examples
    --------
    >>> FileOptions(target="late", ignore=["id,note"], delimiter=r"\t").reading_settings
    {'ignore': ['id', 'note'], 'delimiter': '\t'}
    """

    target: options.Target = None
    task: options.TaskName = None
    ignore: options.Ignore = None
    nominal: options.Nominal = None
    numeric: options.Numeric = None
    dates: options.Dates = None
    classes: options.Classes = None
    weights: options.WeightsColumn = None
    delimiter: options.Delimiter = None
    no_header: options.NoHeader = False
    missing: options.Missing = None
    encoding: options.EncodingName = None
    most_values: options.MostValues = None
    columns: options.ColumnsFile = None
    format: options.FormatName = None

    @property
    def reading_settings(self) -> dict[str, Any]:
        """The options that were given, except the target, as parameters of `heros.streams.read`."""
        return reading(**{name: value for name, value in vars(self).items() if name != "target"})


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
    """The values of the options that describe one model; the defaults are those of `heros.Heros`.

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
        text, epsilon = self.policy, self.epsilon
        if text is None and pool is not None and (self.budget is None or epsilon is not None):
            text = PAPER_POLICY
            epsilon = PAPER_EPSILON if epsilon is None else epsilon
        elif text is None and epsilon is not None:
            text = DEFAULT_POLICY
        policy = None if text is None else policy_of(text, epsilon)
        weight = class_weight_of(self.class_weight)
        return Heros(pool, policy, task=task, class_weight=weight, seed=self.seed, **self.settings)


def with_options(place: str, kind: Any) -> Callable[[Command], Command]:
    """Return a decorator that replaces a command's parameter `place` by one option per field of `kind`."""
    hints = get_type_hints(kind, localns={"Path": Path}, include_extras=True)
    as_option = inspect.Parameter.KEYWORD_ONLY
    shared = [
        inspect.Parameter(one.name, as_option, default=one.default, annotation=hints[one.name])
        for one in fields(kind)
    ]

    def decorated(command: Command) -> Command:
        @wraps(command)
        def with_them(**given: Any) -> None:
            command(**{place: kind(**{one.name: given.pop(one.name) for one in shared})}, **given)

        own = inspect.signature(command, eval_str=True)
        parameters: list[inspect.Parameter] = []
        for one in own.parameters.values():
            parameters += shared if one.name == place else [one.replace(kind=as_option)]
        with_them.__signature__ = own.replace(parameters=parameters)  # type: ignore[attr-defined]
        with_them.__annotations__ = {one.name: one.annotation for one in parameters}
        return with_them

    return decorated
