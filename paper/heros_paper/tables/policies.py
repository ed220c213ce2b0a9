"""Table II and the appendix: AUROC and energy of every policy on every stream, beside the paper's."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from heros_paper.published import POLICIES, STREAMS, label_of
from heros_paper.ranks import Comparison, compare, ranks
from heros_paper.results import Cell, Grid
from heros_paper.tables.agreement import tolerance
from heros_paper.tables.layout import (
    NOT_RUN,
    Entry,
    Footnotes,
    Table,
    best,
    decimal,
    percent,
    scientific,
    signed,
)

__all__ = ["auroc_table", "energy_table"]

DASH = Entry("–")
TEN = len(POLICIES)
Rows = list[list[Entry]]


def auroc_table(grid: Grid) -> Table:
    """Return the AUROC table: ours, the paper's, the difference, and the mean ranks."""
    notes = Footnotes()
    groups = [_auroc_rows(grid, stream, notes) for stream in STREAMS]
    rank_rows, lines = _rank_rows(grid, "auroc", higher_is_better=True)
    return Table(
        name=f"{_stem(grid)}_auroc",
        title=f"{_title(grid)}: AUROC",
        header=["stream", "", *map(label_of, grid.columns)],
        groups=[*groups, rank_rows],
        notes=[
            "Mean ± standard deviation over seeds. Bold: the best of the paper's ten that were run; a "
            "further column where it is at least as good. †: more than .015 (RBF_f: .03) from the paper.",
            *lines,
            *notes.lines(),
            *_missing_cells(grid),
        ],
        data=[_auroc_datum(grid, stream, policy) for stream in STREAMS for policy in grid.columns],
    )


def energy_table(grid: Grid) -> Table:
    """Return the energy table: ours, the paper's, the ratio, CPU seconds, Σγ, and the mean ranks."""
    notes = Footnotes()
    groups = [_energy_rows(grid, stream, notes) for stream in STREAMS]
    rank_rows, lines = _rank_rows(grid, "kwh", higher_is_better=False)
    sources = sorted({run["energy_source"] for cell in grid.cells.values() for run in cell.runs})
    return Table(
        name=f"{_stem(grid)}_energy",
        title=f"{_title(grid)}: energy",
        header=["stream", "", *map(label_of, grid.columns)],
        groups=[*groups, rank_rows],
        notes=[
            "Means over seeds. CPU s: CPU seconds of a run. Σγ: share of the price of training all models at "
            f"every step. Energy measured by: {', '.join(sources) or 'nothing yet'} (cpu-model: CPU seconds "
            "× watts per core). Bold: the lowest of the paper's ten that were run; a further column where "
            "it is at least as low.",
            *lines,
            *notes.lines(),
        ],
        data=[_energy_datum(grid, stream, policy) for stream in STREAMS for policy in grid.columns],
    )


def _missing_cells(grid: Grid) -> list[str]:
    """Return a note on the number of cells that were run, if some were not."""
    n, full = len(grid.cells), len(STREAMS) * len(grid.columns)
    return [f"{n} of {full} cells were run."] if n < full else []


def _stem(grid: Grid) -> str:
    return {"mlp": "table2_mlp", "trees": "appendix_trees"}.get(grid.base.name, grid.base.name)


def _title(grid: Grid) -> str:
    base = grid.base
    return f"{base.table}, {base.label}, M = 50, k = {base.k}"


# -- a stream -------------------------------------------------------------------------------------------


def _auroc_rows(grid: Grid, stream: str, notes: Footnotes) -> Rows:
    cells = [grid.cell(stream, policy) for policy in grid.columns]
    paper = grid.base.published.auroc[stream]
    head, marks = _marks(stream, cells, notes)
    means = [None if cell is None else round(cell.mean("auroc"), 4) for cell in cells]
    bold = best(means, higher_is_better=True, among=TEN)
    ours = [
        NOT_RUN if cell is None else Entry(decimal(cell.mean("auroc"), 4, cell.sd("auroc")), is_best, mark)
        for cell, is_best, mark in zip(cells, bold, marks, strict=True)
    ]
    printed = best(paper, higher_is_better=True, among=TEN)
    theirs = [Entry(decimal(value), is_best) for value, is_best in zip(paper, printed, strict=True)]
    differences = [
        DASH if cell is None else _difference(cell.mean("auroc") - value, tolerance(stream))
        for cell, value in zip(cells, paper, strict=False)
    ]
    return _rows_of_stream(
        head,
        cells,
        {"ours": ours, "paper": _filled(theirs, cells), "difference": _filled(differences, cells)},
    )


def _difference(value: float, allowed: float) -> Entry:
    return Entry(signed(value), mark="†" if abs(value) > allowed else "")


def _energy_rows(grid: Grid, stream: str, notes: Footnotes) -> Rows:
    cells = [grid.cell(stream, policy) for policy in grid.columns]
    paper = grid.base.published.kwh[stream]
    head, marks = _marks(stream, cells, notes)
    bold = best(
        [None if cell is None else cell.mean("kwh") for cell in cells], higher_is_better=False, among=TEN
    )
    ours = [
        NOT_RUN if cell is None else Entry(scientific(cell.mean("kwh")), is_best, mark)
        for cell, is_best, mark in zip(cells, bold, marks, strict=True)
    ]
    printed = best(paper, higher_is_better=False, among=TEN)
    theirs = [Entry(f"{value:.4f}", is_best) for value, is_best in zip(paper, printed, strict=True)]
    ratios = [
        DASH if cell is None else Entry(f"{value / cell.mean('kwh'):,.0f}")
        for cell, value in zip(cells, paper, strict=False)
    ]
    rows = {
        "kWh, ours": ours,
        "kWh, paper": _filled(theirs, cells),
        "paper / ours": _filled(ratios, cells),
        "CPU s": _each(cells, lambda cell: f"{cell.mean('cpu_seconds'):.3g}"),
        "Σγ": _each(cells, lambda cell: percent(cell.mean("gamma_share"))),
    }
    return _rows_of_stream(head, cells, rows)


