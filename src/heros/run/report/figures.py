"""The charts of the runs on one stream."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from heros.measures.base import Caption
from heros.run.report.charts import Line, Point, line_chart, scatter
from heros.run.report.groups import Group, measures_of
from heros.run.result import Run

Values = Callable[[Run], NDArray[np.float64]]


def main_chart(groups: Sequence[Group], measure: Caption | None) -> str:
    """Return the main chart: performance against energy or, for a single group, performance over time."""
    if measure is None:
        return ""
    points = []
    for group in groups:
        if math.isfinite(figure := group.figure(measure)):
            cost = f"{group.joules:,.4g} J, {group.gamma_share:.0%} of training every model"
            note = f"{group.label}: {measure.label} {group.text(measure)}, {cost}"
            points.append(Point(group.colour, group.label, group.joules, figure, note))
    if len(points) > 1:
        higher = measure.better == "higher"
        name = measure.label if higher else f"{measure.label} (lower is better)"
        return scatter("Performance against energy", points, "energy, joules", name, higher=higher)
    return _over_time(groups, measure)


def figures(groups: Sequence[Group], measure: Caption | None) -> str:
    """Return the charts over time, without the chart that `main_chart` shows."""
    single = sum(math.isfinite(group.figure(measure)) for group in groups) < 2 if measure else False
    drifts = groups[0].runs[0].drifts
    charts = [_over_time(groups, one) for one in measures_of(groups) if not (single and one == measure)]
    gamma = _curves(groups, lambda run: run.curves.spent / np.diff(run.curves.end, prepend=0))
    energy = _curves(groups, _energy)
    charts.append(line_chart("γ: share of the cost of training every model", gamma, drifts, from_zero=True))
    charts.append(line_chart("Energy since the start, joules", energy, drifts, from_zero=True))
    return "".join(charts)


def _over_time(groups: Sequence[Group], measure: Caption) -> str:
    """Return the chart of a measure over time, for the groups in which every run has this measure."""
    having = [
        group
        for group in groups
        if all(np.isfinite(run.curves.figures.get(measure.name, math.nan)).any() for run in group.runs)
    ]
    if not having:
        return ""
    lines = _curves(having, lambda run: run.curves.figures[measure.name])
    run = having[0].runs[0]
    levels = {
        name: figures[measure.name] for name, figures in run.baselines.items() if measure.name in figures
    }
    changes = [change for change in run.changes if change.kind == "error"]
    label = measure.label
    title = label[:1].upper() + label[1:] if label.isascii() else label
    return line_chart(f"{title}, per window", lines, run.drifts, levels, changes=changes)


def _curves(groups: Sequence[Group], values: Values) -> list[Line]:
    lines = []
    for group in groups:
        rows = min(len(run.curves.end) for run in group.runs)
        seeds = np.array([values(run)[:rows] for run in group.runs])
        spread = seeds.std(axis=0, ddof=1) if len(seeds) > 1 else None
        end = group.runs[0].curves.end[:rows].astype(float)
        lines.append(Line(group.colour, group.label, end, seeds.mean(axis=0), spread))
    return lines


def _energy(run: Run) -> NDArray[np.float64]:
    """Return the cumulative energy of a run, distributed over time in proportion to CPU time."""
    cpu = np.cumsum(run.curves.cpu.sum(axis=1))
    joules: NDArray[np.float64] = run.energy.joules * cpu / max(cpu[-1], np.finfo(np.float64).tiny)
    return joules
