"""Figures of predictive performance against CPU time, with one mark per learner."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, geometric_mean

from matplotlib.ticker import NullFormatter, StrMethodFormatter

from heros_league.entrants import OURS, Entrant
from heros_league.standing import Standing
from heros_paper.figures.style import DPI, FAINT, GRID, label_points, new_figure, tidy

__all__ = ["draw", "draw_ranks", "points"]

OUR_COLOUR, OTHER = "#d55e00", "#7f7f7f"
COLOURS = {"capymoa": "#0072b2", "river": "#009e73"}  # colours of Okabe and Ito


@dataclass(frozen=True)
class Point:
    """The CPU time and the performance of a learner, over the same streams for all learners."""

    entrant: str
    microseconds: float
    quality: float  # AUROC, or the mean rank
    stopped: bool


def points(standing: Standing, streams: Sequence[str]) -> list[Point]:
    """Return the learners that have CPU time and AUROC on all of these streams."""
    found = []
    for name in standing.entrants():
        cells = [standing.cell(stream, name) for stream in streams]
        times = [cell.microseconds for cell in cells if cell and cell.microseconds]
        if len(times) == len(streams) > 0:
            auroc = fmean(cell.mean("auroc") for cell in cells if cell)
            stopped = any(cell.stopped for cell in cells if cell)
            found.append(Point(name, geometric_mean(times), auroc, stopped))
    return found


def draw(standing: Standing, path: Path) -> list[str]:
    """Draw the figure over the best-covered streams; return their names, empty without a competitor."""
    streams = _streams(standing)
    shown = points(standing, streams)
    if all(point.entrant in OURS for point in shown):  # nothing to compare with
        return []
    _draw(shown, standing, f"AUROC, mean over {_streams_of(len(streams))}", path)
    return streams


def draw_ranks(standing: Standing, path: Path) -> bool:
    """Draw mean ranks by RMSE of learners run on all streams; return False without a competitor."""
    ranks = standing.ranks("heros", "rmse")
    if ranks is None:
        return False
    shown = []
    for name, rank in zip(ranks.names, ranks.mean_ranks.tolist(), strict=True):
        cells = [standing.cells[stream, name] for stream in standing.arenas]
        times = [cell.microseconds for cell in cells if cell.microseconds]
        shown.append(Point(name, geometric_mean(times), rank, any(cell.stopped for cell in cells)))
    label = f"mean rank by RMSE over {_streams_of(len(standing.arenas))} (1 is best)"
    _draw(shown, standing, label, path, low_is_best=True)
    return True


def _streams_of(n: int) -> str:
    return f"{n} stream{'s' if n > 1 else ''}"


def _draw(
    shown: Sequence[Point], standing: Standing, label: str, path: Path, low_is_best: bool = False
) -> None:
    figure = new_figure(7.6, 4.6)
    axes = figure.subplots()
    for point in shown:
        colour = _colour(point.entrant, standing.learners[point.entrant])
        first = point.entrant == "heros"
        axes.plot(
            point.microseconds,
            point.quality,
            "*" if first else "o" if point.entrant in OURS else "s",
            color=colour,
            markerfacecolor="white" if point.stopped else colour,
            markersize=16 if first else 8,
            markeredgewidth=1.4,
            zorder=3,
        )
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.set_xlabel("CPU time per instance, µs (geometric mean, log scale)")
    axes.set_ylabel(label)
    axes.grid(color=GRID, lw=0.6, which="major")
    axes.margins(x=0.14, y=0.1)
    if low_is_best:
        axes.invert_yaxis()
    tidy(axes)
    title = "Best at the top left: HEROS orange, CapyMOA and MOA blue, River green"
    if any(point.stopped for point in shown):
        title += "; hollow: stopped at the limit"
    axes.set_title(title, loc="left", fontsize=8.5, color=FAINT)
    place = [(point.microseconds, point.quality) for point in shown]
    label_points(axes, place, [_label(standing, point.entrant) for point in shown])
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=DPI, metadata={"Software": None})


def _streams(standing: Standing) -> list[str]:
    """Return the streams of a competitor for which the number of streams times learners is largest.

    If all runs are complete, these are all streams.
    """
    known = {
        name: {s for s in standing.arenas if (c := standing.cell(s, name)) and c.microseconds}
        for name in standing.entrants()
    }
    rivals = [streams for name, streams in known.items() if name not in OURS]
    worth = {frozenset(some): len(some) * sum(some <= other for other in known.values()) for some in rivals}
    chosen = max(worth, key=lambda some: worth[some], default=frozenset[str]())
    return [stream for stream in standing.arenas if stream in chosen]


def _label(standing: Standing, name: str) -> str:
    """Return the label of a learner; that of `Heros()` has the number of models, which has changed."""
    label = standing.learners[name].label
    cell = next((cell for (_, entrant), cell in standing.cells.items() if entrant == name), None)
    return f"{label}, {cell.models} models" if name == "heros" and cell else label


def _colour(name: str, entrant: Entrant) -> str:
    if name in OURS:
        return OUR_COLOUR
    return COLOURS.get(entrant.library, OTHER)
