"""Tables on the theory of the paper, and all its output in one folder."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from heros._base.progress import progress
from heros_paper.theory.checks import Check, Measurement, check_theory
from heros_paper.theory.figure import draw_theory
from heros_paper.theory.model import Model
from heros_paper.theory.simulation import Pool, finite_threshold

__all__ = ["Threshold", "checks_table", "thresholds", "thresholds_table", "write_theory"]

FINITE = (Pool(50, 10), Pool(50, 20), Pool(50, 30))
"""The pools for which the threshold is measured: the paper's M with several k."""


@dataclass(frozen=True)
class Threshold:
    """The ζ up to which the ζ-policy's chosen models score more than CAND's."""

    model: Model
    claimed: float
    """The paper's (1 − E X)/2, for M → ∞."""
    limit: float
    """The ζ at which both are equal for M → ∞."""
    finite: dict[Pool, float]
    """The ζ at which both are equal on average in pools of finite size, measured."""


def thresholds(
    models: Sequence[Model],
    pools: Sequence[Pool] = FINITE,
    *,
    draws: int = 1000,
    seed: int = 1,
    progress_bar: bool | None = None,
) -> list[Threshold]:
    """Return the paper's threshold, the true threshold, and those of finite pools.

    Parameters
    ----------
    models
        Distributions of the scores.
    pools
        The finite pools.
    draws
        The number of draws per pool.
    seed
        The random seed of the draws.
    progress_bar
        Whether to show a progress bar; by default if standard error is a terminal.

    Examples
    --------
    >>> [found] = thresholds([Model(2, 2)], [Pool(50, 10)], draws=50)
    >>> found.claimed, round(found.limit, 3), found.claimed < found.finite[Pool(50, 10)]
    (0.25, 0.392, True)
    """
    found = []
    with progress(wanted=progress_bar) as bar:
        task = bar.add_task("thresholds", total=len(models) * len(pools))
        for model in models:
            finite = {}
            for pool in pools:
                finite[pool] = finite_threshold(model, pool, draws, seed)
                bar.advance(task)
            found.append(Threshold(model, model.claimed_threshold(), model.threshold(), finite))
    return found


def thresholds_table(found: Sequence[Threshold]) -> str:
    """Return the thresholds as a Markdown table: measured for finite pools, and proven bounds.

    Examples
    --------
    >>> print(thresholds_table([Threshold(Model(1, 1), 0.25, 0.5, {Pool(50, 30): 0.75})]))
    | scores | E X | claimed (1 − E X)/2 | true, M → ∞ | M = 50, k = 30 (sure) | ...
    |---|---|---|---|---|---|---|
    | Beta(1, 1) | 0.500 | 0.250 | 0.500 | 0.750 (0.141) | 3e+03 | 6e+02 |
    """
    head = [
        "scores",
        "E X",
        "claimed (1 − E X)/2",
        "true, M → ∞",
        *(f"{pool} (sure)" for pool in found[0].finite),
    ]
    rows = [
        [
            str(t.model),
            *(f"{value:.3f}" for value in (t.model.mean, t.claimed, t.limit)),
            *(f"{zeta:.3f} ({t.model.sufficient_threshold(*pool):.3f})" for pool, zeta in t.finite.items()),
            *(f"{t.model.pool_for(30, zeta):.0e}" for zeta in (0.01, 0.05)),
        ]
        for t in found
    ]
    return _markdown([*head, "30 within ζ = .01 at M =", "ζ = .05"], rows)