def _marks(stream: str, cells: Sequence[Cell | None], notes: Footnotes) -> tuple[Entry, list[str]]:
    """Return footnote marks for differences: one mark for the row if all cells agree, else one per cell."""
    remarks = {cell.remark for cell in cells if cell is not None}
    if len(remarks) == 1:
        return Entry(label_of(stream), mark=notes.mark(remarks.pop())), [""] * len(cells)
    return Entry(label_of(stream)), ["" if cell is None else notes.mark(cell.remark) for cell in cells]


def _each(cells: Sequence[Cell | None], text: Callable[[Cell], str]) -> list[Entry]:
    return [DASH if cell is None else Entry(text(cell)) for cell in cells]


def _filled(entries: Sequence[Entry], cells: Sequence[object]) -> list[Entry]:
    return [*entries, *[DASH] * (len(cells) - len(entries))]


def _rows_of_stream(head: Entry, cells: Sequence[Cell | None], rows: dict[str, list[Entry]]) -> Rows:
    """Return the rows, the first with the stream's name; without runs, only ours and the paper's."""
    names = list(rows) if any(cells) else list(rows)[:2]
    return [[head if i == 0 else Entry(""), Entry(name), *rows[name]] for i, name in enumerate(names)]


# -- ranks ----------------------------------------------------------------------------------------------


def _rank_rows(grid: Grid, figure: str, *, higher_is_better: bool) -> tuple[Rows, list[str]]:
    published = grid.base.published
    printed, values = (
        (published.auroc_ranks, published.auroc)
        if figure == "auroc"
        else (published.kwh_ranks, published.kwh)
    )
    again = ranks([values[stream] for stream in STREAMS], higher_is_better=higher_is_better).mean(axis=0)
    run = [policy for policy in grid.columns if any(grid.cell(stream, policy) for stream in STREAMS)]
    ten, of_ten = _compared(grid, figure, list(POLICIES), higher_is_better)
    all_, of_all = _compared(grid, figure, run, higher_is_better)
    rows = [
        [Entry("mean rank"), Entry("ours, of the ten"), *_ranks(ten, grid.columns)],
        [Entry(""), Entry("paper, printed"), *_ranks(printed, grid.columns)],
        [Entry(""), Entry("paper, from its figures"), *_ranks(tuple(again), grid.columns)],
        [Entry(""), Entry("ours, of all"), *_ranks(all_, grid.columns)],
    ]
    return rows, [f"Ranks of the ten: {of_ten}.", f"Ranks of all: {of_all}."]


def _compared(
    grid: Grid, figure: str, policies: list[str], higher_is_better: bool
) -> tuple[Comparison | None, str]:
    streams, matrix = grid.matrix(figure, policies)
    if not streams or len(policies) < 2:
        return None, "no stream has all of these policies yet"
    comparison = compare(matrix, policies, higher_is_better=higher_is_better)
    tested = "" if math.isnan(comparison.friedman) else f", Friedman p = {comparison.friedman:.2g}"
    return comparison, f"over {len(streams)} of {len(STREAMS)} streams{tested}"


def _ranks(source: Comparison | Sequence[float] | None, columns: Sequence[str]) -> list[Entry]:
    if source is None:
        return [DASH] * len(columns)
    if isinstance(source, Comparison):
        by_name = dict(zip(source.names, source.mean_ranks.tolist(), strict=True))
    else:
        by_name = dict(zip(POLICIES, source, strict=True))
    lowest = min(np.round(list(by_name.values()), 2))
    return [
        Entry(f"{by_name[name]:.2f}", round(by_name[name], 2) == lowest) if name in by_name else DASH
        for name in columns
    ]


# -- plain data -----------------------------------------------------------------------------------------


def _datum(grid: Grid, stream: str, policy: str) -> dict[str, object]:
    cell = grid.cell(stream, policy)
    return {
        "stream": stream,
        "policy": policy,
        "seeds": " ".join(map(str, cell.seeds)) if cell else "",
        "n_instances": cell.n_instances if cell else 0,
    }


def _auroc_datum(grid: Grid, stream: str, policy: str) -> dict[str, object]:
    cell = grid.cell(stream, policy)
    paper = _printed(grid.base.published.auroc[stream], policy)
    ours = cell.mean("auroc") if cell else None
    return {
        **_datum(grid, stream, policy),
        "auroc": ours,
        "auroc_sd": cell.sd("auroc") if cell else None,
        "paper": paper,
        "difference": ours - paper if ours is not None and paper is not None else None,
        "accuracy": cell.mean("accuracy") if cell else None,
    }


def _energy_datum(grid: Grid, stream: str, policy: str) -> dict[str, object]:
    cell = grid.cell(stream, policy)
    figures = ("kwh", "cpu_seconds", "cpu_evaluate", "cpu_choose", "cpu_train", "gamma_share")
    return {
        **_datum(grid, stream, policy),
        **{figure: cell.mean(figure) if cell else None for figure in figures},
        "kwh_sd": cell.sd("kwh") if cell else None,
        "paper_kwh": _printed(grid.base.published.kwh[stream], policy),
        "energy_source": cell.runs[0]["energy_source"] if cell else None,
    }


def _printed(row: Sequence[float], policy: str) -> float | None:
    return dict(zip(POLICIES, row, strict=True)).get(policy)
