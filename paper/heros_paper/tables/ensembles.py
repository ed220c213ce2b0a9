"""Table III: HEROS and other ensembles, AUROC and CPU time per instance."""

from __future__ import annotations

import os
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from statistics import median
from typing import Any

from heros.run import records
from heros_paper.published import ENSEMBLE_AUROC, ENSEMBLE_RANKS, ENSEMBLES, STREAMS, label_of
from heros_paper.ranks import ranks
from heros_paper.results import Cell, Grid, longest, records_in
from heros_paper.tables.layout import NOT_RUN, Entry, Footnotes, Table, best, decimal, signed

__all__ = ["ensemble_table"]

RIVALS = ("arf", "srp", "shrubs")
COLUMNS = (*ENSEMBLES, "cand")
LABELS = {**ENSEMBLES, "cand": "HEROS Cand"}
FOUR = len(ENSEMBLES)
DASH = Entry("–")
FIRST = re.compile(r"_\d+k?$")
"""The suffix that `heros_league.rivals.first` adds for the first instances of a stream: ``airlines_100k``."""
ALIKE = 100_000
"""The number of first instances of AGR and LED that abrupt and gradual drifts share (.08 may differ)."""
Cells = Mapping[tuple[str, str], Cell]


def ensemble_table(directory: str | os.PathLike[str], mlp: Grid) -> Table:
    """Return the table of ARF, SRP and Shrubs (``directory/rivals``) and HEROS (the perceptrons' grid).

    A run of HEROS among the rivals, with their length, is preferred to the run of the grid. Times measured on
    an otherwise idle machine are in ``directory/alone``.
    """
    cells, alone = _cells(directory, mlp), _recorded(directory, "alone")
    notes = Footnotes()
    groups = [_rows(stream, cells, alone, notes) for stream in STREAMS]
    rank_rows, line = _rank_rows(cells)
    return Table(
        name="table3_ensembles",
        title="Table III, ensembles: AUROC and CPU time per instance",
        header=["stream", "", *LABELS.values()],
        groups=[*groups, rank_rows],
        notes=[
            "Mean ± standard deviation over seeds. Bold: the best of the paper's four that were run; Cand "
            f"where it is at least as good. {line}",
            *([_times_line(alone)] if alone else []),
            *notes.lines(),
        ],
        data=[_datum(stream, name, cells, alone) for stream in STREAMS for name in COLUMNS],
    )


def _recorded(directory: str | os.PathLike[str], part: str) -> dict[tuple[str, str], Cell]:
    found: dict[tuple[str, str], list[dict[str, Any]]] = defaultdict(list)
    for place in records_in(directory, part):
        row = _row(records.details(place))
        if row["stream"] in STREAMS and row["policy"] in COLUMNS:
            found[row["stream"], row["policy"]].append(row)
    return {key: Cell(*key, runs=longest(runs)) for key, runs in found.items()}


def _cells(directory: str | os.PathLike[str], mlp: Grid) -> dict[tuple[str, str], Cell]:
    cells = _recorded(directory, "rivals")
    for stream in STREAMS:
        lengths = {cells[stream, name].n_instances for name in RIVALS if (stream, name) in cells}
        for name in COLUMNS[FOUR - 1 :]:
            key, ours = (stream, name), mlp.cell(stream, name)
            if ours and (key not in cells or cells[key].n_instances not in lengths):
                cells[key] = ours
    return cells


