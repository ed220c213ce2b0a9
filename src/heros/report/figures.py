"""What a report shows of the runs on one stream."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from heros.report.charts import Line, Point, heat_map, line_chart, scatter
from heros.run.loop import Run

__all__ = ["Group", "figures", "groups_of"]

COLUMNS = 120
COLOURS = 8


@dataclass(frozen=True)
class Group:
    """The runs that differ only in their seed."""

    colour: int
    label: str
    runs: tuple[Run, ...]

    def mean(self, figure: str) -> float:
        """The mean of a figure of the runs."""
        return float(np.mean([getattr(run, figure) for run in self.runs]))

    @property
    def joules(self) -> float:
        """The mean energy of the runs."""
        return float(np.mean([run.energy.joules for run in self.runs]))

    def cpu(self, phase: str) -> float:
        """The mean CPU seconds of a phase."""
        return float(np.mean([run.cpu.get(phase, 0.0) for run in self.runs]))


def groups_of(runs: Sequence[Run]) -> list[Group]:
    """Runs by pool, policy and k; the label names what differs."""
    keys = [(run.settings["pool"], run.settings["policy"], run.settings["k"]) for run in runs]
    vary = [len({key[i] for key in keys}) > 1 for i in range(3)]
    groups = []
    for i, key in enumerate(dict.fromkeys(keys)):
        parts = [key[1]]
        parts += [key[0]] if vary[0] else []
        parts += [f"k{key[2]}"] if vary[2] else []
        mine = tuple(run for run, other in zip(runs, keys, strict=True) if other == key)
        groups.append(Group(i % COLOURS, ", ".join(parts), mine))
    return groups


def figures(groups: Sequence[Group]) -> str:
    """All charts of one stream."""
    first = groups[0].runs[0]
    marks = [(float(drift.position), float(drift.width)) for drift in first.drifts]
    over_time = [
        ("AUROC, per window", _curves(groups, lambda run: run.curves.auroc)),
        ("Accuracy, per window", _curves(groups, lambda run: run.curves.accuracy)),
        ("γ: share of the price of training everything", _curves(groups, _gamma)),
        ("Energy since the start, joules", _curves(groups, _energy)),
    ]
    charts = [line_chart(title, lines, marks) for title, lines in over_time]
    points = [Point(group.colour, group.label, group.joules, group.mean("auroc")) for group in groups]
    charts.append(scatter("Performance against energy", points, "energy, joules", "AUROC"))
    charts += [_heat(group, marks) for group in groups if group.runs[0].curves.trained.size]
    return "".join(charts)


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
    joules: NDArray[np.float64] = run.energy.joules * cpu / cpu[-1]
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
