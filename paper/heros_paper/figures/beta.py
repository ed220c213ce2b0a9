"""The distribution of the scores X_i = L(f_i) of all models over time, with a Beta fit."""

from __future__ import annotations

import os
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import NDArray
from scipy import stats

from heros import ParameterError
from heros.run import records
from heros.run.result import Run
from heros_paper.figures.style import FAINT, INK, WIDTH, look_of, new_figure, save, tidy
from heros_paper.published import label_of
from heros_paper.results import BASES, records_in

__all__ = ["Beta", "draw_beta", "fit_beta"]

POLICIES = ("zeta_0.01_0.1", "cand", "cand_as_published")
BINS = 40


@dataclass(frozen=True)
class Beta:
    """A Beta distribution, and its distance to the data."""

    a: float
    b: float
    distance: float  # Kolmogorov-Smirnov distance between the two distribution functions

    def density(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the density."""
        values: NDArray[np.float64] = stats.beta.pdf(x, self.a, self.b)
        return values


def fit_beta(values: NDArray[np.float64]) -> Beta:
    """Return the Beta distribution with the mean and the variance of the values.

    Examples
    --------
    >>> values = np.random.default_rng(1).beta(6, 2, size=20_000)
    >>> fit = fit_beta(values)
    >>> round(fit.a, 1), round(fit.b, 1), fit.distance < 0.01
    (6.0, 2.0, True)
    """
    mean, variance = float(values.mean()), float(values.var())
    if not (values.min() >= 0 and values.max() <= 1 and 0 < variance < mean * (1 - mean)):
        raise ParameterError.of("values", "fit_beta", "in [0, 1], neither all equal nor all 0 or 1", values)
    size = mean * (1 - mean) / variance - 1
    a, b = mean * size, (1 - mean) * size
    return Beta(a, b, float(stats.kstest(values, stats.beta(a, b).cdf).statistic))


def draw_beta(directory: str | os.PathLike[str], out: Path) -> list[Path]:
    """Draw histograms from ``directory/beta``: one row per base learner, one column per policy."""
    found = _runs(directory)
    if not found:
        return []
    bases = [base for base in BASES if any(kind == base.name for kind, _ in found)]
    policies = [policy for policy in POLICIES if any(name == policy for _, name in found)]
    figure = new_figure(WIDTH, 2.0 * len(bases) + 0.4)
    panels = figure.subplots(len(bases), len(policies), squeeze=False, sharex=True, sharey="row")
    for row, base in zip(panels, bases, strict=True):
        samples = {
            policy: _performances(found[base.name, policy])
            for policy in policies
            if (base.name, policy) in found
        }
        together = fit_beta(np.concatenate(list(samples.values())))
        for axes, policy in zip(row, policies, strict=True):
            if policy in samples:
                run = found[base.name, policy][0]
                axes.set_title(_title(run, policy), loc="left", fontsize=8, color=INK)
                _panel(axes, policy, samples[policy], together)
            else:
                axes.set_axis_off()
        row[0].set_ylabel("density")
    for axes in panels[-1]:
        axes.set_xlabel("performance X of a model")
    handles, labels = panels[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper left", ncols=3, frameon=False, fontsize=8)
    return save(figure, out, "beta")


def _runs(directory: str | os.PathLike[str]) -> dict[tuple[str, str], list[Run]]:
    """Return the runs (one per seed) by base learner and policy."""
    found: dict[tuple[str, str], list[Run]] = defaultdict(list)
    for place in records_in(directory, "beta"):
        run = records.read(place)
        kind = run.settings["pool"].rstrip("0123456789")
        if run.settings["policy"] in POLICIES and kind in {base.name for base in BASES}:
            found[kind, run.settings["policy"]].append(run)
    return found


def _performances(runs: list[Run]) -> NDArray[np.float64]:
    return np.concatenate([run.curves.scores.ravel() for run in runs])


def _title(run: Run, policy: str) -> str:
    pool = {base.name: base.label for base in BASES}[run.settings["pool"].rstrip("0123456789")]
    size = f"{len(run.trained)} {pool}, k = {run.settings['k']}"
    return f"{label_of(policy)} on {label_of(run.stream)}\n{size}"


def _panel(axes: Axes, policy: str, values: NDArray[np.float64], together: Beta) -> None:
    fit, colour = fit_beta(values), look_of(policy).colour
    x = np.linspace(0, 1, 400)[1:-1]
    heights, _, _ = axes.hist(
        values, bins=BINS, range=(0, 1), density=True, color=colour, alpha=0.35, label="all models over time"
    )
    axes.plot(x, fit.density(x), color=INK, lw=1.6, label="Beta of this policy")
    axes.plot(
        x, together.density(x), color=FAINT, lw=1.2, ls=(0, (4, 2)), label="Beta of all policies together"
    )
    axes.set_xlim(0, 1)
    axes.set_ylim(0, max(axes.get_ylim()[1], 1.05 * float(np.max(heights))))
    text = f"Beta({fit.a:.2f}, {fit.b:.2f})\nKS distance {fit.distance:.3f}"
    axes.text(0.03, 0.95, text, transform=axes.transAxes, va="top", fontsize=7, color=INK)
    tidy(axes)
