"""Tables of the runs beyond the grid: more seeds on WISDM, policies without exploration, other ε and k."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from statistics import median

from heros_paper.further import BEGINNING, DISTINCT, EPSILONS, KS, SWEPT, TEN_SEEDS
from heros_paper.published import OURS, POLICIES, STREAMS, label_of
from heros_paper.ranks import ranks
from heros_paper.results import TRIED, Cell, Grid, beginning_cells, cells_in, common, exploration_cells
from heros_paper.tables.layout import NOT_RUN, Entry, Table, decimal, percent, signed

__all__ = ["beginning_table", "exploration_table", "seeds_table", "sweep_table"]

Directory = str | os.PathLike[str]
DASH = Entry("–")
MEANS = "AUROC: mean ± standard deviation over seeds. Σγ: share of the price of training everything."


def seeds_table(directory: Directory, mlp: Grid) -> Table:
    """Return the table of WISDM over ten seeds, beside three seeds with other rounding and the paper."""
    cells, otherwise = cells_in(directory, "seeds"), cells_in(directory, "rounding")
    printed = dict(zip(POLICIES, mlp.base.published.auroc["wisdm"], strict=True))
    rows, data = [], []
    for policy in (*POLICIES, *OURS):
        ten, three = (some.get(("wisdm", policy, 30)) for some in (cells, otherwise))
        paper = printed.get(policy)
        rows.append([Entry(label_of(policy)), *_spread(ten), _mean(three), *_against(ten, paper)])
        data.append(
            {
                "policy": policy,
                "n_seeds": len(ten.seeds) if ten else 0,
                "auroc": ten.mean("auroc") if ten else None,
                "sd": ten.sd("auroc") if ten else None,
                "paper": paper,
            }
        )
    return Table(
        name="seeds_wisdm",
        title="WISDM, perceptrons: what a seed changes",
        header=[
            "policy",
            "seeds",
            "mean ± sd",
            "lowest – highest",
            "rounded otherwise, mean ± sd",
            "paper",
            "difference",
            "in sd",
        ],
        groups=[rows],
        notes=[
            "In sd: difference from the paper, in standard deviations of the difference of two such means "
            "(the paper's of three seeds). Rounded otherwise: seeds 1 to 3 by the kernel for any processor, "
            "whose sums are taken in another order.",
            f"{sum(len(cell.seeds) for cell in cells.values())} of {len(rows) * len(TEN_SEEDS)} runs.",
        ],
        data=data,
    )


def _spread(cell: Cell | None) -> list[Entry]:
    if cell is None:
        return [NOT_RUN, DASH, DASH]
    values = [run["auroc"] for run in cell.runs]
    texts = (str(len(values)), decimal(cell.mean("auroc"), 4, cell.sd("auroc")))
    return [*map(Entry, texts), Entry(f"{decimal(min(values))} – {decimal(max(values))}")]


def _mean(cell: Cell | None) -> Entry:
    return NOT_RUN if cell is None else Entry(decimal(cell.mean("auroc"), 4, cell.sd("auroc")))


def _against(cell: Cell | None, paper: float | None) -> list[Entry]:
    if paper is None:
        return [DASH] * 3
    if cell is None:
        return [Entry(decimal(paper)), DASH, DASH]
    difference, sd = cell.mean("auroc") - paper, cell.sd("auroc")
    error = sd and sd * (1 / len(cell.seeds) + 1 / 3) ** 0.5
    return [
        Entry(decimal(paper)),
        Entry(signed(difference)),
        Entry(f"{difference / error:+.1f}") if error else DASH,
    ]


def exploration_table(directory: Directory, mlp: Grid) -> Table:
    """Return the table on the effect of ε: ζ, perform-best and Reward with and without exploration."""
    cells = exploration_cells(directory, mlp)
    groups = [
        _two_rows(label_of(stream), [cells.get((stream, name)) for name in TRIED]) for stream in STREAMS
    ]
    return Table(
        name="exploration_mlp",
        title="Perceptrons, k = 30: what is due to exploration",
        header=["stream", "", *map(label_of, TRIED)],
        groups=groups,
        notes=[MEANS, _count(cells.get((stream, name)) for stream in STREAMS for name in TRIED)],
        data=[_datum(stream, name, 30, cells.get((stream, name))) for stream in STREAMS for name in TRIED],
    )


def beginning_table(directory: Directory) -> Table:
    """Return the table on the effect of ε on the first instances of every stream: ranks, Σγ and AUROC."""
    cells = beginning_cells(directory)
    groups = [
        _two_rows(label_of(stream), [cells.get((stream, name)) for name in TRIED]) for stream in DISTINCT
    ]
    streams = common(cells, TRIED)
    return Table(
        name="exploration_first_mlp",
        title=f"Perceptrons, k = 30, the first {BEGINNING:,} instances: what is due to exploration",
        header=["stream", "", *map(label_of, TRIED)],
        groups=[*groups, _in_short(cells, streams)],
        notes=[
            f"Seed 1, all runs of one machine. {MEANS}",
            "AGR_g and LED_g are left out: before their first drift they are AGR_a and LED_a.",
            f"The last rows: the {len(streams)} of {len(DISTINCT)} streams where all policies ran.",
            _count(cells.get((stream, name)) for stream in DISTINCT for name in TRIED),
        ],
        data=[_datum(stream, name, 30, cells.get((stream, name))) for stream in DISTINCT for name in TRIED],
    )


def _in_short(cells: Mapping[tuple[str, str], Cell], streams: Sequence[str]) -> list[list[Entry]]:
    """Return mean ranks, the median AUROC minus Everything's, and the median Σγ over these streams."""
    if not streams:
        return [[Entry("mean rank"), Entry(""), *[DASH] * len(TRIED)]]

    def values(figure: str, name: str) -> list[float]:
        return [cells[stream, name].mean(figure) for stream in streams]

    table = [[cells[stream, name].mean("auroc") for name in TRIED] for stream in streams]
    means = ranks(table, higher_is_better=True).mean(axis=0)
    whole = values("auroc", "everything")
    gained = [
        median(one - other for one, other in zip(values("auroc", name), whole, strict=True)) for name in TRIED
    ]
    shares = [median(values("gamma_share", name)) for name in TRIED]
    return [
        [Entry("mean rank"), Entry(""), *(Entry(f"{value:.2f}") for value in means)],
        [Entry("median"), Entry("AUROC − Everything's"), *(Entry(signed(value)) for value in gained)],
        [Entry(""), Entry("Σγ"), *(Entry(percent(value)) for value in shares)],
    ]