def _row(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return the columns of a record for the table; a rival has no γ, and perhaps no phases."""
    energy = document.get("energy") or {}
    return {
        "stream": FIRST.sub("", document["stream"]["name"]),
        "policy": document["settings"].get("policy"),
        "seed": document["settings"].get("seed"),
        "n_instances": document["n_instances"],
        "auroc": document["results"].get("auroc"),
        "cpu_seconds": sum((document.get("cpu") or {}).values()) or energy.get("cpu_seconds"),
    }


def _rows(stream: str, cells: Cells, alone: Cells, notes: Footnotes) -> list[list[Entry]]:
    found = [cells.get((stream, name)) for name in COLUMNS]
    paper = ENSEMBLE_AUROC[stream]
    bold = best(
        [None if cell is None else round(cell.mean("auroc"), 4) for cell in found],
        higher_is_better=True,
        among=FOUR,
    )
    ours = [
        NOT_RUN
        if cell is None
        else Entry(decimal(cell.mean("auroc"), 4, cell.sd("auroc")), is_best, notes.mark(cell.remark))
        for cell, is_best in zip(found, bold, strict=True)
    ]
    printed = best(paper, higher_is_better=True, among=FOUR)
    theirs = [Entry(decimal(value, 3), is_best) for value, is_best in zip(paper, printed, strict=True)]
    differences = [
        DASH if cell is None else Entry(signed(cell.mean("auroc") - value, 3))
        for cell, value in zip(found, paper, strict=False)
    ]
    rows = [
        [Entry(label_of(stream)), Entry("AUROC, ours"), *ours],
        [Entry(""), Entry("AUROC, paper"), *theirs, DASH],
        [Entry(""), Entry("difference"), *differences, DASH],
        *_time_row(stream, found, alone),
    ]
    return rows if any(found) else rows[:2]


def _time_row(stream: str, found: Sequence[Cell | None], alone: Cells) -> list[list[Entry]]:
    """Return the times of an otherwise idle machine if there are any, else those of the runs."""
    timed = [alone.get((stream, name)) for name in COLUMNS] if alone else found
    what = "CPU µs per instance, alone" if alone else "CPU µs per instance"
    return [[Entry(""), Entry(what), *map(_time, timed)]] if any(timed) else []


def _time(cell: Cell | None) -> Entry:
    return DASH if cell is None else Entry(f"{_microseconds(cell):,.1f}")


def _times_line(alone: Cells) -> str:
    """Return a sentence on the CPU time of HEROS relative to each rival, on streams where both were timed."""
    shares = []
    for rival in RIVALS:
        ours = COLUMNS[FOUR - 1]
        both = [stream for stream in STREAMS if {(stream, rival), (stream, ours)} <= alone.keys()]
        ratios = [_microseconds(alone[s, rival]) / _microseconds(alone[s, ours]) for s in both]
        if ratios:
            shares.append(f"1/{median(ratios):.0f} of {LABELS[rival]}'s ({len(ratios)} streams)")
    most = max(cell.n_instances for cell in alone.values())
    return (
        f"Alone: the first {most:,} instances with nothing else on the machine; "
        f"{LABELS[COLUMNS[FOUR - 1]]} takes {', '.join(shares)} in the median."
    )


def _microseconds(cell: Cell) -> float:
    return 1e6 * cell.mean("cpu_seconds") / cell.n_instances


def _rank_rows(cells: Cells) -> tuple[list[list[Entry]], str]:
    four, streams = _mean_ranks(cells, COLUMNS[:FOUR])
    distinct, n_apart = _mean_ranks(cells, COLUMNS[:FOUR], distinct=True)
    five, _ = _mean_ranks(cells, COLUMNS, distinct=True)
    recomputed = ranks(list(ENSEMBLE_AUROC.values()), higher_is_better=True).mean(axis=0)
    rows = [
        [Entry("mean rank"), Entry("ours, distinct streams"), *distinct, DASH],
        [Entry(""), Entry("ours, all streams"), *four, DASH],
        [Entry(""), Entry("paper, printed"), *_entries(ENSEMBLE_RANKS), DASH],
        [Entry(""), Entry("paper, from its figures"), *_entries(recomputed.tolist()), DASH],
        [Entry(""), Entry("ours, distinct, with Cand"), *five],
    ]
    line = (
        f"Our ranks are over the {streams} streams where all four ran equally long; {n_apart} of them are "
        "distinct: before their first drift AGR_g and LED_g are AGR_a and LED_a."
    )
    return rows, line


def _mean_ranks(cells: Cells, names: Sequence[str], *, distinct: bool = False) -> tuple[list[Entry], int]:
    rows = []
    for stream in STREAMS:
        if distinct and _repeated(stream, cells):
            continue
        row = [cells[stream, name] for name in names if (stream, name) in cells]
        if len(row) == len(names) and len({cell.n_instances for cell in row}) == 1:
            rows.append([cell.mean("auroc") for cell in row])
    if not rows:
        return [DASH] * len(names), 0
    return _entries(ranks(rows, higher_is_better=True).mean(axis=0).tolist()), len(rows)


def _repeated(stream: str, cells: Cells) -> bool:
    """Return whether the runs on this stream end before the first drift and so repeat another stream."""
    before = stream.removesuffix("_g") + "_a"
    lengths = {cells[key].n_instances for key in cells if key[0] in (stream, before)}
    return stream != before and before in STREAMS and max(lengths, default=0) <= ALIKE


def _entries(values: Iterable[float]) -> list[Entry]:
    values = list(values)
    lowest = min(round(value, 3) for value in values)
    return [Entry(f"{value:.3f}", round(value, 3) == lowest) for value in values]


def _datum(stream: str, name: str, cells: Cells, alone: Cells) -> dict[str, Any]:
    cell, timed = cells.get((stream, name)), alone.get((stream, name))
    return {
        "stream": stream,
        "ensemble": name,
        "seeds": " ".join(map(str, cell.seeds)) if cell else "",
        "n_instances": cell.n_instances if cell else 0,
        "auroc": cell.mean("auroc") if cell else None,
        "auroc_sd": cell.sd("auroc") if cell else None,
        "paper": dict(zip(ENSEMBLES, ENSEMBLE_AUROC[stream], strict=True)).get(name),
        "cpu_us_per_instance": _microseconds(cell) if cell else None,
        "cpu_us_alone": _microseconds(timed) if timed else None,
    }