def checks_table(checks: Sequence[Check]) -> str:
    """Return the checks as a Markdown table: means, with their standard errors in units of the last digit.

    Examples
    --------
    >>> checks = check_theory(
    ...     models=[Model(2, 2)], zetas=[], budget=20_000,
    ...     growing=[Pool(100, 4), Pool(5000, 4)], proportional=[Pool(50, 30)],
    ... )
    >>> print(checks_table(checks[1:2]))
    | claim | statement | scores | ζ | limit | M = 100, k = 4 | M = 5,000, k = 4 | holds | ...
    | Lemma IV.1 | γ̄ of CAND → E γ | Beta(2, 2) |  | 0.500 | ...
    """
    first = checks[0]
    head = ["claim", "statement", "scores", "ζ", "limit", *(str(m.pool) for m in first.measured), "holds"]
    share = first.proportional[0].pool.k / first.proportional[0].pool.models
    head += [*(str(m.pool) for m in first.proportional), f"limit for k = {share:g} M", "remark"]
    return _markdown(head, [_row(check) for check in checks])


def write_theory(
    directory: str | Path,
    checks: Sequence[Check] | None = None,
    *,
    seed: int = 1,
    draws: int = 1000,
    progress_bar: bool | None = None,
) -> list[Path]:
    """Simulate, check and draw the theory of the paper; return the files written.

    ``theory.md`` (both tables), ``theory.csv`` (every measurement) and ``theory.svg``, ``.pdf`` and
    ``.png``. Takes about a minute of CPU time. Needs the extra ``paper``.

    Parameters
    ----------
    directory
        The output directory, created if missing.
    checks
        The result of `check_theory`; by default it is called with its defaults.
    seed
        The seed of all draws.
    draws
        The number of draws of a pool for a threshold.
    progress_bar
        Whether to show progress bars; by default if standard error is a terminal.
    """
    folder = Path(directory)
    folder.mkdir(parents=True, exist_ok=True)
    if checks is None:
        checks = check_theory(seed, progress_bar=progress_bar)
    models = list(dict.fromkeys(check.model for check in checks))
    found = thresholds(models, draws=draws, seed=seed, progress_bar=progress_bar)
    text = folder / "theory.md"
    parts = [
        "# The theory, simulated",
        "## Thresholds",
        thresholds_table(found),
        "## Claims",
        checks_table(checks),
    ]
    text.write_text("\n\n".join(parts) + "\n", encoding="utf-8")
    measurements = folder / "theory.csv"
    _write_csv(checks, measurements)
    return [text, measurements, *draw_theory(checks, folder / "theory")]


def _write_csv(checks: Sequence[Check], path: Path) -> None:
    table = [
        {
            "claim": check.claim.number,
            "statement": check.claim.statement,
            "alpha": check.model.alpha,
            "beta": check.model.beta,
            "zeta": check.zeta,
            "limit": check.limit,
            "proportional_limit": check.proportional_limit,
            "claimed": check.claimed,
            "holds": check.holds,
            "M": m.pool.models,
            "k": m.pool.k,
            "mean": m.mean,
            "error": m.error,
            "spread": m.spread,
            "share": m.share,
            "exact": m.exact,
        }
        for check in checks
        for m in check.measured + check.proportional
    ]
    with path.open("w", encoding="utf-8", newline="") as file:
        rows = csv.DictWriter(file, list(table[0]), lineterminator="\n")
        rows.writeheader()
        rows.writerows(table)


def _row(check: Check) -> list[str]:
    verdict = {True: "yes", False: "no", None: "–"}[check.holds]
    wrong = "; ".join(map(str, check.fails_at))
    return [
        check.claim.number,
        check.claim.statement,
        str(check.model),
        "" if check.zeta is None else f"{check.zeta:g}",
        f"{check.limit:.3f}",
        *map(_cell, check.measured),
        verdict,
        *map(_cell, check.proportional),
        "none" if check.proportional_limit is None else f"{check.proportional_limit:.3f}",
        check.remark + (f" (negative at {wrong})" if wrong else ""),
    ]


def _cell(m: Measurement) -> str:
    return f"{m.mean:.4f} ± {m.error:.4f}"


def _markdown(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    first, *rest = (
        "| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in (head, *rows)
    )
    return "\n".join([first, "|---" * len(head) + "|", *rest])
