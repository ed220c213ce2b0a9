"""Inspection of the models of a Heros: the leaderboard, the last choice and its reasons, the pool summary."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from heros._base import core as _core
from heros._base.extras import needed
from heros._base.lazy import pa
from heros._base.tables import Table, distinguishing_settings, in_words, short
from heros.policies import Explore, Policy, Random
from heros.policies.base import explain
from heros.policies.calls import layers_of
from heros.pools import Pool

WIDTH = 80


@dataclass(frozen=True, slots=True)
class LastStep:
    """The models that the last step trained, and the values that the choice was based on.

    For a policy written in Python, `explored` is None. To find out whether the step explored, the random
    draws of the step are then repeated from `draws`, the generator state before the step.
    """

    chosen: NDArray[np.bool_]  # (M,) mask of the trained models
    scores: NDArray[np.float64]  # (M,) the scores L used for the choice
    costs: NDArray[np.float64]  # (M,) the costs γ at that step
    explored: bool | None
    draws: Mapping[str, Any] | None = None
    bounds: NDArray[np.float64] | None = None  # (M,) the values used for the choice instead of L
    expected: bool = False  # whether training was skipped because the model expected the instance


@dataclass(frozen=True, slots=True)
class Standing:
    """One row of a leaderboard."""

    rank: int  # the rank by L; ties are ranked by index
    model: int  # index of the model in the pool
    configuration: Mapping[str, Any]
    score: float  # running score L
    cost: float  # cost γ of a training step
    trained: int  # number of training steps
    invested: float  # the training cost r: sum of γ over all training steps of the model
    diverged: bool
    asleep: bool = False  # whether the model is neither evaluated nor trained at present, to keep a budget


class Leaderboard(Sequence[Standing]):
    """A table of the models, best first; `to_pandas` and `to_arrow` convert the table.

    Examples
    --------
    >>> from heros import Heros, pools, streams
    >>> pool = pools.MLP([{"hidden": 8}, {"hidden": 16}, {"optimizer": "sgd", "learning_rate": 0.1}])
    >>> model = Heros(pool, k=2, seed=1, schema=streams.Agrawal(function=2).schema)
    >>> model = model.learn(*streams.Agrawal(function=2).draw(500))
    >>> model.leaderboard()
    rank  model  optimizer  learning_rate  hidden       L        γ  trained
       1  ...
    >>> model.leaderboard()[0].configuration == model.best_model
    True
    >>> model.leaderboard().to_arrow().column_names
    ['rank', 'model', 'optimizer', 'learning_rate', 'hidden', 'L', 'cost', 'trained', 'invested', 'diverged']
    """

    def __init__(self, standings: Sequence[Standing]) -> None:
        self._standings = tuple(standings)

    @classmethod
    def of(cls, pool: Pool, learnt: _core.Step, asleep: NDArray[np.bool_]) -> Leaderboard:
        """Return the leaderboard of a pool from its learnt state and a mask of the sleeping models."""
        scores, diverged = learnt.scores, learnt.diverged.astype(bool)
        columns = (scores, learnt.costs, learnt.trained, learnt.invested, diverged, asleep)
        models = list(zip(pool.configurations, *(column.tolist() for column in columns), strict=True))
        order = np.argsort(-scores, kind="stable").tolist()
        return cls([Standing(rank, i, *models[i]) for rank, i in enumerate(order, 1)])

    @overload
    def __getitem__(self, index: int) -> Standing: ...
    @overload
    def __getitem__(self, index: slice) -> Leaderboard: ...
    def __getitem__(self, index: int | slice) -> Standing | Leaderboard:
        if isinstance(index, slice):
            return Leaderboard(self._standings[index])
        return self._standings[index]

    def __len__(self) -> int:
        return len(self._standings)

    def to_arrow(self) -> Any:
        """Return the leaderboard as an Arrow table, with a column for each setting of the models."""
        return pa.table({name: _column(values) for name, values in self._columns().items()})

    def to_pandas(self) -> Any:
        """Return the leaderboard as a pandas data frame."""
        return needed("pandas", "Leaderboard.to_pandas", "notebook").DataFrame(self._columns())

    def _columns(self) -> dict[str, list[Any]]:
        asleep = ("asleep",) if any(row.asleep for row in self) else ()
        names = ("score", "cost", "trained", "invested", "diverged", *asleep)
        columns = {name: [getattr(row, name) for row in self] for name in ("rank", "model")}
        columns |= {name: [row.configuration.get(name) for row in self] for name in self._settings}
        return columns | {
            "L" if name == "score" else name: [getattr(row, name) for row in self] for name in names
        }

    @property
    def _settings(self) -> list[str]:
        return list(dict.fromkeys(name for row in self for name in row.configuration))

    def __repr__(self) -> str:
        settings = self._settings
        shown = [dict(one) for one in _settings([row.configuration for row in self])]
        legend = _legend(shown)
        if "family" in settings:  # families have different settings, too many for one column each
            settings = ["family", "settings"]
            shown = [{"family": one.pop("family", ""), "settings": short(one)} for one in shown]
        rows = [
            [
                row.rank,
                row.model,
                *(one.get(name, "") for name in settings),
                f"{row.score:.4f}",
                row.cost,
                f"{row.trained:,}{' (diverged)' if row.diverged else ''}{' (asleep)' if row.asleep else ''}",
            ]
            for row, one in zip(self, shown, strict=True)
        ]
        align = "rrll" if "settings" in settings else ""
        table = Table(["rank", "model", *settings, "L", "γ", "trained"], rows, align=align)
        return "\n".join([str(table), *legend])


def _column(values: list[Any]) -> Any:
    """Return an Arrow array; values of mixed types become strings."""
    try:
        return pa.array(values)
    except pa.ArrowException:
        return pa.array([None if value is None else str(value) for value in values])


@dataclass(frozen=True, slots=True)
class Choice:
    """The reason why one model was trained at the last step."""

    model: int
    configuration: Mapping[str, Any]
    score: float  # the score L used for the choice
    cost: float  # cost γ of a training step
    reason: str


@dataclass(frozen=True, slots=True, repr=False)
class Explanation(Sequence[Choice]):
    """The reasons why models were trained at the last step, printed as a table.

    Examples
    --------
    >>> from heros import Heros, policies, pools, streams
    >>> pool = pools.MLP([{"hidden": 8}, {"hidden": 16}, {"hidden": 64}])
    >>> stream = streams.Agrawal(function=2)
    >>> model = Heros(pool, policies.Zeta(1.0), k=1, seed=1, schema=stream.schema)
    >>> model = model.learn(*stream.draw(500))
    >>> print(model.explain_choice().rule)
    Zeta(1) chose 1 of 3 models for instance 500
    """

    rule: str  # the reason for the choice: warm-up, exploration or the policy
    choices: tuple[Choice, ...]

    @classmethod
    def of(
        cls,
        pool: Pool,
        policy: Policy,
        k: int,
        warmup: int,
        learnt: _core.Step,
        last: LastStep,
        asleep: NDArray[np.bool_],
    ) -> Explanation:
        """Return the explanation of the last step, from `last` and a mask of the sleeping models."""
        scores, at, models = last.scores, learnt.instances, len(last.chosen)
        trained: list[int] = np.flatnonzero(last.chosen).tolist()
        epsilons, inner = _without_exploration(layers_of(policy).policy)
        if at <= warmup:
            rule = f"warm-up: all {models} models are trained on the first {warmup:,} instances"
            reasons = dict.fromkeys(trained, f"warm-up, instance {at:,} of {warmup:,}")
        elif last.expected:
            only = f"only {len(trained)} of {models} models are trained"
            rule = f"{policy} classified instance {at:,} as expected, so {only}"
            reasons = dict.fromkeys(trained, "also trained on expected instances")
        elif (epsilon := _exploration(epsilons, last)) is not None:
            rule = f"exploration (ε = {epsilon:g}) chose {k} of {models} models for instance {at:,}"
            reasons = Random().explain(scores, last.costs, k, last.chosen)
        else:
            rule = f"{inner} chose {len(trained)} of {models} models for instance {at:,}"
            chosen_by = scores if last.bounds is None else last.bounds
            reasons = explain(inner, chosen_by, last.costs, k, last.chosen)
        if asleep.any():
            rule += f"; {int(asleep.sum())} models sleep to stay within the budget"
        configurations = pool.configurations
        choices = (
            Choice(i, configurations[i], float(scores[i]), float(last.costs[i]), reason)
            for i, reason in reasons.items()
        )
        return cls(rule, tuple(choices))

    @overload
    def __getitem__(self, index: int) -> Choice: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Choice, ...]: ...
    def __getitem__(self, index: int | slice) -> Choice | tuple[Choice, ...]:
        return self.choices[index]

    def __len__(self) -> int:
        return len(self.choices)

    def __repr__(self) -> str:
        shown = _settings([c.configuration for c in self.choices])
        rows = [
            [c.model, short(one), f"{c.score:.4f}", f"{c.cost:.3g}", c.reason]
            for c, one in zip(self.choices, shown, strict=True)
        ]
        table = Table(["model", "settings", "L", "γ", "why"], rows, align="rlrrl")
        return "\n".join([self.rule, str(table), *_legend(shown)])


def _settings(models: Sequence[Mapping[str, Any]]) -> Sequence[Mapping[str, Any]]:
    """Return the settings to show: if there are several families, only settings that distinguish models."""
    if not any("family" in one for one in models):
        return models
    # `distinguishing_settings` leaves out the family if all models share it.
    distinguishing = distinguishing_settings(models)[0]
    shown = [{"family": one.get("family"), **own} for one, own in zip(models, distinguishing, strict=True)]
    for family in {one["family"] for one in shown}:
        own = [one for one in shown if one["family"] == family]
        names = list(dict.fromkeys(name for one in own for name in one))
        while len(names) > 1 and len({repr([*map(one.get, names[:-1])]) for one in own}) == len(own):
            last = names.pop()
            for one in own:
                one.pop(last, None)
    return shown


def _legend(shown: Sequence[Mapping[str, Any]]) -> list[str]:
    """If there are several families, return a line per family with the names of the family's settings."""
    names: dict[str, dict[str, None]] = {}
    for one in shown:
        if "family" in one:
            names.setdefault(one["family"], {}).update(dict.fromkeys(one))
    return [
        f"{family}: {', '.join(in_words(name) for name in found if name != 'family')}"
        for family, found in names.items()
        if len(found) > 1
    ]


