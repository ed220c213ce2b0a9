"""The cost of a step during drift: Σγ and energy of the main policies over a whole stream.

The curves of the whole stream come from the grid. Around the first drift, separate records have windows as
short as the paper's smoothing.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from heros.meters.energy import JOULES_PER_KWH
from heros.run import records
from heros.run.result import Run
from heros_paper.figures.style import FAINT, GRID, INK, WIDTH, look_of, new_figure, save, tidy
from heros_paper.published import BESIDE, OURS, POLICIES, label_of
from heros_paper.results import BASES, records_in

__all__ = ["INTENSITY", "draw_drifts", "per_step", "smoothed", "spread", "trend"]

STREAMS = ("agr_g", "agr_a")
SHOWN = ("expensive_0.1", "perform_best_0.1", "cand", "zeta_0.01_0.1", "zeta_0.05_0.1", "cheapest_0.1")
"""The built-in policies that are drawn, as ten lines would be unreadable. Your own policies are drawn too."""

NEAR = 300
"""The number of instances over which the paper smooths."""

STEADY, CALM = 10_000, 100_000
"""The number of instances for the mean of Σγ and for the median of energy, on a whole stream."""

INTENSITY = 400.0
"""Grams of CO2e per kWh on the second axis, a round number that only scales the axis."""

Vector = NDArray[np.float64]


def draw_drifts(directory: str | os.PathLike[str], out: Path) -> list[Path]:
    """Draw one figure per stream: Σγ and energy per step over all drifts, and Σγ around the first drift."""
    paths = []
    for stream in STREAMS:
        whole = _shown(_runs(directory, "drifts", stream) or _runs(directory, "grid", stream))
        if whole:
            paths += _draw(stream, whole, _shown(_runs(directory, "drift", stream)), out)
    return paths


def _runs(directory: str | os.PathLike[str], part: str, stream: str) -> dict[str, Run]:
    """Return the first seed's run of each policy with perceptrons, if it has curves."""
    found: dict[str, Run] = {}
    mlp = BASES[0]
    for place in records_in(directory, part):
        if stream not in place.parts or (part == "grid" and not {mlp.pool, f"k{mlp.k}"} <= set(place.parts)):
            continue
        run = records.read(place)
        if len(run.curves.end) > 1:
            found.setdefault(run.settings["policy"], run)
    return found


def _shown(runs: Mapping[str, Run]) -> dict[str, Run]:
    known = {*POLICIES, *OURS, *BESIDE}
    own = sorted(policy for policy in runs if policy not in known)
    return {policy: runs[policy] for policy in (*SHOWN, *own) if policy in runs}


def _draw(stream: str, whole: Mapping[str, Run], near: Mapping[str, Run], out: Path) -> list[Path]:
    first = next(iter(whole.values()))
    figure = new_figure(WIDTH, 6.4 if near else 4.6)
    panels = figure.subplots(3 if near else 2, 1, squeeze=False)[:, 0]
    gamma, energy = panels[:2]
    size = f"M = {len(first.trained)}, k = {first.settings['k']}"
    _lines(gamma, whole, lambda run: smoothed(_gamma(run), STEADY / run.window))
    _titled(gamma, f"{label_of(stream)}, {size}: Σγ of the models trained per step, mean of {STEADY:,}")
    _lines(energy, whole, lambda run: trend(_energy(run), CALM / run.window))
    source = first.energy.source
    _titled(energy, f"energy per step ({source}), median of {CALM:,}; CO2e at {INTENSITY:.0f} g/kWh")
    _emissions(energy)
    if near:
        close = next(iter(near.values()))
        _lines(panels[2], near, lambda run: smoothed(_gamma(run), NEAR / run.window), lw=0.8)
        size = f"M = {len(close.trained)}, k = {close.settings['k']}"
        _titled(panels[2], f"Σγ around the first drift, {size}, mean of {NEAR} as in the paper")
    for axes, run in zip(panels, [first, first, *near.values()], strict=False):
        _mark_drifts(axes, run)
        axes.set_xlim(*_span(run))
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
        axes.grid(axis="y", color=GRID, lw=0.6)
        tidy(axes)
    panels[-1].set_xlabel("instance")
    return save(figure, out, f"drift_{stream}")


def _titled(axes: Axes, text: str) -> None:
    axes.set_title(text, loc="left", fontsize=8.5, color=INK)


