"""Runs beyond the paper's grid; each part answers one question about the tables."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import groupby, product

from heros import policies as p
from heros.pools import HoeffdingGrid, MLPGrid
from heros.pools.hoeffding import SIZES
from heros_paper.settings import (
    BASES,
    OURS,
    PAPER,
    POLICIES,
    SEEDS,
    SMALL,
    STREAMS,
    TWINS,
    Base,
    Cell,
    beta_cells,
    cells,
    drift_cells,
    end_of,
    listed_cells,
    printed_cells,
)

__all__ = ["DISTINCT", "PARTS", "Batch", "missing", "unlimited"]

Batch = tuple[str, list[Cell]]
"""A part of the records, and its runs of about equal length."""

GREEDY = (p.PerformBest(), p.Zeta(0.01), p.Zeta(0.05), p.Explore(p.Reward(1.0), 0.1))
"""Policies of the grid with exploration turned off, and Reward with exploration turned on."""

TRIED = (
    *(
        p.Explore(policy, epsilon)
        for policy, epsilon in product((p.Zeta(0.01), p.Zeta(0.05), p.PerformBest()), (0.1, 0.2))
    ),
    *GREEDY,
    *OURS,
)
"""Policies with and without exploration, and policies that need no exploration."""

SWEPT = ("electricity", "wisdm", "agr_a", "rbf_f")
BEGINNING = 10_000  # instances
DISTINCT = tuple(name for name in STREAMS if name not in TWINS)
"""The streams with different first instances."""
EPSILONS = (0.0, 0.1, 0.2)
KS = (5, 10, 20, 30, 40)
TEN_SEEDS = range(1, 11)
NEVER = 1 << 40  # bytes: a limit that no tree reaches
OTHER_TWENTY = {
    "mlp": Base(MLPGrid(hidden=[16, 256]), SMALL["mlp"].k),
    "trees": Base(HoeffdingGrid(grace_periods=[100, 800]), SMALL["trees"].k),
}
"""Other pools of twenty models that the paper may have used for its two figures."""


def unlimited() -> HoeffdingGrid:
    """Return the paper's trees as they must have been: costs of ten sizes, and no effective memory limit.

    Examples
    --------
    >>> pool = unlimited()
    >>> pool.n_models, round(pool.costs[-1] / pool.costs[0])
    (50, 512)
    """
    grace_periods = [configuration["grace_period"] for configuration in HoeffdingGrid().configurations]
    prices = [size for size in SIZES for _ in range(len(grace_periods) // len(SIZES))]
    return HoeffdingGrid(max_bytes=[NEVER] * len(SIZES), costs=prices)


def seed_cells() -> list[Cell]:
    """Return the runs on WISDM, the shortest stream and the most sensitive to the seed, with ten seeds."""
    return _short("wisdm", BASES["mlp"], POLICIES, TEN_SEEDS)


def rounding_cells() -> list[Cell]:
    """Return the runs on WISDM with the portable kernel: same seeds and draws, different rounding."""
    return _short("wisdm", Base(MLPGrid(isa="baseline"), BASES["mlp"].k), POLICIES)


def greedy_cells() -> list[Cell]:
    """Return runs that separate the effect of ε: ζ and perform-best without exploration, Reward with."""
    return [cell for name in STREAMS for cell in _short(name, BASES["mlp"], GREEDY)]


def unlimited_cells() -> list[Cell]:
    """Return the runs of the appendix table with trees without a memory limit."""
    return [cell for name in STREAMS for cell in _short(name, Base(unlimited(), 20), POLICIES)]


def trees30_cells() -> list[Cell]:
    """Return the runs of the appendix table with k = 30, as in the figure on phases; the table has k = 20."""
    return [cell for name in STREAMS for cell in _short(name, Base(BASES["trees"].pool, 30), POLICIES)]


def sooner_cells() -> list[Cell]:
    """Return runs with half our grace periods: the paper gives the number of trees, not their settings."""
    return _with_graces([25, 50, 100, 200, 400])


def later_cells() -> list[Cell]:
    """Return runs with twice our grace periods."""
    return _with_graces([100, 200, 400, 800, 1600])


def twenty_cells() -> list[Cell]:
    """Return runs with other pools of twenty for the figures on the distribution of L and on abrupt drift."""
    drift = [p.Explore(p.Zeta(0.05), 0.1), p.Explore(p.PerformBest(), 0.1), p.Explore(p.Cheapest(), 0.1)]
    base = OTHER_TWENTY["mlp"]
    drifting = [Cell("agr_a", base.pool, policy, base.k, seed=1) for policy in drift]
    return [*beta_cells(OTHER_TWENTY), *drifting]


def sweep_cells() -> list[Cell]:
    """Return runs on the first instances of each stream with and without exploration, and with other k."""
    around = [
        policy if epsilon == 0 else p.Explore(policy, epsilon)
        for policy, epsilon in product((p.Zeta(0.05), p.PerformBest()), EPSILONS)
    ]
    pool, first = BASES["mlp"].pool, (SEEDS[:1], BEGINNING)
    other_k = [k for k in KS if k != BASES["mlp"].k]
    tried = [cell for name in DISTINCT for cell in _short(name, BASES["mlp"], TRIED, *first)]
    swept = [
        cell for name, k in product(SWEPT, other_k) for cell in _short(name, Base(pool, k), around, *first)
    ]
    return [*tried, *swept]


def phases_cells() -> list[Cell]:
    """Return the runs on electricity for the time of each phase; they need an otherwise idle machine."""
    return [cell for base in BASES.values() for cell in _short("electricity", base, POLICIES, SEEDS[:1])]


def drifts_cells() -> list[Cell]:
    """Return the runs on all of AGR_a with twenty perceptrons, as in the paper's figure on abrupt drift."""
    base = SMALL["mlp"]
    return [Cell("agr_a", base.pool, policy, base.k, seed=1) for policy in POLICIES]