def _without_exploration(policy: Policy) -> tuple[list[float], Policy]:
    """Return the ε of each nested `Explore` that does not override `choose`, and the innermost policy."""
    epsilons = []
    while isinstance(policy, Explore) and type(policy).choose is Explore.choose:
        epsilons.append(policy.epsilon)
        policy = policy.policy
    return epsilons, policy


def _exploration(epsilons: Sequence[float], last: LastStep) -> float | None:
    """Return the exploration probability ε if the last step explored; None if the inner policy chose."""
    if last.explored is not None:
        return 1 - math.prod(1 - epsilon for epsilon in epsilons) if last.explored and epsilons else None
    replay = np.random.Generator(np.random.PCG64())
    replay.bit_generator.state = last.draws or replay.bit_generator.state
    return next((epsilon for epsilon in epsilons if replay.random() < epsilon), None)


@dataclass(frozen=True, slots=True)
class SettingSummary:
    """A summary of the models that have the same value of a setting."""

    setting: str
    value: Any
    models: int
    best_score: float  # the highest L of these models
    mean_score: float
    cost: float  # these models' share of the sum of γ
    invested: float  # these models' share of the training cost so far


@dataclass(frozen=True, slots=True, repr=False)
class PoolSummary(Sequence[SettingSummary]):
    """A summary of a pool for each value of each setting: scores, cost and training cost so far."""

    title: str
    settings: tuple[SettingSummary, ...]

    @classmethod
    def of(cls, pool: Pool, k: int, learnt: _core.Step) -> PoolSummary:
        """Return the summary of a pool from its learnt state."""
        diverged = int(learnt.diverged.sum())
        title = f"{pool!r}: {learnt.instances:,} instances, k = {k}"
        title += f"; {diverged} diverged" if diverged else ""
        return cls(title, tuple(_by_setting(pool, learnt)))

    @overload
    def __getitem__(self, index: int) -> SettingSummary: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[SettingSummary, ...]: ...
    def __getitem__(self, index: int | slice) -> SettingSummary | tuple[SettingSummary, ...]:
        return self.settings[index]

    def __len__(self) -> int:
        return len(self.settings)

    def __repr__(self) -> str:
        headings = ["setting", "value", "models", "best L", "mean L", "of γ", "of training"]
        rows = [
            [
                row.setting,
                row.value,
                row.models,
                f"{row.best_score:.4f}",
                f"{row.mean_score:.4f}",
                f"{row.cost:.1%}",
                f"{row.invested:.1%}",
            ]
            for row in self.settings
        ]
        title = textwrap.fill(self.title, WIDTH)
        return f"{title}\n{Table(headings, rows)}" if rows else title


def _by_setting(pool: Pool, learnt: _core.Step) -> Iterator[SettingSummary]:
    scores, costs, invested = learnt.scores, learnt.costs, learnt.invested
    spent = invested.sum()
    groups: dict[str, dict[str, list[int]]] = {}  # setting -> text of its value -> models
    for i, configuration in enumerate(pool.configurations):
        for name, value in configuration.items():
            groups.setdefault(name, {}).setdefault(repr(value), []).append(i)
    for name, values in groups.items():
        for at in values.values() if len(values) > 1 else ():
            yield SettingSummary(
                name,
                pool.configurations[at[0]][name],
                len(at),
                float(scores[at].max()),
                float(scores[at].mean()),
                float(costs[at].sum()),
                float(invested[at].sum() / spent) if spent > 0 else 0.0,
            )
