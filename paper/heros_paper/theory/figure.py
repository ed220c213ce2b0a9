"""The theory of the paper in one figure: convergence, k in proportion to M, and the threshold."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from matplotlib import rc_context
from matplotlib.axes import Axes

from heros_paper.figures.style import DPI, INK, WIDTH, new_figure, tidy
from heros_paper.theory.checks import Check, Measurement
from heros_paper.theory.claims import (
    BEST_COST,
    BEST_PERFORMANCE,
    CAND_COST,
    CAND_PERFORMANCE,
    ZETA_ABOVE_CAND,
    ZETA_COST,
    ZETA_PERFORMANCE,
    Claim,
)
from heros_paper.theory.model import Model

__all__ = ["draw_theory"]

FORMATS = ("svg", "pdf", "png")
POLICIES = (
    ("perform-best", "#0072B2", "s", BEST_PERFORMANCE, BEST_COST),
    ("ζ", "#D55E00", "o", ZETA_PERFORMANCE, ZETA_COST),
    ("CAND", "#009E73", "^", CAND_PERFORMANCE, CAND_COST),
)
"""Label, colour and marker of a policy, and its claims."""
GREY = "#666666"
ERRORS = 2
"""Length of the error bars, in standard errors."""


def draw_theory(
    checks: Sequence[Check], path: str | Path, *, model: Model | None = None, zeta: float | None = None
) -> list[Path]:
    """Draw the result of `check_theory`; return the files written.

    Left: the paper's order of limits, M growing with k fixed. Middle: k in proportion to M. Right: the
    advantage of ζ over CAND against ζ, for the first and the last distribution of the checks. Needs the extra
    ``paper``.

    Parameters
    ----------
    checks
        The result of `check_theory`.
    path
        The path without suffix: ``.svg``, ``.pdf`` and ``.png`` are written.
    model
        The distribution shown left and in the middle; by default the first of the checks.
    zeta
        The ζ shown there; by default the middle one of the checks.
    """
    shown = list(dict.fromkeys(check.model for check in checks))
    zetas = sorted({check.zeta for check in checks if check.zeta is not None})
    model = shown[0] if model is None else model
    zeta = zetas[(len(zetas) - 1) // 2] if zeta is None else zeta
    figure = new_figure(WIDTH, 5.4)
    axes = figure.subplots(2, 3)
    mine = [check for check in checks if check.model == model and check.zeta in (None, zeta)]
    for row, figure_of in enumerate(("performance", "cost")):
        _growing(axes[row][0], mine, figure_of)
        _proportional(axes[row][1], mine, figure_of)
    for axis, other in zip(axes[:, 2], (shown[0], shown[-1]), strict=True):
        _threshold(axis, [c for c in checks if c.model == other and c.claim is ZETA_ABOVE_CAND])
    axes[1][0].legend(loc="center right", frameon=False, fontsize=7)
    for axis in axes.flat:
        tidy(axis)
        axis.tick_params(labelsize=7)
        axis.xaxis.label.set_fontsize(8)
        axis.yaxis.label.set_fontsize(8)
    figure.suptitle(
        f"Left and middle: scores {model}, costs U(0, 1), ζ = {zeta:g}. "
        f"Points: simulated, ± {ERRORS} standard errors; thin lines: exact.",
        x=0.01,
        ha="left",
        fontsize=8,
        color=INK,
    )
    files = [Path(f"{path}.{suffix}") for suffix in FORMATS]
    with rc_context({"svg.hashsalt": "heros"}):
        for file in files:
            undated = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(file.suffix[1:])
            figure.savefig(file, dpi=DPI, metadata=undated)
    return files


def _growing(axis: Axes, checks: Sequence[Check], figure: str) -> None:
    """Draw growing M with fixed k: simulated points, exact lines, dashed limits."""
    for label, colour, marker, check in _policies(checks, figure):
        k = check.measured[0].pool.k
        points = [m for m in check.measured if m.pool.k == k]
        _points(axis, points, colour, marker, label)
        exact = [(m.pool.models, m.exact) for m in points if m.exact is not None]
        axis.plot([models for models, _ in exact], [mean for _, mean in exact], color=colour, linewidth=1)
        axis.axhline(check.limit, color=colour, linestyle="--", linewidth=1)
        _titled(axis, f"k = {k}, M → ∞\n(dashed: the limits)")
    _label(axis, figure)


def _proportional(axis: Axes, checks: Sequence[Check], figure: str) -> None:
    """Draw growing M with k in proportion: the paper's limits (dashed) and the actual limits (dotted)."""
    for label, colour, marker, check in _policies(checks, figure):
        points = check.proportional
        _points(axis, points, colour, marker, label)
        axis.axhline(check.limit, color=colour, linestyle="--", linewidth=1)
        if check.proportional_limit is not None:
            axis.axhline(check.proportional_limit, color=colour, linestyle=":", linewidth=1.5)
        share = points[0].pool.k / points[0].pool.models
        _titled(axis, f"k = {share:g} M (dashed: limits\nfor fixed k; dotted: for this k)")
    _label(axis, figure)


