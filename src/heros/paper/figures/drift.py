"""What a step costs while the concept drifts: γ and energy (or CO2e) of each policy over time."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from heros import records
from heros.meters.base import JOULES_PER_KWH
from heros.paper.cells import records_in
from heros.paper.figures.style import FAINT, GRID, INK, look_of, new_figure, save, tidy
from heros.paper.published import OURS, POLICIES, label_of
from heros.prequential import Run

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["draw_drifts", "per_step", "smoothed"]

SMOOTHING = 300
"""Over how many instances the paper smooths."""

TREND = 100
"""Over which part (one in so many) of the stream the strong lines are smoothed, to be read at all."""

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
        axes.set_xlim(0, first.n_instances)
        axes.set_ylim(bottom=0)
        axes.grid(axis="y", color=GRID, lw=0.6)
        tidy(axes)
    size = f"M = {len(first.trained)}, k = {first.settings['k']}"
    lines = f"thin: smoothed over {SMOOTHING} instances, strong: over 1 % of the stream"
    upper.set_title(f"{label_of(stream)}, {size}; {lines}", loc="left", fontsize=10, color=INK)
    return save(figure, out, f"drift_{stream}")


def _lines(axes: Axes, runs: Mapping[str, Run], values: Callable[[Run], Vector]) -> None:
    ends = {}
    for policy, run in runs.items():
        look, x, y = look_of(policy), run.curves.end, values(run)
        axes.plot(x, smoothed(y, SMOOTHING / run.window), color=look.colour, lw=0.5, alpha=0.25)
        trend = smoothed(y, len(y) / TREND)
        axes.plot(x, trend, color=look.colour, lw=1.5, ls=look.dashes)
        ends[policy] = float(trend[-1])
    _name_ends(axes, ends)


def _name_ends(axes: Axes, ends: Mapping[str, float]) -> None:
    """Each line's name at its right end, moved apart where they would collide."""
    low, high = 0.0, axes.get_ylim()[1]
    gap = (high - low) / 16
    place = -np.inf
    for policy in sorted(ends, key=lambda policy: ends[policy]):
        place = max(ends[policy], place + gap)
        axes.annotate(
            label_of(policy),
            (1, ends[policy]),
            (1.03, place),
            xycoords=axes.get_yaxis_transform(),
            textcoords=axes.get_yaxis_transform(),
            fontsize=8,
            va="center",
            color=look_of(policy).colour,
            annotation_clip=False,
            arrowprops={"arrowstyle": "-", "color": look_of(policy).colour, "lw": 0.6},
        )


def _mark_drifts(axes: Axes, run: Run) -> None:
    for drift in run.drifts:
        axes.axvline(drift.position, color=INK, lw=0.8, ls=(0, (3, 3)))
        if drift.width > 1:
            half = drift.width / 2
            axes.axvspan(drift.position - half, drift.position + half, color=FAINT, alpha=0.15, lw=0)


# -- per step -------------------------------------------------------------------------------------------


def per_step(run: Run, totals: Vector, whole: float) -> Vector:
    """What each window's total is per step; `whole` is the total of the run.

    Curves may have been thinned by leaving windows out. Then they do not add up to the whole, and each
    row still stands for one window.
    """
    lengths = np.diff(run.curves.end, prepend=0)
    if not np.isclose(totals.sum(), whole, rtol=1e-3):
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


def _gamma(run: Run) -> Vector:
    return per_step(run, run.curves.spent, run.gamma_spent)


def _energy(run: Run) -> Vector:
    """Millijoules: the run's energy, divided as its CPU time is."""
    joules_per_second = run.energy.joules / run.cpu_seconds
    return 1e3 * joules_per_second * per_step(run, run.curves.cpu.sum(axis=1), run.cpu_seconds)


def _emissions(run: Run) -> Vector:
    """Micrograms of CO2e."""
    assert run.energy.carbon is not None
    grams_per_joule = run.energy.carbon.grams_per_kwh / JOULES_PER_KWH
    return 1e3 * grams_per_joule * _energy(run)
