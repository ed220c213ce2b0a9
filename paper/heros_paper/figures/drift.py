"""What a step costs while the concept drifts: γ and energy (or CO2e) of each policy over time."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from heros.meters.base import JOULES_PER_KWH
from heros.run.loop import Run
from heros.storage import records
from heros_paper.figures.style import FAINT, GRID, INK, look_of, new_figure, save, tidy
from heros_paper.published import OURS, POLICIES, label_of
from heros_paper.results import records_in

__all__ = ["draw_drifts", "per_step", "smoothed", "spread", "trend"]

SMOOTHING = 300
"""Over how many instances the paper smooths."""

TREND = 100
"""Over which part (one in so many) of the stream the strong lines are taken, to be read at all."""

Vector = NDArray[np.float64]


def draw_drifts(directory: str | os.PathLike[str], out: Path) -> list[Path]:
    """A figure per stream from the records in ``directory/drift``: γ and energy per step, drifts marked."""
    by_stream: dict[str, dict[str, Run]] = defaultdict(dict)
    for place in records_in(directory, "drift"):
        run = records.read(place)
        by_stream[run.stream].setdefault(run.settings["policy"], run)  # one seed: the first
    return [path for stream, runs in by_stream.items() for path in _draw(stream, _ordered(runs), out)]


def _ordered(runs: Mapping[str, Run]) -> dict[str, Run]:
    known = [policy for policy in (*POLICIES, *OURS) if policy in runs]
    return {policy: runs[policy] for policy in (*known, *sorted(set(runs) - set(known)))}


def _draw(stream: str, runs: Mapping[str, Run], out: Path) -> list[Path]:
    first = next(iter(runs.values()))
    figure = new_figure(9, 6.6)
    upper, lower = figure.subplots(2, 1, sharex=True)
    stated = all(run.energy.carbon is not None for run in runs.values())
    _lines(upper, runs, _emissions if stated else _energy)
    upper.set_ylabel("CO2e per step (µg)" if stated else "energy per step (mJ)")
    _lines(lower, runs, _gamma)
    lower.set_ylabel("Σγ of the models trained per step")
    lower.set_xlabel("instance")
    lower.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    for axes in (upper, lower):
        _mark_drifts(axes, first)
        axes.set_xlim(*_span(first))
        axes.grid(axis="y", color=GRID, lw=0.6)
        tidy(axes)
    size = f"M = {len(first.trained)}, k = {first.settings['k']}"
    lines = f"thin: smoothed over {SMOOTHING} instances, strong: median over 1 % of the stream"
    upper.set_title(f"{label_of(stream)}, {size}; {lines}", loc="left", fontsize=10, color=INK)
    return save(figure, out, f"drift_{stream}")


def _span(run: Run) -> tuple[int, int]:
    """The stretch of the stream that the curves are about, which may begin late."""
    width = int(run.curves.end[1] - run.curves.end[0]) if len(run.curves.end) > 1 else run.window
    return max(0, int(run.curves.end[0]) - width), int(run.curves.end[-1])


def _lines(axes: Axes, runs: Mapping[str, Run], values: Callable[[Run], Vector]) -> None:
    trends = {}
    for policy, run in runs.items():
        look, x, y = look_of(policy), run.curves.end, values(run)
        axes.plot(x, smoothed(y, SMOOTHING / run.window), color=look.colour, lw=0.5, alpha=0.25)
        trends[policy] = trend(y, len(y) / TREND)
        axes.plot(x, trends[policy], color=look.colour, lw=1.4, ls=look.dashes)
    high = 1.15 * float(np.percentile(np.concatenate(list(trends.values())), 99.5))  # not the odd spike
    axes.set_ylim(0, high)
    _name_ends(axes, {policy: float(line[-1]) for policy, line in trends.items()}, gap=high / 15)


def _name_ends(axes: Axes, ends: Mapping[str, float], gap: float) -> None:
    """Each line's name beside its right end, moved apart where names would collide."""
    policies = sorted(ends, key=lambda policy: ends[policy])
    places = spread([ends[policy] for policy in policies], gap)
    for policy, place in zip(policies, places, strict=True):
        colour, where = look_of(policy).colour, axes.get_yaxis_transform()
        axes.plot([1.005, 1.025], [ends[policy], place], color=colour, lw=0.7, transform=where, clip_on=False)
        axes.text(1.03, place, label_of(policy), color=colour, fontsize=8, va="center", transform=where)


def spread(values: Sequence[float], gap: float) -> list[float]:
    """Ascending values moved as little as possible so that neighbours are a gap apart, none below zero.

    Examples
    --------
    >>> spread([1.0, 1.0, 5.0], gap=1.0)
    [0.5, 1.5, 5.0]
    """
    groups: list[tuple[float, int]] = []  # the start and the size of what stands together
    for value in values:
        start, size = max(value, 0.0), 1
        while groups and start < groups[-1][0] + groups[-1][1] * gap:
            before, n = groups.pop()
            start = max(0.0, (before * n + (start - n * gap) * size) / (n + size))
            size += n
        groups.append((start, size))
    return [start + i * gap for start, size in groups for i in range(size)]


def _mark_drifts(axes: Axes, run: Run) -> None:
    for drift in run.drifts:
        axes.axvline(drift.position, color=INK, lw=0.8, ls=(0, (3, 3)))
        if drift.width > 1:
            half = drift.width / 2
            axes.axvspan(drift.position - half, drift.position + half, color=FAINT, alpha=0.15, lw=0)


# -- per step -------------------------------------------------------------------------------------------


def per_step(run: Run, totals: Vector) -> Vector:
    """What each window's total is per step.

    Curves may have been thinned by leaving windows out. Then their Σγ does not add up to the run's, and
    each row still stands for one window.
    """
    lengths = np.diff(run.curves.end, prepend=0)
    if not np.isclose(run.curves.spent.sum(), run.gamma_spent, rtol=1e-6):
        lengths = np.minimum(lengths, run.window)
    return np.asarray(totals / lengths, dtype=np.float64)


def smoothed(values: Vector, width: float) -> Vector:
    """The moving average over so many values, over fewer at the ends.

    Examples
    --------
    >>> smoothed(np.array([0.0, 3.0, 0.0, 3.0]), 3).tolist()
    [1.5, 1.0, 2.0, 1.5]
    """
    kernel = np.ones(min(len(values), max(1, round(width))))
    return np.convolve(values, kernel, "same") / np.convolve(np.ones_like(values), kernel, "same")


def trend(values: Vector, width: float) -> Vector:
    """The moving median: what other programs do to the machine now and then does not show in it.

    Examples
    --------
    >>> trend(np.array([1.0, 1.0, 9.0, 1.0, 2.0, 2.0, 2.0]), 3).tolist()
    [1.0, 1.0, 1.0, 2.0, 2.0, 2.0, 2.0]
    """
    half = round(width) // 2
    padded = np.pad(values, half, mode="edge")
    return np.asarray(np.median(sliding_window_view(padded, 2 * half + 1), axis=1))


def _gamma(run: Run) -> Vector:
    return per_step(run, run.curves.spent)


def _energy(run: Run) -> Vector:
    """Millijoules: the run's energy, divided as its CPU time is."""
    joules_per_second = run.energy.joules / run.cpu_seconds
    return 1e3 * joules_per_second * per_step(run, run.curves.cpu.sum(axis=1))


def _emissions(run: Run) -> Vector:
    """Micrograms of CO2e."""
    assert run.energy.carbon is not None
    grams_per_joule = run.energy.carbon.grams_per_kwh / JOULES_PER_KWH
    return 1e3 * grams_per_joule * _energy(run)
