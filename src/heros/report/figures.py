"""What a report shows of the runs on one stream."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heros.measures.base import Caption
from heros.report.charts import Line, Point, heat_map, line_chart, scatter
from heros.run.result import Price, Run

__all__ = ["Group", "figures", "groups_of", "measures_of"]

COLUMNS = 120
COLOURS = 8


@dataclass(frozen=True)
class Group:
    """The runs that differ only in their seed."""

    colour: int
    label: str
    runs: tuple[Run, ...]

    def figure(self, measure: Caption) -> float:
        """The mean of a measure's figure over the runs; NaN if one has none."""
        return float(np.mean([run.figures.get(measure.name, math.nan) for run in self.runs]))

    @property
    def gamma_share(self) -> float:
        """The mean share of the price of training everything."""
        return float(np.mean([run.gamma_share for run in self.runs]))

    @property
    def price(self) -> Price | None:
        """The mean price of looking and training; None if a run has none."""
        known = [run.price for run in self.runs if run.price is not None]
        if len(known) < len(self.runs):
            return None
        looking, training = np.mean([(one.looking, one.training) for one in known], axis=0).tolist()
        return Price(looking, training)

    @property
    def cpu_seconds(self) -> float:
        """The mean CPU seconds in all."""
        return float(np.mean([run.cpu_seconds for run in self.runs]))

    @property
    def joules(self) -> float:
        """The mean energy of the runs."""
        return float(np.mean([run.energy.joules for run in self.runs]))

    def cpu(self, phase: str) -> float:
        """The mean CPU seconds of a phase."""
        return float(np.mean([run.cpu.get(phase, 0.0) for run in self.runs]))


def groups_of(runs: Sequence[Run]) -> list[Group]:
    """Runs by pool, policy, k, who looks and who answers; the label names what differs."""
    keys = [_key(run.settings) for run in runs]
    vary = [len({key[i] for key in keys}) > 1 for i in range(len(keys[0]))]
    groups = []
    for i, key in enumerate(dict.fromkeys(keys)):
        parts = [key[1]]
        parts += [key[0]] if vary[0] else []
        parts += [f"k{key[2]}"] if vary[2] else []
        parts += [f"watch {key[3]}"] if vary[3] else []
        parts += [key[4]] if vary[4] else []
        mine = tuple(run for run, other in zip(runs, keys, strict=True) if other == key)
        groups.append(Group(i % COLOURS, ", ".join(parts), mine))
    return groups


def _key(settings: Mapping[str, Any]) -> tuple[str, str, int, str, str]:
    watch = str(settings.get("watch", "all"))
    return settings["pool"], settings["policy"], settings["k"], watch, settings["answer"]


def measures_of(groups: Sequence[Group]) -> list[Caption]:
    """All measures that any of the runs has."""
    found: dict[str, Caption] = {}
    for group in groups:
        for run in group.runs:
            for caption in run.measures:
                found.setdefault(caption.name, caption)
    return list(found.values())


def figures(groups: Sequence[Group]) -> str:
    """All charts of one stream."""
    first = groups[0].runs[0]
    marks = [(float(drift.position), float(drift.width)) for drift in first.drifts]
    measures = measures_of(groups)
    over_time = [
        *((f"{_capital(one.label)}, per window", _measured(groups, one.name)) for one in measures),
        ("γ: share of the price of training everything", _curves(groups, _gamma)),
        ("Energy since the start, joules", _curves(groups, _energy)),
    ]
    charts = [line_chart(title, lines, marks) for title, lines in over_time if lines]
    charts += [_against_energy(groups, measure) for measure in measures[:1]]
    charts += [_heat(group, marks) for group in groups if group.runs[0].curves.trained.size]
    return "".join(charts)


def _capital(label: str) -> str:
    return label[:1].upper() + label[1:] if label.isascii() else label


def _against_energy(groups: Sequence[Group], measure: Caption) -> str:
    """The groups that have a figure: a stream of one class has no AUROC."""
    points = [Point(group.colour, group.label, group.joules, group.figure(measure)) for group in groups]
    known = [point for point in points if math.isfinite(point.y)]
    if not known:
        return ""
    higher = measure.better == "higher"
    return scatter("Performance against energy", known, "energy, joules", measure.label, higher=higher)


def _measured(groups: Sequence[Group], name: str) -> list[Line]:
    """The curves of a measure, of the groups whose runs all have one with a figure in it."""
    having = [
        group
        for group in groups
        if all(np.isfinite(run.curves.figures.get(name, math.nan)).any() for run in group.runs)
    ]
    return _curves(having, lambda run: run.curves.figures[name])


def _curves(groups: Sequence[Group], values: Callable[[Run], NDArray[np.float64]]) -> list[Line]:
    lines = []
    for group in groups:
        rows = min(len(run.curves.end) for run in group.runs)
        y = np.mean([values(run)[:rows] for run in group.runs], axis=0)
        lines.append(Line(group.colour, group.label, group.runs[0].curves.end[:rows].astype(float), y))
    return lines


def _gamma(run: Run) -> NDArray[np.float64]:
    return run.curves.spent / np.diff(run.curves.end, prepend=0)


def _energy(run: Run) -> NDArray[np.float64]:
    """The energy of the run, spread over time as its CPU time was."""
    cpu = np.cumsum(run.curves.cpu.sum(axis=1))
    joules: NDArray[np.float64] = run.energy.joules * cpu / max(cpu[-1], np.finfo(np.float64).tiny)
    return joules


def _heat(group: Group, marks: Sequence[tuple[float, float]]) -> str:
    """How often each model was trained, cheap models at the bottom."""
    run = group.runs[0]
    costs = np.array(run.settings["costs"])
    order = np.argsort(costs, kind="stable")
    lengths = np.diff(run.curves.end, prepend=0)
    parts = np.array_split(np.arange(len(lengths)), min(COLUMNS, len(lengths)))
    share = np.array([run.curves.trained[part].sum(axis=0) / lengths[part].sum() for part in parts]).T
    title = f"Which models were trained when: {group.label}"
    return heat_map(title, share[order], float(run.curves.end[-1]), marks, ("cheap", "costly"))