def grid_cells() -> list[Cell]:
    """Return the runs of the paper's two tables: three seeds for every cell."""
    return [*cells("mlp"), *cells("trees")]


PARTS: dict[str, Callable[[], list[Cell]]] = {
    "beta": beta_cells,
    "drift": drift_cells,
    "listed": listed_cells,
    "printed": printed_cells,
    "seeds": seed_cells,
    "rounding": rounding_cells,
    "greedy": greedy_cells,
    "unlimited": unlimited_cells,
    "trees30": trees30_cells,
    "sooner": sooner_cells,
    "later": later_cells,
    "twenty": twenty_cells,
    "drifts": drifts_cells,
    "phases": phases_cells,
    "grid": grid_cells,
    "sweep": sweep_cells,
}
"""All runs of the reproduction, except those of rivals, by the part of the records."""


def missing(
    parts: Iterable[str] = tuple(PARTS),
    streams: Iterable[str] = tuple(STREAMS),
    seeds: Iterable[int] | None = None,
) -> list[Batch]:
    """Return all runs of these parts on these streams in batches, cheapest first, ordered by seed.

    Recorded runs are included: `heros.run.experiments.run_all` keeps them.

    Examples
    --------
    >>> batches = missing(["greedy", "trees30"], ["wisdm", "electricity"])
    >>> [(part, batch[0].stream, batch[0].seed, len(batch)) for part, batch in batches[2:4]]
    [('trees30', 'wisdm', 3, 13), ('greedy', 'wisdm', 1, 4)]
    """
    parts, wanted = list(parts), set(streams)
    numbers = None if seeds is None else set(seeds)
    found = [
        (part, cell)
        for part in parts
        for cell in PARTS[part]()
        if cell.stream in wanted and (numbers is None or cell.seed in numbers)
    ]

    def rank(item: tuple[str, Cell]) -> tuple[float, int, int]:
        return item[1].work, item[1].seed, parts.index(item[0])

    batches = groupby(sorted(found, key=rank), key=rank)
    return [_batch(list(items)) for _, items in batches]


def _batch(items: list[tuple[str, Cell]]) -> Batch:
    return items[0][0], [cell for _, cell in items]


def _with_graces(grace_periods: list[int]) -> list[Cell]:
    """Return runs of the paper's policies on its two shortest streams, with trees of these grace periods."""
    base = Base(HoeffdingGrid(grace_periods=grace_periods), BASES["trees"].k)
    return [cell for name in ("electricity", "wisdm") for cell in _short(name, base, PAPER)]


def _short(
    name: str,
    base: Base,
    policies: Iterable[p.Policy],
    seeds: Iterable[int] = SEEDS,
    n: int | None = None,
) -> list[Cell]:
    """Return runs that record only the end of the curves."""
    return [
        Cell(name, base.pool, policy, base.k, seed, n, span=end_of(name, n))
        for seed in seeds
        for policy in policies
    ]