def _emissions(axes: Axes) -> None:
    """Add a second axis in micrograms of CO2e, converted from millijoules."""
    per_mj = 1e3 * INTENSITY / JOULES_PER_KWH
    both = (lambda mj: np.asarray(mj) * per_mj, lambda micrograms: np.asarray(micrograms) / per_mj)
    second = axes.secondary_yaxis(-0.115, functions=both)
    second.tick_params(colors=FAINT, labelsize=8, width=0.6, length=3)
    second.set_ylabel("µg CO2e", color=INK, fontsize=8)
    second.spines["left"].set_color(FAINT)
    axes.set_ylabel("mJ")


def _span(run: Run) -> tuple[int, int]:
    """Return the range of the stream that the curves cover."""
    width = int(run.curves.end[1] - run.curves.end[0]) if len(run.curves.end) > 1 else run.window
    return max(0, int(run.curves.end[0]) - width), int(run.curves.end[-1])


def _lines(axes: Axes, runs: Mapping[str, Run], values: Callable[[Run], Vector], *, lw: float = 1.3) -> None:
    lines = {policy: values(run) for policy, run in runs.items()}
    for policy, run in runs.items():
        look = look_of(policy)
        axes.plot(run.curves.end, lines[policy], color=look.colour, lw=lw, ls=look.dashes)
    ends = {policy: float(np.mean(line[-5:])) for policy, line in lines.items()}
    usual = float(np.percentile(np.concatenate(list(lines.values())), 99.8))  # ignores rare spikes
    high = 1.1 * max(usual, *ends.values())
    axes.set_ylim(0, high)
    _name_ends(axes, ends, gap=high / 8)


def _name_ends(axes: Axes, ends: Mapping[str, float], gap: float) -> None:
    """Write each line's name beside its right end; move names apart where they would overlap."""
    policies = sorted(ends, key=lambda policy: ends[policy])
    places = spread([ends[policy] for policy in policies], gap)
    for policy, place in zip(policies, places, strict=True):
        colour, where = look_of(policy).colour, axes.get_yaxis_transform()
        axes.plot([1.005, 1.025], [ends[policy], place], color=colour, lw=0.7, transform=where, clip_on=False)
        axes.text(1.03, place, label_of(policy), color=colour, fontsize=8, va="center", transform=where)


def spread(values: Sequence[float], gap: float) -> list[float]:
    """Move ascending values as little as possible, so that neighbours are a gap apart and none is below 0.

    Examples
    --------
    >>> spread([1.0, 1.0, 5.0], gap=1.0)
    [0.5, 1.5, 5.0]
    """
    groups: list[tuple[float, int]] = []  # start and size of each group of adjacent values
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
    """Return each window's total per step.

    Some curves omit windows. Then their Σγ does not add up to the run's, and each row covers one window.
    """
    lengths = np.diff(run.curves.end, prepend=0)
    if not np.isclose(run.curves.spent.sum(), run.gamma_spent, rtol=1e-6):
        lengths = np.minimum(lengths, run.window)
    return np.asarray(totals / lengths, dtype=np.float64)


def smoothed(values: Vector, width: float) -> Vector:
    """Return the moving average over `width` values, over fewer at the ends.

    Examples
    --------
    >>> smoothed(np.array([0.0, 3.0, 0.0, 3.0]), 3).tolist()
    [1.5, 1.0, 2.0, 1.5]
    """
    kernel = np.ones(min(len(values), max(1, round(width))))
    return np.convolve(values, kernel, "same") / np.convolve(np.ones_like(values), kernel, "same")


def trend(values: Vector, width: float) -> Vector:
    """Return the moving median, which ignores short disturbances by other programs.

    Examples
    --------
    >>> trend(np.array([1.0, 1.0, 9.0, 1.0, 2.0, 2.0, 2.0]), 3).tolist()
    [1.0, 1.0, 1.0, 2.0, 2.0, 2.0, 2.0]
    """
    half = round(width) // 2
    padded = np.pad(values, half, mode="symmetric")  # padding, so that the ends are not single values
    return np.asarray(np.median(sliding_window_view(padded, 2 * half + 1), axis=1))


def _gamma(run: Run) -> Vector:
    return per_step(run, run.curves.spent)


def _energy(run: Run) -> Vector:
    """Return millijoules per step: the run's energy in proportion to its CPU time."""
    joules_per_second = run.energy.joules / run.cpu_seconds
    return 1e3 * joules_per_second * per_step(run, run.curves.cpu.sum(axis=1))