def _threshold(axis: Axes, checks: Sequence[Check]) -> None:
    """Draw the advantage of ζ over CAND: limit as a curve, measured pools as points, thresholds as lines."""
    model = checks[0].model
    claimed, true = model.claimed_threshold(), model.threshold()
    zetas = np.linspace(0.001, 1.5 * true, 200)
    axis.plot(zetas, [model.zeta_limit(z) - model.cand_limit for z in zetas], color="black", label="M → ∞")
    checks = [check for check in checks if check.zeta is not None and check.zeta <= 1.55 * true]
    for colour, marker, pick in ((GREY, "s", -2), ("#CC79A7", "o", None)):
        points = [check.proportional[0] if pick is None else check.measured[pick] for check in checks]
        axis.errorbar(
            [check.zeta for check in checks],  # type: ignore[arg-type]
            [m.mean for m in points],
            [ERRORS * m.error for m in points],
            color=colour, marker=marker, markersize=3, linewidth=0.8, label=str(points[0].pool),
        )  # fmt: skip
    axis.axhline(0, color="black", linewidth=0.8)
    axis.axvline(claimed, color="#D55E00", lw=1.2, linestyle="--", label=f"(1 − E X)/2 = {claimed:.3f}")
    axis.axvline(true, color="#0072B2", lw=1.2, linestyle=":", label=f"true, M → ∞: {true:.3f}")
    axis.set(xlabel="ζ", ylabel="score of ζ − of CAND")
    _titled(axis, f"the threshold,\nscores {model}")
    axis.legend(
        loc="upper left", bbox_to_anchor=(-0.1, -0.26), ncols=2, frameon=False, fontsize=6, handlelength=1.6
    )


def _policies(checks: Sequence[Check], figure: str) -> list[tuple[str, str, str, Check]]:
    """Return label, colour, marker and check of each policy."""
    return [
        (label, colour, marker, _of(checks, performance if figure == "performance" else cost))
        for label, colour, marker, performance, cost in POLICIES
    ]


def _of(checks: Sequence[Check], claim: Claim) -> Check:
    [check] = (check for check in checks if check.claim is claim)
    return check


def _points(axis: Axes, points: Sequence[Measurement], colour: str, marker: str, label: str) -> None:
    axis.errorbar(
        [m.pool.models for m in points],
        [m.mean for m in points],
        [ERRORS * m.error for m in points],
        color=colour, marker=marker, markersize=4, linestyle="none", capsize=2, elinewidth=0.8, label=label,
    )  # fmt: skip


def _titled(axis: Axes, text: str) -> None:
    axis.set_title(text, loc="left", fontsize=8, color=INK)


def _label(axis: Axes, figure: str) -> None:
    symbol = {"performance": "mean score of the chosen", "cost": "mean cost of the chosen"}[figure]
    axis.set(xscale="log", xlabel="M", ylabel=symbol)
    if figure == "cost":
        axis.set_ylim(-0.02, 0.6)