def _count(cells: Iterable[Cell | None]) -> str:
    """Return a sentence on how many cells were run."""
    found = list(cells)
    return f"{sum(cell is not None for cell in found)} of {len(found)} cells were run."


def _two_rows(head: str, cells: Sequence[Cell | None]) -> list[list[Entry]]:
    shares = [DASH if cell is None else Entry(percent(cell.mean("gamma_share"))) for cell in cells]
    return [[Entry(head), Entry("AUROC"), *map(_mean, cells)], [Entry(""), Entry("Σγ"), *shares]]


def sweep_table(directory: Directory) -> Table:
    """Return the table of ζ(.05) and perform-best with other ε and k."""
    cells = cells_in(directory, "sweep")
    groups, data = [], []
    run: list[Cell | None] = []
    for stream in SWEPT:
        rows = []
        for name, epsilon in product(("zeta_0.05", "perform_best"), EPSILONS):
            policy = f"{name}_{epsilon:g}" if epsilon else name
            found = [cells.get((stream, policy, k)) for k in KS]
            called = "ζ = .05" if name.startswith("zeta") else "perform-best"
            head = f"{label_of(stream)}, {called}, ε = {epsilon:g}"
            rows += _two_rows(head, found)
            run += found
            data += [_datum(stream, policy, k, cell) for k, cell in zip(KS, found, strict=True)]
        groups.append(rows)
    return Table(
        name="sweep_mlp",
        title="Perceptrons: other ε and k",
        header=["", "", *(f"k = {k}" for k in KS)],
        groups=groups,
        notes=[f"The first {BEGINNING:,} instances (WISDM has 5,418), seed 1. {MEANS}", _count(run)],
        data=data,
    )


def _datum(stream: str, policy: str, k: int, cell: Cell | None) -> dict[str, object]:
    figures = ("auroc", "gamma_share")
    return {
        "stream": stream,
        "policy": policy,
        "k": k,
        "seeds": " ".join(map(str, cell.seeds)) if cell else "",
        **{name: cell.mean(name) if cell else None for name in figures},
    }
