"""Runs on one stream, grouped by their settings: best group first, with means over seeds."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from heros.ensemble.settings import is_default
from heros.measures.base import Caption
from heros.run.report.words import answer_words, policy_words, pool_words
from heros.run.result import Price, Run

COLOURS = 8
ALL = 0.9995  # a group that spends a larger share of the full training cost counts as training every model


@dataclass(frozen=True)
class Group:
    """Runs that differ only in their seed."""

    colour: int
    label: str
    runs: tuple[Run, ...]

    def mean(self, value: Callable[[Run], float]) -> float:
        """Return the mean of a value over the runs; NaN if any value is NaN."""
        return float(np.mean([value(run) for run in self.runs]))

    def spread(self, measure: Caption) -> float:
        """Return the standard deviation of a measure over seeds; NaN for a single run."""
        figures = [run.figures.get(measure.name, math.nan) for run in self.runs]
        return float(np.std(figures, ddof=1)) if len(figures) > 1 else math.nan

    def figure(self, measure: Caption) -> float:
        """Return the mean of a measure over the runs; NaN if a run lacks the measure."""
        return self.mean(lambda run: run.figures.get(measure.name, math.nan))

    def text(self, measure: Caption) -> str:
        """Return the mean of a measure as text, with the standard deviation over seeds."""
        spread = self.spread(measure)
        spread_text = f" ± {spread:.4f}" if math.isfinite(spread) else ""
        return measure.text(self.figure(measure)) + spread_text

    @property
    def gamma_share(self) -> float:
        """The mean training cost, as a share of the cost of training every model."""
        return self.mean(lambda run: run.gamma_share)

    @property
    def trains_all(self) -> bool:
        """Whether every model was trained at every step, according to `gamma_share`."""
        return self.gamma_share > ALL

    @property
    def price(self) -> Price | None:
        """The mean cost of evaluation and training; None if the cost of any run is unknown."""
        prices = [run.price for run in self.runs if run.price is not None]
        if len(prices) < len(self.runs):
            return None
        evaluation, training = np.mean([(one.looking, one.training) for one in prices], axis=0).tolist()
        return Price(evaluation, training)

    @property
    def cpu_seconds(self) -> float:
        """The mean total CPU time in seconds."""
        return self.mean(lambda run: run.cpu_seconds)

    @property
    def joules(self) -> float:
        """The mean energy of the runs in joules."""
        return self.mean(lambda run: run.energy.joules)

    @property
    def grams(self) -> float | None:
        """The mean grams of CO2e; None if the carbon intensity of any run is unknown."""
        grams = [run.energy.co2e_kg for run in self.runs if run.energy.co2e_kg is not None]
        return 1000 * float(np.mean(grams)) if len(grams) == len(self.runs) else None

    def cpu(self, phase: str) -> float:
        """Return the mean CPU seconds of a phase."""
        return self.mean(lambda run: run.cpu.get(phase, 0.0))


def groups_of(runs: Sequence[Run]) -> list[Group]:
    """Group runs by label, pool, policy, k, watch, answer, budget and class weights, best first.

    The groups are ordered by their headline measure; groups without a value come last.

    The name of a group is the ``label`` in its settings. A group without a label but with the default
    settings is named ``Heros()`` or, with a budget, ``Heros(budget="0.4 mJ")``. The name of any other group
    consists of the policy, the budget, the class weights and the settings that differ between groups.
    """
    keys = [_key(run.settings) for run in runs]
    vary = [len({key[i] for key in keys}) > 1 for i in range(len(keys[0]))]
    groups = []
    for i, key in enumerate(dict.fromkeys(keys)):
        members = tuple(run for run, other in zip(runs, keys, strict=True) if other == key)
        parts = [policy_words(str(members[0].settings.get("policy_as_written", key[1])))]
        parts += [pool_words(key[0])] if vary[0] else []
        parts += [f"k = {key[2]}"] if vary[2] else []
        parts += [f"watch {key[3]}"] if vary[3] else []
        parts += [f"prediction by {answer_words(key[4])}"] if vary[4] else []
        parts += [f"budget {key[5]}"] if key[5] else []
        parts += [f"class weights {key[6]}"] if key[6] else []
        groups.append(Group(i % COLOURS, key[7] or ", ".join(parts), members))
    if (measure := headline_of(groups)) is None:
        return groups
    sign = -1.0 if measure.better == "higher" else 1.0
    # sorting does not change the colours of the groups
    ranked = [(sign * group.figure(measure), group) for group in groups]
    return [group for _, group in sorted(ranked, key=lambda pair: (math.isnan(pair[0]), pair[0]))]


def _key(settings: Mapping[str, Any]) -> tuple[str, str, int, str, str, str, str, str]:
    watch, answer = str(settings.get("watch", "all")), settings["answer"]
    given = {name: str(settings.get(name) or "") for name in ("budget", "class_weight")}
    usual = ", ".join(f'{name}="{value}"' for name, value in given.items() if value)
    default = is_default({**settings, "class_weight": None})
    label = str(settings.get("label") or (f"Heros({usual})" if default else ""))
    return settings["pool"], settings["policy"], settings["k"], watch, answer, *given.values(), label


def measures_of(groups: Sequence[Group]) -> list[Caption]:
    """Return all measures that at least one run has."""
    found: dict[str, Caption] = {}
    for group in groups:
        for run in group.runs:
            for caption in run.measures:
                found.setdefault(caption.name, caption)
    return list(found.values())


def trained_fully(groups: Sequence[Group]) -> Group | None:
    """Return the best group that trained every model at every step, or None."""
    return next((group for group in groups if group.trains_all), None)


def headline_of(groups: Sequence[Group]) -> Caption | None:
    """Return the headline measure: the first measure that has a value for at least one group."""
    known = (one for one in measures_of(groups) if any(math.isfinite(group.figure(one)) for group in groups))
    return next(known, None)
